//! What the commands on rules files share.

use std::path::Path;

use collrules_rules::Behaviour;
use collrules_rules::lines::plain;

pub(super) use collrules_workflow::verify::read;

/// What a file is called in messages: its path, without what a terminal would obey.
pub(super) fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// The versions that were asked for, or one for each way of reading files.
pub(super) fn versions(asked: &[Behaviour]) -> Vec<Behaviour> {
    if asked.is_empty() { Behaviour::distinct() } else { asked.to_vec() }
}
