//! Comparison of a machine with its state when a run was measured, to tell if the run's rules still hold: `drift.json`.

use collrules_record::validation::{Outcome, Round};
use collrules_record::{Cell, Estimate, FormatVersion};
use collrules_rules::Version;
use serde::{Deserialize, Serialize};

use super::comparison::RunDifference;
use super::limitation::{Limitation, PoorData};

/// The version of `drift.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The name of the file, next to its samples.
pub const DRIFT: &str = "drift.json";

/// Result of timing anchor cells again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The run that is checked.
    pub run: String,
    /// When that run was begun.
    pub measured: String,
    /// When they were timed again.
    pub repeated: String,
    /// The present Open MPI.
    pub version: Version,
    /// Differences between then and now, other than times.
    pub differences: Vec<RunDifference>,
    /// Reasons why other cells could not be timed again.
    pub obstacles: Vec<Limitation>,
    /// Reasons to doubt the times of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts_then: Vec<PoorData>,
    /// Reasons to doubt the times of today.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts_now: Vec<PoorData>,
    /// Criteria for a change.
    pub criteria: DriftCriteria,
    /// The default's time in each cell.
    pub points: Vec<DriftPoint>,
    /// A test of all cells together that were timed in the same launches; missing if they allow none.
    pub together: Option<Shift>,
    /// Comparison of the tuning with today's default, in fresh launches side by side.
    pub tuning: Round,
    /// Reason why jobs with the tuning fail; missing if they don't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Criteria for a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftCriteria {
    /// Times that differ by no more than this count as the same, such as 0.1: days differ.
    pub min_change: f64,
    /// Differences between the tuning and the default that do not count, such as 0.03.
    pub min_difference: f64,
    /// Bound on the probability of any reported change if nothing changed.
    pub error_rate: f64,
    /// Confidence of the intervals.
    pub level: f64,
}

/// The default's time in a cell, then and now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftPoint {
    /// The cell.
    pub cell: Cell,
    /// The geometric mean over launches then, in seconds.
    pub then: f64,
    /// The geometric mean over launches now, in seconds.
    pub now: f64,
    /// Change of the time from then to now.
    pub shift: Shift,
}

/// Change of a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The time now over the time then: above 1 if it takes longer.
    pub ratio: Estimate,
    /// Probability of such a change, in either direction, if the true one did not exceed the criterion, adjusted for
    /// the number of tests; missing with too few launches.
    pub q_value: Option<f64>,
    /// The verdict.
    pub change: Outcome,
}

impl Drift {
    /// Returns true if times changed and no condition of either measurement explains it, so the machine is the likely
    /// reason.
    pub fn blames_machine(&self) -> bool {
        self.changed() && self.doubts_then.is_empty() && self.doubts_now.is_empty()
    }

    /// Returns true if some time is shown to have changed.
    pub fn changed(&self) -> bool {
        let mut shifts = self.points.iter().map(|point| &point.shift).chain(&self.together);
        shifts.any(|shift| matches!(shift.change, Outcome::Slower | Outcome::Faster))
    }

    /// Returns true if times are shown to be as they were: over all sizes together, or else each.
    pub fn is_unchanged(&self) -> bool {
        let is_same = |shift: &Shift| shift.change == Outcome::Same;
        let as_a_whole = self.together.as_ref().map(is_same);
        !self.changed() && as_a_whole.unwrap_or_else(|| self.points.iter().all(|point| is_same(&point.shift)))
    }

    /// Returns true if the tuning is shown to make calls slower now, or fails.
    pub fn loses(&self) -> bool {
        self.failed.is_some()
            || self.tuning.cells.iter().any(|cell| cell.verdict == Outcome::Slower)
            || self.tuning.failed.iter().any(|it| it.with)
    }

    /// The points that changed in this way.
    pub fn points_with(&self, change: Outcome) -> impl Iterator<Item = &DriftPoint> {
        self.points.iter().filter(move |point| point.shift.change == change)
    }
}
