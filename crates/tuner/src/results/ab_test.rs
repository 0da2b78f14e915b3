//! Results of runs of a program without and with a tuning, or the profiler, as plain data: `try.json`.

use std::collections::BTreeMap;

use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{Estimate, FormatVersion, Seconds};
use serde::{Deserialize, Serialize};

/// The version of `try.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Its name.
pub const FILE: &str = "try.json";

/// Runs of a program without and with a tuning, or the profiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AbTest {
    /// The format of this structure.
    pub format: FormatVersion,
    /// Subject of the comparison.
    pub subject: AbTestSubject,
    /// The MCA settings of the runs with it, by name; runs without it have none of them.
    pub settings: BTreeMap<String, String>,
    /// The words that start the program.
    pub command: Vec<String>,
    /// When the first run was started.
    pub started: String,
    /// Quantity that is compared.
    pub metric: RunMetric,
    /// Criteria for a difference.
    pub criteria: ValidationCriteria,
    /// All runs, in their order.
    pub runs: Vec<ProgramRun>,
    /// Conclusion from the runs.
    pub judgement: Judgement,
    /// The file whose content is compared; - for the program's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_output: Option<String>,
    /// Time in collectives on the mean rank without and with the tuning, in separate runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collectives: Option<[Seconds; 2]>,
}

/// Subject of a comparison: in force in one run of each pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbTestSubject {
    /// A tuning: the rules file or run, as the user named it.
    Tuning(String),
    /// Settings without a tuning.
    Settings,
    /// The profiler.
    Profiler,
}

/// Quantity of a run that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMetric {
    /// The time from the start of the launcher to its end.
    WallTime,
    /// A number that the program prints.
    Printed {
        /// The expression whose first group, or whole match, is the number; the last match counts.
        pattern: String,
        /// True if more is better.
        higher_is_better: bool,
    },
}

/// A run of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// Its pair, from 0 on.
    pub pair: u32,
    /// True if the tuning was active, or the profiler preloaded.
    pub with: bool,
    /// Duration of the run.
    pub took: Seconds,
    /// Value of the quantity that is compared; missing if the run failed.
    pub value: Option<f64>,
    /// Reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// The directory with its output, next to this file.
    pub output: String,
    /// The SHA-256 digest of what is compared byte by byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Comparison of the output of runs without and with the tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputComparison {
    /// All runs wrote the same.
    Same,
    /// Runs with it wrote something else than those without, and each side agrees within itself.
    Different,
    /// Runs of one side differ among themselves.
    Varying,
    /// A side has fewer than two runs.
    Unknown,
}

/// Conclusion from pairs of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Gain of the program with the tuning, as a factor: above 1 is better. Missing without a complete pair.
    pub gain: Option<Estimate>,
    /// The gain of each complete pair.
    pub pairs: Vec<(u32, f64)>,
    /// The probability of such a difference if there were none, adjusted for both directions and all looks.
    pub q_value: Option<f64>,
    /// What is shown: a difference that counts, or none.
    pub outcome: Outcome,
}

impl AbTest {
    /// The gain of each complete pair of runs: above 1 is better.
    pub fn list_gains(&self) -> Vec<(u32, f64)> {
        let mut values: BTreeMap<u32, [Option<f64>; 2]> = BTreeMap::new();
        for run in &self.runs {
            values.entry(run.pair).or_default()[usize::from(run.with)] = self.cost(run);
        }
        let gain = |(pair, [without, with]): (u32, [Option<f64>; 2])| Some((pair, without? / with?));
        values.into_iter().filter_map(gain).collect()
    }

    /// The value of a run, or its inverse if more is better; missing if the run failed.
    pub fn cost(&self, run: &ProgramRun) -> Option<f64> {
        let value = run.value.filter(|value| *value > 0.0)?;
        let is_inverse = matches!(self.metric, RunMetric::Printed { higher_is_better: true, .. });
        Some(if is_inverse { 1.0 / value } else { value })
    }

    /// Describes the subject of the comparison, in the singular.
    pub fn describe_subject(&self) -> &'static str {
        match self.subject {
            AbTestSubject::Tuning(_) => "the tuning",
            AbTestSubject::Settings if self.settings.len() == 1 => "the setting",
            AbTestSubject::Settings => "the set of settings",
            AbTestSubject::Profiler => "the profiler",
        }
    }

    /// Comparison of what the runs wrote; none if it was not requested.
    pub fn compare_written(&self) -> Option<OutputComparison> {
        self.same_output.as_ref()?;
        let side = |with: bool| -> Vec<&String> {
            self.runs.iter().filter(|run| run.with == with).filter_map(|run| run.digest.as_ref()).collect()
        };
        let (without, with) = (side(false), side(true));
        let agrees = |side: &[&String]| side.windows(2).all(|pair| pair[0] == pair[1]);
        Some(if !agrees(&without) || !agrees(&with) {
            OutputComparison::Varying
        } else if without.len() < 2 || with.len() < 2 {
            OutputComparison::Unknown
        } else if without[0] == with[0] {
            OutputComparison::Same
        } else {
            OutputComparison::Different
        })
    }

    /// Returns true if the program is shown to be slower.
    pub fn loses(&self) -> bool {
        self.judgement.outcome == Outcome::Slower
    }

    /// Runs that failed.
    pub fn failures(&self) -> impl Iterator<Item = &ProgramRun> {
        self.runs.iter().filter(|run| run.failed.is_some())
    }
}
