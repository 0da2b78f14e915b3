//! Options of the workflows. The manifest stores them, so that a run can be resumed and validated as it was measured,
//! even after options are renamed on the command line.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
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
use crate::values::{self, List, MOST_LAUNCHES};

/// A time, or none if unlimited.
pub type Budget = Option<Seconds>;

/// The request behind a run directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// To measure and tune.
    Tune(Box<TuneOptions>),
    /// To measure for an instrument: the name of its command of `collrules lab`.
    Lab(String),
}

impl Request {
    /// Returns the command that resumes the run in a directory, as a part of a sentence.
    pub fn resume(&self, run: &Path) -> String {
        match self {
            Self::Tune(_) => format!("`collrules tune --resume {}`", run.display()),
            Self::Lab(name) => format!("`collrules lab {name}` with --resume {} and its arguments", run.display()),
        }
    }
}

/// Options of `tune` and `measure`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
pub struct TuneOptions {
    /// The cells and candidates to measure, without weights, which come from profiles.
    #[command(flatten)]
    pub grid: Grid,
    /// Time for the whole command. `none`: until every size is precise or has its maximum of rounds. `rest`: the time
    /// left in the batch job, which always limits it
    #[arg(long, value_name = "TIME|none|rest", default_value = "300s", value_parser = values::budget)]
    pub budget: Budget,
    /// Number of launches. An algorithm has to be faster in every launch
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Keep timing slow algorithms to the end of every launch
    #[arg(long)]
    pub keep_slow: bool,
    /// Options of timing calls.
    #[command(flatten)]
    pub timing: TimingOptions,
    /// The condition of the timed calls.
    #[command(flatten)]
    pub condition: Condition,
    /// Criteria that a candidate has to meet.
    #[command(flatten)]
    pub criteria: Criteria,
    /// Policy that turns verdicts into rules.
    #[command(flatten)]
    pub policy: Policy,
    /// Measurements between the sizes of the grid.
    #[command(flatten)]
    pub refinement: RefinementOptions,
    /// Skip the comparison of the rules with the default in fresh launches
    #[arg(long = "no-validate", action = clap::ArgAction::SetFalse, help_heading = "Validation")]
    pub validate: bool,
    /// Maximum loss, in percent: a rule is removed if it is shown to lose more in other calls; a setting must be shown
    /// to lose no more anywhere
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = values::slowdown, help_heading = "Validation")]
    pub max_loss: f64,
    /// Which settings of a whole job are tried.
    #[command(flatten)]
    pub settings: SettingsOptions,
    /// Measure these layouts as well. A rule then applies in all of them. They share the budget; nothing is refined
    #[arg(long, value_name = "LAYOUTS", value_delimiter = ',', help_heading = "Launching")]
    pub also_layout: Vec<Layout>,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

/// Options of timing calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Timing")]
pub struct TimingOptions {
    /// Method to synchronise ranks before a timed call
    #[arg(long, value_name = "HOW", default_value = "barrier")]
    pub sync: SyncMethod,
    /// Maximum error of the common clock before it is set again
    #[arg(long, value_name = "TIME", value_parser = values::positive, default_value = "1us")]
    pub clock_bound: Seconds,
    /// Treat each rank's clock as separate, even on one host, to test the common clock
    #[arg(long)]
    pub separate_clocks: bool,
    /// Exactly N calls per algorithm, size and launch, unless the budget ends before. Default for irregular: 100
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
}

/// Measurements between the sizes of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Refinement")]
pub struct RefinementOptions {
    /// Rounds of measuring more sizes around each change of the choice, in up to 15 % of the budget
    #[arg(long = "refine", value_name = "ROUNDS", default_value = "2")]
    pub rounds: u32,
    /// Stop refining a change if the sizes around it differ by this factor at most
    #[arg(long = "refine-width", value_name = "RATIO", default_value = "1.25", value_parser = values::ratio)]
    pub width: f64,
    /// Also measure communicator sizes between those of the grid
    #[arg(id = "refine_np", long = "refine-np")]
    pub ranks: bool,
}

/// Which settings of a whole job are tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsOptions {
    /// Skip the search for settings of Open MPI. It takes 40 % of the budget (20 % if the rules need more time), and
    /// what the rules leave, if that is enough for a round of the search
    #[arg(id = "no_settings", long = "no-settings")]
    pub none: bool,
    /// A setting of your own with the values to try, such as btl_vader_eager_limit=4K,16K or
    /// env:UCX_RNDV_THRESH=8K,64K. May be repeated
    #[arg(id = "settings", long = "setting", value_name = "NAME=VALUES", conflicts_with = "no_settings")]
    pub requests: Vec<RequestedSetting>,
    /// Try only the settings of --setting
    #[arg(id = "only_settings", long = "only-settings", requires = "settings")]
    pub only: bool,
}

