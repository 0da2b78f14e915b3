//! Search for the candidate that made a launch fail.
//!
//! The last event of the job names a candidate that was being checked, or a cell whose candidates were being timed.
//! This is only a suspicion: administrators, lack of memory and vanishing nodes end jobs too. A trial is a job that
//! calls the builtin alone, then the suspects in turn, each next to the builtin. A candidate is the cause if it was
//! suspected, or found in a trial of the whole cell, and then hangs in a separate trial, or ends two of them.

use std::sync::atomic::Ordering;

use collrules_record::{Candidate, Cell, Subject};

use super::notice::{CampaignLaunch, Notice, StopConditions};
use crate::backend::Backend;
use crate::error::RunnerError;
use crate::launch::{LaunchCell, LaunchPlan};
use crate::wire::WorkerEvent;

/// Updates the place of a job with an event: the index in its plan of the cell that it checks or times, with that of a
/// candidate while it checks one; none between cells.
pub(super) fn follow(place: &mut Option<(usize, Option<usize>)>, event: &WorkerEvent) {
    match event {
        WorkerEvent::Checking { cell, candidate } => *place = Some((*cell, Some(*candidate))),
        WorkerEvent::Visiting { cell } => *place = Some((*cell, None)),
        WorkerEvent::Visited { .. } | WorkerEvent::Measured { .. } => *place = None,
        _ => {}
    }
}

/// Result of the search for a candidate that makes launches fail.
pub(super) enum FailureCause {
    /// A candidate fails repeatedly.
    Culprit { cell: Cell, candidate: Candidate, why: String },
    /// No candidate was found; the subject of the failed launch, unless something outside ended it.
    Nobody { subject: Option<Subject> },
}

/// Looks for the candidate that made a launch fail.
pub(super) fn find(
    backend: &mut dyn Backend,
    launch: &CampaignLaunch<'_>,
    place: Option<(usize, Option<usize>)>,
    error: &RunnerError,
    policy: &StopConditions,
    watch: &mut dyn FnMut(&CampaignLaunch<'_>, &Notice<'_>),
) -> Result<FailureCause, RunnerError> {
    let Some((index, candidate)) = place.filter(|_| !error.came_from_outside()) else {
        return Ok(FailureCause::Nobody { subject: None });
    };
    let Some(LaunchCell { cell, candidates, .. }) = launch.plan.cells.get(index).cloned() else {
        // The casts of a pattern all do the same: it fails, or it does not.
        return Ok(FailureCause::Nobody { subject: Some(launch.plan.subject(index)) });
    };
    watch(launch, &Notice::Trying(cell));
    let mut try_out = |suspects: &[Candidate]| trial(backend, launch.plan, index, suspects, policy);
    let mut failed = match candidate {
        Some(candidate) => try_out(&candidates[candidate..=candidate])?,
        None => None,
    };
    if failed.is_none() {
        // Calls between check and visit have no name of their own, so that a check may be suspected wrongly.
        if let Some((suspect, _)) = try_out(&candidates)? {
            failed = try_out(&[suspect])?.filter(|(failed, _)| *failed == suspect);
        }
    }
    if let Some((suspect, RunnerError::JobDied { .. })) = failed {
        // Whatever ended the launch may have ended the trial as well. To hang once more would take long; to die does not.
        failed = try_out(&[suspect])?.filter(|(failed, _)| *failed == suspect);
    }
    if let Some((candidate, error)) = failed {
        return Ok(FailureCause::Culprit { cell, candidate, why: accusation(&error) });
    }
    watch(launch, &Notice::Acquitted(cell));
    Ok(FailureCause::Nobody { subject: Some(Subject::Cell(cell)) })
}

/// Calls suspects of a cell in a separate job, and returns the one with which it failed.
fn trial(
    backend: &mut dyn Backend,
    plan: &LaunchPlan,
    cell: usize,
    suspects: &[Candidate],
    policy: &StopConditions,
) -> Result<Option<(Candidate, RunnerError)>, RunnerError> {
    let with = |candidates| LaunchCell { candidates, ..plan.cells[cell].clone() };
    let mut cells = Vec::new();
    if plan.has_one_candidate() {
        // Such a job has no other candidate.
        cells.push(with(suspects.to_vec()));
    } else {
        cells.push(with(vec![Candidate::Builtin]));
        let others = suspects.iter().filter(|suspect| **suspect != Candidate::Builtin);
        cells.extend(others.map(|suspect| with(vec![Candidate::Builtin, *suspect])));
    }
    let plan = LaunchPlan { cells, patterns: Vec::new(), is_trial: true, ..plan.clone() };
    let mut place = None;
    let outcome = backend.measure(&plan, &mut |event| {
        follow(&mut place, &event);
        if policy.stop.load(Ordering::Relaxed) { Err(RunnerError::Interrupted) } else { Ok(()) }
    });
    match (outcome, place) {
        (Err(error), _) if !error.is_of_job() => Err(error),
        (Err(error), Some((cell, _))) if !error.came_from_outside() => {
            Ok(plan.cells[cell].candidates.last().map(|candidate| (*candidate, error)))
        }
        _ => Ok(None),
    }
}

/// Describes why a candidate is left out, in a sentence without output of the job.
fn accusation(error: &RunnerError) -> String {
    match error {
        RunnerError::JobHung { seconds, .. } => {
            format!("its calls hang: nothing was heard for {seconds} s, in several trials")
        }
        RunnerError::JobDied { status, .. } => format!("its calls end the job: {status}, in several trials"),
        other => other.to_string(),
    }
}
