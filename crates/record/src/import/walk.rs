//! Files and directories to an importer.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::collect::Importer;
use super::format::Format;

/// An input that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {cause}", path.display())]
pub struct CannotRead {
    /// The file or directory.
    pub path: PathBuf,
    /// What the system says.
    pub cause: io::Error,
}

/// How deep directories may lie in each other, against links in a circle.
const DEEPEST: usize = 64;

/// Imports files and all files below directories, in the order of their names. Hidden files are skipped; in
/// directories, files of no known content are passed over and reported, as are tables that were derived from other
/// files beside them.
pub fn add_all(importer: &mut Importer, inputs: &[PathBuf]) -> Result<(), CannotRead> {
    for input in inputs {
        let own = own_name(input);
        if read(input, fs::metadata)?.is_dir() {
            directory(importer, input, &mut vec![own])?;
        } else {
            file(importer, input, &[own], &read(input, fs::read)?);
        }
    }
    Ok(())
}

/// What an input is called, also where it is named `.` or `..`.
fn own_name(input: &Path) -> String {
    let lossy = |name: &OsStr| name.to_string_lossy().into_owned();
    let name = input.file_name().map(lossy);
    name.or_else(|| fs::canonicalize(input).ok()?.file_name().map(lossy)).unwrap_or_default()
}

fn directory(importer: &mut Importer, path: &Path, parts: &mut Vec<String>) -> Result<(), CannotRead> {
    if parts.len() > DEEPEST {
        importer.pass_over(&path.display().to_string(), "directories lie too deep in each other");
        return Ok(());
    }
    let mut entries = BTreeSet::new();
    for entry in read(path, fs::read_dir)? {
        let entry = entry.map_err(|cause| CannotRead { path: path.to_owned(), cause })?;
        entries.insert(entry.path());
    }
    let mut derived = Vec::new();
    let mut raw = false;
    for entry in entries {
        let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with('.') {
            continue;
        }
        parts.push(name);
        if read(&entry, fs::metadata)?.is_dir() {
            directory(importer, &entry, parts)?;
        } else {
            let bytes = read(&entry, fs::read)?;
            match Importer::format(&bytes) {
                None => importer.pass_over(&entry.display().to_string(), "its content is of no known format"),
                Some(format @ (Format::Detail | Format::Best)) => derived.push((format, entry, parts.clone(), bytes)),
                Some(_) => {
                    raw = true;
                    file(importer, &entry, parts, &bytes);
                }
            }
        }
        parts.pop();
    }
    let detailed = derived.iter().any(|(format, ..)| *format == Format::Detail);
    for (format, entry, parts, bytes) in derived {
        let shown = entry.display().to_string();
        if raw {
            importer.pass_over(&shown, "it is derived from other files of this directory, which are imported");
        } else if format == Format::Best && detailed {
            importer.pass_over(&shown, "detail.out beside it has all that it has");
        } else {
            file(importer, &entry, &parts, &bytes);
        }
    }
    Ok(())
}

fn file(importer: &mut Importer, path: &Path, parts: &[String], bytes: &[u8]) {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    importer.add(&path.display().to_string(), &parts, bytes);
}

fn read<T>(path: &Path, how: impl Fn(PathBuf) -> io::Result<T>) -> Result<T, CannotRead> {
    how(path.to_owned()).map_err(|cause| CannotRead { path: path.to_owned(), cause })
}
