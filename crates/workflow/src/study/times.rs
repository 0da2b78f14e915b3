//! Source of a study's times: a table of others, an earlier run, or jobs that are started now.

use std::path::{Path, PathBuf};

use collrules_record::rundir::RunDir;

use super::Studying;

/// Source of a study's times.
pub(super) enum Times {
    /// A table of timings, or an imported run.
    Table(PathBuf),
    /// Measurements of our own.
    Own(Measurements),
}

/// Measurements of a study.
pub(super) enum Measurements {
    /// Those of an earlier run, or of an earlier study in variants.
    Earlier(PathBuf),
    /// New ones.
    New,
}

impl Times {
    /// The source that the options name.
    pub(super) fn read(options: &Studying) -> Self {
        match &options.run {
            None => Self::Own(Measurements::New),
            Some(path) if is_table(path) => Self::Table(path.clone()),
            Some(path) => Self::Own(Measurements::Earlier(path.clone())),
        }
    }
}

/// Returns true if others measured what lies there.
fn is_table(path: &Path) -> bool {
    let is_imported = || RunDir::open(path).and_then(|run| run.is_imported());
    path.is_file() || path.is_dir() && is_imported().unwrap_or(false)
}
