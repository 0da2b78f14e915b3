//! Log of a measuring campaign, held by one process at a time.

use super::bounded::{read_if_there, read_text};
use super::error::RunDirError;
use super::grown::LineFile;
use super::journal::{self, Journal, JournalEntry};
use super::lines::line_of;
use super::samples;
use super::{CLOCK, LAUNCHES, RunDir, SamplesText};
use crate::clock::{ClockFact, ClockLine};
use crate::file::digest_so_far;
use crate::sample::Row;

/// The samples and the journal of a run directory, open for appending. No other process can open them meanwhile; the
/// system releases them when this one ends, however it ends.
#[derive(Debug)]
pub struct RunLog {
    pub(super) samples: LineFile,
    /// True if the file system has locks that keep other processes out.
    pub(super) is_locked: bool,
    pub(super) journal: Journal,
    pub(super) run: RunDir,
}

impl RunLog {
    /// Reads the entries of the journal so far, and the rows of the samples.
    pub fn past(&self) -> Result<(Vec<JournalEntry>, Vec<Row>), RunDirError> {
        let lines = journal::read(&self.run.file(LAUNCHES))?.map(|journal| journal.lines).unwrap_or_default();
        Ok((lines.into_iter().map(|line| line.entry).collect(), self.samples()?.rows(&self.samples.path)?))
    }

    /// Reads the samples. They were checked when the log was opened, and nobody else writes them.
    pub fn samples(&self) -> Result<SamplesText, RunDirError> {
        SamplesText::read(&self.samples.path)
    }

    /// Returns true if there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.samples.length == samples::head().len() as u64
    }

    /// Adds a fact about the clock of a launch.
    pub fn note_clock(&self, launch: u32, fact: &ClockFact) -> Result<(), RunDirError> {
        let path = self.run.file(CLOCK);
        let line = ClockLine { launch, fact: fact.clone() };
        let text = serde_json::to_string(&line)
            .map_err(|cause| RunDirError::Append { path: path.clone(), cause: cause.to_string() })?;
        LineFile::open(path)?.append(&format!("{text}\n"), false)
    }

    /// Adds rows to the samples, all at once.
    pub fn append(&mut self, rows: &[Row]) -> Result<(), RunDirError> {
        self.samples.append(&rows.iter().map(line_of).collect::<String>(), false)
    }

    /// Adds a line to the journal. One that counts the rows of the samples, at both ends of a launch, is on the disk with
    /// them: a machine that loses its power costs no launch that has ended.
    pub fn note(&mut self, entry: &JournalEntry) -> Result<(), RunDirError> {
        let is_mark = matches!(entry, JournalEntry::Begun { .. } | JournalEntry::Ended { .. });
        if is_mark {
            self.samples.sync()?;
        }
        let state = || self.run.mark(self.samples.length, digest_so_far(&self.samples.digest), None);
        let mark = is_mark.then(state).transpose()?;
        self.journal.append(entry, mark.as_ref())
    }

    /// Returns true if the file system has locks that keep other processes out.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }
}

impl RunDir {
    /// Reads the facts about clocks and harness, launch by launch; none if the file is missing, as in simulated runs.
    /// Unreadable lines are skipped: unfinished ones, or those of a newer version.
    pub fn clock(&self) -> Result<Vec<ClockLine>, RunDirError> {
        let text = read_if_there(&self.file(CLOCK), read_text)?.unwrap_or_default();
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}
