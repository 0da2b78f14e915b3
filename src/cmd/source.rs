//! What the commands on rules files share.

use std::path::{Path, PathBuf};

use collrules_record::rundir;
use collrules_rules::Behaviour;
use collrules_rules::lines::plain;

use crate::failure::Failure;

/// The rules file that is meant: that of a run, where its directory is named.
pub(super) fn file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(rundir::RULES) } else { path.to_owned() }
}

/// What a file is called in messages: its path, without what a terminal would obey.
pub(super) fn shown(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// A rules file, whatever it holds.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file(path)).map_err(|cause| Failure::Open { path: path.to_owned(), cause })
}

/// The versions that were asked for, or one for each way of reading files.
pub(super) fn versions(asked: &[Behaviour]) -> Vec<Behaviour> {
    if asked.is_empty() { Behaviour::distinct() } else { asked.to_vec() }
}
