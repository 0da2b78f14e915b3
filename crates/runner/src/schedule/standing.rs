//! For whose sake a candidate may be dropped.

use collrules_record::Candidate;
use collrules_rules::Collective;
use collrules_rules::registry::{self, NonCommutative};

/// What rules may make of a candidate. Nothing is dropped for the sake of one that rules may less readily choose: they could
/// be left with neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// It may serve whatever programs do.
    Any,
    /// It gives wrong results with operations that do not commute: rules choose it where there are none.
    Commuting,
    /// No rule can choose it. Not even its like is dropped for it.
    Yardstick,
}

impl Standing {
    /// The standing of a candidate for a collective.
    pub(super) fn of(collective: Collective, candidate: Candidate) -> Self {
        match candidate {
            Candidate::Reference(_) => Self::Yardstick,
            Candidate::Tuned(choice)
                if registry::in_any_release(collective, choice.algorithm)
                    .is_some_and(|algorithm| algorithm.noncommutative == NonCommutative::Unsafe) =>
            {
                Self::Commuting
            }
            _ => Self::Any,
        }
    }

    /// Whether one of this standing may be the reason to drop another.
    pub(super) fn outdoes(self, other: Self) -> bool {
        self <= other && self != Self::Yardstick
    }
}