/// System that runs the jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Launching")]
pub struct SystemOptions<J: Args = Jobs> {
    /// Ranks of communicators: block (the first of the job), one-per-node, or spread (the nodes in turn)
    #[arg(long, value_name = "LAYOUT", default_value = "block")]
    pub layout: Layout,
    /// Allow more ranks than slots; times then include the operating system's scheduler
    #[arg(long)]
    pub oversubscribe: bool,
    /// The Open MPI or simulation that runs them.
    #[command(flatten)]
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

/// Options of both kinds of jobs; `--simulate` decides.
impl Args for Jobs {
    fn augment_args(command: Command) -> Command {
        Simulated::augment_args(Launching::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Simulated::augment_args_for_update(Launching::augment_args_for_update(command))
    }
}

impl FromArgMatches for Jobs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if matches.contains_id("scenario") {
            return Simulated::from_arg_matches(matches).map(Self::Simulation);
        }
        Launching::from_arg_matches(matches).map(Self::Mpi)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        if matches.contains_id("scenario") && !matches!(self, Self::Simulation(_)) {
            *self = Self::Simulation(Simulated::default());
        }
        match self {
            Self::Mpi(launching) => launching.update_from_arg_matches(matches),
            Self::Simulation(simulated) => simulated.update_from_arg_matches(matches),
        }
    }
}

/// Options of starting MPI jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Launching")]
pub struct Launching {
    /// The mpirun of the Open MPI to tune [default: the first in PATH]
    #[arg(long, value_name = "FILE")]
    pub mpirun: Option<PathBuf>,
    /// Command that starts MPI jobs: mpirun, srun, or a template with {np}, {mca} and {program}, such as 'srun
    /// --mpi=pmix -n {np}' [default: srun in Slurm jobs without mpirun or with srun set up for MPI, else mpirun]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// More options for mpirun, in one argument, such as '--hostfile hosts --map-by node'
    #[arg(long = "mpirun-args", value_name = "ARGS", default_value = "", allow_hyphen_values = true)]
    pub arguments: String,
    /// Switch off Open MPI's component han, here and in the settings, instead of comparing it
    #[arg(long)]
    pub disable_han: bool,
    /// The collrules-worker program [default: the first with the interface of this Open MPI, next to collrules, in
    /// ~/.local/share/collrules, in PATH]
    #[arg(long, value_name = "FILE")]
    pub worker: Option<PathBuf>,
    /// Kill a job after this time without a sign of life, or earlier if that takes too much of the budget
    #[arg(long, value_name = "TIME", value_parser = values::positive, default_value = "120s")]
    pub hang_timeout: Seconds,
}

/// A simulated cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Simulation")]
pub struct Simulated {
    /// Compute times from a cost model instead of measuring: no MPI needed
    #[arg(long = "simulate", value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "stale", require_equals = true, required = false)]
    pub scenario: Scenario,
    /// Slots of the simulated cluster
    #[arg(long = "simulated-slots", value_name = "N", default_value = "8", requires = "scenario", value_parser = values::simulated_slots)]
    pub slots: Ranks,
    /// Slots of each simulated node
    #[arg(long = "simulated-ppn", value_name = "N", default_value = "1", requires = "scenario", value_parser = values::simulated_slots)]
    pub each: Ranks,
    /// Release of the simulated Open MPI
    #[arg(
        id = "simulated_release",
        long = "simulated-release",
        value_name = "RELEASE",
        default_value = "5.0",
        requires = "scenario"
    )]
    pub release: Release,
    /// Play the messages of calls (bcast, scatter, gather, alltoall, barrier), and the probes of models, on the machine
    /// of this model.json, whose ranks are the slots
    #[arg(long = "simulated-model", value_name = "MODEL", requires = "scenario", conflicts_with_all = ["slots", "each", "layout"], value_parser = values::parse_absolute_path)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
}

