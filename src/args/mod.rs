//! The command line, as it is parsed; nothing here opens or decides anything.

mod bench;
mod drift;
mod files;
mod generate;
mod guidelines;
mod import;
mod irregular;
mod merge;
mod model;
mod profile;
mod report;
mod study;
mod submit;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, Parser, Subcommand};
use collrules_record::Policy;
use collrules_record::findings::Criteria;
use collrules_record::options::{Grid, Launching, System, Tuning};
use collrules_rules::Release;

pub(crate) use collrules_workflow::analyze::TABLE_RELEASE;
use collrules_workflow::profile::weighted;

use crate::failure::Failure;
use crate::progress::Output;
pub(crate) use bench::Bench;
pub(crate) use drift::DriftArgs;
pub(crate) use files::{Check, CheckFormat, Convert, Deny, Diff, Explain, Install, InstalledArgs};
pub(crate) use files::{Tree, TreeFormat, Validate, Verify};
pub(crate) use generate::{Completions, Man};
pub(crate) use guidelines::Guidelines;
pub(crate) use import::{Import, Plausible, Time, Unit};
pub(crate) use irregular::IrregularArgs;
pub(crate) use merge::Merge;
pub(crate) use model::{Fit, ModelAction, ModelArgs, Predict};
pub(crate) use profile::{Profile, ProfileCommand, Show, Try};
pub(crate) use report::{Report, ReportFormat};
pub(crate) use study::StudyArgs;
pub(crate) use submit::{StatusArgs, Submit, Watch};

/// Tunes Open MPI's coll/tuned: measures every algorithm of a collective on this cluster, writes the rules file that
/// makes Open MPI pick the right one, and shows that it does.
#[derive(Debug, Parser)]
#[command(name = "collrules", version, max_term_width = 80, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes:
  0  done
  1  a checked file has problems, files differ, or benchmarked data is wrong
  2  usage error
  3  an input is missing or unusable
  4  nothing can be measured here: no mpirun, no worker, an unknown Open MPI,
     too few slots
  5  interrupted before it was complete, or a proof could not be made; what was
     measured is kept
  6  an output cannot be written, or exists already
  7  Open MPI does not obey the rules file
  8  a rules file makes something slower
  9  a collective is slower than other calls that do the same
 10  a node or a pair of nodes is slower than the others
 11  a machine does not behave as it did when a run was measured";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure, decide, write the rules file, and show that Open MPI obeys it
    Tune(Tune),
    /// Only measure: the first half of tune, which analyze or tune --resume completes
    Measure(Tune),
    /// Say what would be measured and how long it will take, as tune --dry-run does
    Plan(Tune),
    /// Make verdicts and rules of a run directory or a timing table, without MPI
    Analyze(Analyze),
    /// Show the decision tree that an analysis made, with the evidence for each of its leaves
    Tree(Tree),
    /// Write what an analysis found as a page, as text, or for programs, or say what changed since another run
    Report(Report),
    /// Make a run directory of what OSU, IMB, ReproMPI and others measured
    Import(Import),
    /// Show whether the Open MPI in use accepts a rules file and serves calls by the rules meant for them
    Verify(Verify),
    /// Compare a rules file with the builtin in fresh launches without it and with it, and give back what is slower
    Validate(Validate),
    /// Say what is installed, which components would serve, and what is in the way of measuring, with remedies
    Doctor(Doctor),
    /// Show everything that is wrong with rules files, or might surprise, in any release
    Check(Check),
    /// Say which line of a rules file decides a call in each release, and what runs; without --op, show the whole file
    Explain(Explain),
    /// Write what a rules file means in another format, and say what that loses
    Convert(Convert),
    /// Show the calls that two rules files decide differently
    Diff(Diff),
    /// Check that no collective is slower than other calls that do the same, and say where and how badly
    Guidelines(Guidelines),
    /// Write the script of a batch job that tunes, and submit it; from a login node, without MPI
    Submit(Submit),
    /// Say how far a run is, and what the batch system says of its job
    Status(StatusArgs),
    /// Follow a run: say how far it is whenever that changes
    Watch(Watch),
    /// Show calls that now and then take many times as long, as gathers over TCP do, and what cures them
    Irregular(IrregularArgs),
    /// Fit a communication model to timings of messages, name slow nodes, and predict what collectives take
    Model(ModelArgs),
    /// Time a collective as the OSU micro-benchmarks do, and print the same columns
    Bench(Bench),
    /// Compare chosen algorithms on a grid: tables, figures, and a conclusion drawn from the numbers
    Study(StudyArgs),
    /// Run an MPI program as it is, and see which collectives it calls and where its time goes
    Profile(Profile),
    /// Run a program without and with a tuning, in turns, and say whether it is faster
    Try(Try),
    /// Make one run of several that were measured on the same system, such as an array of jobs over numbers of nodes
    Merge(Merge),
    /// Measure some cells of a run again, and say whether the machine changed and whether the rules still hold
    Drift(DriftArgs),
    /// Put a tuning where every job of an Open MPI finds it, or take it back
    Install(Install),
    /// Say which installations of Open MPI have a tuning, made from what, and whether it still holds
    Installed(InstalledArgs),
    /// Write completions for a shell to standard output
    Completions(Completions),
    /// Write manual pages
    Man(Man),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    /// Measure what programs call, in order of their time in it until 95 % are covered, and choose what saves them the most:
    /// profiles that collrules profile made, or their directories; may be repeated, and FILE:WEIGHT says how much each counts
    // Without a heading, here and below: that of what was flattened before would go on.
    #[arg(
        long,
        value_name = "FILE[:WEIGHT]",
        value_parser = weighted,
        conflicts_with_all = ["collectives", "ranks", "sizes"],
        help_heading = None
    )]
    pub(crate) profile: Vec<(PathBuf, f64)>,
    /// Directory for the run, which must not hold one yet [default: collrules-run-DATE-TIME]
    #[arg(long, value_name = "DIR", help_heading = None)]
    pub(crate) out: Option<PathBuf>,
    /// Say what would be measured and how long it will take, and stop
    #[arg(long, help_heading = None)]
    pub(crate) dry_run: bool,
    /// With plan or --dry-run, list every point
    #[arg(long, short, help_heading = None)]
    pub(crate) verbose: bool,
    /// Print neither progress nor remarks nor results; failures are still reported on standard error
    #[arg(long, short, help_heading = None, conflicts_with_all = ["verbose", "json", "dry_run"])]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) session: Session,
}

