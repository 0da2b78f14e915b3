//! Reads files and directories into an importer.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::collect::Importer;
use crate::content::{STDIN, read_file};
use crate::formats::ImportFormat;

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
/// directories, unreadable files are skipped and reported, as are files of unknown format, tables derived from other
/// files next to them, and links to files that were already read. An input itself has to be readable.
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

/// Tables that ompi-collectives-tuning derives from other files, the second from the first.
const DERIVED: [ImportFormat; 2] = [ImportFormat::Detail, ImportFormat::Best];

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
        // How often the best of the imported files was derived; others need not be imported.
        let (mut derived, mut known) = (Vec::new(), usize::MAX);
        for entry in entries? {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') {
                continue;
            }
            parts.push(name);
            match self.content(&entry, parts) {
                Ok(None) => {}
                Ok(Some(bytes)) => match Importer::format(&bytes) {
                    None => self.pass_over(&entry, "its content is of no known format"),
                    Some(format) => match DERIVED.iter().position(|derived| *derived == format) {
                        Some(place) => derived.push((place + 1, entry, parts.clone(), bytes)),
                        None if self.file(&entry, parts, &bytes) => known = 0,
                        None => {}
                    },
                },
                Err(cause) => self.pass_over(&entry, &format!("it cannot be read: {cause}")),
            }
            parts.pop();
        }
        derived.sort_by_key(|(rank, ..)| *rank);
        for (rank, entry, parts, bytes) in derived {
            if known < rank {
                self.pass_over(&entry, "it is derived from other files of this directory, which are imported");
            } else if self.file(&entry, &parts, &bytes) {
                known = rank;
            }
        }
        Ok(())
    }

    /// Imports a file; returns true if its timings are imported.
    fn file(&mut self, path: &Path, parts: &[String], bytes: &[u8]) -> bool {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.importer.add(&path.display().to_string(), &parts, bytes)
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

#[cfg(test)]
mod tests {
    use collrules_rules::Release;

    use super::*;
    use crate::options::Options;

    #[test]
    fn files_without_timings_do_not_replace_a_table_of_their_directory() {
        let root = tempfile::tempdir().expect("a directory");
        let scatter = root.path().join("scatter");
        fs::create_dir(&scatter).expect("a directory");
        let write = |name: &str, text: &str| fs::write(scatter.join(name), text).expect("writes");
        write("best.out", "#Nranks Message_size Best_Algorithm Best_Latency\n16 8 1 2.5\n");
        write("detail.out", "#Nnodes Message_size 0 1\n16 8 No data No data\n");
        write("faulty.csv", "collective,algorithm_id,avg_latency_us\nscatter,1,2.5\n");
        let mut importer = Importer::new(Options::new(Release::V5_0));
        add_all(&mut importer, &[root.path().to_owned()]).expect("reads");
        assert_eq!(importer.finish().expect("timings").timings.len(), 1);
    }
}
