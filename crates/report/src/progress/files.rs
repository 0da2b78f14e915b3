//! Problems in files.

use std::fmt::Display;
use std::path::Path;

use collrules_record::rundir;
use collrules_rules::lint::Problem;

/// Incomplete last line of a run's samples.
pub const INCOMPLETE_SAMPLES: &str = "left out the last line of the samples: it is incomplete";

/// Variables that only the shell script of a tuning can set.
pub fn only_in_environment(variables: &[&str]) -> String {
    format!("{} alone has {}: no parameter file can set it", rundir::ENVIRONMENT, variables.join(", "))
}

/// Parameter file that cannot be written, with the reason.
pub fn no_tune_file(why: &dyn Display) -> String {
    format!("{} is left out: {why}", rundir::TUNE)
}

/// Problem in a line of a rules file.
pub fn problem(file: &Path, line: usize, problem: &Problem) -> String {
    format!("{}:{line}: {}: {}", file.display(), problem.message, problem.explanation)
}
