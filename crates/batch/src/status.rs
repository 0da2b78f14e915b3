//! Progress of the jobs and runs of a directory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use collrules_record::rundir::Progress;
use serde::Serialize;

use crate::script;
use crate::submission::Submission;

/// Progress of the jobs and runs of a directory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The jobs that were submitted; none if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submission: Option<Submission>,
    /// State of the last job in the batch system; none if the batch system no longer knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Error of asking the batch system, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
    /// End of the newest log of a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogEnd>,
    /// The run, or those of an array.
    pub runs: Vec<RunStatus>,
}

/// The last lines of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogEnd {
    /// The file.
    pub file: PathBuf,
    /// The lines, without empty ones.
    pub lines: Vec<String>,
}

/// Lines of a log's end.
const LINES: usize = 5;

/// Bytes at the end of a log that are read.
const BYTES: u64 = 8 << 10;

impl LogEnd {
    /// Reads the end of the log in a directory of jobs that was written last; none if there is none, or it is empty.
    pub fn newest(directory: &Path) -> Option<Self> {
        let is_log = |name: &str| name.starts_with(script::LOG) && name.ends_with(".log");
        let logs = directory.read_dir().ok()?.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_log));
        let newest = logs.max_by_key(|entry| entry.metadata().and_then(|file| file.modified()).ok())?.path();
        let mut file = File::open(&newest).ok()?;
        let length = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES))).ok()?;
        let mut end = Vec::new();
        file.take(BYTES).read_to_end(&mut end).ok()?;
        let end = String::from_utf8_lossy(&end);
        let lines: Vec<&str> = end.lines().filter(|line| !line.trim().is_empty()).collect();
        let lines = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect();
        Some(Self { file: newest, lines }).filter(|end| !end.lines.is_empty())
    }
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunStatus {
    /// Its directory.
    pub directory: String,
    /// Stage that the run has reached.
    pub stage: RunStage,
    /// The command that resumes it; none without a plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Number of launches of its plan.
    pub launches: u32,
    /// Number of cells of its plan.
    pub cells: usize,
    /// Progress of its campaign.
    #[serde(flatten)]
    pub progress: Progress,
    /// True if a process holds the run; missing if that is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<bool>,
}

/// Stage of a run; each stage has the files of the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Nothing yet.
    Waiting,
    /// A plan.
    Planned,
    /// Number of timings.
    Measured,
    /// A comparison of rules with the builtin that is not complete; none of its files are in place.
    Comparing,
    /// Rules that are not shown to be obeyed.
    Decided,
    /// Rules that are shown to be obeyed.
    Proven,
    /// Rules that were compared with the builtin.
    Validated,
}

impl Status {
    /// Returns true if no more results are expected: the batch system no longer knows the job, or every run is
    /// validated, or has rules and no process continues it.
    pub fn is_over(&self) -> bool {
        let is_gone = self.submission.is_some() && self.queue.is_none() && self.unanswered.is_none();
        let is_done = |run: &RunStatus| {
            run.stage == RunStage::Validated || (run.stage >= RunStage::Decided && run.held == Some(false))
        };
        let are_done = !self.runs.is_empty() && self.runs.iter().all(is_done);
        is_gone || (self.queue.is_none() && are_done)
    }

    /// Returns true if no process is known to continue a run, and no job is in a queue.
    pub fn is_left(&self) -> bool {
        self.queue.is_none() && self.runs.iter().all(|run| run.held != Some(true))
    }

    /// Returns true if all runs have reached this stage.
    pub fn is_complete(&self, stage: RunStage) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(|run| run.stage >= stage)
    }
}
