//! Jobs and batch systems, in the terms that all systems share.

use std::path::Path;

use collrules_record::Seconds;
use collrules_record::allocation::BatchSystem;

use crate::here::Here;

/// Name of every job.
pub(crate) const NAME: &str = "collrules";

/// Options of a job of a batch system, apart from the number of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobOptions {
    /// Number of ranks on each node.
    pub ppn: u32,
    /// Time limit.
    pub time: Seconds,
    /// The partition, or the queue.
    pub partition: Option<String>,
    /// Account to charge.
    pub account: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// Required node features, as the batch system writes them.
    pub constraint: Option<String>,
    /// True to reserve the nodes for this job alone.
    pub exclusive: bool,
    /// The parallel environment of Grid Engine.
    pub parallel_environment: Option<String>,
    /// Modules to load.
    pub module: Vec<String>,
    /// Size of the array of jobs, numbered from 1 on.
    pub array: Option<u32>,
    /// More directives, as the batch system writes them.
    pub directive: Vec<String>,
}

/// A job.
#[derive(Clone, Copy, Debug)]
pub struct Job<'o> {
    /// Options of the job.
    pub options: &'o JobOptions,
    /// Number of nodes.
    pub nodes: u32,
    /// Path of the output file, without the part that distinguishes jobs.
    pub log: &'o Path,
}

/// Request that a batch system does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedRequest(pub String);

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

/// Interface of a batch system: directives, commands and their output.
pub struct Dialect {
    /// Prefix of directives.
    pub mark: &'static str,
    /// The directives of a job.
    pub directives: fn(&Job<'_>) -> Result<Vec<String>, UnsupportedRequest>,
    /// The variable with the number of a job in an array.
    pub task: &'static str,
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

/// `HOURS:MINUTES:SECONDS`.
pub(crate) fn hours(time: Seconds) -> String {
    let seconds = time.0.ceil() as u64;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Makes directives of those options that have a value.
pub(crate) fn directives_with_values<'a>(
    pairs: impl IntoIterator<Item = (&'a str, &'a Option<String>)>,
) -> impl Iterator<Item = String> {
    pairs.into_iter().filter_map(|(option, value)| Some(format!("{option}{}", value.as_ref()?)))
}

/// Refuses values that would add lines to a script, or words to a line.
pub(crate) fn check(Job { options, log, .. }: &Job<'_>) -> Result<(), UnsupportedRequest> {
    let JobOptions { partition, account, qos, constraint, parallel_environment, directive, module, .. } = options;
    let log = log.to_str().ok_or_else(|| UnsupportedRequest(format!("{} is not UTF-8", log.display())))?;
    let words = [
        ("--partition", partition),
        ("--account", account),
        ("--qos", qos),
        ("--parallel-environment", parallel_environment),
    ];
    let lines = [("--constraint", constraint.as_deref()), ("--out", Some(log))];
    let lines = lines.into_iter().chain(directive.iter().map(|line| ("--directive", Some(line.as_str()))));
    let lines = lines.chain(module.iter().map(|module| ("--module", Some(module.as_str()))));
    let words = words.iter().map(|(option, word)| (*option, word.as_deref()));
    let refused =
        |option: &str, value: &str, what: &str| Err(UnsupportedRequest(format!("{option} {value:?} holds {what}")));
    for (option, value) in lines.chain(words.clone()) {
        if let Some(value) = value.filter(|value| value.contains(char::is_control)) {
            return refused(option, value, "a line break or another control character");
        }
    }
    for (option, word) in words {
        if let Some(word) = word.filter(|word| word.contains(|c: char| c.is_whitespace() || "\"'\\#".contains(c))) {
            return refused(option, word, "a blank or a quote, which no name has");
        }
    }
    if log.contains(['"', '\'', '\\']) {
        return refused("--out", log, "a quote or a backslash, which a directive for the log cannot hold");
    }
    Ok(())
}

/// A value of a directive, quoted if it holds characters that end a word.
pub(crate) fn word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./,:=@+%$^".contains(c);
    if value.chars().all(is_plain) { value.to_owned() } else { format!("\"{value}\"") }
}

/// Refuses a log directory with characters that this batch system expands and that cannot be escaped.
pub(crate) fn refuse_signs(system: BatchSystem, log: &Path, signs: &[char]) -> Result<(), UnsupportedRequest> {
    let log = log.display().to_string();
    match log.chars().find(|sign| signs.contains(sign)) {
        Some(sign) => Err(UnsupportedRequest(format!(
            "{system} expands {sign:?} in the names of logs, so it cannot write to {log}: choose another --out"
        ))),
        None => Ok(()),
    }
}

/// Refuses options that this batch system does not have.
pub(crate) fn refuse(system: BatchSystem, options: &[(&str, bool)]) -> Result<(), UnsupportedRequest> {
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(UnsupportedRequest(format!(
            "{system} has no equivalent of {option}; --directive adds any line to the script"
        ))),
        None => Ok(()),
    }
}
