//! The command line as a whole: the commands and their groups. Each command is a file of `cmd`.

use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use collrules_record::rundir::RunDir;
use collrules_record::values::collectives;
use collrules_workflow::WorkflowError;

use crate::cmd;
use crate::exit::Exit;

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
 12  rules were written that fresh launches did not confirm
 13  nothing is decided: more time is needed";

/// The options of `tune` that its short help shows.
const TUNE: &[&str] = &["ops", "np", "sizes", "budget", "profile", "out", "verbose", "simulate", "resume"];

/// The commands with so many options that `-h` shows only these.
const COMMON: [(&str, &[&str]); 5] = [
    ("tune", TUNE),
    ("measure", TUNE),
    ("plan", TUNE),
    ("validate", &["han", "ops", "np", "sizes", "budget", "repair", "out"]),
    ("drift", &["cells", "launches", "budget", "out"]),
];

/// Options of these commands that only their manual pages show.
const RARE: [&str; 20] = [
    "arrival",
    "buffers",
    "clock-bound",
    "failures",
    "keep-slow",
    "lateness",
    "launch-per-candidate",
    "patterns",
    "reference",
    "refine-width",
    "requests",
    "root",
    "separate-clocks",
    "simulated-model",
    "simulated-ppn",
    "simulated-release",
    "simulated-slots",
    "statistic",
    "sync",
    "untested-gain",
];

/// The commands in groups, as their list shows them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["doctor", "tune", "validate", "install", "installed", "drift"]),
    ("Rules files", &["check", "explain", "convert", "diff", "verify", "port"]),
    ("Cluster", &["submit", "status", "plan", "measure", "merge", "settings", "worker"]),
    ("Programs", &["profile", "try"]),
    ("Research", &["analyze", "report", "lab", "completions", "man"]),
];

/// The command line of this process, or what to say instead.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    let command = shorten_help(Args::command(), std::env::args_os().any(|word| word == "--help"));
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n\nOptions:\n{{options}}\n\n{{after-help}}",
        grouped(&command)
    );
    let command = command.help_template(template);
    let matches = command.clone().try_get_matches().map_err(|error| with_tip(error, &command))?;
    Args::from_arg_matches(&matches)
}

/// Adds what was probably meant to the error for a word that the command does not take.
fn with_tip(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(ContextValue::String(stray)) = error.get(ContextKind::InvalidArg) else { return error };
    let named = words.iter().skip(1).find_map(|word| command.find_subcommand(word));
    let tip = named.filter(|_| error.kind() == ErrorKind::UnknownArgument).and_then(|named| {
        if stray.starts_with('-') {
            describe_option(named, stray, &words)
        } else {
            describe_stray(named, stray, &words)
        }
    });
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

/// Options of mpirun that are not those of collrules.
const OF_MPIRUN: [&str; 8] =
    ["--hostfile", "--machinefile", "--host", "-H", "--map-by", "--bind-to", "--mca", "--allow-run-as-root"];

/// The place for an option of mpirun.
fn describe_option(command: &clap::Command, stray: &str, words: &[String]) -> Option<String> {
    let has = |long: &str| command.get_arguments().any(|argument| argument.get_long() == Some(long));
    if stray == "-n" && has("np") {
        return Some("did you mean `--np`?".to_owned());
    }
    let place = words.iter().position(|word| word.split('=').next() == Some(stray))?;
    let values = words[place + 1..].iter().take_while(|word| !word.starts_with('-'));
    let option: Vec<&str> = std::iter::once(&words[place]).chain(values).map(String::as_str).collect();
    let is_known = OF_MPIRUN.contains(&stray) && has("mpirun-args");
    is_known.then(|| format!("options of mpirun are one argument: `--mpirun-args '{}'`", option.join(" ")))
}

/// The option, or the place, for a word that stands alone.
fn describe_stray(command: &clap::Command, stray: &str, words: &[String]) -> Option<String> {
    let has = |long: &str| command.get_arguments().any(|argument| argument.get_long() == Some(long));
    if command.get_arguments().any(Arg::is_last_set) {
        let rest: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| *word != stray).collect();
        return Some(format!("what is to run comes after --: `-- {}`", rest.join(" ")));
    }
    if has("ops") && collectives(stray).is_ok() {
        return Some(format!("did you mean `--ops {stray}`?"));
    }
    let is_run = has("resume") && RunDir::open(Path::new(stray)).is_ok();
    is_run.then(|| format!("did you mean `--resume {stray}`?"))
}

