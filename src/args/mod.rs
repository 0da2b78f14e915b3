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
mod settings;
mod study;
mod submit;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use collrules_record::Policy;
use collrules_record::options::{Demands, GridOptions, Launching, SystemOptions, TuneOptions};
use collrules_rules::Release;

pub(crate) use collrules_workflow::analyze::TABLE_RELEASE;
use collrules_workflow::profile::weighted;

use crate::failure::Failure;
use crate::progress::Output;
pub(crate) use bench::BenchArgs;
pub(crate) use drift::DriftArgs;
pub(crate) use files::{CheckArgs, CheckFormat, Convert, Deny, Diff, Explain, Install, InstalledArgs};
pub(crate) use files::{Port, TreeArgs, TreeFormat, Validate, Verify};
pub(crate) use generate::{Completions, Man};
pub(crate) use guidelines::Guidelines;
pub(crate) use import::{ImportArgs, Plausible, Time, Unit};
pub(crate) use irregular::IrregularArgs;
pub(crate) use merge::Merge;
pub(crate) use model::{Fit, ModelAction, ModelArgs, Predict};
pub(crate) use profile::{ProfileArgs, ProfileCommand, Show, Try};
pub(crate) use report::{ReportArgs, ReportFormat};
pub(crate) use settings::SettingsArgs;
pub(crate) use study::StudyArgs;
pub(crate) use submit::{StatusArgs, Submit, Watch};
pub(crate) use worker::{WorkerAction, WorkerArgs};

/// Tunes Open MPI's collectives: benchmarks every algorithm on this cluster, writes rules for the faster ones, and
/// checks that Open MPI uses them.
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
 11  a machine does not behave as it did when a run was measured
 12  rules were written that fresh launches did not confirm";

/// The options of `tune` that its short help shows.
const COMMON: [&str; 10] =
    ["collectives", "ranks", "sizes", "budget", "out", "resume", "profile", "scenario", "dry_run", "verbose"];

/// The commands in groups, as their list shows them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["doctor", "tune", "validate", "install", "installed", "drift"]),
    ("Rules files", &["check", "explain", "convert", "diff", "verify", "port"]),
    ("Cluster", &["submit", "status", "watch", "plan", "measure", "merge", "settings", "worker"]),
    ("Programs", &["profile", "try"]),
    (
        "Research",
        &[
            "analyze",
            "import",
            "tree",
            "report",
            "guidelines",
            "study",
            "model",
            "irregular",
            "bench",
            "completions",
            "man",
        ],
    ),
];

/// The command line of this process, or what to say instead.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    let command = Args::command().mut_subcommand("tune", |tune| {
        tune.mut_args(|option| {
            let common = COMMON.contains(&option.get_id().as_str());
            option.hide_short_help(!common)
        })
        .after_help("All options: collrules tune --help")
    });
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n\nOptions:\n{{options}}\n\n{{after-help}}",
        grouped(&command)
    );
    let matches = command.help_template(template).try_get_matches()?;
    Args::from_arg_matches(&matches)
}

