//! What a study of chosen algorithms found: times, comparisons and fits, as plain data.
//!
//! A study asks how algorithms compare, all of them, on a grid; tuning asks which one to use. Nothing is decided here.

use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::format::FormatVersion;
use crate::pattern_fit::PatternFit;
use crate::units::{Bytes, Ranks};

/// The version of `study.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// What a study found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The release whose algorithms were timed.
    pub release: Release,
    /// Launches that were timed.
    pub launches: usize,
    /// Confidence of every interval.
    pub level: f64,
    /// The bound on the share of wrong verdicts among those that tell two candidates apart.
    pub error_rate: f64,
    /// By collective, communicator size and message size.
    pub cells: Vec<StudyCell>,
    /// By collective and candidate.
    pub overall: Vec<Overall>,
    /// How times grow with the number of ranks; empty with fewer than three communicator sizes.
    pub growths: Vec<Growth>,
    /// How times grow with the message; empty with fewer than four message sizes.
    pub lines: Vec<LineFit>,
    /// Where times are highest, and where their curves bend; empty with fewer than three sizes of either kind. Since format 1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// What messages and operations take, by patterns; empty where none were timed. Since format 1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<PatternFit>,
    /// Where one of two candidates gives way to the other, where a reference algorithm is among those compared. Since
    /// format 1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rivalries: Vec<Rivalry>,
    /// The best of the builtin and the reference algorithms over ranges of sizes. Since format 1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassVerdict>,
}

/// A cell of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyCell {
    /// The cell.
    pub cell: Cell,
    /// The builtin first, then in the order of the plan.
    pub points: Vec<StudyPoint>,
    /// Candidates that failed, with the reason.
    pub disqualified: Vec<(Candidate, String)>,
    /// The seconds that no algorithm can undercut if a rank sends one message and receives one at a time, with the interval
    /// of the fit that they rest on. Since format 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Estimate>,
}

/// A candidate in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyPoint {
    /// The candidate.
    pub candidate: Candidate,
    /// The one that was timed for it, since both send the same messages; mostly itself.
    pub measured_as: Candidate,
    /// Seconds: the median of the launches' medians, with the interval that they give.
    pub time: Estimate,
    /// Builtin time over candidate time, from turns taken side by side, widened by what launches differ.
    pub gain: Option<Estimate>,
    /// Of the two-sided test, corrected for all comparisons of the study; missing where there are too few visits.
    pub q_value: Option<f64>,
    /// How it compares with the builtin.
    pub outcome: Standing,
}

/// How a candidate compares with the builtin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is the builtin.
    Reference,
    /// Shown to be faster.
    Faster,
    /// Shown to be slower.
    Slower,
    /// Cannot be told apart.
    Alike,
}

/// A candidate over all cells of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// The collective.
    pub collective: Collective,
    /// The candidate, never the builtin.
    pub candidate: Candidate,
    /// The geometric mean of its gains over the builtin, with the interval that launches give.
    pub gain: Estimate,
    /// How far its times lie from the builtin's: the factor of the root mean square of log gains over cells, at least 1.
    pub distance: Estimate,
}

/// The exponent `g` of `time = c ranks^g`, fitted to each launch, and the interval that launches give.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// The collective.
    pub collective: Collective,
    /// The message size.
    pub bytes: Bytes,
    /// The candidate.
    pub candidate: Candidate,
    /// The exponent.
    pub exponent: Estimate,
}

/// The line `time = latency + per_byte bytes`, fitted to each launch with errors taken relative to the time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineFit {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The candidate.
    pub candidate: Candidate,
    /// Seconds.
    pub latency: Estimate,
    /// Seconds.
    pub per_byte: Estimate,
    /// The root of the mean square of `ln(time / line)`: 0.1 where the line misses by about a tenth.
    pub misfit: f64,
}

/// The time of a candidate over the number of ranks, or over the message size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The collective.
    pub collective: Collective,
    /// The candidate.
    pub candidate: Candidate,
    /// Over what.
    pub along: Along,
    /// Where it is highest.
    pub peak: Peak,
    /// The parts in which the time is about a power of the number of ranks or of the size, in order.
    pub stretches: Vec<Stretch>,
}

/// What a curve runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// Numbers of ranks, with messages of this size.
    Ranks(Bytes),
    /// Message sizes, on so many ranks.
    Messages(Ranks),
}

/// Where a curve is highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// By the medians over launches.
    pub at: u64,
    /// The smallest and the largest place that single launches have it at.
    pub launches: (u64, u64),
    /// The time at the end of the curve over that at the peak, with the interval that launches give.
    pub end: Estimate,
}

/// A part of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its first place.
    pub first: u64,
    /// Its last.
    pub last: u64,
    /// The power that the time goes with, with the interval that launches give.
    pub exponent: Estimate,
    /// Of all but the first: the places between which single launches have it begin, and how many of how many have a bend
    /// there at all.
    pub begins: Option<Bend>,
}

/// Where one stretch gives way to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bend {
    /// The smallest and the largest place between which launches have it.
    pub between: (u64, u64),
    /// The launches that have it.
    pub found: usize,
    /// All launches.
    pub launches: usize,
}

/// Two candidates over message sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rivalry {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// One candidate.
    pub one: Candidate,
    /// The other.
    pub other: Candidate,
    /// The one that is faster at the smallest size at which they are told apart; none where they never are.
    pub first: Option<Candidate>,
    /// Where the faster one changes, from size to size at which they are told apart.
    pub crossings: Vec<Crossing>,
    /// The message bytes at which the fitted model has them cross; missing where it has them never do so, or one of them
    /// is no reference algorithm.
    pub predicted: Option<Bytes>,
}

/// A size at which one candidate gives way to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// The faster one below.
    pub below: Candidate,
    /// The faster one above.
    pub above: Candidate,
    /// The message bytes.
    pub at: Bytes,
    /// The sizes between which it may lie.
    pub interval: (Bytes, Bytes),
}

/// The best of the builtin and the reference algorithms by the geometric mean of times over a range of message sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassVerdict {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The smallest and the largest message of the range.
    pub sizes: (Bytes, Bytes),
    /// The best one, and those that cannot be told apart from it: the interval that launches give holds 1.
    pub best: Vec<Candidate>,
}
