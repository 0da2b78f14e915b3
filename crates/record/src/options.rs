//! Options of the workflows. The manifest stores them, so that a run can be resumed and validated as it was measured,
//! even after options are renamed on the command line.

use std::path::PathBuf;

use collrules_rules::settings::request::RequestedSetting;
use collrules_rules::{Collective, Release, names};
use serde::{Deserialize, Serialize};

use crate::clock::SyncMethod;
use crate::condition::Condition;
use crate::criteria::{Criteria, Middle};
use crate::grid::Grid;
use crate::placement::Layout;
use crate::plan::DeployWay;
use crate::policy::Policy;
use crate::units::{Bytes, Ranks, Seconds};

/// A time, or none if unlimited.
pub type Budget = Option<Seconds>;

/// The request behind a run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To measure and tune.
    Tune(Box<TuneOptions>),
    /// To compare a rules file with the builtin.
    Validate(Box<Validating>),
    /// To check performance guidelines.
    Guidelines,
    /// To compare chosen algorithms.
    Study,
    /// To fit a communication model.
    Model,
    /// To find calls that stall.
    Irregular,
}

/// Options of `tune` and `measure`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneOptions {
    /// The cells and candidates to measure, without weights, which come from profiles.
    pub grid: Grid,
    /// Time for the whole command; none if unlimited.
    pub budget: Budget,
    /// Number of launches.
    pub launches: u32,
    /// Seed of every random order.
    pub seed: u64,
    /// True if slow algorithms are timed to the end of every launch.
    pub keep_slow: bool,
    /// Options of timing calls.
    pub timing: TimingOptions,
    /// The condition of the timed calls.
    #[serde(default, skip_serializing_if = "Condition::is_plain")]
    pub condition: Condition,
    /// Criteria that a candidate has to meet.
    pub criteria: Demands,
    /// Policy that turns verdicts into rules.
    pub policy: Policy,
    /// Measurements between the sizes of the grid.
    pub refinement: RefinementOptions,
    /// True if the rules are compared with the default in fresh launches.
    pub validate: bool,
    /// Maximum loss, as a share.
    #[serde(default = "usual_max_loss")]
    pub max_loss: f64,
    /// Which settings of a whole job are tried.
    #[serde(default = "SettingsOptions::no_search")]
    pub settings: SettingsOptions,
    /// Layouts to measure as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_layout: Vec<Layout>,
    /// System that runs the jobs.
    pub system: SystemOptions,
}

fn usual_max_loss() -> f64 {
    0.05
}

/// Options of timing calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingOptions {
    /// Method to synchronise ranks before a timed call.
    pub sync: SyncMethod,
    /// Maximum error of the common clock before it is set again.
    pub clock_bound: Seconds,
    /// True if each rank's clock is treated as separate.
    pub separate_clocks: bool,
    /// Calls of each algorithm per size and launch; none if precision decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
}

/// Criteria that a candidate has to meet to replace the default, as users write them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demands {
    /// Gain that an algorithm needs to replace the default, as a share such as 0.03.
    pub min_gain: f64,
    /// Bound on the false discovery rate, as a share.
    pub error_rate: f64,
    /// Gain that it needs if there are too few values for a test.
    pub untested_gain: f64,
    /// Statistic to compare.
    #[serde(default, skip_serializing_if = "Middle::is_median")]
    pub middle: Middle,
    /// True to choose by the median even if rare slow calls make it slower on average.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accept_stalls: bool,
}

impl From<Demands> for Criteria {
    fn from(demands: Demands) -> Self {
        let Demands { min_gain, error_rate, untested_gain, middle, accept_stalls } = demands;
        Self { min_gain, error_rate, untested_gain, middle, accept_stalls, ..Self::default() }
    }
}

/// Measurements between the sizes of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefinementOptions {
    /// Rounds of measuring more sizes.
    pub rounds: u32,
    /// Ratio of neighbouring sizes at which a change is narrow enough.
    pub width: f64,
    /// True to measure communicator sizes between those of the grid too.
    pub ranks: bool,
}

/// Which settings of a whole job are tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingsOptions {
    /// True if no settings are tried.
    pub none: bool,
    /// Settings of the user, with values to try.
    pub requests: Vec<RequestedSetting>,
    /// True if only those are tried.
    pub only: bool,
}

