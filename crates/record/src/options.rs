//! What a user asked a workflow to do. The manifest keeps it, so that a run can be resumed and validated as it was
//! measured, whatever the command line is called by then.
//!
//! How each option is written on a command line stands beside it: what is said of a field is what `--help` prints.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use collrules_rules::{Collective, Release};
use serde::{Deserialize, Serialize};

use crate::allocation::BatchSystem;
use crate::candidate_name::CandidateName;
use crate::clock::SyncMethod;
use crate::findings::{Criteria, Middle};
use crate::han_choice::HanSettings;
use crate::mockup::Mockup;
use crate::placement::Layout;
use crate::plan::DeployWay;
use crate::policy::Policy;
use crate::profile::weight::Weight;
use crate::units::{Bytes, Ranks, Seconds};
use crate::values::{
    Communicators, MOST_LAUNCHES, absolute, budget, collectives, communicators, only, percent, positive, ratio,
    simulated_slots, sizes,
};

/// One argument that stands for several values; clap takes a `Vec` for an argument of its own each.
pub type List<T> = Vec<T>;

/// A time, or none where it may take what it needs; clap takes an `Option` for an argument that may be missing.
pub type Budget = Option<Seconds>;

pub use crate::values::REST;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
pub struct Tuning {
    /// What to measure.
    #[command(flatten)]
    pub grid: Grid,
    /// Time for the whole command, starting jobs and proving the rules included; with `none`, each launch goes on until
    /// every cell is precise or has as many rounds as allowed, and `rest` is what is left of the batch system's job. It
    /// ends before that job in any case
    #[arg(long, value_name = "TIME|none|rest", default_value = "120s", value_parser = budget)]
    pub budget: Budget,
    /// How many times to start the job. What is chosen has to gain in every launch
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Time every candidate to the end in every launch, however slow
    #[arg(long)]
    pub keep_slow: bool,
    /// How calls are timed.
    #[command(flatten)]
    pub timing: Timing,
    /// What a candidate has to show. The clock's step is that of the survey, whatever stands here.
    #[command(flatten)]
    pub criteria: Criteria,
    /// How verdicts become rules.
    #[command(flatten)]
    pub policy: Policy,
    /// What is measured between the sizes of the grid.
    #[command(flatten)]
    pub refinement: Refinement,
    /// Do not compare the rules with the builtin in fresh launches, which takes a quarter of the budget and gives back
    /// what turns out slower
    #[arg(long = "no-validate", action = ArgAction::SetFalse, help_heading = "Validation")]
    pub validate: bool,
    /// Measure in these layouts as well, each in a run of its own within the run: one rule serves all that have communicators of
    /// one size, by their --weight. They share the budget, and nothing is refined
    #[arg(long, value_name = "LAYOUTS", value_delimiter = ',', help_heading = "Launching")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_layout: Vec<Layout>,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System,
}

/// Which cells and candidates to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
pub struct Grid {
    /// Collectives to tune, separated by commas, or all
    #[arg(long = "ops", value_name = "LIST", default_value = "bcast,scatter,barrier", value_parser = collectives)]
    pub collectives: List<Collective>,
    /// Communicator sizes, separated by commas; FIRST:LAST for the powers of two between, both ends, and 1, 2, 4 full nodes and
    /// so on between them [default: the same up to the slots at hand]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = Communicators::read)]
    pub ranks: Communicators,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "1:1M", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Whether the sizes are those of whole vectors, which blocks are a part of, and not those of messages.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vectors: bool,
    /// Segment sizes to try beside unsegmented, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8K,64K")]
    pub segments: Vec<Bytes>,
    /// Fan-outs to try where an algorithm has one, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4")]
    pub fanouts: Vec<u32>,
    /// Bounds on requests to try where an algorithm has one and this Open MPI reads it from a file (4.1.8, 5.0.7, 6.0)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2")]
    pub requests: Vec<u32>,
    /// Most memory for the buffers of one rank; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub max_memory: Bytes,
    /// Try these algorithms only, beside the builtin, and vary none of their parameters: COLLECTIVE:ALGORITHM by name or
    /// number, or as a candidate such as bcast:tuned:2/4/0/0. Collectives that are not named keep all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = only)]
    pub only: Vec<(Collective, CandidateName)>,
    /// Start a job for each candidate, as people do without collrules. Allgatherv needs that and always gets it
    #[arg(long)]
    pub launch_per_candidate: bool,
    /// What programs spend in which cells: where there is any, these are measured, and nothing else.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<Weight>,
    /// Take the layout in which programs spend the most time, once it is known what there is.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_layout: bool,
    /// Which mock-ups to time beside the builtin; none for tuning.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mockups: Option<Box<Mockups>>,
    /// Time Chan et al.'s algorithms for short and long vectors as well, chan:short and chan:long, where there are some and
    /// none are named by --only. They show what coll/tuned leaves on the table; no rule can ask for them
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// Time patterns as well, beside the cells: what a message takes inside a node and between nodes, and what the operation
    /// of reductions does. --reference does so in any case
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patterns: bool,
    /// Time the probes of a communication model, each rank with at most so many partners; none for tuning.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
    /// Try parameters of HAN where it serves bcast, reduce or allreduce: a segment size, coll/adapt between nodes, or both,
    /// such as segsize=8192+up=adapt. They hold for a whole job, so that each gets 8 jobs of its own
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub han_settings: Vec<HanSettings>,
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
    /// The rules file, or the run with one, under which all is checked once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<PathBuf>,
}

