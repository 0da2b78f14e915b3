//! Jobs of a batch system that were handed in for a run.

use serde::{Deserialize, Serialize};

use crate::allocation::BatchSystem;
use crate::format::FormatVersion;
use crate::rundir::{RunDir, RunDirError};

/// The file that lists them.
pub const SUBMISSION: &str = "submission.json";

/// Their script.
pub const SCRIPT: &str = "job.sh";

/// The format that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The jobs that were handed in for a run, or for the runs of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The format of the file.
    pub format: FormatVersion,
    /// Whose jobs they are.
    pub system: BatchSystem,
    /// How many runs there are, `task-1` and so on, where the last job is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<u32>,
    /// In the order in which they were handed in.
    pub jobs: Vec<Handed>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// What the batch system calls it.
    pub job: String,
    /// When it was handed in, in UTC, as in RFC 3339.
    pub at: String,
}

impl Submission {
    /// No job yet.
    pub fn of(system: BatchSystem, array: Option<u32>) -> Self {
        Self { format: FORMAT, system, array, jobs: Vec::new() }
    }

    /// Reads what a directory says; nothing where it says nothing.
    pub fn read(home: &RunDir) -> Result<Option<Self>, RunDirError> {
        if home.file(SUBMISSION).exists() { home.read_json(SUBMISSION, FORMAT).map(Some) } else { Ok(None) }
    }
}