impl SettingsOptions {
    /// No search, as of runs before there was one.
    fn no_search() -> Self {
        Self { none: true, ..Self::default() }
    }
}

/// System that runs the jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SystemOptions<J = Jobs> {
    /// Order in which communicators take their ranks from those of the job.
    pub layout: Layout,
    /// True to allow more ranks than slots.
    pub oversubscribe: bool,
    /// The Open MPI or simulation that runs them.
    pub jobs: J,
}

/// The Open MPI or simulation that runs the jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jobs {
    /// An Open MPI.
    Mpi(Launching),
    /// A cost model.
    Simulation(Simulated),
}

impl Jobs {
    /// Returns true if calls are simulated on the machine of a fitted model.
    pub fn is_model(&self) -> bool {
        matches!(self, Self::Simulation(Simulated { model: Some(_), .. }))
    }
}

/// Options of starting MPI jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launching {
    /// The mpirun; none for the first in PATH.
    pub mpirun: Option<PathBuf>,
    /// Command that starts MPI jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// More options for mpirun.
    pub arguments: String,
    /// True to switch han off on several hosts.
    pub disable_han: bool,
    /// The collrules-worker program.
    pub worker: Option<PathBuf>,
    /// Kill a job after this time without a sign of life.
    pub hang_timeout: Seconds,
}

/// A simulated cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulated {
    /// The cost model.
    pub scenario: Scenario,
    /// Slots of the simulated cluster.
    pub slots: Ranks,
    /// Slots of each simulated node.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub each: Ranks,
    /// Release of the simulated Open MPI.
    pub release: Release,
    /// The model.json of the machine whose messages are played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
}

fn one() -> Ranks {
    Ranks(1)
}

fn is_one(ranks: &Ranks) -> bool {
    *ranks == one()
}

/// Which cluster is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// The default is out of date and can be beaten
    // It always uses the binomial tree for bcast, and the first, linear algorithm elsewhere.
    Stale,
    /// The default is the fastest algorithm of coll/tuned
    Fastest,
    /// All algorithms are equal; differences are noise
    Noise,
    /// As stale, but some rules turn out slower in fresh launches
    // Bcast by anything but the builtin is, for long messages.
    Deceptive,
    /// As stale, but everything takes 25 % longer: what drift finds
    Slowed,
    /// The default is the best, but mock-ups beat bcast of long messages and allreduce of short ones
    // It is 10 % faster than any algorithm and 20 % faster than any mock-up, but for long messages of bcast, where
    // `scatter+allgather` and an algorithm take two thirds of its time, and for short ones of allreduce, where
    // `reduce+bcast` takes half of its time, and no algorithm helps.
    Planted,
    /// As stale, on hosts of two slots each, with HAN for communicators on several hosts
    // HAN is better than the stale builtin at short messages, and coll/tuned's segmented algorithms at long ones.
    Han,
    /// The best algorithm for bcast depends on the layout: see --simulated-ppn and --also-layout
    // From 256 KiB on the pipeline is faster anywhere; from 16 KiB on the chain is where nodes are full, and loses next to nothing
    // with one rank per node; below that the binary tree is faster on full nodes and slower elsewhere, and the binomial one the
    // other way round.
    Arranged,
    /// As stale, but one algorithm loses if the last rank is the root
    // scatter_allgather of bcast, which is the fastest for some messages, takes four times as long then.
    Rooted,
    /// As stale, but one algorithm loses if buffers change, and all rules for allreduce lose in place
    // The algorithm is that of Rooted.
    Rotated,
    /// As stale, but one algorithm loses if a rank is late, in a profile if rank 0 waits for others
    // The algorithm is that of Rooted.
    Late,
    /// As stale, with settings that help, harm, crash and hang inside nodes: see --simulated-ppn
    Settings,
}