/// How calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Args)]
#[command(next_help_heading = "Timing")]
pub struct Timing {
    /// How ranks are brought together before a timed call
    #[arg(long, value_name = "HOW", default_value = "barrier")]
    pub sync: SyncMethod,
    /// How far the common clock may be off on a rank before it is set again
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "1us")]
    pub clock_bound: Seconds,
    /// Treat each rank's clock as separate, even on one host: shows how exact the common clock is
    #[arg(long)]
    pub separate_clocks: bool,
    /// Time each candidate exactly so often per size and launch, from its first call on, rather than until its time is
    /// precise; the budget may end it before. For irregular, 100 is the default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
}

/// What is measured between the sizes of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, Args)]
#[command(next_help_heading = "Refinement")]
pub struct Refinement {
    /// Rounds in which sizes are measured between those of the grid where the choice changes, as long as it is worth the
    /// time; they share 15 % of the budget
    #[arg(long = "refine", value_name = "ROUNDS", default_value_t = 2)]
    pub rounds: u32,
    /// Stop refining a change where the size above it is at most this many times the size below it
    #[arg(long = "refine-width", value_name = "RATIO", default_value = "1.25", value_parser = ratio)]
    pub width: f64,
    /// Measure communicator sizes between those of the grid as well
    #[arg(id = "refine_np", long = "refine-np")]
    pub ranks: bool,
}

/// Where jobs run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
#[command(next_help_heading = "Launching")]
pub struct System<J: Args = Jobs> {
    /// How communicators take their ranks from those of the job: block (the first ones in mpirun's order), one-per-node,
    /// or spread (the nodes in turn)
    #[arg(long, value_name = "LAYOUT", default_value_t)]
    pub layout: Layout,
    /// Allow more ranks than slots; what is timed then includes the operating system's scheduler
    #[arg(long)]
    pub oversubscribe: bool,
    /// What carries them out.
    #[command(flatten)]
    pub jobs: J,
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

impl Jobs {
    /// Whether calls are played on the machine of a model that was fitted.
    pub fn is_model(&self) -> bool {
        matches!(self, Self::Simulation(Simulated { model: Some(_), .. }))
    }
}

/// How MPI jobs are started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
#[command(next_help_heading = "Launching")]
pub struct Launching {
    /// The mpirun of the Open MPI to tune [default: the first in PATH]
    #[arg(long, value_name = "FILE")]
    pub mpirun: Option<PathBuf>,
    /// What starts MPI jobs: mpirun, srun, or a command line with {np}, {mca} and {program} where these belong, such as
    /// 'srun --mpi=pmix -n {np}' [default: in a job of Slurm without mpirun, or whose srun is set up for MPI, srun; else
    /// mpirun]
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<String>,
    /// More options for mpirun, in one argument, such as '--hostfile hosts --map-by node'
    #[arg(long = "mpirun-args", value_name = "ARGS", default_value = "", allow_hyphen_values = true)]
    pub arguments: String,
    /// On several hosts, measure with Open MPI's component han switched off for all collectives, and let the settings
    /// say so; without this, it is measured beside the others
    #[arg(long)]
    pub disable_han: bool,
    /// The collrules-worker program [default: the one beside collrules, or the first in PATH]
    #[arg(long, value_name = "FILE")]
    pub worker: Option<PathBuf>,
    /// End the job when it has said nothing for this long
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "120s")]
    pub hang_timeout: Seconds,
}

