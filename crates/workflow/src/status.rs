//! Progress of the jobs and runs of a directory: read without a lock, while others write.

use std::path::Path;

use collrules_batch::System;
use collrules_batch::job::Queue;
use collrules_batch::script::dialect;
use collrules_batch::status::{RunStatus, Stage, Status};
use collrules_batch::submission::Submission;
use collrules_record::proof::ProofFact;
use collrules_record::rundir::{self, ComparisonLog, RunDir, RunDirError};
use collrules_record::{Manifest, Plan};
use collrules_runner::separate;

use crate::error::WorkflowError;
use crate::evidence::RulesEvidence;

/// Reads the present state of a directory.
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
    Ok(Status { submission, queue, unanswered, runs })
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
    let evidence = run.as_ref().map(RulesEvidence::read).transpose()?;
    let is_proven = |evidence: &RulesEvidence| evidence.proof.iter().any(|fact| *fact != ProofFact::NotChecked);
    let stages = [
        (Stage::Validated, evidence.as_ref().is_some_and(|evidence| evidence.validation.is_some())),
        (Stage::Proven, evidence.as_ref().is_some_and(is_proven)),
        (Stage::Decided, run.as_ref().is_some_and(|run| run.file(rundir::FINDINGS).exists())),
        (Stage::Comparing, run.as_ref().is_some_and(|run| ComparisonLog::open(run).is_ok_and(|log| !log.is_empty()))),
        (Stage::Measured, progress.samples > 0),
        (Stage::Planned, manifest.is_some()),
    ];
    let stage = stages.into_iter().find(|(_, there)| *there).map_or(Stage::Waiting, |(stage, _)| stage);
    let mut further = Vec::new();
    for number in 1.. {
        match run.as_ref().map(|run| run.refinement(number)) {
            Some(Ok(Some(plan))) => further.push(plan),
            Some(Err(error @ (RunDirError::Damaged { .. } | RunDirError::Format { .. }))) => return Err(error.into()),
            _ => break,
        }
    }
    let is_measured = manifest.as_ref().is_some_and(|manifest| manifest.merged.is_empty());
    let plans: Vec<Plan> = manifest.map(|manifest| manifest.plan).into_iter().chain(further).collect();
    let status = RunStatus {
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
        held: run.as_ref().and_then(RunDir::is_held),
        silent: progress.silent,
        ahead: progress.ahead,
    };
    let subjects: usize = plans.iter().map(|plan| plan.cells.len() + plan.patterns.len()).sum();
    if is_measured && (status.complete > status.launches || status.measured > subjects) {
        return Err(WorkflowError::Input(format!(
            "the files of {} do not belong together: {} of {} planned launches are complete, and {} of {} planned sizes have \
             samples",
            status.directory, status.complete, status.launches, status.measured, subjects
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
