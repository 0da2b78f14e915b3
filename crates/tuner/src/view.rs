//! What counts of the timings, and as what, where another component than `coll/tuned` serves calls.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Candidate, Cell, Component, Ranks};
use collrules_rules::Collective;

/// The communicators on which another component serves a collective, with the component.
pub(crate) type Displaced = BTreeMap<(Collective, Ranks), Component>;

/// What other components are taken to do while the timings are looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    /// Where they are out of the way: the builtin is what `coll/tuned` decides by itself.
    pub(crate) displaced: Displaced,
    /// Where only the builtin counts, since rules have no effect.
    pub(crate) left: BTreeSet<(Collective, Ranks)>,
}

impl View {
    /// What a candidate is in this view; none if it is gone with another component, or never counts.
    pub(crate) fn counts_as(&self, cell: Cell, candidate: Candidate) -> Option<Candidate> {
        let place = (cell.collective, cell.ranks);
        if self.left.contains(&place) {
            return (candidate == Candidate::Builtin).then_some(candidate);
        }
        if !self.displaced.contains_key(&place) {
            return Some(candidate);
        }
        match candidate {
            Candidate::Component(Component::TUNED) => Some(Candidate::Builtin),
            Candidate::Builtin | Candidate::Component(_) | Candidate::Rules => None,
            tuned @ Candidate::Tuned(_) => Some(tuned),
        }
    }
}
