//! How far the jobs and runs of a directory are.

use serde::Serialize;

use crate::submission::Submission;
use crate::units::Seconds;

/// How far the jobs and runs of a directory are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The jobs that were handed in; nothing where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// What the batch system says of the last of them; nothing where it does not know it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Why the batch system could not be asked, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
    /// The run, or those of an array.
    pub runs: Vec<RunStatus>,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunStatus {
    /// Its directory.
    pub directory: String,
    /// What is there of it.
    pub stage: Stage,
    /// Launches of its plan, and those that are complete.
    pub launches: u32,
    /// Complete ones.
    pub complete: u32,
    /// Launches that failed.
    pub failed: u32,
    /// Why the last one of them did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Cells of its plan.
    pub cells: usize,
    /// Cells with a timing.
    pub measured: usize,
    /// Timings.
    pub samples: usize,
    /// Seconds that were spent on measuring.
    pub spent: Seconds,
    /// How long ago anything was measured; 0 where the clock of the file system is ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<Seconds>,
    /// How far the clock of the file system, or of who writes, is ahead of ours at the least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Seconds>,
}

/// What is there of a run; each stage has what those before have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing yet.
    Waiting,
    /// A plan.
    Planned,
    /// Timings.
    Measured,
    /// Rules that nobody has shown to be obeyed.
    Decided,
    /// Rules that are shown to be obeyed.
    Proven,
    /// Rules that were compared with the builtin.
    Validated,
}

impl Status {
    /// Whether nothing more is to be expected: the batch system knows the job no more, or every run has all there is.
    pub fn is_over(&self) -> bool {
        let is_gone = self.submission.is_some() && self.queue.is_none() && self.unanswered.is_none();
        is_gone || (self.queue.is_none() && self.is_complete(Stage::Validated))
    }

    /// Whether all runs have got this far.
    pub fn is_complete(&self, stage: Stage) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(|run| run.stage >= stage)
    }
}
