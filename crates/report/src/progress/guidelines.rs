//! Checks of performance guidelines.

use std::path::Path;

/// Second half of a check, with an active rules file.
pub fn under_rules(rules: &Path) -> String {
    format!("measuring the same mock-ups once more, with {} active", rules.display())
}

/// Interrupted check, with the command that resumes it.
pub fn incomplete(complete: u32, planned: u32, run: &str) -> String {
    format!(
        "only {complete} of {planned} launches are complete; `collrules lab guidelines --resume {run}` measures the others"
    )
}