/// A simulated cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
#[command(next_help_heading = "Simulation")]
pub struct Simulated {
    /// Compute times from a cost model instead of measuring: no MPI needed
    #[arg(long = "simulate", value_name = "SCENARIO", num_args = 0..=1, default_missing_value = "stale", require_equals = true)]
    pub scenario: Scenario,
    /// Slots of the simulated cluster
    #[arg(long = "simulated-slots", value_name = "N", default_value = "8", requires = "scenario", value_parser = simulated_slots)]
    pub slots: Ranks,
    /// Slots of each simulated node
    #[arg(long = "simulated-ppn", value_name = "N", default_value = "1", requires = "scenario", value_parser = simulated_slots)]
    #[serde(default = "one", skip_serializing_if = "is_one")]
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
    /// Play the messages of calls, and the probes of models, event by event on the machine of this model.json: bcast, scatter,
    /// gather, alltoall and barrier. Its ranks are the slots; its release, where it has one, is the
    /// simulated one
    #[arg(long = "simulated-model", value_name = "MODEL", requires = "scenario", conflicts_with_all = ["slots", "each", "layout"], value_parser = absolute)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Scenario {
    /// The builtin is out of date and can be beaten
    // It always uses the binomial tree for bcast, and the first, linear algorithm elsewhere.
    Stale,
    /// The builtin is the best everywhere
    Perfect,
    /// All candidates are alike; differences are noise
    Noise,
    /// As stale, but under a rules file some of what was measured turns out slower
    // Bcast by anything but the builtin is, for long messages.
    Deceptive,
    /// As stale, but everything takes 25 % longer: what drift finds
    Slowed,
    /// The builtin is the best but where bcast of long messages and allreduce of short ones are beaten by mock-ups
    // It is 10 % faster than any algorithm and 20 % faster than any mock-up, but for long messages of bcast, where
    // `scatter+allgather` and an algorithm take two thirds of its time, and for short ones of allreduce, where
    // `reduce+bcast` takes half of its time, and no algorithm helps.
    Planted,
    /// As stale, on hosts of two slots each, where HAN serves communicators that span several
    // HAN is better than the stale builtin at short messages, and coll/tuned's segmented algorithms at long ones.
    Han,
    /// What is best for bcast depends on where the ranks are: see --simulated-ppn and --also-layout
    // From 256 KiB on the pipeline is faster anywhere; from 16 KiB on the chain is where nodes are full, and loses next to nothing
    // with one rank per node; below that the binary tree is faster on full nodes and slower elsewhere, and the binomial one the
    // other way round.
    Arranged,
}

