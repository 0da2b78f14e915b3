//! The state of a run: the steps that ended.

use collrules_record::comparison::Stage;
use collrules_record::rundir::RunDir;
use collrules_record::settings::Settings;
use collrules_record::state::{Evidence, Step, StepRecord, TuningState};
use collrules_record::{Validation, manifest};

use crate::error::WorkflowError;
use crate::tuning;

/// Reads the state of a tuning that goes on, or that of its results.
pub(crate) fn read_next(run: &RunDir) -> Result<TuningState, WorkflowError> {
    run.next_state()?.map_or_else(|| read(run), Ok)
}

/// Adds a comparison to a tuning that goes on, if there is one.
pub(crate) fn add_to_next(run: &RunDir, compared: &StepRecord) -> Result<(), WorkflowError> {
    let Some(mut state) = run.next_state()? else { return Ok(()) };
    state.steps.push(compared.clone());
    Ok(run.write_next_state(&state)?)
}

/// Reads the state of a directory; without one, the results in it that are about its rules.
pub(crate) fn read(run: &RunDir) -> Result<TuningState, WorkflowError> {
    if let Some(state) = run.state()? {
        return Ok(state);
    }
    let digests = tuning::in_place(run)?.digests();
    let mut state = TuningState { settings: run.settings()?, ..TuningState::default() };
    if let Some(found) = run.validation()?.filter(|found| found.is_about(&digests)) {
        (state.reverted, state.withdrawn) = (found.reverted.clone(), found.withdrawn.clone());
        state.steps.push(compared(Step::Compare(Stage::Rules, None), Settings::new(), found));
    }
    Ok(state)
}

/// The record of a comparison.
pub(crate) fn compared(step: Step, base: Settings, found: Validation) -> StepRecord {
    StepRecord { evidence: Some(Evidence { at: manifest::now(), base, found }), ..step.into() }
}

/// Lets a run go on with more time: what was undecided is decided again, in a step that begins with this record, and what was
/// shown stays.
pub(crate) fn reopen(state: &mut TuningState, begun: StepRecord) {
    state.reverted.clear();
    state.carried.clear();
    state.withdrawn.clear();
    state.settings = state.settings.take().filter(|found| found.chosen.is_some());
    state.steps.push(begun);
}
