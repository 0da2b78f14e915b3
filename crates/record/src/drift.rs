//! Whether a machine behaves as it did when a run was measured, and whether the run's rules still hold: `drift.json`.

use collrules_rules::Version;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::comparison::Difference;
use crate::estimate::Estimate;
use crate::format::FormatVersion;
use crate::validation::{Outcome, Round};

/// The version of `drift.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The name of the file, beside the samples that it rests on.
pub const DRIFT: &str = "drift.json";

/// What anchor cells showed that were measured again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The run whose cells they are.
    pub run: String,
    /// When the run was begun.
    pub measured: String,
    /// When its cells were measured again.
    pub repeated: String,
    /// The Open MPI that was asked now.
    pub version: Version,
    /// What differs between then and now, beside times.
    pub differences: Vec<Difference>,
    /// What stood in the way of repeating more, in whole sentences.
    pub obstacles: Vec<String>,
    /// What counts as a change.
    pub criteria: Criteria,
    /// What was measured again: of each cell the builtin, and what the rules give.
    pub points: Vec<Point>,
    /// All points together that were measured in the same launches then; missing where these do not tell.
    pub together: Option<Shift>,
    /// What the rules give against the builtin of today. Its two sides are measured side by side.
    pub rules: Round,
}

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// Times that differ by no more than this count as the same, such as 0.1: days differ.
    pub min_change: f64,
    /// What rules may lose against the builtin, such as 0.03.
    pub min_difference: f64,
    /// The bound on the probability that anything at all is said to have changed where nothing has.
    pub error_rate: f64,
    /// Confidence of the intervals.
    pub level: f64,
}

/// A point that was measured again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The cell.
    pub cell: Cell,
    /// The candidate.
    pub candidate: Candidate,
    /// The geometric mean over launches of their medians then, in seconds.
    pub then: f64,
    /// The same now.
    pub now: f64,
    /// What became of it.
    pub shift: Shift,
}

/// By how much times changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// The time now over the time then: above 1 where it takes longer.
    pub ratio: Estimate,
    /// Probability of such a change, in either direction, if the true one were no more than what counts, adjusted for the
    /// number of tests; missing where launches are too few to tell.
    pub q_value: Option<f64>,
    /// The conclusion.
    pub change: Outcome,
}

impl Drift {
    /// Whether the machine is shown to behave otherwise.
    pub fn changed(&self) -> bool {
        let shifts = self.points.iter().map(|point| &point.shift).chain(&self.together);
        shifts.into_iter().any(|shift| shift.change != Outcome::Same)
    }

    /// Whether rules are shown to make something slower now, or to give what fails.
    pub fn loses(&self) -> bool {
        self.rules.cells.iter().any(|cell| cell.verdict == Outcome::Slower)
            || self.rules.failed.iter().any(|it| it.with)
    }

    /// The points that changed in this way.
    pub fn those(&self, change: Outcome) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.shift.change == change)
    }
}