/// What `profile` shall do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
pub struct Profiling {
    /// Time a barrier before every N-th call of a communicator (10 where no number is given), to tell waiting for late ranks
    /// from the collective itself. That changes how the program runs
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", require_equals = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub imbalance: Option<u32>,
    /// The library to preload [default: libcollrules_profile.so beside collrules, or in the lib directory beside it]
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// The command that starts the program: mpirun or srun with all its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What `try` shall do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
pub struct Trying {
    /// Pairs of runs at most, one without and one with the tuning. Fewer are made where it is clear before
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub pairs: u32,
    /// Time for all of it; no pair is begun that would not end in time
    #[arg(long, value_name = "TIME|none", default_value = "none", value_parser = budget)]
    pub budget: Budget,
    /// Differences, in percent, that count as none
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub min_difference: f64,
    /// Largest acceptable probability of a wrong verdict of faster or slower, in percent, over all looks at the pairs
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub error_rate: f64,
    /// Compare a number that the program prints, instead of the wall time: a regular expression, whose first group (or all
    /// of it) is the number. The last match counts, and lower is better
    #[arg(long, value_name = "REGEX")]
    pub metric: Option<String>,
    /// Higher is better
    #[arg(long, requires = "metric")]
    pub higher_is_better: bool,
    /// A command for a shell that restores what a run changes, before each run
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Run the program twice more with the profiler, to see its time in collectives without and with the tuning
    #[arg(long, conflicts_with = "profiler")]
    pub collectives: bool,
    /// Try the profiler instead of a tuning: what `collrules profile` costs this program
    #[arg(long)]
    pub profiler: bool,
    /// The library to preload for these [default: libcollrules_profile.so beside collrules, or in the lib directory beside it]
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// The command that starts the program: mpirun or srun with all its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What `validate` shall do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
pub struct Validating {
    /// Collectives to compare, separated by commas, or all [default: those that the file has rules for]
    #[arg(long = "ops", value_name = "LIST", value_parser = collectives)]
    pub collectives: Option<List<Collective>>,
    /// Communicator sizes, as for tune [default: those of the run; for other files the powers of two up to the slots at
    /// hand, and the slots]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
    pub ranks: List<Ranks>,
    /// Message sizes [default: those of the run and sizes between them; for other files both ends and the middle of each
    /// of its ranges]
    #[arg(long, value_name = "SIZES", value_parser = sizes)]
    pub sizes: Option<List<Bytes>>,
    /// Pairs of launches, one without and one with the file; doubtful cells get up to 4 more
    #[arg(long, value_name = "N", default_value_t = PAIRS, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_PAIRS)))]
    pub pairs: u32,
    /// Time for the whole command; with --repair, 60 % of it for the first comparison, and what was repaired is compared
    /// again while there is time. With `none`, each launch goes on until every cell is precise or has as many rounds as
    /// allowed
    #[arg(long, value_name = "TIME|none", default_value = "60s", value_parser = budget)]
    pub budget: Budget,
    /// Differences, in percent, that count as none
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub min_difference: f64,
    /// What of the calls is compared [default: what decided on the rules of a run; for other files the median]
    #[arg(long = "statistic", value_enum)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle: Option<Middle>,
    /// Largest acceptable share of wrong verdicts among those of faster and slower, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub error_rate: f64,
    /// How the file is put in force
    #[arg(long, value_name = "HOW", default_value = "environment")]
    pub deploy: DeployWay,
    /// Give back to the builtin what is slower, write the file anew, prove and compare it again, until nothing is slower
    #[arg(long)]
    pub repair: bool,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How calls are timed.
    #[command(flatten)]
    pub timing: Timing,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System,
}

/// What `verify` shall look at.
#[derive(Clone, Debug, Args)]
pub struct Verifying {
    /// The rules file; with --deployed, the one that is expected to be in force
    #[arg(value_name = "FILE", required_unless_present = "deployed")]
    pub rules: Option<PathBuf>,
    /// Ask what Open MPI does with its settings as they are in this shell and its parameter files, instead of naming the
    /// file to it
    #[arg(long)]
    pub deployed: bool,
    /// Communicator sizes to call on, as for tune [default: powers of two up to the slots at hand, and the slots]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
    pub ranks: List<Ranks>,
    /// Message sizes to call with, beside both sides of every boundary
    #[arg(long, value_name = "SIZES", default_value = "1:1M", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Directory for a copy of the file that exists while the command runs; all nodes have to see it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub scratch: PathBuf,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System<Launching>,
}

/// What `merge` shall do.
#[derive(Clone, Debug, Args)]
pub struct Merging {
    /// The runs: of one Open MPI on one kind of node, with the same layout and settings
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// Directory for the run that they become, which must not hold one yet
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// What `drift` shall do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Args)]
pub struct Drifting {
    /// Cells to measure again: those with rules first, spread over collectives, communicators and sizes
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub cells: u32,
    /// How many times to start the job; how much launches differ is what changes are measured by
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Time for all of it; with `none`, each launch goes on until every cell is precise or has its most rounds
    #[arg(long, value_name = "TIME|none", default_value = "60s", value_parser = budget)]
    pub budget: Budget,
    /// Changes of times, in percent, that count as none: days differ
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = percent)]
    pub min_change: f64,
    /// Largest acceptable probability of an alarm where nothing changed, in percent, over all cells together
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent)]
    pub error_rate: f64,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub seed: u64,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System,
}

/// What `install` shall do.
#[derive(Clone, Debug, Args)]
pub struct Installing {
    /// The run whose tuning is installed
    #[arg(value_name = "RUN", required_unless_present = "undo")]
    pub run: Option<PathBuf>,
    /// The Open MPI to install it for: its directory, such as /opt/openmpi/5.0.7, or its mpirun [default: that of the
    /// mpirun in PATH]
    #[arg(long = "for", value_name = "DIR")]
    pub openmpi: Option<PathBuf>,
    /// Keep the rules files in DIR/share/collrules, a directory for each Open MPI [default: beside the parameter file]
    #[arg(long, value_name = "DIR")]
    pub prefix: Option<PathBuf>,
    /// Switch it on for this user alone, in ~/.openmpi/mca-params.conf, which every Open MPI of the user reads
    #[arg(long, conflicts_with = "prefix")]
    pub user: bool,
    /// Take back what an earlier install did: the parameter file is as it was before
    #[arg(long, conflicts_with = "run")]
    pub undo: bool,
    /// Only show what would be written
    #[arg(long)]
    pub dry_run: bool,
}

