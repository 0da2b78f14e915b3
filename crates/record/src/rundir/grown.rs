//! Files that grow by whole lines, whenever the writer is interrupted.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use super::error::RunDirError;
use sha2::{Digest as _, Sha256};

/// A file of lines, open for appending.
#[derive(Debug)]
pub(super) struct LineFile {
    file: File,
    pub(super) path: PathBuf,
    /// The length that is known to be complete.
    pub(super) length: u64,
    /// The digest so far.
    pub(super) digest: Sha256,
}

impl LineFile {
    /// Opens a file, or begins one.
    pub(super) fn open(path: PathBuf) -> Result<Self, RunDirError> {
        let mut bytes = Vec::new();
        let opened = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let read = opened.and_then(|mut file| file.read_to_end(&mut bytes).map(|_| file));
        let file = read.map_err(|cause| RunDirError::Append { path: path.clone(), cause: cause.to_string() })?;
        Self::new(file, path, &bytes[..whole_lines(&bytes)])
    }

    /// Takes a file that is open for reading and appending, with its whole lines. An unfinished one after them, which must not
    /// run into the next one, is cut off.
    pub(super) fn new(file: File, path: PathBuf, lines: &[u8]) -> Result<Self, RunDirError> {
        let mut grown = Self { file, path, length: lines.len() as u64, digest: Sha256::new() };
        grown.digest.update(lines);
        let length = grown.file.metadata().map_err(|cause| grown.failed(&cause))?.len();
        if length > grown.length {
            grown.file.set_len(grown.length).map_err(|cause| grown.failed(&cause))?;
        }
        Ok(grown)
    }

    /// Adds lines, all at once, so that an interruption cuts at most the last one; waits until they are on the disk if
    /// `is_synced`. A full disk may have cut a line in half: it is cut off, or, if that fails, skipped by readers.
    pub(super) fn append(&mut self, lines: &str, is_synced: bool) -> Result<(), RunDirError> {
        let added = self.file.write_all(lines.as_bytes());
        added.and_then(|()| if is_synced { self.file.sync_data() } else { Ok(()) }).map_err(|cause| {
            let _ = self.file.set_len(self.length);
            self.failed(&cause)
        })?;
        self.length += lines.len() as u64;
        self.digest.update(lines.as_bytes());
        Ok(())
    }

    /// Waits until all lines are on the disk.
    pub(super) fn sync(&self) -> Result<(), RunDirError> {
        self.file.sync_data().map_err(|cause| self.failed(&cause))
    }

    /// Reads what this process appended through another handle.
    pub(super) fn catch_up(&mut self) -> Result<(), RunDirError> {
        let mut further = Vec::new();
        let found = self.file.seek(SeekFrom::Start(self.length)).and_then(|_| self.file.read_to_end(&mut further));
        found.map_err(|cause| self.failed(&cause))?;
        self.digest.update(&further);
        self.length += further.len() as u64;
        Ok(())
    }

    pub(super) fn failed(&self, cause: &io::Error) -> RunDirError {
        RunDirError::Append { path: self.path.clone(), cause: cause.to_string() }
    }
}

/// The length without an incomplete last line. No value holds a line break, so every line break ends a row.
pub(super) fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1)
}