/// The list of commands, by groups.
fn grouped(command: &clap::Command) -> String {
    let mut lines = Vec::new();
    for (group, names) in GROUPS {
        lines.extend([String::new(), format!("{group}:")]);
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            lines.extend(collrules_report::words::wrapped(80, &about, &format!("  {name:<12}"), &" ".repeat(14)));
        }
    }
    lines.join("\n")
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Benchmark the algorithms, write rules for the faster ones, and check that Open MPI uses them
    Tune(Tune),
    /// Only benchmark: the first half of tune, which analyze or tune --resume completes
    Measure(Tune),
    /// Show what would be measured, and estimate how long it takes
    Plan(Tune),
    /// Create rules from a run or from a table of timings, without MPI
    Analyze(Analyze),
    /// Show the rules of a run as a decision tree, with the evidence for each
    Tree(TreeArgs),
    /// Write the report of a run as a page, text or table, or compare it with another run
    Report(ReportArgs),
    /// Import timings of OSU, IMB, ReproMPI and others as a run
    Import(ImportArgs),
    /// Check that Open MPI uses the rules of a file
    Verify(Verify),
    /// Compare a rules file with the default in fresh launches, and remove rules that are slower
    Validate(Validate),
    /// Check that collrules can measure here, with a remedy for each problem
    Doctor(Doctor),
    /// List settings that make messages and collectives faster or slower, with values to try
    Settings(SettingsArgs),
    /// Build the program that runs in MPI jobs, for another Open MPI
    Worker(WorkerArgs),
    /// Find errors and surprises in rules files, for every release of Open MPI
    Check(CheckArgs),
    /// Show which line of a rules file decides a call, and what runs; without --op, the whole file
    Explain(Explain),
    /// Convert a rules file, and list what the other format cannot express
    Convert(Convert),
    /// List the calls that two rules files decide differently
    Diff(Diff),
    /// Find collectives that are slower than other calls that do the same
    Guidelines(Guidelines),
    /// Submit a batch job that tunes, from a login node, without MPI
    Submit(Submit),
    /// Show the progress of a run and the state of its job
    Status(StatusArgs),
    /// Follow the progress of a run
    Watch(Watch),
    /// Find calls that sometimes stall, such as gathers over TCP, and what cures them
    Irregular(IrregularArgs),
    /// Fit a communication model, find slow nodes and links, and predict times of collectives
    Model(ModelArgs),
    /// Time a collective as the OSU micro-benchmarks do, with the same columns
    Bench(BenchArgs),
    /// Compare algorithms that you name: tables, figures, conclusion
    Study(StudyArgs),
    /// Run an MPI program, and show which collectives it calls and where its time goes
    Profile(ProfileArgs),
    /// A/B test of a tuning on a program: run it without and with the tuning, in turns
    Try(Try),
    /// Merge runs that were measured on the same system, such as those of a job array
    Merge(Merge),
    /// Measure some sizes of a run again: has the machine changed, do the rules still hold?
    Drift(DriftArgs),
    /// Install a tuning for every job of an Open MPI, or undo that
    Install(Install),
    /// List installed tunings: what they were made from, and whether they are intact
    Installed(InstalledArgs),
    /// Move a tuning to another version of Open MPI, and measure again what changed there
    Port(Port),
    /// Write completions for a shell to standard output
    Completions(Completions),
    /// Write manual pages
    Man(Man),
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Tune {
    #[command(flatten)]
    pub(crate) options: TuneOptions,
    /// Tune for programs: measure the calls that take 95 % of their time in collectives, and choose what saves them
    /// most. Profiles of collrules profile, or their directories; may be repeated; FILE:WEIGHT weights them
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
    /// Show what would be measured and how long it takes, then stop
    #[arg(long, help_heading = None)]
    pub(crate) dry_run: bool,
    /// Print every verdict, remark and file; with plan or --dry-run, list every point
    #[arg(long, short, help_heading = None)]
    pub(crate) verbose: bool,
    /// Print only errors
    #[arg(long, short, help_heading = None, conflicts_with_all = ["verbose", "json", "dry_run"])]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

/// Options of the session, which do not change what is measured.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Resume the run in this directory, with the options that it began with
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
    pub(crate) system: SystemOptions<Launching>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Analyze {
    /// A run directory, or a timing table (- is standard input): columns separated by commas, semicolons or tabs, plain or
    /// gzip, named collective, algorithm_id, comm_size, message_bytes, avg_latency_us, and perhaps algorithm and launch
    #[arg(value_name = "RUN|TABLE")]
    pub(crate) input: PathBuf,
    /// Directory for the results of a table, or of a run that has findings already
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Release of Open MPI that a table was measured with; a run knows its own [default: 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub(crate) release: Option<Release>,
    #[command(flatten)]
    pub(crate) plausible: Plausible,
    /// Print nothing on standard output
    #[arg(long, short, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) criteria: Demands,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

impl Tune {
    /// Refuses options that contradict each other.
    pub(crate) fn consistent(&self) -> Result<(), Failure> {
        if !self.options.also_layout.is_empty() && self.options.system.jobs.is_model() {
            return Err(Failure::usage("the ranks of a model have one layout: leave out --also-layout"));
        }
        let GridOptions { collectives, only, .. } = &self.options.grid;
        // What programs call is measured whatever --ops says.
        let missing = only.iter().filter(|_| self.profile.is_empty()).find(|(named, _)| !collectives.contains(named));
        match missing {
            Some((collective, _)) => Err(Failure::usage(format!(
                "--only names an algorithm of {collective}, which is not tuned: add {collective} to --ops"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the form of the output that the session writes while it runs.
    pub(crate) fn output(&self) -> Output {
        if self.quiet { Output::Quiet } else { Output::new(self.session.json) }
    }
}

/// The arguments that the user gave to a subcommand, without defaults.
pub(crate) struct Given {
    command: clap::Command,
    pub(crate) matches: ArgMatches,
}

impl Given {
    /// On the command line of this program.
    pub(crate) fn here() -> Self {
        Self::from_words(Args::command(), std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    /// By these words.
    pub(crate) fn from_words<W: Into<OsString> + Clone>(
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

    /// The word or path that `--arrival` has.
    pub(crate) fn arrival(&self) -> PathBuf {
        self.matches.get_raw("arrival").and_then(Iterator::last).map(PathBuf::from).unwrap_or_default()
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

    #[test]
    fn every_command_is_in_one_group_and_common_options_exist() {
        let command = Args::command();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for subcommand in command.get_subcommands() {
            let times = listed.iter().filter(|name| **name == subcommand.get_name()).count();
            assert_eq!(times, 1, "{}", subcommand.get_name());
        }
        assert_eq!(listed.len(), command.get_subcommands().count());
        let tune = command.find_subcommand("tune").expect("a command");
        for option in COMMON {
            assert!(tune.get_arguments().any(|argument| argument.get_id() == option), "{option}");
        }
    }
}
