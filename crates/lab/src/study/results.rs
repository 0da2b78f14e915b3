//! Results of a study of chosen algorithms: times, comparisons and fits, as plain data.
//!
//! A study compares all algorithms on a grid; tuning chooses one. Nothing is decided here.

use std::collections::BTreeMap;

use collrules_model::pattern_fit::PatternFit;
use collrules_record::{Bytes, Candidate, Cell, Estimate, FormatVersion, Ranks};
use collrules_rules::{Collective, Release};
use collrules_tuner::judging::LaunchLogs;
use serde::{Deserialize, Serialize};

/// The version of `study.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Results of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The release whose algorithms were timed.
    pub release: Release,
    /// True if a cost model gave the times.
    pub simulated: bool,
    /// Launches that were timed.
    pub launches: usize,
    /// Confidence of every interval.
    pub level: f64,
    /// Bound on the share of wrong cells among those with a faster candidate, and of wrong comparisons among those with a
    /// slower one.
    pub error_rate: f64,
    /// By collective, communicator size and message size.
    pub cells: Vec<StudyCell>,
    /// By collective and candidate.
    pub overall: Vec<Overall>,
    /// Peaks, steps and bends of the curves of times; empty with fewer than three sizes of either kind.
    pub curves: Vec<Curve>,
    /// Times of messages and operations, from patterns; empty if none were timed.
    pub patterns: Vec<PatternFit>,
    /// Crossovers between two candidates, if one of them is a reference algorithm.
    pub rivalries: Vec<Rivalry>,
    /// The best of the builtin and the reference algorithms over ranges of sizes.
    pub classes: Vec<ClassVerdict>,
}

/// A cell of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyCell {
    /// The cell.
    pub cell: Cell,
    /// True if it was added between the sizes that were asked for, and counts for no mean.
    pub added: bool,
    /// The builtin first, then in the order of the plan.
    pub points: Vec<StudyPoint>,
    /// Candidates that failed, with the reason.
    pub disqualified: Vec<(Candidate, String)>,
    /// The lower bound in seconds, if a rank sends one message and receives one at a time, with the interval of the fit
    /// that it uses.
    pub bound: Option<Estimate>,
}

/// A candidate in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyPoint {
    /// The candidate.
    pub candidate: Candidate,
    /// The candidate that was timed for it, since both send the same messages; usually itself.
    pub measured_as: Candidate,
    /// Seconds: the median of the launches' medians, with its interval.
    pub time: Estimate,
    /// Median seconds by launch.
    pub launches: BTreeMap<u32, f64>,
    /// Builtin time over candidate time, from visits with both side by side; the interval includes differences between
    /// launches.
    pub gain: Option<Estimate>,
    /// The q value of the test for being faster or, with a gain of at most 1, for being slower; missing with too few
    /// visits. Accepting `q <= r` limits to `r` the expected share of wrong cells among those with a faster candidate,
    /// and of wrong comparisons among those with a slower one.
    pub q_value: Option<f64>,
    /// Verdict of the comparison with the default.
    pub outcome: StudyVerdict,
}

/// A point with its cell.
pub(super) type Point<'a> = (Cell, &'a StudyPoint);

impl StudyPoint {
    /// The logarithm of its time over that of another, for each launch that has both.
    pub(super) fn logs_over(&self, other: &Self) -> LaunchLogs {
        let log = |(launch, seconds): (&u32, &f64)| Some((*launch, (seconds / other.launches.get(launch)?).ln()));
        self.launches.iter().filter_map(log).collect()
    }
}

/// Verdict of the comparison of a candidate with the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyVerdict {
    /// It is the builtin.
    Reference,
    /// Shown to be faster.
    Faster,
    /// Shown to be slower.
    Slower,
    /// No significant difference.
    Alike,
}

/// A candidate over all cells of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// The collective.
    pub collective: Collective,
    /// The candidate, never the builtin.
    pub candidate: Candidate,
    /// The geometric mean of its gains over the builtin, with an interval from differences between launches.
    pub gain: Estimate,
    /// Distance of its times from the default's: exp of the root mean square of log gains over cells, at least 1.
    pub distance: Estimate,
}

/// The time of a candidate over the number of ranks, or over the message size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The collective.
    pub collective: Collective,
    /// The candidate.
    pub candidate: Candidate,
    /// The variable that the curve runs over.
    pub along: CurveAxis,
    /// Highest point.
    pub peak: Peak,
    /// Steps, in order: factors between two neighbouring points that the trends of both sides do not explain, with
    /// intervals that hold for all places of the curve at once.
    pub steps: Vec<CurvePart>,
    /// The parts between bends, without the steps, in order: the exponents of the time.
    pub powers: Vec<CurvePart>,
}

/// A part of a curve with a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePart {
    /// Its first place.
    pub from: u64,
    /// Its last place.
    pub to: u64,
    /// A value of the part, with an interval from differences between launches.
    pub value: Estimate,
}

/// Variable that a curve runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveAxis {
    /// Numbers of ranks, with messages of this size.
    Ranks(Bytes),
    /// Message sizes, on this many ranks.
    Messages(Ranks),
}

/// Highest point of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Its place, by the medians over launches.
    pub at: u64,
    /// The time at the end of the curve over that at the peak, with an interval from differences between launches.
    pub end: Estimate,
}

/// Ratio of the time of calls of one variant of a study to that of the first variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostRatio {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The candidate, which was timed in both.
    pub candidate: Candidate,
    /// The message size; none for the geometric mean over all sizes that were timed in both.
    pub bytes: Option<Bytes>,
    /// The ratio of times, with an interval over pairs of launches. The intervals of all means of a study hold at once
    /// (Bonferroni), and so do those of all single sizes, which only the default has.
    pub ratio: Estimate,
}

impl Study {
    /// The cells that were asked for.
    pub fn grid(&self) -> impl Iterator<Item = &StudyCell> {
        self.cells.iter().filter(|cell| !cell.added)
    }

    /// The cells in which the default failed or gave wrong data, with the reason.
    pub fn failed_defaults(&self) -> Vec<(Cell, String)> {
        let failures = self.cells.iter().flat_map(|cell| cell.disqualified.iter().map(|failure| (cell.cell, failure)));
        let of_default = failures.filter(|(_, (candidate, _))| *candidate == Candidate::Builtin);
        of_default.map(|(cell, (_, why))| (cell, why.clone())).collect()
    }
}

impl CostRatio {
    /// Returns true if a difference is shown.
    pub fn is_shown(&self) -> bool {
        self.ratio.low.is_some_and(|low| low > 1.0) || self.ratio.high.is_some_and(|high| high < 1.0)
    }
}

/// Comparison of two candidates over message sizes.
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
    /// The one that is faster at the smallest size with a significant difference; none if there is no such size.
    pub first: Option<Candidate>,
    /// Sizes at which the faster one changes, among those with a significant difference.
    pub crossings: Vec<Crossing>,
    /// The message bytes at which the fitted model has them cross; missing if it never has them cross, or if one of
    /// them is no reference algorithm.
    pub predicted: Option<Bytes>,
}

impl Rivalry {
    /// Returns true if both are reference algorithms.
    pub fn is_of_references(&self) -> bool {
        [self.one, self.other].iter().all(|candidate| matches!(candidate, Candidate::Reference(_)))
    }
}

/// A size above which the other candidate is faster.
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
    /// The best one, and those that do not differ from it significantly: the interval of the ratio includes 1.
    pub best: Vec<Candidate>,
}
