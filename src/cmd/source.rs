//! What the commands on rules files share.

use std::path::Path;

use collrules_rules::Behaviour;
use collrules_rules::lines::plain;
use collrules_workflow::verify;

use crate::failure::Failure;

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
    plain(&verify::file(path).display().to_string())
}

/// The versions that were asked for, or one for each way of reading files.
pub(super) fn versions(asked: &[Behaviour]) -> Vec<Behaviour> {
    if asked.is_empty() { Behaviour::distinct() } else { asked.to_vec() }
}
