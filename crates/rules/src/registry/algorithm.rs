//! What is known of an algorithm.

use crate::collective::Collective;
use crate::units::Ranks;

/// One algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Id in rules files and MCA parameters, from 1 on.
    pub id: u32,
    /// The string of Open MPI's MCA enumerator, exactly.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Which parameters of a rule it heeds.
    pub uses: Uses,
    /// Whether the fan-out is the radix of its tree: below 2 it never comes to an end.
    pub radix: bool,
    /// Which communicator sizes it takes.
    pub ranks: RankNeed,
    /// What runs instead of it, in the order of the tests.
    pub fallbacks: &'static [Fallback],
    /// What becomes of operations that do not commute.
    pub noncommutative: NonCommutative,
    /// What becomes of ranks that describe the same data by different counts and datatypes.
    pub mixed_types: MixedTypes,
    /// What becomes of `MPI_IN_PLACE`.
    pub in_place: InPlace,
    /// The collectives of the same communicator that it calls, each by its own rules; gatherv and scatterv, which can
    /// have none, are left out.
    pub calls: &'static [Collective],
}

/// An algorithm that runs instead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The condition.
    pub when: When,
    /// The id of what runs then, which may fall back in its turn.
    pub runs: u32,
    /// The fan-out or radix that it gets; none for the one of the rule.
    pub faninout: Option<u32>,
}

/// When an algorithm gives way to another. Elements are those of the message in the caller's datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The number of ranks is odd.
    OddRanks,
    /// The number of ranks is no power of two.
    NotPowerOfTwo,
    /// There are fewer elements than ranks.
    FewerThanRanks,
    /// There are fewer elements than the largest power of two that is not larger than the number of ranks.
    FewerThanPowerOfTwo,
    /// There are fewer elements than one segment for every rank; always so without segments.
    FewerThanSegments,
    /// There are fewer than two elements, or half of them are less than a segment.
    TooSmallToSplit,
    /// The operation does not commute.
    NonCommutativeOperation,
}

/// What becomes of ranks that describe the same data by different counts and datatypes, which MPI allows: 5000 x int
/// on one side, 1 x 5000 int on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedTypes {
    /// Right results were seen.
    Safe,
    /// Wrong data or a hang with segments, right results without.
    FailSegmented,
    /// Wrong data or a hang.
    Fail,
    /// Not tested, or no datatypes to mix.
    Untested,
}

/// What an algorithm does with `MPI_IN_PLACE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// The same, or the collective has no such argument.
    Plain,
    /// Something else runs, whatever the algorithm.
    Instead(&'static str),
    /// The ignored count and datatype are handed on to an inner gather, whose rules must then not depend on sizes.
    PassedOn,
}

/// The parameters of a choice that an algorithm heeds; it ignores the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Fan-in and fan-out, or the radix.
    pub faninout: bool,
    /// Segment size.
    pub segsize: bool,
    /// Bound on outstanding requests.
    pub max_requests: bool,
}

/// The communicator sizes that an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankNeed {
    /// Any size, if only by running something else (see [`Fallback`]).
    Any,
    /// Two ranks; any other size is an error on every rank (`MPI_ERR_UNSUPPORTED_OPERATION`).
    ExactlyTwo,
}

/// What becomes of user-defined operations that do not commute. `coll/tuned` does not test for them when a rule or
/// a forced algorithm decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonCommutative {
    /// The collective has no operation.
    NotApplicable,
    /// Right results.
    Safe,
    /// It calls another collective of the communicator, and all depends on what that one runs.
    Depends,
    /// Wrong results, silently.
    Unsafe,
}

impl Algorithm {
    /// Whether it gives wrong results with operations that do not commute.
    pub fn reorders(&self) -> bool {
        self.noncommutative == NonCommutative::Unsafe
    }

    /// Whether it fails where ranks describe the same data by different datatypes, with segments of this size.
    pub fn wants_one_datatype(&self, segsize: u64) -> bool {
        match self.mixed_types {
            MixedTypes::Fail => true,
            MixedTypes::FailSegmented => segsize > 0,
            MixedTypes::Safe | MixedTypes::Untested => false,
        }
    }
}

impl RankNeed {
    /// Whether a call on a communicator of this size succeeds, if only by running something else.
    pub fn admits(self, ranks: Ranks) -> bool {
        match self {
            Self::ExactlyTwo => ranks.0 == 2,
            Self::Any => true,
        }
    }
}
