//! Jobs and batch systems, in the terms that all systems share.

use std::path::Path;

use collrules_record::{Seconds, values};

use crate::here::Here;

/// Options of a job of a batch system, apart from the number of nodes.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct JobOptions {
    /// Ranks per node
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ppn: u32,
    /// Time limit of each job; without --budget, the command uses all of it
    #[arg(long, value_name = "TIME", value_parser = values::positive)]
    pub time: Seconds,
    /// The partition, or the queue
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Account to charge
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// The quality of service
    #[arg(long, value_name = "NAME")]
    pub qos: Option<String>,
    /// Required node features, as the batch system writes them
    #[arg(long, value_name = "WHAT")]
    pub constraint: Option<String>,
    /// Reserve the nodes for this job alone: programs of other jobs there would disturb the times
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
    default_value_t = true, default_missing_value = "true")]
    pub exclusive: bool,
    /// The parallel environment (Grid Engine)
    #[arg(long, value_name = "NAME")]
    pub parallel_environment: Option<String>,
    /// Module to load before; may be repeated
    #[arg(long, value_name = "NAME")]
    pub module: Vec<String>,
    /// Number of jobs in an array: each has a run and a seed of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub array: Option<u32>,
    /// Another directive for the script, without #SBATCH or the like; may be repeated
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    pub directive: Vec<String>,
}

/// A job.
#[derive(Clone, Copy, Debug)]
pub struct Job<'o> {
    /// Options of the job.
    pub options: &'o JobOptions,
    /// Number of nodes.
    pub nodes: u32,
    /// The directory of the run and of the log.
    pub directory: &'o Path,
    /// Path of collrules.
    pub program: &'o Path,
    /// Arguments of collrules, quoted for a shell.
    pub command: &'o str,
    /// Arguments for going on with a run, quoted for a shell.
    pub resumed: &'o str,
    /// Files of which one exists if there is a run in `$run`, as a shell names them.
    pub begun: &'o str,
}

/// State of a job in a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queue {
    /// It waits or runs; its state in a few words.
    Has(String),
    /// It is over, or no longer known.
    Gone,
    /// The batch system did not answer; the reason.
    Silent(String),
}

impl Queue {
    /// Interprets the output of a tool that names the states of one job. The job is unknown if there is no state, or if
    /// the tool fails with one of the words in `unknown`.
    pub(crate) fn from_answer(
        asked: Result<String, String>,
        states: impl Fn(&str) -> Vec<String>,
        unknown: &[&str],
    ) -> Self {
        match asked.map(|answer| states(&answer)) {
            Ok(states) if states.is_empty() => Self::Gone,
            Ok(states) => Self::Has(states.join("; ")),
            Err(why) if unknown.iter().any(|words| why.contains(words)) => Self::Gone,
            Err(why) => Self::Silent(why),
        }
    }
}

/// Interface of a batch system: script, commands and their output.
pub struct Dialect {
    /// Prefix of directives.
    pub mark: &'static str,
    /// The script of a job, in the notation of `script`.
    pub template: &'static str,
    /// Characters that the batch system expands in the names of logs, and that cannot be escaped.
    pub expanded: &'static [char],
    /// Returns true for a character that ends a constraint.
    pub ends_constraint: fn(char) -> bool,
    /// The command that submits a script; it gets the script's name, or the script as its input.
    pub submit: &'static [&'static str],
    /// True if the command reads the script from standard input.
    pub by_input: bool,
    /// Extracts the job's number from the output of that command.
    pub job: fn(&str) -> Option<String>,
    /// Asks the batch system for the state of a job.
    pub state: fn(&dyn Here, &str) -> Queue,
    /// Command that shows a job's state, with the job's number as last word.
    pub follow: &'static [&'static str],
    /// Command that ends a job, with the job's number as last word.
    pub cancel: &'static str,
}
