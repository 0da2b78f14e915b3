//! `collrules status`: progress of jobs and runs.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use collrules_batch::System;
use collrules_batch::job::Queue;
use collrules_batch::script::dialect;
use collrules_batch::status::{LogEnd, RunStage, RunStatus, Status};
use collrules_batch::submission::Submission;
use collrules_record::proof::{ProofFact, ShownProof};
use collrules_record::rundir::{self, ComparisonLog, Progress, RunDir, RunDirError};
use collrules_record::values::positive;
use collrules_record::{Manifest, Plan, Seconds};
use collrules_report::plain;
use collrules_report::status::sentences;
use collrules_runner::separate;
use collrules_workflow::WorkflowError;

use crate::screen;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --follow, it ends when the batch system does not know the job any more, when the run has \
all results of tune, or when no process continues it and nothing is written for the time of --lag."
)]
pub(crate) struct StatusArgs {
    /// The directory of the run, or the one that was given to submit
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Answer in JSON
    #[arg(long, conflicts_with = "follow")]
    json: bool,
    /// Print changes until the job and the run are over
    #[arg(long)]
    follow: bool,
    /// Interval between two checks
    #[arg(long, value_name = "TIME", value_parser = positive, default_value = "10s", requires = "follow")]
    every: Seconds,
    /// Time to look for further files once the job has left the queue: a shared file system may show them late, NFS up
    /// to a minute
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "follow")]
    lag: Seconds,
}

pub(crate) fn run(args: &StatusArgs) -> Result<(), WorkflowError> {
    if args.follow {
        return follow(args);
    }
    let status = read_status(&args.run)?;
    if args.json {
        return screen::print(&serde_json::to_string_pretty(&status)?);
    }
    print(&sentences(&status))?;
    print_log(&status)
}

