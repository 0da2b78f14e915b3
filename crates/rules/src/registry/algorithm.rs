//! Properties of an algorithm.

use crate::choice::Choice;
use crate::collective::Collective;
use crate::order::Order;
use crate::release::Release;
use crate::units::Ranks;

/// One algorithm of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The first release with this algorithm under this name.
    pub since: Release,
    /// The last such release; none if the newest known one has it.
    pub until: Option<Release>,
    /// Id in rules files and MCA parameters, from 1 on.
    pub id: u32,
    /// The string of Open MPI's MCA enumerator, exactly.
    pub name: &'static str,
    /// The parameters of a rule that it uses.
    pub uses: Uses,
    /// True if the fan-out is the radix of its tree: below 2 the call never ends.
    pub radix: bool,
    /// True if it accepts two ranks, and any other size is an error on every rank (`MPI_ERR_UNSUPPORTED_OPERATION`). Others
    /// accept any size, perhaps by falling back.
    pub only_two: bool,
    /// Algorithms that run instead of it, in the order of their conditions.
    pub fallbacks: &'static [Fallback],
    /// True if it gives wrong results, silently, with user-defined operations that do not commute. `coll/tuned` does not
    /// test for them if a rule or a forced algorithm decides.
    pub reorders: bool,
    /// The order in which it adds up, in chains of as many as the fan-out, if it uses that; none if it adds nothing up,
    /// if other collectives do so for it, or if the order is unknown.
    pub sums: Option<Order>,
    /// Result if ranks describe the same data with different counts and datatypes.
    pub mixed_types: MixedTypes,
    /// The algorithm that runs with `MPI_IN_PLACE` instead, whatever the choice.
    pub in_place: Option<&'static str>,
    /// The collectives of the same communicator that it calls, each with its own rules; gatherv and scatterv, which
    /// have no rules, are left out.
    pub calls: &'static [Collective],
}

/// An algorithm that runs instead of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// The condition.
    pub when: When,
    /// The id of the algorithm that runs, which may fall back in turn.
    pub runs: u32,
    /// Its fan-out or radix; none for that of the rule.
    pub faninout: Option<u32>,
}

/// Condition under which an algorithm falls back to another. Elements are counted in the caller's datatype.
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
    /// There are fewer elements than one segment for every rank; always true without segments.
    FewerThanSegments,
    /// There are fewer than two elements, or half of them are less than a segment.
    TooSmallToSplit,
    /// The operation does not commute.
    NonCommutativeOperation,
}

/// Result if ranks describe the same data with different counts and datatypes, which MPI allows: 5000 x int on one
/// side, 1 x 5000 int on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedTypes {
    /// No failure is known. Correct results were seen with allgather, alltoall, bcast and gather; others were not tested, or
    /// have no datatypes to mix.
    Safe,
    /// Wrong data or a hang with segments, correct results without.
    FailSegmented,
    /// Wrong data or a hang.
    Fail,
}

/// The parameters of a choice that an algorithm uses; it ignores the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Fan-in and fan-out, or the radix.
    pub faninout: bool,
    /// Segment size.
    pub segsize: bool,
    /// Bound on outstanding requests.
    pub max_requests: bool,
}

impl Uses {
    /// The choice with all parameters that are not used at 0.
    pub fn keep(self, choice: Choice) -> Choice {
        Choice {
            algorithm: choice.algorithm,
            faninout: if self.faninout { choice.faninout } else { 0 },
            segsize: if self.segsize { choice.segsize } else { 0 },
            max_requests: if self.max_requests { choice.max_requests } else { 0 },
        }
    }
}

impl Algorithm {
    /// Returns true if this release has the algorithm.
    pub fn is_in(&self, release: Release) -> bool {
        self.since <= release && self.until.is_none_or(|until| release <= until)
    }

    /// Returns true if a call on a communicator of this size succeeds, perhaps with another algorithm.
    pub fn admits(&self, ranks: Ranks) -> bool {
        !self.only_two || ranks.0 == 2
    }

    /// Returns true if, with segments of this size, it fails when ranks describe the same data with different
    /// datatypes.
    pub fn wants_one_datatype(&self, segsize: u64) -> bool {
        match self.mixed_types {
            MixedTypes::Fail => true,
            MixedTypes::FailSegmented => segsize > 0,
            MixedTypes::Safe => false,
        }
    }
}
