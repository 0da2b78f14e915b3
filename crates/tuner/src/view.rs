//! What counts of the timings, and as what, where another component than `coll/tuned` serves calls.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Candidate, Cell, Component, Placement, Ranks};
use collrules_rules::{Collective, Release};

/// The communicators on which another component serves a collective, with the component.
pub(crate) type Displaced = BTreeMap<(Collective, Ranks), Component>;

/// Those that a placement has, where the component can hand over nothing call by call.
pub(crate) fn displaced(placement: &Placement, release: Release) -> Displaced {
    let others =
        placement.serving.iter().filter(|serving| !serving.without.is_empty() && !serving.can_hand_over(release));
    others.map(|serving| ((serving.collective, serving.ranks), serving.by)).collect()
}

/// What other components are taken to do while the timings are looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// Where they are out of the way: the builtin is what `coll/tuned` decides by itself.
    pub(crate) displaced: Displaced,
    /// Where only the builtin counts, since rules have no effect.
    pub(crate) left: BTreeSet<(Collective, Ranks)>,
    /// What is compared with the builtin.
    pub(crate) rivals: Rivals,
}

/// What is compared with the builtin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rivals {
    /// What rules and settings can ask for. What no rule can give is as if it had never been timed.
    #[default]
    Candidates,
    /// These, and reference algorithms.
    WithReferences,
    /// Mock-ups alone.
    Mockups,
    /// The same in launches with a rules file in force, where the builtin is what serves under it.
    MockupsUnderRules,
}

impl Rivals {
    /// Whether a candidate is one of them, or the builtin.
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
    /// What a candidate is in this view; none if it is gone with another component, or never counts.
    pub(crate) fn counts_as(&self, cell: Cell, candidate: Candidate) -> Option<Candidate> {
        if !self.rivals.have(candidate) {
            return None;
        }
        if self.rivals == Rivals::MockupsUnderRules && candidate == Candidate::Rules {
            return Some(Candidate::Builtin);
        }
        // What needs no component is not gone with one.
        if candidate.choice().is_none() {
            return Some(candidate);
        }
        let place = (cell.collective, cell.ranks);
        if self.left.contains(&place) {
            return (candidate == Candidate::Builtin).then_some(candidate);
        }
        if !self.displaced.contains_key(&place) {
            return Some(candidate);
        }
        match candidate {
            Candidate::Component(Component::TUNED) => Some(Candidate::Builtin),
            Candidate::Builtin
            | Candidate::Component(_)
            | Candidate::Han(_)
            | Candidate::Rules
            | Candidate::Mockup(_)
            | Candidate::Reference(_) => None,
            tuned @ Candidate::Tuned(_) => Some(tuned),
        }
    }
}