/// Prints the end of the job's log.
fn print_log(status: &Status) -> Result<(), WorkflowError> {
    let Some(LogEnd { file, lines }) = &status.log else { return Ok(()) };
    let head = format!("End of {}:", plain::printable_line(&file.display().to_string()));
    let lines = lines.iter().map(|line| format!("  {}", plain::printable_line(line)));
    screen::print(&std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n"))
}

/// Prints changes until the job and the run are over.
fn follow(args: &StatusArgs) -> Result<(), WorkflowError> {
    let mut before: Vec<String> = Vec::new();
    // State and time of the last change.
    let mut seen = (Vec::new(), Instant::now());
    loop {
        let mut status = read_status(&args.run)?;
        let mark = |RunStatus { stage, progress, .. }: &RunStatus| {
            (*stage, progress.samples, progress.complete, progress.failed)
        };
        let grown: Vec<_> = status.runs.iter().map(mark).collect();
        if grown != seen.0 {
            seen = (grown, Instant::now());
        }
        let is_late = !status.is_complete(RunStage::Proven) && seen.1.elapsed().as_secs_f64() < args.lag.0;
        if status.is_over() && is_late {
            status.queue =
                Some(format!("it has left the queue; its last files may take up to {} to appear", args.lag.rounded()));
        }
        let now = lasting(&status);
        let is_new = |(sentence, _): &(&String, String)| !before.contains(sentence);
        let new: Vec<_> = now.iter().zip(sentences(&status)).filter(is_new).map(|(_, sentence)| sentence).collect();
        if !new.is_empty() {
            print(&new)?;
        }
        if status.is_over() {
            print_log(&status)?;
            return print(&[end(&status, &args.run)]);
        }
        // The process that measured has ended, or works on another host and writes nothing.
        if status.submission.is_none() && status.is_left() && seen.1.elapsed().as_secs_f64() >= args.lag.0 {
            let lag = args.lag.rounded();
            return print(&[format!("nothing was written for {lag}, and no process of the run is known")]);
        }
        before = now;
        thread::sleep(Duration::from_secs_f64(args.every.0.min(3600.0)));
    }
}

/// The last sentence, once no more results are expected: a job may have left the queue in any stage.
fn end(status: &Status, run: &Path) -> String {
    match status.is_complete(RunStage::Decided) {
        true => format!("the run is done; `collrules report {}` writes the results", run.display()),
        false => "the job has ended, and not every run has rules".to_owned(),
    }
}

/// The sentences that do not change constantly during a launch.
fn lasting(status: &Status) -> Vec<String> {
    let mut status = status.clone();
    for run in &mut status.runs {
        let Progress { complete, failed, why, .. } = std::mem::take(&mut run.progress);
        run.progress = Progress { complete, failed, why, ..Progress::default() };
    }
    sentences(&status)
}

fn print(sentences: &[String]) -> Result<(), WorkflowError> {
    let lines: Vec<String> = sentences.iter().flat_map(|sentence| screen::wrapped(sentence, "", "  ")).collect();
    screen::print(&lines.join("\n"))
}

/// Reads the present state of a directory.
fn read_status(directory: &Path) -> Result<Status, WorkflowError> {
    let home = RunDir::derived(directory)?;
    let submission = Submission::read(&home)?;
    let handed = submission.as_ref().and_then(|submission| Some((submission.system, submission.jobs.last()?)));
    let (queue, unanswered) = match handed.map(|(system, handed)| (dialect(system).state)(&System, &handed.job)) {
        Some(Queue::Has(state)) => (Some(state), None),
        Some(Queue::Silent(why)) => (None, Some(why)),
        Some(Queue::Gone) | None => (None, None),
    };
    let tasks = submission.as_ref().and_then(|submission| submission.array);
    let runs = match tasks {
        Some(last) => {
            (1..=last).map(|task| of_run(&directory.join(format!("task-{task}")))).collect::<Result<_, _>>()?
        }
        None if submission.is_none() && !home.file(rundir::MANIFEST).exists() => {
            // Names what is missing.
            RunDir::open(directory)?;
            Vec::new()
        }
        None => vec![of_run(directory)?],
    };
    let log = submission.as_ref().and_then(|_| LogEnd::newest(directory));
    Ok(Status { submission, queue, unanswered, log, runs })
}

fn of_run(directory: &Path) -> Result<RunStatus, WorkflowError> {
    let run = RunDir::open(directory).ok();
    // A manifest that is not readable yet counts as none; a damaged one does not.
    let manifest = match run.as_ref().map(|run| run.is_imported().and_then(|imported| manifest(run, imported))) {
        Some(Ok(manifest)) => manifest,
        Some(Err(
            error @ (RunDirError::Damaged { .. } | RunDirError::Format { .. } | RunDirError::Unaccounted { .. }),
        )) => {
            return Err(error.into());
        }
        Some(Err(_)) | None => None,
    };
    let progress = run.as_ref().map(RunDir::progress).unwrap_or_default();
    let state = run.as_ref().map(RunDir::state).transpose()?.flatten();
    let proof = run.as_ref().map(RunDir::proof).transpose()?.flatten();
    let is_proven = |proof: ShownProof| proof.shown.iter().any(|fact| *fact != ProofFact::NotChecked);
    let stages = [
        (RunStage::Validated, state.is_some_and(|state| state.has_rules_compared(None))),
        (RunStage::Proven, proof.is_some_and(is_proven)),
        (RunStage::Decided, run.as_ref().is_some_and(|run| run.file(rundir::FINDINGS).exists())),
        (
            RunStage::Comparing,
            run.as_ref().is_some_and(|run| ComparisonLog::open(run).is_ok_and(|log| !log.is_empty())),
        ),
        (RunStage::Measured, progress.samples > 0),
        (RunStage::Planned, manifest.is_some()),
    ];
    let stage = stages.into_iter().find(|(_, there)| *there).map_or(RunStage::Waiting, |(stage, _)| stage);
    let further = run.as_ref().map(RunDir::refinements).transpose()?.unwrap_or_default();
    let is_measured = manifest.as_ref().is_some_and(|manifest| manifest.merged.is_empty());
    let resume = manifest.as_ref().map(|manifest| manifest.request.resume(directory));
    let plans: Vec<Plan> = manifest.map(|manifest| manifest.plan).into_iter().chain(further).collect();
    let status = RunStatus {
        directory: directory.display().to_string(),
        stage,
        resume,
        launches: plans.iter().map(|plan| separate::starts(plan).len() as u32).sum(),
        cells: plans.iter().map(|plan| plan.cells.len()).sum(),
        progress,
        held: run.as_ref().and_then(RunDir::is_held),
    };
    let subjects: usize = plans.iter().map(|plan| plan.cells.len() + plan.patterns.len()).sum();
    if is_measured && (status.progress.complete > status.launches || status.progress.measured > subjects) {
        return Err(WorkflowError::Input(format!(
            "the files of {} do not belong together: {} of {} planned launches are complete, and {} of {} planned sizes have \
             samples",
            status.directory, status.progress.complete, status.launches, status.progress.measured, subjects
        )));
    }
    Ok(status)
}

/// The manifest of a measured run, if it is intact.
fn manifest(run: &RunDir, imported: bool) -> Result<Option<Manifest>, RunDirError> {
    if imported {
        return Ok(None);
    }
    run.check_plans()?;
    run.manifest().map(Some)
}

#[cfg(test)]
mod tests {
    use collrules_record::allocation::BatchSystem;

    use super::*;

    #[test]
    fn a_job_that_left_the_queue_early_has_done_no_run() {
        let run = |stage| RunStatus {
            directory: "/r".to_owned(),
            stage,
            resume: None,
            launches: 3,
            cells: 8,
            progress: Progress::default(),
            held: None,
        };
        let said = |stages: &[RunStage]| {
            let submission = Some(Submission::new(BatchSystem::Slurm, None));
            let runs = stages.iter().map(|stage| run(*stage)).collect();
            let status = Status { submission, queue: None, unanswered: None, log: None, runs };
            assert!(status.is_over());
            end(&status, Path::new("/r"))
        };
        assert!(said(&[RunStage::Validated, RunStage::Decided]).starts_with("the run is done"));
        for dead in [&[RunStage::Measured][..], &[RunStage::Validated, RunStage::Comparing], &[RunStage::Waiting], &[]]
        {
            assert!(said(dead).starts_with("the job has ended, and"), "{dead:?}");
        }
    }
}