/// The command line with two short forms of the help of commands with many options: common options, or all but the rare.
fn shorten_help(command: clap::Command, is_long: bool) -> clap::Command {
    COMMON.into_iter().fold(command, |all, (name, common)| {
        all.mut_subcommand(name, |command| {
            let about = "Print common options, or more (--help)";
            let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help(about);
            let command = command.disable_help_flag(true).arg(help.help_heading(None));
            let codes = command.get_after_help().map(|codes| format!("{codes}\n\n")).unwrap_or_default();
            let command = command.mut_args(|option| {
                let long = option.get_long().unwrap_or_default().to_owned();
                let is_common = option.is_positional() || long == "help" || common.contains(&&*long);
                option.hide_short_help(!is_long && !is_common || RARE.contains(&&*long))
            });
            command.after_help(format!(
                "{codes}More options: collrules {name} --help. All, and values such as those of --simulate: collrules man {name}",
            ))
        })
    })
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

/// Declares commands, each with its arguments and the function that runs it.
macro_rules! commands {
    ($name:ident { $($(#[$about:meta])* $command:ident($args:ty) => $run:expr,)+ }) => {
        #[derive(Debug, Subcommand)]
        pub(crate) enum $name {
            $($(#[$about])* $command($args),)+
        }

        impl $name {
            /// Runs the command.
            pub(crate) fn run(&self) -> Result<Exit, WorkflowError> {
                match self {
                    $(Self::$command(args) => ($run)(args).map(Exit::from),)+
                }
            }
        }
    };
}

commands! {
    Command {
        /// Benchmark the algorithms, write rules for the faster ones, and check that Open MPI uses them
        Tune(cmd::begin::Tune) => cmd::tune::run,
        /// Only benchmark: the first half of tune, which analyze or tune --resume completes
        Measure(cmd::begin::Tune) => cmd::measure::run,
        /// Show what would be measured, and estimate how long it takes
        Plan(cmd::begin::Tune) => cmd::plan::run,
        /// Create rules from a run or from a table of timings, without MPI
        Analyze(cmd::analyze::Analyze) => cmd::analyze::run,
        /// Write the report of a run as a page, text or table, or compare it with another run
        Report(cmd::report::ReportArgs) => cmd::report::run,
        /// Check that Open MPI uses the rules of a file
        Verify(cmd::verify::Verify) => cmd::verify::run,
        /// Compare a rules file with the default in fresh launches, and remove rules that are slower
        Validate(cmd::validate::Validate) => cmd::validate::run,
        /// Check that collrules can measure here, with a remedy for each problem
        Doctor(cmd::doctor::Doctor) => cmd::doctor::run,
        /// List settings that make messages and collectives faster or slower, with values to try
        Settings(cmd::settings::SettingsArgs) => cmd::settings::run,
        /// Build the program that runs in MPI jobs, for another Open MPI
        Worker(cmd::worker::WorkerArgs) => cmd::worker::run,
        /// Find errors and surprises in rules files, for every release of Open MPI
        Check(cmd::check::CheckArgs) => cmd::check::run,
        /// Show which line of a rules file decides a call, and what runs; without --op, the whole file
        Explain(cmd::explain::Explain) => cmd::explain::run,
        /// Convert a rules file, and list what the other format cannot express
        Convert(cmd::convert::Convert) => cmd::convert::run,
        /// List the calls that two rules files decide differently
        Diff(cmd::diff::Diff) => cmd::diff::run,
        /// Submit a batch job that tunes, from a login node, without MPI
        Submit(cmd::submit::Submit) => |args| cmd::submit::run(args, Args::command()),
        /// Show the progress of a run and the state of its job
        Status(cmd::status::StatusArgs) => cmd::status::run,
        /// Run an MPI program, and show which collectives it calls and where its time goes
        Profile(cmd::profile::ProfileArgs) => cmd::profile::run,
        /// A/B test of a tuning on a program: run it without and with the tuning, in turns
        Try(cmd::ab_test::Try) => cmd::ab_test::run,
        /// Merge runs that were measured on the same system, such as those of a job array
        Merge(cmd::merge::Merge) => cmd::merge::run,
        /// Measure some sizes of a run again: has the machine changed, do the rules still hold?
        Drift(cmd::drift::DriftArgs) => cmd::drift::run,
        /// Install a tuning for every job of an Open MPI, or undo that
        Install(cmd::install::Install) => cmd::install::run,
        /// List installed tunings: what they were made from, and whether they are intact
        Installed(cmd::installed::InstalledArgs) => cmd::installed::run,
        /// Move a tuning to another version of Open MPI, and measure again what changed there
        Port(cmd::port::Port) => cmd::port::run,
        /// Write completions for a shell to standard output
        Completions(cmd::completions::Completions) => |args| cmd::completions::run(args, Args::command()),
        /// Write manual pages
        Man(cmd::man::Man) => |args| cmd::man::run(args, Args::command()),
        /// Research: guidelines, studies, models, stalls, benchmarks, timings of others
        #[command(subcommand)]
        Lab(Lab) => Lab::run,
    }
}

commands! {
    Lab {
        /// Find collectives that are slower than other calls that do the same
        Guidelines(cmd::lab::guidelines::Guidelines) => cmd::lab::guidelines::run,
        /// Compare algorithms that you name: tables, figures, conclusion
        Study(cmd::lab::study::StudyArgs) => cmd::lab::study::run,
        /// Fit a communication model, find slow nodes and links, and predict times of collectives
        Model(cmd::lab::model::ModelArgs) => cmd::lab::model::run,
        /// Find calls that sometimes stall, such as gathers over TCP, and what cures them
        Irregular(cmd::lab::irregular::IrregularArgs) => cmd::lab::irregular::run,
        /// Time a collective as the OSU micro-benchmarks do, with the same columns
        Bench(cmd::lab::bench::BenchArgs) => cmd::lab::bench::run,
        /// Import timings of OSU, IMB, ReproMPI and others as a run
        Import(cmd::lab::import::ImportArgs) => cmd::lab::import::run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Args::command().debug_assert();
    }

    /// The help of a command, short or long, and its manual page's options.
    fn help_of(name: &str, is_long: bool) -> String {
        let mut command = shorten_help(Args::command(), is_long);
        command.build();
        command.find_subcommand_mut(name).expect("a command").render_help().to_string()
    }

    #[test]
    fn help_is_short_and_rare_options_are_in_manual_pages_alone() {
        for (name, common) in COMMON {
            let (short, long) = (help_of(name, false), help_of(name, true));
            assert!(short.lines().count() <= 60, "{} lines:\n{short}", short.lines().count());
            assert!(long.lines().count() <= 180, "{} lines:\n{long}", long.lines().count());
            let command = Args::command();
            let options = command.find_subcommand(name).expect("a command").get_arguments().collect::<Vec<_>>();
            for option in &options {
                let Some(long_name) = option.get_long() else { continue };
                let shows = |help: &str| {
                    help.split_whitespace().any(|word| word.split(['[', '=']).next() == Some(&format!("--{long_name}")))
                };
                assert_eq!(shows(&short), common.contains(&long_name), "{name} -h: {long_name}");
                assert_eq!(shows(&long), !RARE.contains(&long_name), "{name} --help: {long_name}");
                assert!(!option.is_hide_set(), "{long_name} is in the manual page");
            }
            for long_name in common {
                assert!(options.iter().any(|option| option.get_long() == Some(long_name)), "{name}: {long_name}");
            }
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Args::command();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let shown = || command.get_subcommands().filter(|command| !command.is_hide_set());
        for subcommand in shown() {
            let times = listed.iter().filter(|name| **name == subcommand.get_name()).count();
            assert_eq!(times, 1, "{}", subcommand.get_name());
        }
        assert_eq!(listed.len(), shown().count());
    }
}
