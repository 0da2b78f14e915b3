//! What a user asked a workflow to do. The manifest keeps it, so that a run can be resumed and validated as it was
//! measured, whatever the command line is called by then.

use std::path::PathBuf;

use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::candidate_name::CandidateName;
use crate::clock::SyncMethod;
use crate::findings::Criteria;
use crate::mockup::Mockup;
use crate::placement::Layout;
use crate::plan::DeployWay;
use crate::policy::Policy;
use crate::units::{Bytes, Ranks, Seconds};

/// The request behind a run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To measure and tune.
    Tune(Box<Tuning>),
    /// To compare a rules file with the builtin.
    Validate(Box<Validating>),
}

/// What `tune` and `measure` shall do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// What to measure.
    pub grid: Grid,
    /// Time for all of it; none where it may take what it needs.
    pub budget: Option<Seconds>,
    /// How many times to start the job.
    pub launches: u32,
    /// Seed of every random order.
    pub seed: u64,
    /// Time every candidate to the end, however slow.
    pub keep_slow: bool,
    /// How calls are timed.
    pub timing: Timing,
    /// What a candidate has to show. The clock's step is that of the survey, whatever stands here.
    pub criteria: Criteria,
    /// How verdicts become rules.
    pub policy: Policy,
    /// What is measured between the sizes of the grid.
    pub refinement: Refinement,
    /// Compare the rules with the builtin in fresh launches in the end.
    pub validate: bool,
    /// Where jobs run.
    pub system: System,
}

/// Which cells and candidates to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The collectives.
    pub collectives: Vec<Collective>,
    /// Communicator sizes; where none are given, the powers of two up to the slots at hand, and the slots.
    pub ranks: Vec<Ranks>,
    /// Message sizes of collectives that have them.
    pub sizes: Vec<Bytes>,
    /// Segment sizes beside unsegmented.
    pub segments: Vec<Bytes>,
    /// Fan-outs, for algorithms that use one.
    pub fanouts: Vec<u32>,
    /// Bounds on requests beside none, for algorithms that use one.
    pub requests: Vec<u32>,
    /// What the buffers of a rank may take.
    pub max_memory: Bytes,
    /// The only algorithms to try, for the collectives that are named here.
    pub only: Vec<(Collective, CandidateName)>,
    /// Start a job for each candidate of every collective.
    pub launch_per_candidate: bool,
    /// Which mock-ups to time beside the builtin; none for tuning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mockups: Option<Box<Mockups>>,
    /// Measure the reference algorithms as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
}

/// Which mock-ups to time beside the builtin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mockups {
    /// These alone; where none are named, all of the catalogue.
    pub only: Vec<Mockup>,
    /// Into how many calls messages are split.
    pub pieces: Vec<u32>,
    /// What a mock-up may need on a rank beside the caller's buffers.
    pub max_extra_memory: Bytes,
    /// Time the candidates of `coll/tuned` as well, to know what would cure a violation.
    pub remedies: bool,
}

/// How calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// How ranks are brought together before a timed call.
    pub sync: SyncMethod,
    /// How far the common clock may be off on a rank before it is set anew.
    pub clock_bound: Seconds,
    /// Take every rank's clock for one of its own.
    pub separate_clocks: bool,
}

/// What is measured between the sizes of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refinement {
    /// Rounds at most.
    pub rounds: u32,
    /// Narrow enough: upper over lower end of the sizes around a change.
    pub width: f64,
    /// Measure communicator sizes between those of the grid as well.
    pub ranks: bool,
}

/// Where jobs run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct System {
    /// How communicators take their ranks from those of the job.
    pub layout: Layout,
    /// More ranks than slots are meant.
    pub oversubscribe: bool,
    /// What carries them out.
    pub jobs: Jobs,
}

/// What carries out jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jobs {
    /// An Open MPI.
    Mpi(Launching),
    /// A cost model.
    Simulation(Simulated),
}

/// How MPI jobs are started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launching {
    /// The mpirun; where none is given, the first in PATH.
    pub mpirun: Option<PathBuf>,
    /// More options of mpirun, as a shell would split them.
    pub arguments: String,
    /// Measure on several hosts with Open MPI's component han switched off for all collectives.
    pub disable_han: bool,
    /// The worker; where none is given, the one beside the program, or the first in PATH.
    pub worker: Option<PathBuf>,
    /// How long a job may say nothing before it is ended.
    pub hang_timeout: Seconds,
}

/// A simulated cluster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// Its cost model.
    pub scenario: Scenario,
    /// Its slots.
    pub slots: Ranks,
    /// Its Open MPI.
    pub release: Release,
}

/// Which cluster is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// The builtin always uses the binomial tree for bcast, and the first, linear algorithm elsewhere: it can be beaten
    /// where other algorithms suit better.
    Stale,
    /// The builtin is the best algorithm in every cell.
    Perfect,
    /// All candidates of a cell take the same time: whatever differs is noise.
    Noise,
    /// As `Stale`, but what was measured does not hold where it is used: under a rules file, bcast by anything but the
    /// builtin is slower than the builtin for long messages.
    Deceptive,
    /// The builtin is 10 % faster than any algorithm and 20 % faster than any mock-up, but for long messages of bcast, where
    /// `scatter+allgather` and an algorithm take two thirds of its time, and for short ones of allreduce, where
    /// `reduce+bcast` takes half of its time, and no algorithm helps.
    Planted,
}

/// What `validate` shall do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validating {
    /// Collectives to compare; where none are named, those that the file has a say in.
    pub collectives: Option<Vec<Collective>>,
    /// Communicator sizes; where none are named, those of the run, or the powers of two up to the slots.
    pub ranks: Vec<Ranks>,
    /// Message sizes; where none are named, those of the run and between them, or those that the file suggests.
    pub sizes: Option<Vec<Bytes>>,
    /// Pairs of launches, one without and one with the file.
    pub pairs: u32,
    /// Time for one comparison; none where it may take what it needs.
    pub budget: Option<Seconds>,
    /// Differences that count as none, such as 0.03.
    pub min_difference: f64,
    /// The bound on the share of wrong verdicts among those of faster and slower.
    pub error_rate: f64,
    /// How the file is put in force.
    pub deploy: DeployWay,
    /// Give back to the builtin what is slower.
    pub repair: bool,
    /// Seed of every random order.
    pub seed: u64,
    /// How calls are timed.
    pub timing: Timing,
    /// Where jobs run.
    pub system: System,
}

impl System {
    /// Whether nothing real is measured.
    pub fn is_simulated(&self) -> bool {
        matches!(self.jobs, Jobs::Simulation(_))
    }
}

impl Validating {
    /// Whether the user chose the cells.
    pub fn chooses_cells(&self) -> bool {
        self.collectives.is_some() || !self.ranks.is_empty() || self.sizes.is_some()
    }
}
