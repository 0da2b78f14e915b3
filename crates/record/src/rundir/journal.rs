//! The journal of launches: what the samples do not say, and a resumed campaign has to know.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::error::{self, RunDirError};
use super::samples::whole_lines;
use crate::cell::Cell;
use crate::manifest::{FORMAT, FormatVersion};

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
        /// The planned launch that it carries out, or goes on with.
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
        /// Whether the planned launch is done; otherwise another launch goes on with it.
        complete: bool,
        /// Why it ended, in a sentence.
        why: String,
    },
}

/// Reads and appends to a journal.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Journal {
    /// Opens a journal, or begins one, and returns what it says. An unfinished last line is cut off.
    pub(super) fn open(path: PathBuf) -> Result<(Self, Vec<Entry>), RunDirError> {
        let failed = |cause: io::Error| RunDirError::Append { path: path.clone(), cause: cause.to_string() };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let length = whole_lines(&bytes);
        if length < bytes.len() {
            file.set_len(length as u64).map_err(failed)?;
            bytes.truncate(length);
        }
        let bad = |line: usize, cause: String| RunDirError::Damaged {
            path: path.clone(),
            cause: format!("line {line}: {cause}"),
        };
        let mut entries = Vec::new();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            let entry: Entry = serde_json::from_slice(line).map_err(|cause| bad(number + 1, cause.to_string()))?;
            match (number, &entry) {
                (0, Entry::Format(found)) => error::check_format(&path, *found, FORMAT)?,
                (0, _) => return Err(bad(1, "it lacks the line with the format".to_owned())),
                _ => entries.push(entry),
            }
        }
        let mut journal = Self { file, path, length: length as u64 };
        if length == 0 {
            journal.append(&Entry::Format(FORMAT))?;
        }
        Ok((journal, entries))
    }

    /// Adds a line.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<(), RunDirError> {
        let added = serde_json::to_string(entry).map_err(io::Error::other).and_then(|line| {
            self.file.write_all((line.clone() + "\n").as_bytes())?;
            Ok(line.len() as u64 + 1)
        });
        match added {
            Ok(added) => {
                self.length += added;
                Ok(())
            }
            Err(cause) => {
                // As for the samples: half a line must not run into the next one.
                let _ = self.file.set_len(self.length);
                Err(RunDirError::Append { path: self.path.clone(), cause: cause.to_string() })
            }
        }
    }
}
