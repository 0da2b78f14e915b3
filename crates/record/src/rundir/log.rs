//! What a campaign writes while it measures, held by one process at a time.

use std::fs::OpenOptions;
use std::io::{self, Write};

use super::bounded::read_text;
use super::error::RunDirError;
use super::journal::{self, Entry, Journal};
use super::{CLOCK, LAUNCHES, RunDir, SampleWriter};
use crate::clock::{ClockFact, ClockLine};
use crate::sample::Row;

/// The samples and the journal of a run directory, open for appending. No other process can open them meanwhile; the
/// system gives them free when this one is gone, however it ended.
#[derive(Debug)]
pub struct RunLog {
    samples: SampleWriter,
    journal: Journal,
    run: RunDir,
    past_samples: usize,
}

impl RunLog {
    /// Opens what was seen to belong together.
    pub(super) fn open(run: &RunDir, past_samples: usize) -> Result<Self, RunDirError> {
        // The samples first: they carry the lock.
        let samples = run.appender()?;
        let journal = Journal::open(run.file(LAUNCHES))?;
        run.sweep();
        Ok(Self { samples, journal, run: run.clone(), past_samples })
    }

    /// What the journal says so far, and the rows there are.
    pub fn past(&self) -> Result<(Vec<Entry>, Vec<Row>), RunDirError> {
        let lines = journal::read(&self.run.file(LAUNCHES))?.unwrap_or_default();
        Ok((lines.into_iter().map(|line| line.entry).collect(), self.run.samples()?.rows(&self.samples.path)?))
    }

    /// How many rows there were when the log was opened.
    pub fn past_samples(&self) -> usize {
        self.past_samples
    }

    /// Adds what is known about the clock of a launch.
    pub fn note_clock(&self, launch: u32, fact: &ClockFact) -> Result<(), RunDirError> {
        let path = self.run.file(CLOCK);
        let line = ClockLine { launch, fact: fact.clone() };
        let written = serde_json::to_string(&line).map_err(io::Error::from).and_then(|text| {
            let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
            // In one call, so that an interruption leaves no more than the last line unfinished.
            file.write_all(format!("{text}\n").as_bytes())
        });
        written.map_err(|cause| RunDirError::Append { path, cause: cause.to_string() })
    }

    /// Adds rows to the samples, all at once.
    pub fn append(&mut self, rows: &[Row]) -> Result<(), RunDirError> {
        self.samples.append(rows)
    }

    /// Adds a line to the journal.
    pub fn note(&mut self, entry: &Entry) -> Result<(), RunDirError> {
        self.journal.append(entry, self.samples.length)
    }

    /// Whether the file system keeps other processes out; some cannot.
    pub fn is_locked(&self) -> bool {
        self.samples.locked
    }
}

impl RunDir {
    /// What is known about clocks and harness, launch by launch; nothing where the file is missing, as in runs of a
    /// simulation. Lines that cannot be read are left out: an unfinished one, or one of a newer version.
    pub fn clock(&self) -> Result<Vec<ClockLine>, RunDirError> {
        let path = self.file(CLOCK);
        match read_text(&path) {
            Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(RunDirError::Read { path, cause: cause.to_string() }),
        }
    }
}
