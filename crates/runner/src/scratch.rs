//! Rules files that exist while a job runs.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::RunnerError;

/// A file that all ranks can read, whichever user they run as; removed when dropped. `about` is a part of its name.
pub(crate) fn file(directory: &Path, about: &str, text: &str) -> Result<NamedTempFile, RunnerError> {
    let write = || -> io::Result<NamedTempFile> {
        // Ranks have working directories of their own.
        let directory = std::path::absolute(directory)?;
        let prefix = format!(".collrules-{about}-");
        let mut file = tempfile::Builder::new().prefix(&prefix).suffix(".conf").tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        Ok(file)
    };
    write().map_err(|cause| RunnerError::Scratch { path: directory.to_owned(), cause })
}
