//! Arguments of `collrules validate`, and of validation inside `tune`.

use std::path::PathBuf;

use clap::ValueEnum;
use collrules_record::plan::DeployWay;
use collrules_runner::validation::MOST_PAIRS;

use collrules_workflow::options::{Budget, Collectives, Communicators, Sizes, percent};
use collrules_workflow::plan::PAIRS;

use super::{Launch, Simulate, Timing};

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if the file makes nothing slower (with --repair, any more), 8 if it does. For a rules \
file of a run, the cells that were tuned are compared, and the options about launching, simulation and timing are \
those of the run unless one of them is given."
)]
pub(crate) struct Validate {
    /// The rules file: that of a run (or the run's directory), or any other
    #[arg(value_name = "RULES")]
    pub(crate) rules: PathBuf,
    /// Collectives to compare, separated by commas, or all [default: those that the file has rules for]
    #[arg(long, value_name = "LIST")]
    pub(crate) ops: Option<Collectives>,
    /// Communicator sizes, as for tune [default: those of the run; for other files the powers of two up to the slots at
    /// hand, and the slots]
    #[arg(long, value_name = "SIZES")]
    pub(crate) np: Option<Communicators>,
    /// Message sizes [default: those of the run and sizes between them; for other files both ends and the middle of each
    /// of its ranges]
    #[arg(long, value_name = "SIZES")]
    pub(crate) sizes: Option<Sizes>,
    /// Pairs of launches, one without and one with the file; doubtful cells get up to 4 more
    #[arg(long, value_name = "N", default_value_t = PAIRS, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_PAIRS)))]
    pub(crate) pairs: u32,
    /// Time for a comparison; each repair is followed by another one. With `none`, each launch goes on until every cell
    /// is precise or has its most rounds
    #[arg(long, value_name = "TIME|none", default_value = "60s")]
    pub(crate) budget: Budget,
    /// Differences, in percent, that count as none
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub(crate) min_difference: f64,
    /// Largest acceptable share of wrong verdicts among those of faster and slower, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub(crate) error_rate: f64,
    /// How the file is put in force
    #[arg(long, value_name = "HOW", value_enum, default_value_t = DeployArg::Environment)]
    pub(crate) deploy: DeployArg,
    /// Give back to the builtin what is slower, write the file anew, prove and compare it again, until nothing is slower
    #[arg(long)]
    pub(crate) repair: bool,
    /// Directory for samples and results [default: the run; for other files collrules-validation-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Give up after so many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) failures: u32,
    #[command(flatten)]
    pub(crate) timing: Timing,
    #[command(flatten)]
    pub(crate) launch: Launch,
    #[command(flatten)]
    pub(crate) simulate: Simulate,
}

/// Ways to put a rules file in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeployArg {
    /// By variables in mpirun's environment, as env.sh sets them
    Environment,
    /// By options of mpirun
    Mpirun,
}

impl From<DeployArg> for DeployWay {
    fn from(arg: DeployArg) -> Self {
        match arg {
            DeployArg::Environment => Self::Environment,
            DeployArg::Mpirun => Self::CommandLine,
        }
    }
}

/// Validation as a part of tuning.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Validation")]
pub(crate) struct Validation {
    /// Do not compare the rules with the builtin in fresh launches, which takes a quarter of the budget and gives back
    /// what turns out slower
    #[arg(long)]
    pub(crate) no_validate: bool,
}
