//! What runs of a program without and with a tuning, or the profiler, showed, as plain data: `try.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::format::FormatVersion;
use crate::units::Seconds;
use crate::validation::{Criteria, Outcome};

/// The version of `try.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Its name.
pub const FILE: &str = "try.json";

/// Runs of a program without and with a tuning, or the profiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The rules file or run, as the user named it; missing where the profiler was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The MCA settings of the runs with it, by name; those without it had none of them.
    pub settings: BTreeMap<String, String>,
    /// The words that start the program.
    pub command: Vec<String>,
    /// When the first run was started.
    pub started: String,
    /// What is compared.
    pub metric: Metric,
    /// What a difference has to show to count.
    pub criteria: Criteria,
    /// All runs, in their order.
    pub runs: Vec<ProgramRun>,
    /// What came of it.
    pub judgement: Judgement,
    /// Time in collectives on the mean rank without and with the tuning, in runs of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<[Seconds; 2]>,
}

/// What of a run is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The time from the start of the launcher to its end.
    WallTime,
    /// A number that the program prints.
    Printed {
        /// The expression whose first group, or whole match, is the number; the last match counts.
        pattern: String,
        /// Whether more is better.
        higher_is_better: bool,
    },
}

/// A run of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// Its pair, from 0 on.
    pub pair: u32,
    /// Whether the tuning was in force, or the profiler there.
    pub with: bool,
    /// How long it took.
    pub took: Seconds,
    /// What is compared; missing where the run failed.
    pub value: Option<f64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The directory with its output, beside this file.
    pub output: String,
}

/// What pairs of runs come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// How many times as good the program is with the tuning; missing without a whole pair.
    pub gain: Option<Estimate>,
    /// The gain of each whole pair.
    pub pairs: Vec<(u32, f64)>,
    /// The probability of such a difference if there were none, adjusted for both directions and all looks.
    pub q_value: Option<f64>,
    /// Faster or slower where that is shown, else the same.
    pub outcome: Outcome,
    /// Whether further pairs would hardly change that.
    pub clear: bool,
    /// How many more pairs would be needed to be clear, were they to differ as much as those before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further: Option<u32>,
}

impl Tried {
    /// What was tried, in words.
    pub fn subject(&self) -> &'static str {
        if self.rules.is_some() { "the tuning" } else { "the profiler" }
    }

    /// Whether the program is shown to be slower.
    pub fn loses(&self) -> bool {
        self.judgement.outcome == Outcome::Slower
    }

    /// Runs that failed.
    pub fn failures(&self) -> impl Iterator<Item = &ProgramRun> {
        self.runs.iter().filter(|run| run.failed.is_some())
    }
}
