//! The state of a run: the steps that ended, and the clock of their time.

use collrules_record::comparison::Stage;
use collrules_record::rundir::RunDir;
use collrules_record::settings::Settings;
use collrules_record::state::{Evidence, Step, StepRecord, TuningState};
use collrules_record::{Seconds, Validation, manifest};
use collrules_runner::job_clock::JobClock;

use crate::error::WorkflowError;
use crate::start::Started;
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

/// Lets a run go on with more time: what was undecided is decided again, in a step that begins with this record, and what was
/// shown stays.
pub(crate) fn reopen(state: &mut TuningState, begun: StepRecord) {
    state.reverted.clear();
    state.carried.clear();
    state.settings = state.settings.take().filter(|found| found.chosen.is_some());
    state.steps.push(begun);
}

/// Returns true if the time of a step is not that of rules in the layout of the run.
fn is_apart(step: Step) -> bool {
    !matches!(step, Step::Begin(_) | Step::Measure | Step::Decide | Step::Compare(Stage::Rules, None))
}

/// The clock of a tuning: the time of steps that ended, also in earlier sessions, and of the one in progress.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    jobs: JobClock,
    /// When the session began.
    began: f64,
    /// Seconds of earlier sessions with the same budget.
    before: f64,
    /// Seconds of steps with a budget of their own.
    apart: f64,
    /// When the step in progress began.
    lap: f64,
}

impl Clock {
    /// A clock that starts with the survey, by the time of the system's jobs.
    pub(crate) fn new(started: &Started) -> Self {
        let jobs = started.backend.clock();
        let began = jobs.now() - started.startup.0;
        Self { jobs, began, before: 0.0, apart: 0.0, lap: began }
    }

    /// Adds the time of earlier sessions, beyond these seconds that a batch job cut off the budget.
    pub(crate) fn add_earlier(&mut self, state: &TuningState, cut: f64) {
        self.before = (state.spent(|_| true) - cut).max(0.0);
        self.apart = state.spent(is_apart).min(self.before);
    }

    /// Seconds so far.
    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.jobs.now() - self.began
    }

    /// Seconds of the work on rules in the layout of the run.
    pub(crate) fn of_rules(&self) -> f64 {
        self.seconds() - self.apart
    }

    /// Leaves out the time since so many seconds, which has a budget of its own. A model counts only its own calls, so at least
    /// these seconds of another one have passed.
    pub(crate) fn leave_out(&mut self, since: f64, least: f64) {
        let passed = self.seconds() - since;
        self.before += (least - passed).max(0.0);
        self.apart += passed.max(least);
    }

    /// Ends a step.
    pub(crate) fn end(&mut self, step: Step) -> StepRecord {
        let now = self.jobs.now();
        let seconds = now - std::mem::replace(&mut self.lap, now);
        if is_apart(step) {
            self.apart += seconds;
        }
        StepRecord { seconds: Seconds(seconds), ..step.into() }
    }
}
