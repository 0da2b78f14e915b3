//! The state of a run: which steps ended, and which of their results hold for the rules that are decided.

use std::time::Instant;

use collrules_record::comparison::Stage;
use collrules_record::findings::Findings;
use collrules_record::rundir::RunDir;
use collrules_record::settings::SettingsFindings;
use collrules_record::state::{Step, StepRecord, TuningState};
use collrules_record::validation::Round;
use collrules_record::{Cell, HanRule, Seconds, Tuning, Validation};
use collrules_rules::{Choice, Release};

use crate::error::WorkflowError;
use crate::tuning;

/// Reads the state of a directory; without one, the results in it that are about its rules.
pub(crate) fn read(run: &RunDir) -> Result<TuningState, WorkflowError> {
    if let Some(state) = run.state()? {
        return Ok(state);
    }
    let digests = tuning::in_place(run)?.digests();
    let validation = run.validation()?.filter(|validation| validation.is_about(&digests));
    Ok(TuningState { validation, settings: run.settings()?, ..TuningState::default() })
}

/// Keeps the results that hold for a tuning. If its rules are others than those that were compared, their comparisons are to be
/// made again; ranges that were reverted stay so.
pub(crate) fn fit(state: &mut TuningState, tuning: &Tuning, findings: &Findings) {
    let compared = state.validation.as_ref().filter(|validation| validation.round.is_some());
    let holds = compared.map_or(tuning.has_no_rules(), |validation| holds_for(validation, tuning, findings));
    if !holds {
        if let Some(compared) = compared {
            state.earlier = Some(compared.clone());
        }
        if state.steps.iter().any(|it| matches!(it.step, Step::Compare(..))) {
            state.steps.push(StepRecord { step: Step::Decide, seconds: Seconds(0.0) });
        }
        state.settings.iter_mut().for_each(SettingsFindings::forget_rules);
    }
    for validation in state.validations_mut() {
        if !holds_for(validation, tuning, findings) {
            validation.round = None;
            validation.checks.clear();
        }
        validation.digests = tuning.digests();
    }
}

/// Lets a run go on with more time: what was undecided is decided again, and what was decided stays.
pub(crate) fn reopen(state: &mut TuningState) {
    state.earlier = state.validation.clone().filter(|validation| validation.round.is_some()).or(state.earlier.take());
    for validation in state.validations_mut() {
        validation.round = None;
        validation.checks.clear();
        validation.reverted.clear();
    }
    state.settings = state.settings.take().filter(|found| found.chosen.is_some());
    state.steps.push(StepRecord { step: Step::Decide, seconds: Seconds(0.0) });
}

/// Returns true if what a comparison showed holds for a tuning: in each cell it has the rule that was launched and not removed
/// since, or none.
fn holds_for(compared: &Validation, tuning: &Tuning, findings: &Findings) -> bool {
    if compared.is_about(&tuning.digests()) {
        return true;
    }
    let Some(round) = &compared.round else { return false };
    let removed = compared.removed();
    let mut parameters = tuning.parameters.iter();
    parameters.all(|(name, value)| compared.settings.get(name) == Some(value))
        && has_rules_of(round, tuning, findings, |cell| !removed.contains(&cell))
}

/// Returns true if a tuning has no rule in measured or compared cells but those of a round.
fn has_rules_of(round: &Round, tuning: &Tuning, findings: &Findings, is_left: impl Fn(Cell) -> bool) -> bool {
    let rule = |cell: Cell| rule_of(tuning, cell, findings.release);
    let is_default = |cell: Cell| rule(cell) == (Choice::BUILTIN, false);
    let is_launched = |cell: Cell, launched| is_default(cell) || is_left(cell) && rule(cell) == launched;
    round.cells.iter().all(|it| is_launched(it.cell, (it.served, it.handed)))
        && round.failed.iter().filter(|it| it.with).all(|it| is_default(it.cell))
        && findings.cells.iter().map(|it| it.cell).all(|cell| is_default(cell) || round.covers(cell, rule(cell)))
}

/// The rule for a cell: its choice, and whether HAN has one.
fn rule_of(tuning: &Tuning, cell: Cell, release: Release) -> (Choice, bool) {
    let choice = tuning.choice(cell.collective, cell.ranks, cell.lookup_bytes(release));
    (choice, tuning.han_rule(cell) != HanRule::Default)
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
        StepRecord { step, seconds: Seconds(now - since) }
    }
}
