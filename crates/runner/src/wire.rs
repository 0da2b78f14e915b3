//! What controller and worker say to each other: one JSON text per line.
//!
//! The controller writes one [`Job`] to the standard input of the job's rank 0. Rank 0 answers on standard output with
//! [`Event`]s, each on a line that begins with [`MARK`]; other lines are somebody else's output.

use collrules_record::benchmark::{Benchmark, Length, Line};
use collrules_record::clock::ClockFact;
use std::collections::BTreeMap;

use collrules_record::{Cell, Component, Layout, Survey};
use serde::{Deserialize, Serialize};

use crate::circumstances::Circumstances;
use crate::launch::LaunchPlan;

/// What every event line begins with.
pub const MARK: &str = "@collrules ";

/// The version of this conversation; both sides must agree exactly.
pub const PROTOCOL: u32 = 5;

/// The environment variable with the process number of the controller, for ranks that the launcher starts on its own host.
pub const CONTROLLER: &str = "COLLRULES_CONTROLLER";

/// What the worker is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// [`PROTOCOL`] of the controller.
    pub protocol: u32,
    /// The task.
    pub task: Task,
    /// How communicators take their ranks from those of the job.
    pub layout: Layout,
}

/// The tasks of a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Report library, hosts and algorithms.
    Survey,
    /// Time the points of a launch.
    Measure(LaunchPlan),
    /// Time calls one after the other.
    Benchmark(Benchmark),
    /// Call the candidates of a launch cell by cell, in order, and report where, but no times.
    Trial(LaunchPlan),
    /// Make these calls once each and report what they return.
    Probe(Vec<Cell>),
    /// Make these calls once on a communicator without each of these lists of components, and report what they return.
    Serving {
        /// The calls.
        calls: Vec<Cell>,
        /// The components to leave out.
        without: Vec<Vec<Component>>,
    },
    /// Call each point of a launch once and count what it sends.
    Count(LaunchPlan),
    /// Say on every rank which settings decide whether a rules file has an effect.
    Circumstances,
}

/// How a call ended, over all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// Every rank succeeded and has the right data.
    Right,
    /// Every rank succeeded, some with wrong data.
    Wrong,
    /// Every rank got an error; the largest MPI error class among them.
    Refused(i32),
    /// Some ranks got an error, others did not.
    Mixed(i32),
}

/// Messages from one rank to another in one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// How many.
    pub messages: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// Maximum, minimum and mean over ranks of one call, in seconds.
pub type RankTimes = [f64; 3];

/// What the worker reports. Cells and candidates are given by their index in the launch; so are patterns and their casts
/// (see [`LaunchPlan::subject`]), which the fields call the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The job runs.
    Hello {
        /// [`PROTOCOL`] of the worker.
        protocol: u32,
        /// The number of ranks of the job.
        ranks: u32,
    },
    /// The answer to [`Task::Survey`].
    Survey(Survey),
    /// A candidate's first call and check begin: whatever happens next happens to it.
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
        /// What went wrong.
        why: String,
    },
    /// All candidates of a cell are checked.
    Opened {
        /// The cell.
        cell: usize,
        /// Seconds that it took.
        seconds: f64,
        /// Seconds since the launch began to measure.
        at: f64,
    },
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
        /// Seconds that it took.
        seconds: f64,
        /// Seconds since the launch began to measure.
        at: f64,
    },
    /// Something was found out about clocks and harness.
    Clock(ClockFact),
    /// A candidate is not timed any more.
    Dropped {
        /// The cell.
        cell: usize,
        /// The candidate.
        candidate: usize,
        /// Why.
        why: String,
    },
    /// A cell has all the samples that the schedule wants of it in this launch.
    Finished {
        /// The cell.
        cell: usize,
    },
    /// Measuring is over.
    Measured {
        /// Why, in a sentence.
        why: String,
    },
    /// A length of [`Task::Benchmark`] begins.
    Benchmarking(Length),
    /// The line of a length.
    Benchmarked(Line),
    /// A call of [`Task::Probe`] begins.
    Calling {
        /// Its index.
        call: usize,
    },
    /// The answer to [`Task::Probe`], one outcome per call.
    Probed(Vec<CallEnd>),
    /// The answer to [`Task::Serving`]: for each call one outcome per list of components.
    Served(Vec<Vec<CallEnd>>),
    /// What a point of [`Task::Count`] sent.
    Sent {
        /// The cell.
        cell: usize,
        /// The candidate.
        candidate: usize,
        /// Per rank, what it sent to each other rank.
        ranks: Vec<BTreeMap<u32, Sent>>,
    },
    /// A cell of [`Task::Count`] whose calls cannot be counted; nothing more comes of it.
    Uncounted {
        /// The cell.
        cell: usize,
        /// Why.
        why: String,
    },
    /// The answer to [`Task::Circumstances`], in rank order.
    Circumstances(Vec<Circumstances>),
    /// The worker cannot go on.
    Failed {
        /// What is wrong and what to do.
        why: String,
    },
    /// The job did what it was asked and ends.
    Bye,
}
