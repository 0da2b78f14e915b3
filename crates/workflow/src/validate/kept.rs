//! Original of a repaired rules file: a copy next to it, numbered if there are other originals.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use collrules_record::rundir;

use crate::error::WorkflowError;

/// Suffix for the name of the file; a number follows from the second original on.
const SUFFIX: &str = ".before-repair";

/// Original of a file to repair.
pub(super) struct Original {
    /// Path of the file, with links resolved.
    pub(super) file: PathBuf,
    /// Path of the copy.
    pub(super) kept: PathBuf,
}

impl Original {
    /// Finds a name for the copy of the file: that of an identical copy, or else a free one. After an earlier repair in
    /// the same command, the original is the first copy.
    pub(super) fn new(file: &Path, kept: Option<&Path>) -> Result<Self, WorkflowError> {
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
                // A dangling link takes the name as well.
                Err(cause) if cause.kind() == ErrorKind::NotFound && kept.is_symlink() => number += 1,
                Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(open(&kept, cause)),
                _ => return Ok(Self { file, kept }),
            }
        }
    }

    /// Copies the file with its permission bits.
    pub(super) fn keep(&self) -> Result<(), WorkflowError> {
        if self.kept.exists() {
            return Ok(());
        }
        fs::copy(&self.file, &self.kept).map(drop).map_err(|cause| {
            // An incomplete copy would be taken for another original.
            let _ = fs::remove_file(&self.kept);
            WorkflowError::write(&self.kept, cause)
        })
    }

    /// Replaces the file's text.
    pub(super) fn replace(&self, text: &[u8]) -> Result<(), WorkflowError> {
        rundir::replace(&self.file, text).map_err(|cause| WorkflowError::write(&self.file, cause))
    }

    /// File name of the copy.
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