/// What `installed` shall look at.
#[derive(Clone, Debug, Args)]
pub struct Inquiring {
    /// Installations of Open MPI: their directories, or their mpirun [default: that of the mpirun in PATH]
    #[arg(value_name = "DIR")]
    pub openmpi: Vec<PathBuf>,
    /// Look at all for which `install --prefix DIR` keeps rules files as well
    #[arg(long, value_name = "DIR")]
    pub prefix: Option<PathBuf>,
}

/// What `study` shall do.
#[derive(Clone, Debug, Args)]
pub struct Studying {
    /// The definition; or a table of timings that others measured, all of which is then studied
    #[arg(value_name = "FILE")]
    pub definition: PathBuf,
    /// Directory for README.md, the figures, times.csv and study.json, which must not hold any of them yet; what is measured
    /// goes into its directory run
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Measure nothing: take what this run directory holds of what the definition asks for, which has to be all of it, but
    /// for communicators of more ranks than there were slots; with placements, the directory of such a study. An imported run
    /// or a table of timings will do as well, with what it has
    #[arg(long, value_name = "RUN|TABLE")]
    pub run: Option<PathBuf>,
    /// Release of Open MPI whose algorithm numbers a table means [default: 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<Release>,
    /// Write the times as OSU's benchmarks print theirs as well, a file for each collective, number of ranks and algorithm
    #[arg(long)]
    pub osu_files: bool,
    /// What the reader should know about the machine, in whole sentences
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Communicator sizes, as for tune, instead of those of the definition; all of them are needed
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
    pub ranks: List<Ranks>,
    /// Most memory for the buffers of one rank; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M", conflicts_with = "run")]
    pub max_memory: Bytes,
    /// Time for all of it, instead of that of the definition
    #[arg(long, value_name = "TIME|none", value_parser = budget, conflicts_with = "run")]
    pub budget: Option<Budget>,
    /// How many times to start the job, instead of what the definition says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_LAUNCHES), conflicts_with = "run")]
    pub launches: Option<u32>,
    /// Rounds in which sizes are measured between those of the definition where one class of algorithms (builtin, chan:short,
    /// chan:long) gives way to another; they share 15 % of the time
    #[arg(long, value_name = "ROUNDS", default_value_t = 0, conflicts_with = "run")]
    pub refine: u32,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System,
}

/// What `model` shall measure.
#[derive(Clone, Debug, Args)]
pub struct Modelling {
    /// The number of ranks whose messages are timed [default: all slots]
    #[arg(long = "np", value_name = "N")]
    pub ranks: Option<Ranks>,
    /// Message sizes, of probes and of the collectives beside them; empty messages are timed in any case
    #[arg(long, value_name = "SIZES", default_value = "1K,8K,32K,64K,128K,512K", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Partners of each rank in probes, at most; with fewer ranks, all pairs are timed
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..))]
    pub partners: u32,
    /// Collectives that are measured on all ranks to see how well the model predicts them, and what a message takes in
    /// each algorithm: bcast, scatter, gather, alltoall
    #[arg(long = "ops", value_name = "LIST", default_value = "scatter", value_parser = collectives)]
    pub collectives: List<Collective>,
    /// Time for all of it; with `none`, each launch goes on until everything is precise or has its most rounds
    #[arg(long, value_name = "TIME|none", default_value = "240s", value_parser = budget)]
    pub budget: Budget,
    /// How many times to start the job; intervals come from differences between launches
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How calls are timed.
    #[command(flatten)]
    pub timing: Timing,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System,
}

/// What `irregular` shall measure.
#[derive(Clone, Debug, Args)]
pub struct Irregularity {
    /// Collectives to time, separated by commas; gather and scatter are timed by gatherv and scatterv as well
    #[arg(long = "ops", value_name = "LIST", default_value = "gather,scatter,alltoall", value_parser = collectives)]
    pub collectives: List<Collective>,
    /// Communicator sizes, as for tune [default: all slots]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
    pub ranks: List<Ranks>,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "1K:256K", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Into how many calls messages are split, with barriers between them, as a cure; separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4,8", value_parser = clap::value_parser!(u32).range(2..))]
    pub pieces: Vec<u32>,
    /// Time for all of it; with `none`, as long as all calls take
    #[arg(long, value_name = "TIME|none", default_value = "300s", value_parser = budget)]
    pub budget: Budget,
    /// How many times to start the job
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How calls are timed.
    #[command(flatten)]
    pub timing: Timing,
    /// Where jobs run.
    #[command(flatten)]
    pub system: System,
}