/// What concerns the session rather than what is measured.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct Session {
    /// Resume the run in this directory; what it measures, and how, was decided when it began
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Report what happens as JSON, one event per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Give up after this many launches that failed for no known reason
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) failures: u32,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if collrules can measure here, though perhaps with warnings; 4 if something has to be \
                  fixed first."
)]
pub(crate) struct Doctor {
    /// Directory for a file that exists while the command runs; all nodes have to see it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) scratch: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) system: System<Launching>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Analyze {
    /// A run directory, or a timing table (- is standard input): columns separated by commas, semicolons or tabs, plain or
    /// gzip, named collective, algorithm_id, comm_size, message_bytes, avg_latency_us, and perhaps algorithm and launch
    #[arg(value_name = "RUN|TABLE")]
    pub(crate) input: PathBuf,
    /// Directory for what is made of a table, or of a run that has findings already
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Release of Open MPI that a table was measured with; a run knows its own [default: 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Release>,
    #[command(flatten)]
    pub(crate) plausible: Plausible,
    /// Decide on these launches only, and compare what the choices are worth on --test-launches with what simple methods
    /// reach; nothing is written
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "test_launches", conflicts_with = "out")]
    pub(crate) train_launches: Vec<u32>,
    /// The launches to look at, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "train_launches")]
    pub(crate) test_launches: Vec<u32>,
    /// Print the comparison as JSON, with figures for each collective
    #[arg(long, requires = "train_launches", conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Print nothing on standard output
    #[arg(long, short, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) criteria: Criteria,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

impl Tune {
    /// Refuses options that contradict each other.
    pub(crate) fn consistent(&self) -> Result<(), Failure> {
        if !self.tuning.also_layout.is_empty() && self.tuning.system.jobs.is_model() {
            return Err(Failure::usage("the ranks of a model have one layout: leave out --also-layout"));
        }
        let Grid { collectives, only, .. } = &self.tuning.grid;
        // What programs call is measured whatever --ops says.
        let missing = only.iter().filter(|_| self.profile.is_empty()).find(|(named, _)| !collectives.contains(named));
        match missing {
            Some((collective, _)) => Err(Failure::usage(format!(
                "--only names an algorithm of {collective}, which is not tuned: add {collective} to --ops"
            ))),
            None => Ok(()),
        }
    }

    /// What the session writes on the way.
    pub(crate) fn output(&self) -> Output {
        if self.quiet { Output::Quiet } else { Output::of(self.session.json) }
    }
}

/// What the user gives to a subcommand, without what is usual where nothing is said.
pub(crate) struct Given {
    command: clap::Command,
    pub(crate) matches: ArgMatches,
}

impl Given {
    /// On the command line of this program.
    pub(crate) fn here() -> Self {
        Self::of(Args::command(), std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    /// By these words.
    pub(crate) fn of<W: Into<OsString> + Clone>(
        mut program: clap::Command,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self, clap::Error> {
        let mut all = program.try_get_matches_from_mut(words)?;
        let (name, mut matches) = all.remove_subcommand().unwrap_or_default();
        let ids: Vec<String> = matches.ids().map(|id| id.as_str().to_owned()).collect();
        for id in &ids {
            if matches.value_source(id) != Some(ValueSource::CommandLine) {
                // What is there can be cleared.
                let _ = matches.try_clear_id(id);
            }
        }
        let command = program.find_subcommand(name).cloned().unwrap_or_default();
        Ok(Self { command, matches })
    }

    /// The arguments that are given.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Arg> {
        let given = |argument: &&Arg| self.matches.contains_id(argument.get_id().as_str());
        self.command.get_arguments().filter(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Args::command().debug_assert();
    }
}
