//! Rules files that exist while a job runs.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::RunnerError;

/// A file that all ranks can read, whichever user they run as; removed when dropped. `about` is a part of its name.
pub(crate) fn file(directory: &Path, about: &str, text: &str) -> Result<NamedTempFile, RunnerError> {
    let shared = |file: NamedTempFile| -> io::Result<NamedTempFile> {
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        Ok(file)
    };
    private(directory, about, text.as_bytes())
        .and_then(|file| shared(file).map_err(|cause| RunnerError::Scratch { path: directory.to_owned(), cause }))
}

/// A file that this user alone can read; removed when dropped. `about` is a part of its name.
pub(crate) fn private(directory: &Path, about: &str, text: &[u8]) -> Result<NamedTempFile, RunnerError> {
    let write = || -> io::Result<NamedTempFile> {
        // Ranks have working directories of their own.
        let directory = std::path::absolute(directory)?;
        let prefix = format!(".collrules-{about}-");
        let mut file = tempfile::Builder::new().prefix(&prefix).suffix(".conf").tempfile_in(directory)?;
        file.write_all(text)?;
        file.flush()?;
        Ok(file)
    };
    write().map_err(|cause| RunnerError::Scratch { path: directory.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_private_files_are_private() {
        let directory = tempfile::tempdir().expect("a directory");
        let mode = |file: NamedTempFile| file.as_file().metadata().expect("is there").permissions().mode() & 0o777;
        assert_eq!(mode(private(directory.path(), "parameters", b"\xff").expect("written")), 0o600);
        assert_eq!(mode(file(directory.path(), "rule", "0").expect("written")), 0o644);
    }
}
