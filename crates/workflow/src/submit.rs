//! Jobs of a batch system that tune: the script, and its way there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use collrules_batch::System;
use collrules_batch::job::{Dialect, Job, Queue, Unsupported};
use collrules_batch::script::{self, dialect};
use collrules_record::allocation::BatchSystem;
use collrules_record::manifest;
use collrules_record::options::Submitting;
use collrules_record::rundir::RunDir;
use collrules_record::submission::{self, Submission};
use collrules_rules::deploy;

use crate::error::WorkflowError;

/// A job that waits for nodes, or one that would.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The directory of the run; with an array, that which holds those of its jobs.
    pub directory: PathBuf,
    /// The script.
    pub script: String,
    /// What the batch system calls the job; nothing where nothing was submitted.
    pub job: Option<String>,
    /// How many runs the directory will hold, where the job is an array.
    pub array: Option<u32>,
}

/// All jobs that were asked for.
#[derive(Clone, Debug)]
pub struct All {
    /// Whose jobs they are.
    pub system: BatchSystem,
    /// A job for each number of nodes.
    pub jobs: Vec<Submitted>,
}

/// Writes the scripts and submits them, or only says what they would be. `program` is this program.
pub fn submit(options: &Submitting, program: &Path) -> Result<All, WorkflowError> {
    let command = command(options)?;
    let system = system(options)?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from(format!("collrules-run-{}", manifest::stamp())));
    let out = std::path::absolute(&out).map_err(|cause| WorkflowError::open(&out, cause))?;
    let mut jobs = Vec::new();
    for nodes in &options.nodes {
        let directory = if options.nodes.len() > 1 { out.join(format!("nodes-{nodes}")) } else { out.clone() };
        let script = script(options, *nodes, system, &command, &directory, program)?;
        let mut submitted = Submitted { directory, script, job: None, array: options.array };
        if !options.print {
            let directory = &submitted.directory;
            fs::create_dir_all(directory).map_err(|cause| WorkflowError::write(directory, cause))?;
            let home = RunDir::derived(directory)?;
            let before = Submission::read(&home)?;
            if !options.directive.iter().any(|directive| waits(directive)) {
                refuse_another(before.as_ref(), directory)?;
            }
            submitted.job = Some(hand_in(&submitted, &home, before, system)?);
        }
        jobs.push(submitted);
    }
    Ok(All { system, jobs })
}

/// The command of the job, if another job can resume it.
fn command(options: &Submitting) -> Result<Vec<String>, WorkflowError> {
    let usage = |what: String| Err(WorkflowError::Usage(what));
    let words = &options.command;
    let words = if words.first().is_some_and(|word| word == "collrules") { &words[1..] } else { &words[..] };
    let Some(name) = words.first().filter(|name| matches!(name.as_str(), "tune" | "measure")) else {
        return usage(format!("`{}` cannot be submitted: write tune or measure after --", words.join(" ")));
    };
    let given = |option: &str| words.iter().any(|word| word == option || word.starts_with(&format!("{option}=")));
    if let Some(option) = ["--out", "--resume", "--dry-run"].into_iter().find(|option| given(option)) {
        return usage(format!(
            "the script decides on {option}: leave it out after {name}, and name the directory with --out before --"
        ));
    }
    let mut words = words.to_vec();
    if !given("--budget") {
        words.extend(["--budget", "rest"].map(str::to_owned));
    }
    Ok(words)
}

/// The batch system: the one that was named, or whose commands are here.
fn system(options: &Submitting) -> Result<BatchSystem, WorkflowError> {
    if let Some(system) = options.system {
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
    options: &Submitting,
    nodes: u32,
    system: BatchSystem,
    command: &[String],
    directory: &Path,
    program: &Path,
) -> Result<String, WorkflowError> {
    let job = Job {
        name: "collrules".to_owned(),
        nodes,
        ppn: options.ppn,
        time: options.time,
        partition: options.partition.clone(),
        account: options.account.clone(),
        qos: options.qos.clone(),
        constraint: options.constraint.clone(),
        exclusive: options.exclusive,
        environment: options.parallel_environment.clone(),
        array: options.array,
        directives: options.directive.clone(),
        modules: options.module.clone(),
        log: directory.join("job"),
    };
    let Dialect { task, .. } = dialect(system);
    let quoted = |path: &Path| deploy::quoted(&path.to_string_lossy());
    let (program, home) = (quoted(program), quoted(directory));
    let words: Vec<String> = command.iter().map(|word| deploy::quoted(word)).collect();
    let (run, seed) = match options.array {
        Some(_) => (format!("{home}/task-${task}"), format!(" --seed \"${task}\"")),
        None => (home, String::new()),
    };
    let lines = [
        String::new(),
        format!("run={run}"),
        "# Resumes what an earlier job left: one that ran out of time, was requeued, or is submitted again.".to_owned(),
        "if [ -e \"$run/manifest.json\" ]; then".to_owned(),
        format!("    exec {program} {} --resume \"$run\"", words[0]),
        "fi".to_owned(),
        format!("exec {program} {}{seed} --out \"$run\"", words.join(" ")),
    ];
    script::script(system, &job, &lines).map_err(|Unsupported(why)| WorkflowError::Usage(why))
}

/// Whether a directive lets a job wait for another one, in the words of any batch system.
fn waits(directive: &str) -> bool {
    ["depend", "-hold_jid", "-w "].iter().any(|word| directive.contains(word))
}

/// A second job would find the run held by the first.
fn refuse_another(before: Option<&Submission>, directory: &Path) -> Result<(), WorkflowError> {
    let Some((system, last)) = before.and_then(|before| Some((before.system, before.jobs.last()?))) else {
        return Ok(());
    };
    let Dialect { state, cancel, .. } = dialect(system);
    match state(&System, &last.job) {
        Queue::Has(state) => Err(WorkflowError::Occupied(format!(
            "{system} job {0}, handed in at {1}, tunes into {2} and is still in the queue ({state}): wait for it, end it with \
             `{cancel} {0}`, or choose another directory with --out",
            last.job,
            last.at,
            directory.display(),
        ))),
        Queue::Gone | Queue::Silent(_) => Ok(()),
    }
}

/// Puts the script into the directory, submits it, and writes down what became of it.
fn hand_in(
    submitted: &Submitted,
    home: &RunDir,
    before: Option<Submission>,
    system: BatchSystem,
) -> Result<String, WorkflowError> {
    let Submitted { script, array, .. } = submitted;
    let file = home.write(submission::SCRIPT, script)?;
    let Dialect { submit, by_input, job, .. } = dialect(system);
    let failed =
        |why: String| WorkflowError::Input(format!("`{}` did not take {}: {why}", submit.join(" "), file.display()));
    let mut command = Command::new(submit[0]);
    command.args(&submit[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if by_input {
        command.stdin(Stdio::piped());
    } else {
        command.arg(&file);
    }
    let mut child = command.spawn().map_err(|cause| failed(cause.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // Who does not read it says so by failing.
        let _ = input.write_all(script.as_bytes());
    }
    let output = child.wait_with_output().map_err(|cause| failed(cause.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let job = job(&said).filter(|_| output.status.success());
    let job = job.ok_or_else(|| failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))?;
    // What was handed in before stays written down.
    let mut all = before.unwrap_or_else(|| Submission::of(system, *array));
    (all.system, all.array) = (system, *array);
    all.jobs.push(submission::Handed { job: job.clone(), at: manifest::now() });
    home.write_json(submission::SUBMISSION, &all)?;
    Ok(job)
}
