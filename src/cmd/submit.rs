//! Batch jobs that measure: their scripts and submission.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use clap::parser::ValueSource;
use collrules_batch::System;
use collrules_batch::job::{Dialect, Job, JobOptions, Queue};
use collrules_batch::script::{self, dialect};
use collrules_batch::submission::{self, Submission};
use collrules_record::allocation::BatchSystem;
use collrules_record::ask::ask;
use collrules_record::grid::CommunicatorSizes;
use collrules_record::rundir::{LockBeside, RunDir, RunDirError};
use collrules_record::values::List;
use collrules_record::{Ranks, manifest};
use collrules_rules::deploy;
use collrules_rules::words::listed;
use collrules_runner::grid;
use collrules_workflow::WorkflowError;

use crate::options::named_or_new;
use crate::screen::{self, wrapped};

#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "No MPI is needed here. The script begins the run, or resumes it: submit it again where a \
job ran out of time. Behind -- comes the command of the job:

  collrules submit --nodes 8 --ppn 32 --time 30m --out tuned -- tune --ops all")]
pub(crate) struct Submit {
    /// Number of nodes; several numbers, separated by commas, make a job and a run each
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Vec<u32>,
    /// Options of each job.
    #[command(flatten)]
    job: JobOptions,
    /// The batch system [default: the one whose commands are in PATH]
    #[arg(long, value_name = "NAME")]
    system: Option<BatchSystem>,
    /// Directory for the script, the log and the run; a run in it is resumed [default: collrules-run-DATE-TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the script; write and submit nothing
    #[arg(long)]
    print: bool,
    /// The command for the job: tune, measure, lab guidelines, lab study, lab model or lab irregular, with its options,
    /// without --out and --resume
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Submits a command of the command line that is defined like this.
pub(crate) fn run(args: &Submit, line: clap::Command) -> Result<(), WorkflowError> {
    let program = std::env::current_exe()
        .map_err(|cause| WorkflowError::Environment(format!("the path of collrules itself is unknown: {cause}")))?;
    let command = command(args)?;
    for nodes in &args.nodes {
        refuse_unusable(&command, line.clone(), Ranks(nodes.saturating_mul(args.job.ppn)))?;
    }
    let system = system(args)?;
    let out = named_or_new(args.out.as_deref(), "run");
    let out = std::path::absolute(&out).map_err(|cause| WorkflowError::open(&out, cause))?;
    for nodes in &args.nodes {
        let directory = if args.nodes.len() > 1 { out.join(format!("nodes-{nodes}")) } else { out.clone() };
        let script = script(args, *nodes, system, &command, &directory, &program)?;
        if args.print {
            screen::raw(script.as_bytes())?;
            continue;
        }
        fs::create_dir_all(&directory).map_err(|cause| WorkflowError::write(&directory, cause))?;
        let home = RunDir::derived(&directory)?;
        let _lock = LockBeside::take(&home.file(submission::SUBMISSION))?;
        let before = Submission::read(&home)?;
        if !args.job.directive.iter().any(|directive| waits(directive)) {
            refuse_another(before.as_ref(), &directory)?;
        }
        let job = hand_in(&script, args.job.array, &home, before, system)?;
        let Dialect { follow, cancel, .. } = dialect(system);
        let directory = directory.display();
        let mut lines = wrapped(&format!("{system} has job {job}, which writes into {directory}. Follow it:"), "", "");
        lines.push(format!("  collrules status --follow {directory}"));
        lines.push(format!("  {} {job}", follow.join(" ")));
        let end = "ends it; what was measured is kept, and the same `collrules submit` resumes what can be.";
        lines.extend(wrapped(&format!("`{cancel} {job}` {end}"), "", ""));
        screen::print(&lines.join("\n"))?;
    }
    Ok(())
}

/// The commands that a job can run, and another one can resume.
const COMMANDS: [&str; 6] = ["tune", "measure", "lab guidelines", "lab study", "lab model", "lab irregular"];

/// The command of the job.
fn command(args: &Submit) -> Result<Vec<String>, WorkflowError> {
    let usage = |what: String| Err(WorkflowError::Usage(what));
    let words = &args.command;
    let words = if words.first().is_some_and(|word| word == "collrules") { &words[1..] } else { &words[..] };
    let is_named = |name: &&str| name.split(' ').eq(words.iter().take(name.split(' ').count()));
    let Some(name) = COMMANDS.into_iter().find(is_named) else {
        let known = listed(&COMMANDS.map(str::to_owned));
        return usage(format!("`{}` cannot be submitted; after -- can come {known}", words.join(" ")));
    };
    if name == "lab study" && args.job.array.is_some() {
        return usage("a study cannot be an array of jobs: it has a seed of its own; leave out --array".to_owned());
    }
    let given = |option: &str| words.iter().any(|word| word == option || word.starts_with(&format!("{option}=")));
    if let Some(option) = ["--out", "--resume", "--dry-run"].into_iter().find(|option| given(option)) {
        return usage(format!(
            "the script sets {option}: leave it out after {name}, and name the directory with --out before --"
        ));
    }
    if let Some(word) = words.iter().find(|word| word.contains(char::is_control)) {
        return usage(format!("the word {word:?} after -- holds a line break or another control character"));
    }
    let mut words = words.to_vec();
    if !given("--budget") {
        words.extend(["--budget", "rest"].map(str::to_owned));
    }
    Ok(words)
}

/// Refuses a command that fails as soon as its job begins: words that collrules does not take, or more ranks than slots.
fn refuse_unusable(words: &[String], line: clap::Command, slots: Ranks) -> Result<(), WorkflowError> {
    let usage = |why: &str| WorkflowError::Usage(format!("the command after -- would fail in its job: {why}"));
    let words = std::iter::once("collrules").chain(words.iter().map(String::as_str));
    let matches = line.try_get_matches_from(words).map_err(|error| {
        let said = error.to_string();
        let first = said.split("\n\n").next().unwrap_or_default();
        usage(first.trim_start_matches("error: ").trim_end())
    })?;
    let mut given = &matches;
    while let Some((_, inner)) = given.subcommand() {
        given = inner;
    }
    let is_given = |id: &str| {
        given.try_contains_id(id).is_ok_and(|is_known| is_known)
            && given.value_source(id) == Some(ValueSource::CommandLine)
    };
    // Other slots than those of the job.
    let has_own_slots = ["scenario", "oversubscribe", "arguments", "launcher"].into_iter().any(is_given);
    // Instruments have a list.
    let in_grid = given.try_get_one::<CommunicatorSizes>("ranks").ok().flatten().map(|ranks| &ranks.sizes);
    let ranks = in_grid.or_else(|| given.try_get_one::<List<Ranks>>("ranks").ok().flatten());
    match ranks.filter(|ranks| !ranks.is_empty() && !has_own_slots) {
        Some(ranks) => {
            grid::communicator_sizes(ranks, slots, false).map(drop).map_err(|error| usage(&error.to_string()))
        }
        None => Ok(()),
    }
}

/// The batch system: the one in the options, or the one whose commands exist here.
fn system(args: &Submit) -> Result<BatchSystem, WorkflowError> {
    if let Some(system) = args.system {
        return Ok(system);
    }
    let here = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
    };
    let signs = [
        ("sbatch", BatchSystem::Slurm),
        ("bsub", BatchSystem::Lsf),
        ("qconf", BatchSystem::Sge),
        ("qsub", BatchSystem::Pbs),
    ];
    signs.into_iter().find(|(program, _)| here(program)).map(|(_, system)| system).ok_or_else(|| {
        WorkflowError::Usage(
            "no batch system found here (no sbatch, bsub or qsub in PATH); --print --system NAME prints a script"
                .to_owned(),
        )
    })
}

