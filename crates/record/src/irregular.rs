//! Calls that now and then take many times as long, and what cures them: `irregular.json`.

use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::format::FormatVersion;
use crate::units::{Bytes, Ranks, Seconds};

/// The version of `irregular.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 2 };

/// What the distributions of calls show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Irregular {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The run, as the user named it.
    pub source: String,
    /// Whether a cost model gave the times.
    pub simulated: bool,
    /// What Open MPI calls itself.
    pub library: String,
    /// Its release.
    pub release: Release,
    /// The level of the intervals.
    pub level: f64,
    /// Every cell with every candidate that was timed.
    pub points: Vec<Calls>,
    /// What is not among them since only the first call of each launch was timed.
    #[serde(default)]
    pub only_first: Vec<(Cell, Candidate)>,
    /// Ranges of sizes in which calls stall, with what cures them.
    pub stalls: Vec<Stalls>,
    /// Sizes at which times leap.
    pub steps: Vec<Step>,
}

/// All calls of a candidate in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The cell.
    pub cell: Cell,
    /// How it was carried out.
    pub candidate: Candidate,
    /// How many calls were timed.
    pub calls: usize,
    /// What a call takes that does not stall.
    pub usual: Seconds,
    /// The median of all.
    pub median: Seconds,
    /// The mean of all.
    pub mean: Seconds,
    /// The time that one call in a hundred exceeds.
    pub p99: Seconds,
    /// The longest.
    pub longest: Seconds,
    /// Levels of stalls, in ascending order; none where none are shown.
    pub levels: Vec<Level>,
    /// The first timed call of each launch, which is not among the others; missing where launches began with calls that nobody
    /// timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
}

/// The first timed calls of launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// How many there are.
    pub calls: usize,
    /// Their median.
    pub median: Seconds,
    /// The longest.
    pub longest: Seconds,
}

/// Stalls of about the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// How much longer than usual such a call takes, in the median.
    pub more: Seconds,
    /// The share of calls with it.
    pub probability: Estimate,
    /// Whether its length is that of TCP's timeout for retransmission: 200 ms, or that doubled.
    pub is_timeout: bool,
}

/// A range of sizes in which a candidate stalls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// How it was carried out.
    pub candidate: Candidate,
    /// The largest size below the range that does not stall (M1); none where the smallest size stalls.
    pub quiet_below: Option<Bytes>,
    /// Into how many calls the largest of them has to be split so that none is longer than that.
    pub pieces: Option<u64>,
    /// The smallest size that stalls.
    pub first: Bytes,
    /// The largest size that stalls (M2).
    pub last: Bytes,
    /// What does the same without stalls and in less time on average, the best first.
    pub cures: Vec<Cure>,
}

/// What does the same without stalls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cure {
    /// Which.
    pub candidate: Candidate,
    /// The mean over the sizes of the range, before and after.
    pub mean: (Seconds, Seconds),
    /// The largest 99th percentile in the range, before and after.
    pub p99: (Seconds, Seconds),
}

/// A size at which the time leaps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// How it was carried out.
    pub candidate: Candidate,
    /// The largest size before the leap (S).
    pub below: Bytes,
    /// The smallest size after it.
    pub above: Bytes,
    /// What it takes more than the sizes before let expect.
    pub height: Seconds,
    /// The same over the time that they let expect.
    pub share: f64,
}
