//! For whose sake a candidate may be dropped.

use collrules_record::Candidate;
use collrules_record::policy::Assumptions;
use collrules_rules::registry;
use collrules_rules::{Choice, Collective};

/// How readily rules choose a candidate. None is dropped for the sake of one that they choose less readily: they could be left
/// with neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Rules may choose it, or it is a mock-up, which a check of guidelines is about.
    Any,
    /// Rules choose it only where programs keep to more than is assumed, such as to operations that commute.
    Assuming,
    /// No rule can choose it. Not even its like is dropped for it.
    Yardstick,
}

impl Standing {
    /// The standing of a candidate for a collective.
    pub(super) fn of(collective: Collective, candidate: Candidate, assumptions: Assumptions) -> Self {
        let needs_more = |choice: Choice| {
            let algorithm = registry::in_any_release(collective, choice.algorithm);
            algorithm.is_some_and(|algorithm| assumptions.lacking(algorithm, choice.segsize).is_some())
        };
        match candidate {
            Candidate::Reference(_) => Self::Yardstick,
            Candidate::Tuned(choice) if needs_more(choice) => Self::Assuming,
            _ => Self::Any,
        }
    }

    /// Whether one of this standing may be the reason to drop another.
    pub(super) fn outdoes(self, other: Self) -> bool {
        self <= other && self != Self::Yardstick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_lift_what_needs_them() {
        let ring = Candidate::Tuned(Choice::plain(4));
        let of = |collective, assumptions| Standing::of(collective, ring, assumptions);
        let usual = Assumptions::default();
        assert_eq!(of(Collective::Allreduce, usual), Standing::Assuming);
        assert_eq!(of(Collective::Allreduce, Assumptions { commutative_ops: true, ..usual }), Standing::Any);
        assert_eq!(of(Collective::Allgather, usual), Standing::Any, "no operation, no order");
        let segmented = Candidate::Tuned(Choice::plain(3).with_segsize(8192));
        let bcast =
            |uniform_datatypes| Standing::of(Collective::Bcast, segmented, Assumptions { uniform_datatypes, ..usual });
        assert_eq!((bcast(true), bcast(false)), (Standing::Any, Standing::Assuming));
        assert!(Standing::Any.outdoes(Standing::Assuming) && !Standing::Assuming.outdoes(Standing::Any));
        assert!(!Standing::Yardstick.outdoes(Standing::Yardstick));
    }
}
