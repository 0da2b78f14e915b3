//! Messages between controller and worker: one JSON text per line.
//!
//! The controller writes one [`WorkerRequest`] to the standard input of the job's rank 0, and in a task of turns a
//! [`TurnRequest`] whenever it is the job's turn. Rank 0 answers on standard output with [`WorkerEvent`]s, each on a line that
//! begins with [`MARK`]; other lines are output of something else.

use collrules_record::benchmark::{Benchmark, BenchmarkLine, Length};
use collrules_record::clock::ClockFact;
use std::collections::BTreeMap;

use collrules_record::{Cell, Component, Layout, Survey};
use serde::{Deserialize, Serialize};

use crate::circumstances::Circumstances;
use crate::launch::LaunchPlan;
use crate::turns::{LoopTimes, Turn};

/// Beginning of every event line.
pub const MARK: &str = "@collrules ";

/// The version of this conversation; both sides must have the same.
pub const PROTOCOL: u32 = 8;

/// The environment variable with the process number of the controller, for ranks that the launcher starts on its own host.
pub const CONTROLLER: &str = "COLLRULES_CONTROLLER";

/// A request to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerRequest {
    /// [`PROTOCOL`] of the controller.
    pub protocol: u32,
    /// The task.
    pub task: Task,
    /// Order in which communicators take their ranks from those of the job.
    pub layout: Layout,
}

/// The tasks of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Report library, hosts and algorithms.
    Survey,
    /// Time the points of a launch, or try its cells.
    Measure(LaunchPlan),
    /// Sleep, but for turns of the subjects of a launch.
    TakeTurns(LaunchPlan),
    /// Time calls one after the other.
    Benchmark(Benchmark),
    /// Make these calls once each and report what they return; once on a communicator without each of the lists of
    /// components, if there are any.
    Probe {
        /// The calls.
        calls: Vec<Cell>,
        /// The components to leave out.
        without: Vec<Vec<Component>>,
    },
    /// Call each point of a launch once and count its messages.
    Count(LaunchPlan),
    /// Report on every rank the settings that decide whether a rules file has an effect.
    Circumstances,
    /// Report on every rank the values of these MCA parameters.
    Parameters(Vec<String>),
}

/// What a job does in its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnRequest {
    /// Call a subject with checked data.
    Check(usize),
    /// Time loops of calls.
    Time(Vec<Turn>),
    /// Leave.
    End,
}

/// Outcome of a call, over all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// Every rank succeeded and has the correct data.
    Right,
    /// Every rank succeeded, some with wrong data.
    Wrong,
    /// Every rank got an error; the largest MPI error class among them.
    Refused(i32),
    /// Some ranks got an error, others did not.
    Mixed(i32),
}

impl CallEnd {
    /// Returns true if a call ended as is right: refused on every rank if it has to fail, else with the correct data.
    pub(crate) fn is_meant(self, fails: bool) -> bool {
        if fails { matches!(self, Self::Refused(_)) } else { self == Self::Right }
    }
}

/// Messages from one rank to another in one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Number of messages.
    pub messages: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// Maximum, minimum and mean over ranks of one call, in seconds.
pub type RankTimes = [f64; 3];

/// A report of the worker. Cells and candidates are given by their index in the launch; so are patterns and their casts
/// (see [`LaunchPlan::subject`]), in the same fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerEvent {
    /// The job runs.
    Hello {
        /// [`PROTOCOL`] of the worker.
        protocol: u32,
        /// The number of ranks of the job.
        ranks: u32,
    },
    /// The answer to [`Task::Survey`].
    Survey(Box<Survey>),
    /// A candidate's first call and check begin; it is the suspect if the job fails next.
    Checking {
        /// The cell.
        cell: usize,
        /// The candidate.
        candidate: usize,
    },
    /// A candidate failed its check.
    Disqualified {
        /// The cell.
        cell: usize,
        /// The candidate.
        candidate: usize,
        /// Reason of the failure.
        why: String,
    },
    /// All candidates of a cell are checked.
    Opened {
        /// The cell.
        cell: usize,
        /// Duration in seconds.
        seconds: f64,
        /// Seconds since the launch began to measure.
        at: f64,
    },
    /// The job sleeps until its first turn.
    Asleep,
    /// The answer to [`TurnRequest::Check`].
    Checked {
        /// The subject.
        subject: usize,
        /// The candidates or casts that failed, with the reason.
        failed: Vec<(usize, String)>,
    },
    /// The answer to [`TurnRequest::Time`], in the order of its turns; none for a turn without a valid call.
    Timed(Vec<Option<LoopTimes>>),
    /// A visit begins.
    Visiting {
        /// The cell.
        cell: usize,
    },
    /// A visit is over.
    Visited {
        /// The cell.
        cell: usize,
        /// The visit to this cell, from 0.
        visit: u32,
        /// The candidates timed.
        candidates: Vec<usize>,
        /// Per round, one timing per candidate.
        rounds: Vec<Vec<RankTimes>>,
        /// Duration in seconds.
        seconds: f64,
        /// Seconds since the launch began to measure.
        at: f64,
    },
    /// A fact about clocks and harness.
    Clock(ClockFact),
    /// A candidate is no longer timed.
    Dropped {
        /// The cell.
        cell: usize,
        /// The candidate.
        candidate: usize,
        /// Reason.
        why: String,
    },
    /// A cell has all the samples that the schedule requires in this launch.
    Finished {
        /// The cell.
        cell: usize,
    },
    /// Measuring is over.
    Measured {
        /// Reason, in a sentence.
        why: String,
    },
    /// A length of [`Task::Benchmark`] begins.
    Benchmarking(Length),
    /// The line of a length.
    Benchmarked(BenchmarkLine),
    /// A call of [`Task::Probe`] begins.
    Calling {
        /// Its index.
        call: usize,
    },
    /// The answer to [`Task::Probe`]: for each call one outcome, or one per list of components.
    Probed(Vec<Vec<CallEnd>>),
    /// Messages that a point of [`Task::Count`] sent.
    Sent {
        /// The cell.
        cell: usize,
        /// The candidate.
        candidate: usize,
        /// For each rank, its messages to each other rank.
        ranks: Vec<BTreeMap<u32, Sent>>,
    },
    /// A cell of [`Task::Count`] whose calls cannot be counted; no further event about it follows.
    Uncounted {
        /// The cell.
        cell: usize,
        /// Reason.
        why: String,
    },
    /// The answer to [`Task::Circumstances`], in rank order.
    Circumstances(Vec<Circumstances>),
    /// The answer to [`Task::Parameters`], in rank order: the existing parameters, with their values.
    Parameters(Vec<BTreeMap<String, String>>),
    /// The worker cannot continue.
    Failed {
        /// Problem and remedy.
        why: String,
    },
    /// The job has finished its task and ends.
    Bye,
}