fn script(
    args: &Submit,
    nodes: u32,
    system: BatchSystem,
    command: &[String],
    directory: &Path,
    program: &Path,
) -> Result<String, WorkflowError> {
    let words: Vec<String> = command.iter().map(|word| deploy::quoted(word)).collect();
    let words = words.join(" ");
    let takes_rest = command.join("=").contains("--budget=rest");
    let resumed = match command[0].as_str() {
        // The rest of this job, not of the one that began the run.
        name @ ("tune" | "measure") if takes_rest => &format!("{name} --budget rest"),
        name @ ("tune" | "measure") => name,
        // Instruments take the options of the analysis from the command line.
        _ => words.as_str(),
    };
    // A study of several variants has a run for each.
    let begun = match command.iter().take(2).any(|word| word == "study") {
        true => "\"$run\"/manifest.json \"$run\"/*/manifest.json",
        false => "\"$run\"/manifest.json",
    };
    let job = Job { options: &args.job, nodes, directory, program, command: &words, resumed, begun };
    script::script(system, &job).map_err(WorkflowError::Usage)
}

/// Returns true if a directive makes a job wait for another one, in any batch system.
fn waits(directive: &str) -> bool {
    ["depend", "-hold_jid", "-w "].iter().any(|word| directive.contains(word))
}

