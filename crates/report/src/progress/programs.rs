//! A/B tests of programs.

use std::fmt::Display;

use collrules_tuner::results::ab_test::AbTest;

use crate::ab_test::describe_run;

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
    let [without, with] = [false, true].map(|with| describe_run(test, number, with));
    format!("pair {}: {without} without {}, {with} with it", number + 1, test.describe_subject())
}
