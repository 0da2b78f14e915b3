//! Jobs that were submitted to a batch system for a run.

use collrules_record::allocation::BatchSystem;
use collrules_record::rundir::RunDirError;
use collrules_record::{FormatVersion, RunDir};
use serde::{Deserialize, Serialize};

/// The file that lists them.
pub const SUBMISSION: &str = "submission.json";

/// Their script.
pub const SCRIPT: &str = "job.sh";

/// The format that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The jobs that were submitted for a run, or for the runs of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The format of the file.
    pub format: FormatVersion,
    /// Batch system that runs the jobs.
    pub system: BatchSystem,
    /// Number of runs, `task-1` and so on, if the last job is an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<u32>,
    /// The jobs, in the order of submission.
    pub jobs: Vec<SubmittedJob>,
    /// When a submission was begun that is not recorded: its job may be in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedJob {
    /// Job id that the batch system gave.
    pub job: String,
    /// Time of submission, in UTC, as in RFC 3339.
    pub at: String,
}

/// The largest number of jobs in an array: the run of each is read.
const MOST_TASKS: u32 = 100_000;

impl Submission {
    /// A submission without jobs yet.
    pub fn new(system: BatchSystem, array: Option<u32>) -> Self {
        Self { format: FORMAT, system, array, jobs: Vec::new(), begun: None }
    }

    /// Reads the submission of a directory; none if there is none.
    pub fn read(home: &RunDir) -> Result<Option<Self>, RunDirError> {
        if !home.file(SUBMISSION).exists() {
            return Ok(None);
        }
        let read: Self = home.read_json(SUBMISSION, FORMAT)?;
        match read.array.filter(|last| *last > MOST_TASKS) {
            Some(last) => Err(RunDirError::Damaged {
                path: home.file(SUBMISSION),
                cause: format!("an array cannot have {last} jobs"),
            }),
            None => Ok(Some(read)),
        }
    }
}
