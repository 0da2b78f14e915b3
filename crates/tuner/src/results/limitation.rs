//! Reasons why a comparison is incomplete, or its numbers poor, as codes with their numbers. `report` has the words.

use collrules_record::{Nodes, Ranks, Seconds};
use serde::{Deserialize, Serialize};

/// Reason why a comparison with an earlier run is incomplete or impossible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum Limitation {
    /// The system of at least one of the runs is unknown.
    UnknownSystem,
    /// One run has times of calls, the other means.
    OtherStatistic,
    /// The runs come from these two sources of times.
    OtherBackend(String, String),
    /// The processors differ.
    OtherProcessor,
    /// The earlier run began after the later one.
    Swapped,
    /// The ranks of communicators of this size were spread over nodes differently.
    Moved(Ranks),
    /// The runs have no size in common.
    NothingInCommon,
    /// No run has several launches with samples.
    FewLaunches,
    /// The harness's barrier took this many times as long in the later run.
    Barrier(f64),
    /// Communicators of this size do not fit in the present number of slots.
    FewSlots(Ranks, Ranks),
    /// Communicators of this size were on these nodes then, and are on those now.
    OtherNodes(Ranks, Nodes, Nodes),
}

/// Reason to doubt the times of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum PoorData {
    /// The first and the third quartile of the barriers of launches.
    Barriers(Seconds, Seconds),
    /// Smaller differences cannot be seen for half of the sizes, as a share.
    Blurred(f64),
    /// So many of the sizes that had a rule have no clear result.
    Undecided(usize, usize),
    /// So many of the confirmed sizes gain less, in seconds, than barriers differ.
    BelowBarriers(usize, usize),
    /// So many of the sizes that nothing acts on differ between launches with and without the rules.
    Controls(usize, usize),
}

impl PoorData {
    /// Returns true if confirmed gains may be differences between launches.
    pub fn refutes(&self) -> bool {
        matches!(self, Self::BelowBarriers(..) | Self::Controls(..))
    }
}
