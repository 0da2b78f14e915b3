//! Reads files and directories into an importer.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::collect::Importer;
use crate::content::{STDIN, read_file};

/// An input that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {cause}", path.display())]
pub struct CannotRead {
    /// The file or directory.
    pub path: PathBuf,
    /// Error of the system.
    pub cause: io::Error,
}

/// Imports files and all files below directories, in the order of their names. Hidden files are skipped. In
/// directories, unreadable files are skipped and reported, as are files of unknown format, and links to files that were
/// already read. An input itself has to be readable.
pub fn add_all(importer: &mut Importer, inputs: &[PathBuf]) -> Result<(), CannotRead> {
    let mut walk = Walk { importer, seen: BTreeSet::new() };
    for input in inputs {
        let mut parts = vec![own_name(input)];
        let content = walk.content(input, &mut parts).map_err(|cause| CannotRead { path: input.clone(), cause })?;
        if let Some(bytes) = content {
            walk.file(input, &parts, &bytes);
        }
    }
    Ok(())
}

struct Walk<'a> {
    importer: &'a mut Importer,
    /// Device and inode numbers of the files and directories so far.
    seen: BTreeSet<(u64, u64)>,
}

impl Walk<'_> {
    /// The content of a file. Imports the files of a directory, and passes over files that were already read.
    fn content(&mut self, path: &Path, parts: &mut Vec<String>) -> io::Result<Option<Vec<u8>>> {
        if path == Path::new(STDIN) {
            return read_file(path).map(Some);
        }
        let metadata = fs::metadata(path)?;
        if !self.seen.insert((metadata.dev(), metadata.ino())) {
            self.pass_over(path, "it was already read under another name");
            return Ok(None);
        }
        if metadata.is_dir() {
            self.directory(path, parts)?;
            return Ok(None);
        }
        read_file(path).map(Some)
    }

    fn directory(&mut self, path: &Path, parts: &mut Vec<String>) -> io::Result<()> {
        let entries: io::Result<BTreeSet<PathBuf>> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect();
        for entry in entries? {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') {
                continue;
            }
            parts.push(name);
            match self.content(&entry, parts) {
                Ok(Some(bytes)) => self.file(&entry, parts, &bytes),
                Ok(None) => {}
                Err(cause) => self.pass_over(&entry, &format!("it cannot be read: {cause}")),
            }
            parts.pop();
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, parts: &[String], bytes: &[u8]) {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.importer.add(&path.display().to_string(), &parts, bytes);
    }

    fn pass_over(&mut self, path: &Path, why: &str) {
        self.importer.pass_over(&path.display().to_string(), why);
    }
}

/// Returns the name of an input, also if it was given as `.` or `..`.
fn own_name(input: &Path) -> String {
    let lossy = |name: &OsStr| name.to_string_lossy().into_owned();
    let name = input.file_name().map(lossy);
    name.or_else(|| fs::canonicalize(input).ok()?.file_name().map(lossy)).unwrap_or_default()
}
