//! Functions shared by the commands on rules files.

use std::path::{Path, PathBuf};

use collrules_record::{rundir, tuning};
use collrules_rules::Behaviour;
use collrules_rules::han::CONFUSED;
use collrules_rules::kind::FileKind;
use collrules_rules::lines::plain;
use collrules_workflow::WorkflowError;
use serde::Serialize;

use crate::screen::wrapped;

/// Name of standard input.
const STDIN: &str = "-";

/// A rules file of any format: standard input for `-`, and the rules of a run for its directory.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, WorkflowError> {
    if !is_standard_input(path) {
        return Ok(tuning::read_text_of(&rundir::rules_within(path)?)?);
    }
    tuning::read_from(std::io::stdin().lock()).map_err(|cause| WorkflowError::open(path, cause))
}

/// The rules files that a name stands for: those of coll/tuned and HAN for a run directory.
pub(super) fn files_of(path: &Path) -> Vec<PathBuf> {
    let han = path.join(rundir::HAN);
    if han.is_file() { vec![path.join(rundir::RULES), han] } else { vec![path.to_owned()] }
}

/// Returns true for the name of standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Returns the name of a file in messages: its path without control characters.
pub(super) fn printable_path(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    plain(&rundir::within(path, rundir::RULES).display().to_string())
}

/// The requested versions, or one for each behaviour of the component.
pub(super) fn versions(kind: FileKind, asked: &[Behaviour]) -> Vec<Behaviour> {
    if asked.is_empty() { kind.versions() } else { asked.to_vec() }
}

/// Refuses a file for HAN if one for coll/tuned is required.
pub(super) fn refuse_han(path: &Path, bytes: &[u8]) -> Result<(), WorkflowError> {
    if FileKind::of(bytes) == FileKind::Han {
        return Err(WorkflowError::not_in_force(path, vec![CONFUSED.to_owned()]));
    }
    Ok(())
}

/// A JSON answer, for programs.
pub(super) fn pretty(value: &impl Serialize) -> Result<String, WorkflowError> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Lines of text, each after its name.
pub(super) fn align_lines(lines: &[(&'static str, String)]) -> String {
    let wrapped = lines.iter().flat_map(|(name, text)| wrapped(text, &format!("  {name:<11} "), &" ".repeat(14)));
    wrapped.map(|line| line + "\n").collect()
}
