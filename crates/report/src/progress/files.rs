//! Problems in files.

use std::fmt::Display;
use std::path::Path;

use collrules_record::rundir;
use collrules_rules::lint::Problem;
use collrules_rules::words::counted;

/// Incomplete last line of a run's samples.
pub const INCOMPLETE_SAMPLES: &str = "left out the last line of the samples: it is incomplete";

/// Incomplete last line of the samples of a run that is merged.
pub fn incomplete_samples_of(samples: &Path) -> String {
    format!("the last line of {} is incomplete and left out", samples.display())
}

/// Decisions of a run that a merge leaves behind: only its samples are merged.
pub fn not_merged(run: &Path, has_settings: bool, reverted: usize) -> Vec<String> {
    let run = run.display();
    let settings = has_settings.then(|| format!("the settings that {run} found are not part of the merged run"));
    let ranges = (reverted > 0).then(|| {
        format!(
            "rules that fresh launches did not confirm in {run} ({}) may come back: `collrules validate` compares them again",
            counted(reverted, "range")
        )
    });
    settings.into_iter().chain(ranges).collect()
}

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