/// Options of `validate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validating {
    /// Collectives to compare; none for those with rules.
    pub collectives: Option<Vec<Collective>>,
    /// Communicator sizes; if empty, those of the run or file.
    pub ranks: Vec<Ranks>,
    /// Message sizes; none for those of the run or file.
    pub sizes: Option<Vec<Bytes>>,
    /// Pairs of launches.
    pub pairs: u32,
    /// Time for the whole command; none if unlimited.
    pub budget: Budget,
    /// Differences that count as none, as a share.
    pub min_difference: f64,
    /// Maximum loss of a rule, as a share.
    #[serde(default = "usual_max_loss")]
    pub max_loss: f64,
    /// Statistic to compare; none for that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle: Option<Middle>,
    /// Bound on the false discovery rate, as a share.
    pub error_rate: f64,
    /// Method of passing the file's settings to launches.
    pub deploy: DeployWay,
    /// True to remove rules that are slower.
    pub repair: bool,
    /// Seed of every random order.
    pub seed: u64,
    /// Options of timing calls.
    pub timing: TimingOptions,
    /// The condition of the timed calls.
    #[serde(default, skip_serializing_if = "Condition::is_plain")]
    pub condition: Condition,
    /// System that runs the jobs.
    pub system: SystemOptions,
}

/// Default number of pairs of launches of a validation.
pub const PAIRS: u32 = 4;

/// The most pairs of launches of a validation.
pub const MOST_PAIRS: u32 = 1000;

impl Default for TuneOptions {
    fn default() -> Self {
        Self {
            grid: Grid::default(),
            budget: Some(Seconds(300.0)),
            launches: 3,
            seed: 1,
            keep_slow: false,
            timing: TimingOptions::default(),
            condition: Condition::OF_PROGRAMS,
            criteria: Demands::default(),
            policy: Policy::default(),
            refinement: RefinementOptions { rounds: 2, ..RefinementOptions::NONE },
            validate: true,
            max_loss: usual_max_loss(),
            settings: SettingsOptions::default(),
            also_layout: Vec::new(),
            system: SystemOptions::default(),
        }
    }
}

impl Default for Demands {
    fn default() -> Self {
        let Criteria { min_gain, error_rate, untested_gain, middle, accept_stalls, .. } = Criteria::default();
        Self { min_gain, error_rate, untested_gain, middle, accept_stalls }
    }
}

impl<J: Default> Default for SystemOptions<J> {
    fn default() -> Self {
        Self { layout: Layout::default(), oversubscribe: false, jobs: J::default() }
    }
}

impl Default for Jobs {
    fn default() -> Self {
        Self::Mpi(Launching::default())
    }
}

impl Default for Launching {
    fn default() -> Self {
        let hang_timeout = Seconds(120.0);
        Self { mpirun: None, launcher: None, arguments: String::new(), disable_han: false, worker: None, hang_timeout }
    }
}

impl Default for Simulated {
    fn default() -> Self {
        Self { scenario: Scenario::Stale, slots: Ranks(8), each: one(), release: Release::V5_0, model: None }
    }
}

impl Default for TimingOptions {
    fn default() -> Self {
        let (sync, clock_bound) = (SyncMethod::Barrier, Seconds(1e-6));
        Self { sync, clock_bound, separate_clocks: false, calls: None }
    }
}

impl RefinementOptions {
    /// No measurements between the sizes of the grid.
    pub const NONE: Self = Self { rounds: 0, width: 1.25, ranks: false };
}

impl SystemOptions {
    /// Returns true if the times come from a simulation.
    pub fn is_simulated(&self) -> bool {
        matches!(self.jobs, Jobs::Simulation(_))
    }
}

impl Validating {
    /// Comparison of all cells of a tuning with the default, without repairs.
    pub fn new(system: SystemOptions) -> Self {
        Self {
            collectives: None,
            ranks: Vec::new(),
            sizes: None,
            pairs: PAIRS,
            budget: Some(Seconds(60.0)),
            max_loss: usual_max_loss(),
            min_difference: 0.03,
            middle: None,
            error_rate: 0.05,
            deploy: DeployWay::Environment,
            repair: false,
            seed: 1,
            timing: TimingOptions::default(),
            condition: Condition::OF_PROGRAMS,
            system,
        }
    }

    /// Returns true if the user chose the cells.
    pub fn chooses_cells(&self) -> bool {
        self.collectives.is_some() || !self.ranks.is_empty() || self.sizes.is_some()
    }
}

names!(Scenario {
    Stale "stale",
    Fastest "fastest",
    Noise "noise",
    Deceptive "deceptive",
    Slowed "slowed",
    Planted "planted",
    Han "han",
    Arranged "arranged",
    Rooted "rooted",
    Rotated "rotated",
    Late "late",
    Settings "settings",
});
