//! Rare calls that take many times as long as usual, and their cures: `irregular.json`.

use collrules_record::{Bytes, Candidate, Cell, Estimate, FormatVersion, Ranks, Seconds};
use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

/// Calls that stall, with their distributions.
pub const FILE: &str = "irregular.json";
/// Stalls as text.
pub const TEXT: &str = "irregular.md";
/// Stalls as a page.
pub const PAGE: &str = "irregular.html";
/// Gathers and scatters in pieces for programs in C, with the sizes that were found.
pub const HEADER: &str = "hmpi.h";

/// The version of `irregular.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Stalls and jumps in the distributions of calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Irregular {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The run, as the user named it.
    pub source: String,
    /// True if the times come from a cost model.
    pub simulated: bool,
    /// Open MPI's version string.
    pub library: String,
    /// Its release.
    pub release: Release,
    /// True if all ranks were on one host: no call used a network, and none is a control without one.
    #[serde(default)]
    pub one_host: bool,
    /// The level of the intervals.
    pub level: f64,
    /// All timed candidates of all cells.
    pub points: Vec<CallTimes>,
    /// Cells and candidates left out of `points`, since only the first call of each launch was timed.
    #[serde(default)]
    pub only_first: Vec<(Cell, Candidate)>,
    /// Cells in which the default failed or gave wrong data, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_failed: Vec<(Cell, String)>,
    /// Ranges of sizes in which calls stall, with their cures.
    pub stalls: Vec<Stalls>,
    /// Sizes at which times jump.
    pub steps: Vec<Jump>,
}

/// All calls of a candidate in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallTimes {
    /// The cell.
    pub cell: Cell,
    /// Candidate that carried out the calls.
    pub candidate: Candidate,
    /// Number of timed calls.
    pub calls: usize,
    /// Time of a call that does not stall.
    pub usual: Seconds,
    /// The median of all.
    pub median: Seconds,
    /// The mean of all.
    pub mean: Seconds,
    /// The time that one call in a hundred exceeds.
    pub p99: Seconds,
    /// The longest.
    pub longest: Seconds,
    /// Levels of stalls, in ascending order; empty if none are shown.
    pub levels: Vec<StallLevel>,
    /// The first timed call of each launch, counted apart; missing if launches began with untimed calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
}

/// The first timed calls of launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// Number of first calls.
    pub calls: usize,
    /// Their median.
    pub median: Seconds,
    /// The longest.
    pub longest: Seconds,
}

/// Stalls of about the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StallLevel {
    /// Additional time of such a call over the usual one: the median.
    pub more: Seconds,
    /// The share of calls with it.
    pub probability: Estimate,
    /// True if its length is that of TCP's timeouts for retransmission: 200 ms, that doubled, or a sum of these. False for
    /// calls inside one host.
    pub is_timeout: bool,
    /// True if calls take as long as often inside one host, or without such calls: other calls of these launches that
    /// take at least half as long. Missing if there were none of either. Algorithms of a collective share the answer for
    /// levels of about the same length: one cause delays all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_control: Option<bool>,
}

impl StallLevel {
    /// Returns true if the calls themselves cause it, in the network between hosts: it is a timeout, or its controls do
    /// not show it. Only these levels define ranges and cures; others may be delays by the operating system.
    pub fn is_network(&self) -> bool {
        self.is_timeout || self.in_control == Some(false)
    }
}

impl CallTimes {
    /// Returns true if calls stall because of the network.
    pub fn stalls(&self) -> bool {
        self.levels.iter().any(StallLevel::is_network)
    }
}

/// A range of sizes in which a candidate stalls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// Candidate that carried out the calls.
    pub candidate: Candidate,
    /// The largest size below the range that does not stall (M1); none if the smallest size stalls.
    pub quiet_below: Option<Bytes>,
    /// The number of calls into which the largest size has to be split to stay at M1 or below.
    pub pieces: Option<u64>,
    /// The smallest size that stalls.
    pub first: Bytes,
    /// The largest size that stalls (M2).
    pub last: Bytes,
    /// Alternatives without stalls that take less time on average, the best first.
    pub cures: Vec<StallCure>,
}

/// Alternative that does the same without stalls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StallCure {
    /// The algorithm.
    pub candidate: Candidate,
    /// The longest message of a call, if messages are split into as many calls as that requires; `candidate` is then
    /// the one for the largest message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<Bytes>,
    /// The mean over the sizes of the range, before and after.
    pub mean: (Seconds, Seconds),
    /// The largest 99th percentile in the range, before and after.
    pub p99: (Seconds, Seconds),
}

/// A size at which the time jumps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Jump {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// Candidate that carried out the calls.
    pub candidate: Candidate,
    /// The largest size before the jump (S).
    pub below: Bytes,
    /// The smallest size after it.
    pub above: Bytes,
    /// Additional time, compared with the trend of the smaller sizes.
    pub height: Seconds,
    /// `height` as a share of the time that the trend predicts.
    pub share: f64,
    /// The largest size up to which calls of at most `below` bytes take less on average, at all timed sizes; missing if
    /// they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cured: Option<Cured>,
}

/// Sizes at which calls in pieces take less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cured {
    /// The largest mean of a rank.
    pub last: Bytes,
    /// The mean over these sizes, before and after.
    pub mean: (Seconds, Seconds),
}
