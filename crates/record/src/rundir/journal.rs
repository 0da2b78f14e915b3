//! The journal of launches: facts for a resumed campaign that samples do not contain.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::bounded::{read_if_there, read_whole};
use super::error::{self, RunDirError};
use super::grown::{LineFile, whole_lines};
use crate::cell::Cell;
use crate::file::{FormatVersion, digest_so_far};
use crate::pattern::Pattern;

/// The format of the journal that this version writes.
const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// The largest number of a planned launch that is accepted.
const MOST_PLANNED: u32 = 1 << 24;

/// A line of the journal, in the order of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalEntry {
    /// The first line, and one before each change of the plans.
    Format(FormatVersion),
    /// A launch is about to start; its number is in use from now on.
    Begun {
        /// Its number, from 0, as in the samples.
        launch: u32,
        /// The planned launch that it carries out, or resumes.
        planned: u32,
        /// Time of the installation, in UTC, as in RFC 3339.
        at: String,
    },
    /// A cell has all samples in this launch that the schedule requires.
    Finished {
        /// The launch.
        launch: u32,
        /// The cell.
        cell: Cell,
    },
    /// Like `Finished`, for a pattern.
    FinishedPattern {
        /// The launch.
        launch: u32,
        /// The pattern.
        pattern: Pattern,
    },
    /// Time spent on measuring in this launch so far.
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
        /// True if the planned launch is done; otherwise another launch continues it.
        complete: bool,
        /// Reason why it ended, in a sentence.
        why: String,
    },
}

/// State of the run's files when an entry was written: in the first entry, in those that begin or end a launch, and
/// before a change of the plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilesState {
    /// The length of the samples file.
    pub(super) samples_bytes: u64,
    /// The digest of this length of the samples file.
    pub(super) samples_sha256: String,
    /// The digest of manifest and refinements.
    pub(super) plans_sha256: String,
    /// The digest of the journal before the entry, which [`Journal::append`] knows.
    pub(super) journal_sha256: String,
}

/// Content of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JournalText {
    pub(super) lines: Vec<JournalLine>,
    /// The first line that was written after other ones than those before it.
    pub(super) altered: Option<usize>,
}

/// An entry, and the state of the files when it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JournalLine {
    pub(super) entry: JournalEntry,
    pub(super) mark: Option<FilesState>,
}

impl JournalLine {
    fn read(line: &[u8]) -> serde_json::Result<Self> {
        let value: Value = serde_json::from_slice(line)?;
        let fields = value.as_object().and_then(|entry| entry.values().next());
        let marked = fields.filter(|fields| fields.get("plans_sha256").is_some());
        let mark = marked.map(|fields| serde_json::from_value(fields.clone())).transpose()?;
        Ok(Self { entry: serde_json::from_value(value)?, mark })
    }

    /// One line of JSON.
    fn text(entry: &JournalEntry, mark: Option<&FilesState>) -> serde_json::Result<String> {
        let mut value = serde_json::to_value(entry)?;
        if let (Some(Value::Object(marks)), Some(fields)) = (
            mark.map(serde_json::to_value).transpose()?,
            value.as_object_mut().and_then(|entry| entry.values_mut().next()?.as_object_mut()),
        ) {
            fields.extend(marks);
        }
        serde_json::to_string(&value)
    }
}

/// Reads a journal; none if there is no file. An unfinished last line is left out.
pub(super) fn read(path: &Path) -> Result<Option<JournalText>, RunDirError> {
    let bytes = read_if_there(path, read_whole)?;
    bytes.map(|bytes| lines(path, &bytes[..whole_lines(&bytes)])).transpose()
}

fn lines(path: &Path, bytes: &[u8]) -> Result<JournalText, RunDirError> {
    let bad = |line: usize, cause: String| RunDirError::Damaged {
        path: path.to_owned(),
        cause: format!("line {line}: {cause}"),
    };
    let (mut lines, mut altered, mut before) = (Vec::new(), None, Sha256::new());
    for (number, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate().filter(|(_, line)| *line != b"\n") {
        let line = JournalLine::read(text.trim_ascii_end()).map_err(|cause| bad(number + 1, cause.to_string()))?;
        match (number, &line.entry) {
            (0, JournalEntry::Format(found)) => error::check_format(path, *found, FORMAT)?,
            (0, _) => return Err(bad(1, "it lacks the line with the format".to_owned())),
            (_, JournalEntry::Begun { planned, .. }) if *planned > MOST_PLANNED => {
                return Err(bad(number + 1, format!("there is no planned launch {planned}")));
            }
            _ => {}
        }
        if line.mark.as_ref().is_some_and(|mark| mark.journal_sha256 != digest_so_far(&before)) {
            altered.get_or_insert(number + 1);
        }
        before.update(text);
        lines.push(line);
    }
    Ok(JournalText { lines, altered })
}

/// Appends to a journal.
#[derive(Debug)]
pub(super) struct Journal(LineFile);

impl Journal {
    /// Opens a journal, or begins one. An unfinished last line is cut off.
    pub(super) fn open(path: PathBuf, mark: &FilesState) -> Result<Self, RunDirError> {
        let mut journal = Self(LineFile::open(path)?);
        if journal.0.length == 0 {
            journal.seal(mark)?;
        }
        Ok(journal)
    }

    /// Adds a line with the present or coming state of the files.
    pub(super) fn seal(&mut self, mark: &FilesState) -> Result<(), RunDirError> {
        self.append(&JournalEntry::Format(FORMAT), Some(mark))
    }

    /// Adds a line.
    pub(super) fn append(&mut self, entry: &JournalEntry, mark: Option<&FilesState>) -> Result<(), RunDirError> {
        self.0.catch_up()?;
        let mark = mark.map(|mark| FilesState { journal_sha256: digest_so_far(&self.0.digest), ..mark.clone() });
        let line = JournalLine::text(entry, mark.as_ref()).map_err(|cause| self.0.failed(&cause.into()))?;
        self.0.append(&(line + "\n"), mark.is_some())
    }
}
