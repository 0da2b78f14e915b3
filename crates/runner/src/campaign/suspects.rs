//! Which candidate a failed launch is to be blamed on.
//!
//! The last event of the job names a candidate that was being checked, or a cell whose candidates were being timed. That
//! is a suspicion only: jobs are also ended by administrators, by lack of memory, by nodes that vanish. A trial is a job
//! that calls the builtin alone, and then the suspects in turn, each beside the builtin. A candidate is to blame if it
//! was suspected, or found in a trial of the whole cell, and then hangs in a trial of its own, or ends two of them.

use std::sync::atomic::Ordering;

use collrules_record::{Candidate, Cell, Subject};

use super::notice::{Launch, Notice, Policy};
use crate::backend::Backend;
use crate::error::RunnerError;
use crate::launch::{LaunchCell, LaunchPlan};
use crate::wire::Event;

/// Where a job is. Cells and candidates are indices of its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    /// Between cells.
    Elsewhere,
    /// Checking this candidate.
    Candidate { cell: usize, candidate: usize },
    /// Timing candidates of this cell.
    Cell(usize),
}

impl Whereabouts {
    /// Goes where an event says that the job is.
    pub(super) fn follow(&mut self, event: &Event) {
        match event {
            Event::Checking { cell, candidate } => {
                *self = Self::Candidate { cell: *cell, candidate: *candidate };
            }
            Event::Visiting { cell } => *self = Self::Cell(*cell),
            Event::Visited { .. } | Event::Measured { .. } => *self = Self::Elsewhere,
            _ => {}
        }
    }
}

/// What came of looking for somebody to blame.
pub(super) enum Found {
    /// A candidate fails again and again.
    Culprit { cell: Cell, candidate: Candidate, why: String },
    /// Nobody could be found; the subject in which the launch failed, unless something outside ended it.
    Nobody { subject: Option<Subject> },
}

/// Looks for the candidate that made a launch fail.
pub(super) fn find(
    backend: &mut dyn Backend,
    launch: &Launch<'_>,
    place: &Whereabouts,
    error: &RunnerError,
    policy: &Policy,
    watch: &mut dyn FnMut(&Launch<'_>, &Notice<'_>),
) -> Result<Found, RunnerError> {
    let index = match place {
        Whereabouts::Elsewhere => return Ok(Found::Nobody { subject: None }),
        Whereabouts::Candidate { cell, .. } | Whereabouts::Cell(cell) => *cell,
    };
    if error.came_from_outside() {
        return Ok(Found::Nobody { subject: None });
    }
    let Some(LaunchCell { cell, candidates, .. }) = launch.plan.cells.get(index).cloned() else {
        // The casts of a pattern all do the same: it fails, or it does not.
        return Ok(Found::Nobody { subject: Some(launch.plan.subject(index)) });
    };
    watch(launch, &Notice::Trying(cell));
    let mut try_out = |suspects: &[Candidate]| trial(backend, launch.plan, index, suspects, policy);
    let mut failed = match place {
        Whereabouts::Candidate { candidate, .. } => try_out(&candidates[*candidate..=*candidate])?,
        _ => None,
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
        return Ok(Found::Culprit { cell, candidate, why: accusation(&error) });
    }
    watch(launch, &Notice::Acquitted(cell));
    Ok(Found::Nobody { subject: Some(Subject::Cell(cell)) })
}

/// Tries suspects of a cell in a job of their own, and returns the one that it failed with.
fn trial(
    backend: &mut dyn Backend,
    plan: &LaunchPlan,
    cell: usize,
    suspects: &[Candidate],
    policy: &Policy,
) -> Result<Option<(Candidate, RunnerError)>, RunnerError> {
    let with = |candidates| LaunchCell { candidates, ..plan.cells[cell].clone() };
    let mut cells = Vec::new();
    if plan.has_one_candidate() {
        // There is nothing beside the one candidate in such a job.
        cells.push(with(suspects.to_vec()));
    } else {
        cells.push(with(vec![Candidate::Builtin]));
        let others = suspects.iter().filter(|suspect| **suspect != Candidate::Builtin);
        cells.extend(others.map(|suspect| with(vec![Candidate::Builtin, *suspect])));
    }
    let plan = LaunchPlan { cells, patterns: Vec::new(), ..plan.clone() };
    let mut place = Whereabouts::Elsewhere;
    let outcome = backend.trial(&plan, &mut |event| {
        place.follow(&event);
        if policy.stop.load(Ordering::Relaxed) { Err(RunnerError::Interrupted) } else { Ok(()) }
    });
    match (outcome, place) {
        (Err(error), _) if !error.is_of_job() => Err(error),
        (Err(error), Whereabouts::Candidate { cell, .. } | Whereabouts::Cell(cell)) if !error.came_from_outside() => {
            Ok(plan.cells[cell].candidates.last().map(|candidate| (*candidate, error)))
        }
        _ => Ok(None),
    }
}

/// Why a candidate is left out, in a sentence without the job's own words.
fn accusation(error: &RunnerError) -> String {
    match error {
        RunnerError::JobHung { seconds, .. } => {
            format!("its calls hang: nothing was heard for {seconds} s, in several trials")
        }
        RunnerError::JobDied { status, .. } => format!("its calls end the job: {status}, in several trials"),
        other => other.to_string(),
    }
}