/// What `submit` shall ask a batch system for.
#[derive(Clone, Debug, Args)]
pub struct Submitting {
    /// Number of nodes; with several, separated by commas, a job for each, with a run of its own
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Vec<u32>,
    /// Ranks per node
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ppn: u32,
    /// Time limit of each job. Without --budget, the command uses what it leaves
    #[arg(long, value_name = "TIME", value_parser = positive)]
    pub time: Seconds,
    /// The partition, or the queue
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Who pays
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// The quality of service
    #[arg(long, value_name = "NAME")]
    pub qos: Option<String>,
    /// What nodes must have, as the batch system writes it
    #[arg(long, value_name = "WHAT")]
    pub constraint: Option<String>,
    /// Share the nodes with nobody
    #[arg(long)]
    pub exclusive: bool,
    /// The parallel environment (Grid Engine)
    #[arg(long, value_name = "NAME")]
    pub parallel_environment: Option<String>,
    /// Module to load before; may be repeated
    #[arg(long, value_name = "NAME")]
    pub module: Vec<String>,
    /// So many jobs of each kind as an array: each has a run of its own, and another seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub array: Option<u32>,
    /// Another directive for the script, without #SBATCH or the like; may be repeated
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub directive: Vec<String>,
    /// The batch system [default: the one whose commands are in PATH]
    #[arg(long, value_name = "NAME")]
    pub system: Option<BatchSystem>,
    /// Directory for the script, the log and the run; a run in it is resumed [default: collrules-run-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the script, and neither write nor submit anything
    #[arg(long)]
    pub print: bool,
    /// The command for the job: tune or measure, with its options, without --out and --resume
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Pairs of launches of a validation where nobody says otherwise.
pub const PAIRS: u32 = 4;

/// The most pairs of launches of a validation.
pub const MOST_PAIRS: u32 = 1000;

/// The options that these words of a command line stand for; what they leave open is as everywhere.
pub fn read<O: Args>(words: impl IntoIterator<Item = impl AsRef<str>>) -> Result<O, String> {
    read_by(command::<O>(), words)
}

/// The same by a command that may know more options.
pub fn read_by<O: Args>(command: Command, words: impl IntoIterator<Item = impl AsRef<str>>) -> Result<O, String> {
    let words = words.into_iter().map(|word| word.as_ref().to_owned());
    let matches = command.try_get_matches_from(words).and_then(|matches| O::from_arg_matches(&matches));
    matches.map_err(|error| {
        let said = error.to_string();
        let first = said.lines().next().unwrap_or_default();
        first.strip_prefix("error: ").unwrap_or(first).to_owned()
    })
}

/// A command that knows these options.
pub fn command<O: Args>() -> Command {
    O::augment_args(Command::new("options").no_binary_name(true).args_override_self(true))
}

impl System {
    /// Whether nothing real is measured.
    pub fn is_simulated(&self) -> bool {
        matches!(self.jobs, Jobs::Simulation(_))
    }
}

/// One of the two, by what is said: nothing is simulated unless `--simulate` says so.
impl FromArgMatches for Jobs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        if matches.contains_id("scenario") {
            return Simulated::from_arg_matches(matches).map(Self::Simulation);
        }
        Launching::from_arg_matches(matches).map(Self::Mpi)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        const ABOUT_MPI: [&str; 6] = ["mpirun", "launcher", "arguments", "disable_han", "worker", "hang_timeout"];
        let refused = |why: &str| Err(clap::Error::raw(ErrorKind::ArgumentConflict, why));
        match self {
            Self::Mpi(_) if matches.contains_id("scenario") => refused("the run was measured: leave out --simulate"),
            Self::Simulation(_) if ABOUT_MPI.iter().any(|id| matches.contains_id(id)) => {
                refused("the run was simulated: leave out what is said of mpirun, the worker and its jobs")
            }
            Self::Mpi(launching) => launching.update_from_arg_matches(matches),
            Self::Simulation(simulated) => simulated.update_from_arg_matches(matches),
        }
    }
}

impl Args for Jobs {
    fn augment_args(command: Command) -> Command {
        // As for an update, `--simulate` need not be said.
        Simulated::augment_args_for_update(Launching::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Validating {
    /// Whether the user chose the cells.
    pub fn chooses_cells(&self) -> bool {
        self.collectives.is_some() || !self.ranks.is_empty() || self.sizes.is_some()
    }
}
