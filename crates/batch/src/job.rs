//! What a job asks for and what a batch system does with it, in the terms that all systems share.

use std::path::PathBuf;

use collrules_record::Seconds;
use collrules_record::allocation::BatchSystem;

use crate::here::Here;

/// What a job asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// How many nodes.
    pub nodes: u32,
    /// How many ranks on each.
    pub ppn: u32,
    /// How long it may take.
    pub time: Seconds,
    /// The partition, or the queue.
    pub partition: Option<String>,
    /// Who pays.
    pub account: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// What nodes must have.
    pub constraint: Option<String>,
    /// Nobody else on the nodes.
    pub exclusive: bool,
    /// The parallel environment of Grid Engine.
    pub environment: Option<String>,
    /// So many jobs of this kind, numbered from 1 on.
    pub array: Option<u32>,
    /// More directives, as the batch system writes them.
    pub directives: Vec<String>,
    /// Modules to load.
    pub modules: Vec<String>,
    /// Where output goes, without what tells jobs apart.
    pub log: PathBuf,
}

/// What a batch system cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

/// What a batch system says of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queue {
    /// It waits or runs: its state, in a few words.
    Has(String),
    /// It is over, or nobody remembers it.
    Gone,
    /// The batch system could not be asked: why.
    Silent(String),
}

impl Queue {
    /// What a tool means that names the states of one job: none is the same as not to know it, and so is a refusal in one of
    /// these words.
    pub(crate) fn of(asked: Result<String, String>, states: impl Fn(&str) -> Vec<String>, unknown: &[&str]) -> Self {
        match asked.map(|answer| states(&answer)) {
            Ok(states) if states.is_empty() => Self::Gone,
            Ok(states) => Self::Has(states.join("; ")),
            Err(why) if unknown.iter().any(|words| why.contains(words)) => Self::Gone,
            Err(why) => Self::Silent(why),
        }
    }
}

/// How a batch system is dealt with.
pub struct Dialect {
    /// What directives begin with.
    pub mark: &'static str,
    /// The directives of a job.
    pub directives: fn(&Job) -> Result<Vec<String>, Unsupported>,
    /// The variable with the number of a job in an array.
    pub task: &'static str,
    /// The command that submits a script; it gets the script's name, or the script as its input.
    pub submit: &'static [&'static str],
    /// Whether it reads the script from standard input.
    pub by_input: bool,
    /// The job's number in what that command says.
    pub job: fn(&str) -> Option<String>,
    /// What the batch system says of a job.
    pub state: fn(&dyn Here, &str) -> Queue,
    /// The command that tells of a job, which is named after it.
    pub follow: &'static [&'static str],
    /// The command that ends a job, which is named after it.
    pub cancel: &'static str,
}

/// `HOURS:MINUTES:SECONDS`.
pub(crate) fn hours(time: Seconds) -> String {
    let seconds = time.0.ceil() as u64;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Directives with a value, of those that have one.
pub(crate) fn given<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a Option<String>)>,
) -> impl Iterator<Item = String> {
    pairs.into_iter().filter_map(|(option, value)| Some(format!("{option}{}", value.as_ref()?)))
}

/// Refuses what this batch system has no word for.
pub(crate) fn refuse(system: BatchSystem, options: &[(&str, bool)]) -> Result<(), Unsupported> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Unsupported(format!(
            "{system} knows nothing like {option}; --directive adds a line of its own to the script"
        ))),
        None => Ok(()),
    }
}
