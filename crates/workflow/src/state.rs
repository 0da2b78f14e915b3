//! The state of a run: the steps that ended, and the clock of their time.

use std::time::Instant;

use collrules_record::comparison::Stage;
use collrules_record::rundir::RunDir;
use collrules_record::settings::Settings;
use collrules_record::state::{Evidence, Step, StepRecord, TuningState};
use collrules_record::{Seconds, Validation, manifest};

use crate::error::WorkflowError;
use crate::tuning;

/// Reads the state of a directory; without one, the results in it that are about its rules.
pub(crate) fn read(run: &RunDir) -> Result<TuningState, WorkflowError> {
    if let Some(state) = run.state()? {
        return Ok(state);
    }
    let digests = tuning::in_place(run)?.digests();
    let mut state = TuningState { settings: run.settings()?, ..TuningState::default() };
    if let Some(found) = run.validation()?.filter(|found| found.is_about(&digests)) {
        state.reverted.clone_from(&found.reverted);
        state.steps.push(compared(Step::Compare(Stage::Rules, None), Settings::new(), found));
    }
    Ok(state)
}

/// The record of a comparison.
pub(crate) fn compared(step: Step, base: Settings, found: Validation) -> StepRecord {
    StepRecord { evidence: Some(Evidence { at: manifest::now(), base, found }), ..step.into() }
}

/// Lets a run go on with more time: what was undecided is decided again, and what was shown stays.
pub(crate) fn reopen(state: &mut TuningState) {
    state.reverted.clear();
    state.carried.clear();
    state.settings = state.settings.take().filter(|found| found.chosen.is_some());
    state.steps.push(Step::Decide.into());
}

/// Returns true if the time of a step is not that of rules in the layout of the run.
fn is_apart(step: Step) -> bool {
    !matches!(step, Step::Begin(_) | Step::Measure | Step::Decide | Step::Compare(Stage::Rules, None))
}

/// The clock of a tuning: the time of steps that ended, also in earlier sessions, and of the one in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// Seconds of simulated jobs, which take none.
    simulated: f64,
    /// Seconds of earlier sessions with the same budget.
    before: f64,
    /// Seconds of steps with a budget of their own.
    apart: f64,
    /// Seconds of this session when the step in progress began.
    lap: f64,
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), simulated: 0.0, before: 0.0, apart: 0.0, lap: 0.0 }
    }

    /// Adds the time of earlier sessions, beyond these seconds that a batch job cut off the budget.
    pub(crate) fn add_earlier(&mut self, state: &TuningState, cut: f64) {
        self.before = (state.spent(|_| true) - cut).max(0.0);
        self.apart = state.spent(is_apart).min(self.before);
    }

    /// Adds the seconds of simulated jobs.
    pub(crate) fn simulate(&mut self, seconds: f64) {
        self.simulated += seconds;
    }

    /// Seconds of this session.
    pub(crate) fn of_session(&self) -> f64 {
        self.simulated + self.began.elapsed().as_secs_f64()
    }

    /// Seconds so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.of_session()
    }

    /// Seconds of the work on rules in the layout of the run.
    pub(crate) fn of_rules(&self) -> f64 {
        self.seconds() - self.apart
    }

    /// Leaves out the seconds since a time of this session: they have a budget of their own.
    pub(crate) fn leave_out(&mut self, since: f64) {
        self.apart += self.of_session() - since;
    }

    /// Ends a step.
    pub(crate) fn end(&mut self, step: Step) -> StepRecord {
        let now = self.of_session();
        let since = std::mem::replace(&mut self.lap, now);
        if is_apart(step) {
            self.leave_out(since);
        }
        StepRecord { seconds: Seconds(now - since), ..step.into() }
    }
}
