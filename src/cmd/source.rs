//! What the commands on rules files share.

use std::path::Path;

use collrules_record::rundir;
use collrules_rules::Behaviour;
use collrules_rules::explain::{Answer, Group};
use collrules_rules::lines::plain;
use collrules_workflow::verify;
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::screen::wrapped;

/// Stands for standard input.
const STDIN: &str = "-";

/// A rules file, whatever it holds: standard input for `-`, and the rules of a run for its directory.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if !is_standard_input(path) {
        return Ok(verify::read(path)?);
    }
    verify::read_from(std::io::stdin().lock()).map_err(|cause| Failure::open(path, cause))
}

/// Whether a name stands for standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// What a file is called in messages: its path, without what a terminal would obey.
pub(super) fn shown(path: &Path) -> String {
    if is_standard_input(path) {
        return "standard input".to_owned();
    }
    plain(&rundir::within(path, rundir::RULES).display().to_string())
}

/// The versions that were asked for, or one for each way of reading files.
pub(super) fn versions(asked: &[Behaviour]) -> Vec<Behaviour> {
    if asked.is_empty() { Behaviour::distinct() } else { asked.to_vec() }
}

/// An answer for programs.
pub(super) fn pretty(value: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Lines of text, each behind its name.
pub(super) fn named(lines: &[(&'static str, String)]) -> String {
    let wrapped = lines.iter().flat_map(|(name, text)| wrapped(text, &format!("  {name:<11} "), &" ".repeat(14)));
    wrapped.map(|line| line + "\n").collect()
}

/// What a file holds, or why it is not in force, for programs.
pub(super) fn contents_json<T: Serialize>(group: &Group<Answer<T>>) -> Value {
    let releases: Vec<_> = group.versions.iter().map(Behaviour::name).collect();
    match &group.answer {
        Answer::Accepted(rows) => json!({ "releases": releases, "file": "accepted", "rules": rows }),
        Answer::Rejected { at, why } => json!({ "releases": releases, "file": "rejected", "at": at, "why": why }),
        Answer::Crashes { at, why } => json!({ "releases": releases, "file": "crashes", "at": at, "why": why }),
    }
}
