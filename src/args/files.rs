//! Arguments of the commands on rules files, and on what an analysis made of them.

use std::path::PathBuf;

use clap::ValueEnum;
use collrules_record::options::{Inquiring, Installing, Porting, Validating, Verifying};
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::emit::TargetFormat;
use collrules_rules::han::Level;
use collrules_rules::{Behaviour, Collective, Distribution};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if all problems are below the level of --deny (errors), 1 otherwise, 3 if a file \
                  cannot be read."
)]
pub(crate) struct CheckArgs {
    /// Rules files of any format; - is standard input, and a run directory stands for its rules
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Release, or version, to check for; may be repeated. What one of these rejects is an error [default: all that
    /// differ, and an older one need not know the format]
    #[arg(long, value_name = "RELEASE", value_delimiter = ',')]
    pub(crate) release: Vec<Behaviour>,
    /// Check what the rules do on communicators of this many ranks, on whatever machine
    #[arg(long, value_name = "N")]
    pub(crate) np: Option<Ranks>,
    /// Format of the list of problems
    #[arg(long, value_name = "HOW", default_value = "full", conflicts_with = "json")]
    pub(crate) format: CheckFormat,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Least severe problem, apart from errors, that makes the check fail
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Option<Deny>,
}

/// Format in which a check shows problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// A summary, then each kind of problem once with its line, reason and remedy, and where else it is
    Full,
    /// One line for each problem: FILE:LINE:COLUMN: CODE MESSAGE
    Short,
}

/// Problems, apart from errors, that make a check fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Deny {
    /// Warnings
    Warnings,
    /// Warnings and notes
    Notes,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The rules file, of any format; - is standard input, and a run directory stands for its rules
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The collective that is called [default: show all ranges of all collectives]
    #[arg(long, value_name = "NAME")]
    pub(crate) op: Option<Collective>,
    /// Size of the communicator [default: show the ranges of all]
    #[arg(long, value_name = "N")]
    pub(crate) np: Option<Ranks>,
    /// Size that the caller passes, as benchmarks print it: the block of one rank for scatter [default: show all
    /// ranges]
    #[arg(long, value_name = "SIZE", requires_all = ["op", "np"])]
    pub(crate) size: Option<Bytes>,
    /// Topology level, in a rules file of coll/han: intra_node, inter_node, global_communicator
    #[arg(long, value_name = "LEVEL", default_value = "global_communicator")]
    pub(crate) level: Level,
    /// Release, or version, to explain; may be repeated [default: all that differ]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Vec<Behaviour>,
    /// Size of the datatype in bytes
    #[arg(long, value_name = "N", default_value_t = 1, requires_all = ["op", "np"])]
    pub(crate) type_size: u64,
    /// See the call as a rank other than the root
    #[arg(long, requires_all = ["op", "np"])]
    pub(crate) not_root: bool,
    /// The caller passes MPI_IN_PLACE
    #[arg(long, requires_all = ["op", "np"])]
    pub(crate) in_place: bool,
    /// The operation does not commute
    #[arg(long, requires_all = ["op", "np"])]
    pub(crate) non_commutative: bool,
    /// Distribution of the communicator over nodes: any, one-per-node, single-node
    #[arg(long, value_name = "HOW", default_value = "any", requires_all = ["op", "np"])]
    pub(crate) distribution: Distribution,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Convert {
    /// The rules file, of any format; - is standard input, and a run directory stands for its rules
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Format to write: classic (every release), v2 (4.1.8, 5.0.7, 6.0), json (6.0)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: TargetFormat,
    /// Release, or version, whose reading of the file is what it means [default: the newest that accepts it, if all
    /// others that accept it read it alike]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Behaviour>,
    /// File to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Within a release, such as from 5.0.8 to 5.0.11, rules are compared with the default in fresh launches; \
                  what a patch level changed is tuned again. Between releases everything is."
)]
pub(crate) struct Port {
    #[command(flatten)]
    pub(crate) porting: Porting,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// A rules file, of any format; - is standard input, and a run directory stands for its rules
    #[arg(value_name = "A")]
    pub(crate) left: PathBuf,
    /// Another
    #[arg(value_name = "B")]
    pub(crate) right: PathBuf,
    /// Release, or version, to compare for; may be repeated [default: all that differ and take both files]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Vec<Behaviour>,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) verifying: Verifying,
    /// Answer in JSON
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if the file makes nothing slower (with --repair: after the repair), 8 if it does. For \
                  a rules file of a run, the sizes that were tuned are compared, and options about launching, \
                  simulation and timing are those of the run unless they are given."
)]
pub(crate) struct Validate {
    /// The rules file: that of a run (or the run's directory), or any other, also one of coll/han alone
    #[arg(value_name = "RULES")]
    pub(crate) rules: PathBuf,
    /// The rules file of coll/han beside one from elsewhere: both are put in force together
    #[arg(long, value_name = "FILE", help_heading = None)]
    pub(crate) han: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) validating: Validating,
    /// Directory for samples and results [default: the run; for other files collrules-validation-DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long, help_heading = None)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = None)]
    pub(crate) failures: u32,
}

#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "The lines go to the end of the installation's openmpi-mca-params.conf, between two markers. What was \
there stays, and --undo takes the lines out again."
)]
pub(crate) struct Install {
    #[command(flatten)]
    pub(crate) installing: Installing,
}

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if every tuning that is installed is as it was installed, 1 otherwise.")]
pub(crate) struct InstalledArgs {
    #[command(flatten)]
    pub(crate) inquiring: Inquiring,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TreeArgs {
    /// A run directory that holds findings, or a findings file; - is standard input
    #[arg(value_name = "RUN|FINDINGS")]
    pub(crate) input: PathBuf,
    /// Format of the tree
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: TreeFormat,
}

/// Format in which a decision tree is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TreeFormat {
    /// Indented lines
    Text,
    /// For programs, as tree.json
    Json,
    /// A drawing
    Svg,
}
