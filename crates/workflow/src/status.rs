//! How far the jobs and runs of a directory are: read beside who writes, without a lock.

use std::path::Path;

use collrules_batch::System;
use collrules_batch::job::Queue;
use collrules_batch::script::dialect;
use collrules_record::Plan;
use collrules_record::rundir::{self, RunDir};
use collrules_record::status::{RunStatus, Stage, Status};
use collrules_record::submission::Submission;
use collrules_runner::separate;

use crate::error::WorkflowError;

/// What is known of a directory now.
pub fn status(directory: &Path) -> Result<Status, WorkflowError> {
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
        Some(last) => (1..=last).map(|task| of_run(&directory.join(format!("task-{task}")))).collect(),
        None if submission.is_none() && !home.file(rundir::MANIFEST).exists() => {
            // Says what is missing.
            RunDir::open(directory)?;
            Vec::new()
        }
        None => vec![of_run(directory)],
    };
    Ok(Status { submission, queue, unanswered, runs })
}

fn of_run(directory: &Path) -> RunStatus {
    let run = RunDir::open(directory).ok();
    // A manifest that cannot be read yet is as good as none.
    let manifest = run.as_ref().and_then(|run| run.manifest().ok());
    let progress = run.as_ref().map(RunDir::progress).unwrap_or_default();
    let has = |name: &str| run.as_ref().is_some_and(|run| run.file(name).exists());
    let stages = [
        (Stage::Validated, has(rundir::VALIDATION)),
        (Stage::Proven, has(rundir::RULES)),
        (Stage::Decided, has(rundir::FINDINGS)),
        (Stage::Measured, progress.samples > 0),
        (Stage::Planned, manifest.is_some()),
    ];
    let stage = stages.into_iter().find(|(_, there)| *there).map_or(Stage::Waiting, |(stage, _)| stage);
    let further = run.iter().flat_map(|run| (1..).map_while(|number| run.refinement(number).ok().flatten()));
    let plans: Vec<Plan> = manifest.map(|manifest| manifest.plan).into_iter().chain(further).collect();
    RunStatus {
        directory: directory.display().to_string(),
        stage,
        launches: plans.iter().map(|plan| separate::starts(plan).len() as u32).sum(),
        complete: progress.complete,
        failed: progress.failed,
        why: progress.why,
        cells: plans.iter().map(|plan| plan.cells.len()).sum(),
        measured: progress.cells,
        samples: progress.samples,
        spent: progress.spent,
        silent: progress.silent,
        ahead: progress.ahead,
    }
}
