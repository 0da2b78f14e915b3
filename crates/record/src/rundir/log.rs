//! What a campaign writes while it measures, held by one process at a time.

use super::error::RunDirError;
use super::journal::{Entry, Journal};
use super::{LAUNCHES, RunDir, SampleWriter};
use crate::clock::ClockFact;
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
    pub(super) fn open(run: &RunDir) -> Result<Self, RunDirError> {
        // The samples first: they carry the lock.
        let samples = run.appender()?;
        let past_samples = run.samples()?.rows(&samples.path)?.len();
        let path = run.file(LAUNCHES);
        if past_samples > 0 && !path.exists() {
            return Err(RunDirError::NotResumable { path: run.path().to_owned() });
        }
        let journal = Journal::open(path)?.0;
        run.sweep();
        Ok(Self { samples, journal, run: run.clone(), past_samples })
    }

    /// What the journal says so far, and the rows there are.
    pub fn past(&self) -> Result<(Vec<Entry>, Vec<Row>), RunDirError> {
        Ok((Journal::open(self.run.file(LAUNCHES))?.1, self.run.samples()?.rows(&self.samples.path)?))
    }

    /// How many rows there were when the log was opened.
    pub fn past_samples(&self) -> usize {
        self.past_samples
    }

    /// Adds what is known about the clock of a launch.
    pub fn note_clock(&self, launch: u32, fact: &ClockFact) -> Result<(), RunDirError> {
        self.samples.note(launch, fact)
    }

    /// Adds rows to the samples, all at once.
    pub fn append(&mut self, rows: &[Row]) -> Result<(), RunDirError> {
        self.samples.append(rows)
    }

    /// Adds a line to the journal.
    pub fn note(&mut self, entry: &Entry) -> Result<(), RunDirError> {
        self.journal.append(entry)
    }

    /// Whether the file system keeps other processes out; some cannot.
    pub fn is_locked(&self) -> bool {
        self.samples.locked
    }
}
