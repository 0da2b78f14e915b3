//! A/B tests of programs.

use std::fmt::Display;

use collrules_record::Seconds;
use collrules_tuner::results::ab_test::{AbTest, RunMetric};

/// Failure to find out whether a tuning is installed.
pub fn unknown_installation(error: &dyn Display) -> String {
    format!("whether a tuning is installed is unknown: {error}")
}

/// Tuning of a simulation.
pub const SIMULATED: &str = "the times behind this tuning are simulated: they say nothing about this machine";

/// Failure to read the values on the ranks.
pub const UNKNOWN_VALUES: &str =
    "whether ranks get the settings is unknown: `ompi_info` cannot run in place of the program";

/// Installed tuning that no run has.
pub const INSTALLED_TUNING: &str = "the installed tuning is switched off in all runs";

/// End of the budget before the last pair.
pub fn budget_used_up(complete: u32, pairs: u32) -> String {
    format!("the budget is used up after {complete} of {pairs} pairs")
}

/// Values of a pair of runs, which is numbered from 0 on.
pub fn pair(number: u32, test: &AbTest) -> String {
    let side = |with: bool| {
        let run = test.runs.iter().find(|run| run.pair == number && run.with == with);
        match run.map(|run| (run.value, &test.metric)) {
            Some((Some(value), RunMetric::WallTime)) => Seconds(value).to_string(),
            Some((Some(value), _)) => value.to_string(),
            _ => "failed".to_owned(),
        }
    };
    format!("pair {}: {} without {}, {} with it", number + 1, side(false), test.describe_subject(), side(true))
}
