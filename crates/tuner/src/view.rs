//! Views of timings, for calls that a component other than `coll/tuned` runs: the timings that count, and for which
//! candidates.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Candidate, Cell, Component, Placement, Ranks};
use collrules_rules::{Collective, Release};

/// The communicators on which another component handles a collective, with the component.
pub(crate) type Displaced = BTreeMap<(Collective, Ranks), Component>;

/// Those of a placement, without components that can delegate single calls.
pub(crate) fn displaced(placement: &Placement, release: Release) -> Displaced {
    let others =
        placement.running.iter().filter(|running| !running.without.is_empty() && !running.can_hand_over(release));
    others.map(|running| ((running.collective, running.ranks), running.by)).collect()
}

/// Assumptions about other components while the timings are analysed.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// Communicators on which these components are switched off: the builtin is then the decision of `coll/tuned`
    /// itself.
    pub(crate) displaced: Displaced,
    /// Communicators on which only the builtin counts, since rules have no effect.
    pub(crate) left: BTreeSet<(Collective, Ranks)>,
    /// Candidates that are compared with the builtin.
    pub(crate) competitors: Competitors,
}

/// Candidates that are compared with the builtin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Competitors {
    /// Candidates that rules and settings can choose. All others are ignored, as if they had never been timed.
    #[default]
    Candidates,
    /// Candidates as above, and reference algorithms.
    WithReferences,
    /// Mock-ups alone.
    Mockups,
    /// Mock-ups in launches with a rules file, where the builtin is the candidate under that file.
    MockupsUnderRules,
}

impl Competitors {
    /// Returns true if a candidate is one of them, or the builtin.
    fn have(self, candidate: Candidate) -> bool {
        match candidate {
            Candidate::Builtin => self != Self::MockupsUnderRules,
            Candidate::Mockup(_) => matches!(self, Self::Mockups | Self::MockupsUnderRules),
            Candidate::Reference(_) => self == Self::WithReferences,
            Candidate::Rules => self != Self::Mockups,
            Candidate::Tuned(_) | Candidate::Component(_) | Candidate::Han(_) => {
                matches!(self, Self::Candidates | Self::WithReferences)
            }
        }
    }
}

impl View {
    /// Returns the candidate that this one counts as in this view; none if it is switched off with another component,
    /// or never counts.
    pub(crate) fn counts_as(&self, cell: Cell, candidate: Candidate) -> Option<Candidate> {
        let place = (cell.collective, cell.ranks);
        match candidate {
            _ if !self.competitors.have(candidate) => None,
            Candidate::Rules if self.competitors == Competitors::MockupsUnderRules => Some(Candidate::Builtin),
            // A candidate without a choice is independent of components.
            _ if candidate.choice().is_none() => Some(candidate),
            _ if self.left.contains(&place) => (candidate == Candidate::Builtin).then_some(candidate),
            _ if !self.displaced.contains_key(&place) => Some(candidate),
            Candidate::Component(Component::TUNED) => Some(Candidate::Builtin),
            Candidate::Tuned(_) => Some(candidate),
            _ => None,
        }
    }
}
