//! The journal of launches: what the samples do not say, and a resumed campaign has to know.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounded::read_whole;
use super::error::{self, RunDirError};
use super::samples::{settle, whole_lines};
use crate::cell::Cell;
use crate::format::FormatVersion;
use crate::pattern::Pattern;

/// The format of the journal that this version writes.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// In the lines that begin and end a launch: how many bytes of samples there were.
const SAMPLES_BYTES: &str = "samples_bytes";

/// A line of the journal, in the order in which things happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The first line.
    Format(FormatVersion),
    /// A launch is about to start; its number is taken from now on.
    Begun {
        /// Its number, from 0, as in the samples.
        launch: u32,
        /// The planned launch that it carries out, or resumes.
        planned: u32,
        /// When, in UTC, as in RFC 3339.
        at: String,
    },
    /// A cell got all the samples in this launch that the schedule wants.
    Finished {
        /// The launch.
        launch: u32,
        /// The cell.
        cell: Cell,
    },
    /// The same of a pattern.
    FinishedPattern {
        /// The launch.
        launch: u32,
        /// The pattern.
        pattern: Pattern,
    },
    /// So much time was spent on measuring in this launch.
    Spent {
        /// The launch.
        launch: u32,
        /// Seconds since its first event.
        seconds: f64,
    },
    /// The launch is over.
    Ended {
        /// The launch.
        launch: u32,
        /// Whether the planned launch is done; otherwise another launch continues it.
        complete: bool,
        /// Why it ended, in a sentence.
        why: String,
    },
}

/// An entry, and the length of the samples file when it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JournalLine {
    pub(super) entry: Entry,
    /// In entries that begin or end a launch, from format 1.1 on.
    pub(super) samples_bytes: Option<u64>,
}

impl JournalLine {
    /// The launch that it begins.
    pub(super) fn begun(&self) -> Option<u32> {
        match self.entry {
            Entry::Begun { launch, .. } => Some(launch),
            _ => None,
        }
    }

    /// The launch that it is about.
    pub(super) fn launch(&self) -> Option<u32> {
        match self.entry {
            Entry::Format(_) => None,
            Entry::Begun { launch, .. }
            | Entry::Finished { launch, .. }
            | Entry::FinishedPattern { launch, .. }
            | Entry::Spent { launch, .. }
            | Entry::Ended { launch, .. } => Some(launch),
        }
    }

    fn read(line: &[u8]) -> serde_json::Result<Self> {
        let value: Value = serde_json::from_slice(line)?;
        let fields = value.as_object().and_then(|entry| entry.values().next());
        let samples_bytes = fields.and_then(|fields| fields.get(SAMPLES_BYTES)?.as_u64());
        Ok(Self { entry: serde_json::from_value(value)?, samples_bytes })
    }

    /// One line of JSON. An older version passes the length over.
    fn text(entry: &Entry, samples_bytes: u64) -> serde_json::Result<String> {
        let mut value = serde_json::to_value(entry)?;
        if let (Entry::Begun { .. } | Entry::Ended { .. }, Some(fields)) =
            (entry, value.as_object_mut().and_then(|entry| entry.values_mut().next()?.as_object_mut()))
        {
            fields.insert(SAMPLES_BYTES.to_owned(), samples_bytes.into());
        }
        serde_json::to_string(&value)
    }
}

/// What a journal says; nothing where there is none. An unfinished last line is left out.
pub(super) fn read(path: &Path) -> Result<Option<Vec<JournalLine>>, RunDirError> {
    match read_whole(path) {
        Ok(bytes) => lines(path, &bytes[..whole_lines(&bytes)]).map(Some),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(RunDirError::Read { path: path.to_owned(), cause: cause.to_string() }),
    }
}

fn lines(path: &Path, bytes: &[u8]) -> Result<Vec<JournalLine>, RunDirError> {
    let bad = |line: usize, cause: String| RunDirError::Damaged {
        path: path.to_owned(),
        cause: format!("line {line}: {cause}"),
    };
    let mut lines = Vec::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let line = JournalLine::read(line).map_err(|cause| bad(number + 1, cause.to_string()))?;
        match (number, &line.entry) {
            (0, Entry::Format(found)) => error::check_format(path, *found, FORMAT)?,
            (0, _) => return Err(bad(1, "it lacks the line with the format".to_owned())),
            _ => lines.push(line),
        }
    }
    Ok(lines)
}

/// Appends to a journal.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Journal {
    /// Opens a journal, or begins one. An unfinished last line is cut off.
    pub(super) fn open(path: PathBuf) -> Result<Self, RunDirError> {
        let failed = |cause: io::Error| RunDirError::Append { path: path.clone(), cause: cause.to_string() };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let length = whole_lines(&bytes);
        if length < bytes.len() {
            file.set_len(length as u64).map_err(failed)?;
        }
        let mut journal = Self { file, path, length: length as u64 };
        if length == 0 {
            journal.append(&Entry::Format(FORMAT), 0)?;
        }
        Ok(journal)
    }

    /// Adds a line, where the samples file has so many bytes.
    pub(super) fn append(&mut self, entry: &Entry, samples_bytes: u64) -> Result<(), RunDirError> {
        let added = JournalLine::text(entry, samples_bytes).map_err(io::Error::other).and_then(|line| {
            self.file.write_all((line.clone() + "\n").as_bytes())?;
            Ok(line.len() + 1)
        });
        settle(&self.file, &self.path, &mut self.length, added)
    }
}
