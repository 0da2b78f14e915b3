//! What a rules file was before it was repaired: kept beside it, under a number where other originals are kept already.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use collrules_record::rundir;

use crate::error::WorkflowError;

/// What is added to the name of the file; a number follows from the second original on.
const SUFFIX: &str = ".before-repair";

/// A file that is about to be repaired.
pub(super) struct Original {
    /// Where its content is: what a link leads to.
    pub(super) file: PathBuf,
    /// What it is kept as.
    pub(super) kept: PathBuf,
}

impl Original {
    /// Finds a name for what the file is now: that under which the same content is kept already, or else a free one. What
    /// an earlier repair of the session made of it is no original: then it is the one that was kept.
    pub(super) fn of(file: &Path, kept: Option<&Path>) -> Result<Self, WorkflowError> {
        let open = |path: &Path, cause| WorkflowError::open(path, cause);
        let file = fs::canonicalize(file).map_err(|cause| open(file, cause))?;
        if let Some(kept) = kept {
            return Ok(Self { file, kept: kept.to_owned() });
        }
        let content = fs::read(&file).map_err(|cause| open(&file, cause))?;
        let mut number = 1_u32;
        loop {
            let kept = numbered(&file, number);
            match fs::read(&kept) {
                Ok(other) if other != content => number += 1,
                // A link that leads nowhere is somebody's as well.
                Err(cause) if cause.kind() == ErrorKind::NotFound && kept.is_symlink() => number += 1,
                Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(open(&kept, cause)),
                _ => return Ok(Self { file, kept }),
            }
        }
    }

    /// Keeps it, with its permission bits.
    pub(super) fn keep(&self) -> Result<(), WorkflowError> {
        if self.kept.exists() {
            return Ok(());
        }
        fs::copy(&self.file, &self.kept).map(drop).map_err(|cause| {
            // Half a copy would pass for another original.
            let _ = fs::remove_file(&self.kept);
            WorkflowError::write(&self.kept, cause)
        })
    }

    /// Puts a text in its place.
    pub(super) fn replace(&self, text: &str) -> Result<(), WorkflowError> {
        rundir::replace(&self.file, text).map_err(|cause| WorkflowError::write(&self.file, cause))
    }

    /// The name of what is kept.
    pub(super) fn name(&self) -> String {
        self.kept.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn numbered(file: &Path, number: u32) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(SUFFIX);
    if number > 1 {
        name.push(format!("-{number}"));
    }
    file.with_file_name(name)
}