names! {
    /// Which cluster is simulated.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
    #[serde(rename_all = "snake_case")]
    pub enum Scenario {
        /// The default is out of date and can be beaten
        // It always uses the binomial tree for bcast, and the first, linear algorithm elsewhere.
        Stale "stale",
        /// The default is the fastest algorithm of coll/tuned
        Fastest "fastest",
        /// All algorithms are equal; differences are noise
        Noise "noise",
        /// As stale, but some rules turn out slower in fresh launches
        // Bcast by anything but the builtin is, for long messages.
        Deceptive "deceptive",
        /// As stale, but everything takes 25 % longer: what drift finds
        Slowed "slowed",
        /// The default is the best, but mock-ups beat bcast of long messages and allreduce of short ones
        // It is 10 % faster than any algorithm and 20 % faster than any mock-up, but for long messages of bcast, where
        // `scatter+allgather` and an algorithm take two thirds of its time, and for short ones of allreduce, where
        // `reduce+bcast` takes half of its time, and no algorithm helps.
        Planted "planted",
        /// As stale, on hosts of two slots each, with HAN for communicators on several hosts
        // HAN is better than the stale builtin at short messages, and coll/tuned's segmented algorithms at long ones.
        Han "han",
        /// The best algorithm for bcast depends on the layout: see --simulated-ppn and --also-layout
        // From 256 KiB on the pipeline is faster anywhere; from 16 KiB on the chain is where nodes are full, and loses next to nothing
        // with one rank per node; below that the binary tree is faster on full nodes and slower elsewhere, and the binomial one the
        // other way round.
        Arranged "arranged",
        /// As stale, but one algorithm loses if the last rank is the root
        // scatter_allgather of bcast, which is the fastest for some messages, takes four times as long then.
        Rooted "rooted",
        /// As stale, but one algorithm loses if buffers change, and all rules for allreduce lose in place
        // The algorithm is that of Rooted.
        Rotated "rotated",
        /// As stale, but one algorithm loses if a rank is late, in a profile if rank 0 waits for others
        // The algorithm is that of Rooted.
        Late "late",
        /// As stale, with settings that help, harm, crash and hang inside nodes: see --simulated-ppn
        Settings "settings",
    }
}

/// Options of `validate`.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct Validating {
    /// Collectives to compare, separated by commas, or all [default: those that the file has rules for]
    #[arg(long = "ops", value_name = "LIST", value_parser = values::collectives)]
    pub collectives: Option<List<Collective>>,
    /// Communicator sizes, as for tune [default: those of the run; for other files the powers of two up to the
    /// available slots, and the slots]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = values::communicators)]
    pub ranks: List<Ranks>,
    /// Message sizes [default: those of the run and sizes between them; for other files both ends and the middle of each
    /// of its ranges]
    #[arg(long, value_name = "SIZES", value_parser = values::sizes)]
    pub sizes: Option<List<Bytes>>,
    /// Pairs of launches, one without and one with the file; undecided sizes get more while there is time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub pairs: u32,
    /// Time for the whole command; a run with settings has half of it for them. `none`: until every size is precise or
    /// has its maximum of rounds
    #[arg(long, value_name = "TIME|none", default_value = "60s", value_parser = values::budget)]
    pub budget: Budget,
    /// Differences, in percent, that count as none
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = values::percent)]
    pub min_difference: f64,
    /// Maximum loss in percent: of a rule in other calls than those that decided on it, and of any size with settings
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = values::slowdown)]
    pub max_loss: f64,
    /// Statistic to compare [default: that of the run; for other files the median]
    #[arg(long = "statistic")]
    pub middle: Option<Middle>,
    /// Maximum share of wrong verdicts among those of faster and slower, in percent (false discovery rate)
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = values::percent)]
    pub error_rate: f64,
    /// Method of passing the file's settings to launches
    #[arg(long, value_name = "HOW", default_value = "environment")]
    pub deploy: DeployWay,
    /// Remove rules and settings that are slower, and compare what is left, until nothing is slower
    #[arg(long)]
    pub repair: bool,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Options of timing calls.
    #[command(flatten)]
    pub timing: TimingOptions,
    /// The condition of the timed calls.
    #[command(flatten)]
    pub condition: Condition,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

values::default_is_no_option!(TuneOptions, Launching, TimingOptions);

impl<J: Args> Default for SystemOptions<J> {
    fn default() -> Self {
        values::usual()
    }
}

impl Default for Simulated {
    fn default() -> Self {
        Self { scenario: Scenario::Stale, slots: Ranks(8), each: Ranks(1), release: Release::V5_0, model: None }
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
        Self { system, ..values::usual() }
    }

    /// Returns true if the user chose the cells.
    pub fn chooses_cells(&self) -> bool {
        self.collectives.is_some() || !self.ranks.is_empty() || self.sizes.is_some()
    }
}