/// Refuses a second job: the first one would lock the run.
fn refuse_another(before: Option<&Submission>, directory: &Path) -> Result<(), WorkflowError> {
    let Some(Submission { system, jobs, begun, .. }) = before else { return Ok(()) };
    if let Some(begun) = begun {
        return Err(WorkflowError::Occupied(format!(
            "a submission into {} was begun at {begun} and not recorded: its job may be in the queue. Look for it, and \
             remove {} if it is not there",
            directory.display(),
            directory.join(submission::SUBMISSION).display(),
        )));
    }
    let Some(last) = jobs.last() else { return Ok(()) };
    let Dialect { state, cancel, .. } = dialect(*system);
    match state(&System, &last.job) {
        Queue::Has(state) => Err(WorkflowError::Occupied(format!(
            "{system} job {0}, submitted at {1}, writes into {2} and is still in the queue ({state}): wait for it, end \
             it with `{cancel} {0}`, or choose another directory with --out",
            last.job,
            last.at,
            directory.display(),
        ))),
        Queue::Gone | Queue::Silent(_) => Ok(()),
    }
}

/// Time for a batch system to accept a job.
const PATIENCE: Duration = Duration::from_secs(300);

/// Writes the script into the directory, submits it, and records the result; before, it records the intent, so that no
/// job is unknown.
fn hand_in(
    script: &str,
    array: Option<u32>,
    home: &RunDir,
    before: Option<Submission>,
    system: BatchSystem,
) -> Result<String, WorkflowError> {
    let file = home.write(submission::SCRIPT, script)?;
    let Dialect { submit, by_input, job, cancel, .. } = dialect(system);
    let mut command = Command::new(submit[0]);
    command.args(&submit[1..]);
    if !by_input {
        command.arg(&file);
    }
    // Earlier submissions stay recorded.
    let mut all = before.clone().unwrap_or_else(|| Submission::new(system, array));
    all.begun = Some(manifest::now());
    home.write_json(submission::SUBMISSION, &all)?;
    let input = if by_input { script.as_bytes() } else { b"" };
    let refusal =
        |why: String| WorkflowError::Input(format!("`{}` rejected {}: {why}", submit.join(" "), file.display()));
    let job = match ask(&mut command, input, PATIENCE) {
        // If there is none, the intent stays recorded: there is a job, whatever it is called.
        Ok(output) if output.status.success() => job(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            let (submit, file) = (submit.join(" "), file.display());
            let why = format!("`{submit}` accepted {file}, but its output names no job: look for it in the queue");
            WorkflowError::Input(why)
        })?,
        // The job may have been accepted.
        Err(cause) if cause.kind() == ErrorKind::TimedOut => return Err(refusal(cause.to_string())),
        answer => {
            let words = |output: Output| {
                let said = [&output.stderr, &output.stdout].map(|said| String::from_utf8_lossy(said).trim().to_owned());
                said.into_iter().find(|said| !said.is_empty()).unwrap_or_else(|| output.status.to_string())
            };
            match before {
                Some(before) => home.write_json(submission::SUBMISSION, &before)?,
                None => home.remove(submission::SUBMISSION)?,
            }
            return Err(refusal(answer.map_or_else(|cause| cause.to_string(), words)));
        }
    };
    (all.system, all.array, all.begun) = (system, array, None);
    all.jobs.push(submission::SubmittedJob { job: job.clone(), at: manifest::now() });
    let unrecorded = |cause: RunDirError| {
        WorkflowError::Input(format!(
            "{system} job {job} was submitted, but not recorded: {cause}. End it with `{cancel} {job}`, or wait for it"
        ))
    };
    home.write_json(submission::SUBMISSION, &all).map_err(unrecorded)?;
    Ok(job)
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    #[test]
    fn a_resumed_job_has_the_budget_of_the_request() {
        let resumed = |command: &str| {
            let words = "submit --time 30m --ppn 4 --".split(' ').chain(command.split(' '));
            let matches = Submit::augment_args(clap::Command::new("submit")).get_matches_from(words);
            let args = Submit::from_arg_matches(&matches).expect("is a command line");
            let command = super::command(&args).expect("can be submitted");
            let script = script(&args, 1, BatchSystem::Slurm, &command, Path::new("/r"), Path::new("/c"));
            let script = script.expect("can be asked for");
            let line = script.lines().find(|line| line.contains("--resume")).expect("resumes");
            line.trim().trim_start_matches("exec /c ").to_owned()
        };
        assert_eq!(resumed("tune --ops bcast"), "tune --budget rest --resume \"$run\"");
        assert_eq!(resumed("measure --budget=rest"), "measure --budget rest --resume \"$run\"");
        assert_eq!(resumed("tune --budget 1h"), "tune --resume \"$run\"");
    }
}
