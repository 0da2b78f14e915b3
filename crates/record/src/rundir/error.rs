//! Errors of run directories.

use std::fs;
use std::path::{Path, PathBuf};

use super::{FINDINGS, MANIFEST};
use crate::file::FormatVersion;

/// Reason why a run directory cannot be created, read or written. Each message names the path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunDirError {
    /// It already holds files of collrules, which are never overwritten.
    #[error(
        "{} already holds {}; choose another --out",
        path.display(),
        if found.contains(&MANIFEST) { "a run".to_owned() } else { found.join(", ") }
    )]
    Occupied {
        /// The directory.
        path: PathBuf,
        /// The files found in it.
        found: Vec<&'static str>,
    },
    /// Something other than a directory has that name.
    #[error("{} is not a directory; choose another --out", path.display())]
    NotADirectory {
        /// Path of the directory to make.
        path: PathBuf,
    },
    /// The directory cannot be made, or nothing can be written in it.
    #[error("cannot write results to {}: {cause}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Message of the system.
        cause: String,
    },
    /// It holds no manifest.
    #[error("{}{found}", path.display())]
    NotARun {
        /// The path that was named.
        path: PathBuf,
        /// What is there instead.
        found: FoundPath,
    },
    /// It holds measurements, and no rules were made of them.
    #[error(
        "{} has no rules yet: `collrules analyze {0}` makes rules from what was measured, {resume} resumes the run",
        path.display()
    )]
    Undecided {
        /// The directory.
        path: PathBuf,
        /// The command that resumes the run.
        resume: String,
    },
    /// It holds imported timings, so nothing is known about the system.
    #[error("{} holds imported timings, which only `collrules analyze` can use", path.display())]
    Imported {
        /// The directory.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Message of the system.
        cause: String,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Message of the system.
        cause: String,
    },
    /// Samples cannot be added.
    #[error("cannot append to {}: {cause}; the samples written before are safe", path.display())]
    Append {
        /// The file.
        path: PathBuf,
        /// Message of the system.
        cause: String,
    },
    /// Another process writes to it.
    #[error("another collrules is measuring into {}; wait for it, or end it first", path.display())]
    Busy {
        /// The samples file.
        path: PathBuf,
    },
    /// Another process changes it.
    #[error("another collrules has been changing {} for a minute; wait for it, or end it first", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Journal, plans and samples were not written together.
    #[error(
        "the files of {} do not belong together, since {why}. Put back the file that was changed, or measure into a new \
         directory with --out",
        path.display()
    )]
    Unaccounted {
        /// The directory.
        path: PathBuf,
        /// Mismatch that was found, in a clause.
        why: String,
    },
    /// A file has unexpected content.
    #[error("{} is damaged, or was not written by collrules: {cause}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Error and its place.
        cause: String,
    },
    /// Another version of collrules wrote it, in a format that this one would misread.
    #[error(
        "{} has format {}.{}, and this collrules reads {known}.x; use the collrules that wrote it or another that \
         reads its format",
        path.display(), found.major, found.minor
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: FormatVersion,
        /// The major format that is read here.
        known: u32,
    },
}

/// What a path names that is no run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoundPath {
    /// Nothing.
    #[error(" does not exist")]
    Nothing,
    /// A file of this run.
    #[error(" is a file of the run {}: name the run", _0.display())]
    FileOf(PathBuf),
    /// A directory around this run and perhaps others.
    #[error(" is not a run directory, but holds runs, such as {}", _0.display())]
    Around(PathBuf),
    /// Something else.
    #[error(" is not a run directory: it holds no {MANIFEST}")]
    Other,
}

impl RunDirError {
    /// The error for a path that should be a run, with the run that was probably meant.
    pub fn not_a_run(path: PathBuf) -> Self {
        let is_run = |path: &Path| [MANIFEST, FINDINGS].iter().any(|name| path.join(name).is_file());
        let parent = path.parent().map(|parent| if parent == Path::new("") { Path::new(".") } else { parent });
        let inside = || {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|entry| is_run(entry)).min()
        };
        let found = match (path.is_dir(), path.exists()) {
            (_, false) => FoundPath::Nothing,
            (true, _) => inside().map_or(FoundPath::Other, FoundPath::Around),
            (false, _) => parent
                .filter(|parent| is_run(parent))
                .map_or(FoundPath::Other, |parent| FoundPath::FileOf(parent.to_owned())),
        };
        Self::NotARun { path, found }
    }
}

/// Majors must agree; a newer minor only adds fields that can be ignored.
pub(super) fn check_format(path: &Path, found: FormatVersion, known: FormatVersion) -> Result<(), RunDirError> {
    if found.major == known.major {
        Ok(())
    } else {
        Err(RunDirError::Format { path: path.to_owned(), found, known: known.major })
    }
}
