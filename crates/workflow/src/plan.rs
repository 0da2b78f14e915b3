//! From options and a survey to a plan, and how the budget is shared.

use collrules_record::options::{PAIRS, System, Timing, Tuning};
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::units::Seconds;
use collrules_record::{Plan, Survey};
use collrules_runner::RunnerError;
use collrules_runner::grid::Planner;
use collrules_runner::validation::{Spending, spending};

use crate::start::{Started, oversubscribes};

/// Jobs beside the survey that do not measure: before, whether `coll/tuned` serves the calls; afterwards, whether the
/// file is obeyed, and whether data are right under it.
pub const PROOF_JOBS: f64 = 3.0;

/// The share of the budget that refinement may take.
const REFINEMENT: f64 = 0.15;

/// The share of the budget that is for validation.
const VALIDATION: f64 = 0.25;

/// What the first comparison of a validation may take of its share; the rest is for proving and comparing what was
/// repaired.
const FIRST_COMPARISON: f64 = 0.6;

/// How the budget of a tuning is spent beside measuring the grid, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// For refinement.
    pub refinement: f64,
    /// For validation: none where it would not pay for two pairs of launches.
    pub validation: f64,
}

impl Shares {
    /// The shares of a budget; nothing where there is none.
    pub fn of(tuning: &Tuning, startup: Seconds) -> Self {
        let Some(Seconds(budget)) = tuning.budget else { return Self { refinement: 0.0, validation: 0.0 } };
        let validation = if tuning.validate && first_comparison(validation_share(tuning.budget), startup).is_some() {
            budget * VALIDATION
        } else {
            0.0
        };
        let refinement = if tuning.refinement.rounds == 0 { 0.0 } else { (budget - validation) * REFINEMENT };
        Self { refinement, validation }
    }
}

/// The share of a tuning's budget that its validation may take.
pub(crate) fn validation_share(budget: Option<Seconds>) -> Option<Seconds> {
    budget.map(|budget| Seconds(budget.0 * VALIDATION))
}

/// How the first comparison of a tuning's validation is spent, by the time for all of it; nothing where that does not pay
/// for two pairs.
pub(crate) fn first_comparison(share: Option<Seconds>, startup: Seconds) -> Option<Spending> {
    spending(share.map(of_first_comparison), startup, PAIRS)
}

/// The part of a validation's time that its first comparison may take.
pub(crate) fn of_first_comparison(share: Seconds) -> Seconds {
    Seconds(share.0 * FIRST_COMPARISON)
}

/// The most that a round of refinement may take of a launch.
pub(crate) fn refinement_per_launch(tuning: &Tuning) -> Option<Seconds> {
    let rounds = f64::from(tuning.refinement.rounds.max(1));
    tuning.budget.map(|budget| Seconds(budget.0 * REFINEMENT / rounds / f64::from(tuning.launches)))
}

/// The plan that the options ask for. The budget is for the whole command: starting jobs, of which the survey was one,
/// measuring, and showing that the file is obeyed, which takes three more jobs.
pub fn plan(tuning: &Tuning, survey: &Survey, startup: Seconds) -> Result<Plan, RunnerError> {
    let launches = f64::from(tuning.launches) * halves(tuning);
    let shares = Shares::of(tuning, startup);
    let measuring = |refinement: f64| {
        let rest = |budget: Seconds| budget.0 - shares.validation - refinement - starting(tuning, startup).0;
        tuning.budget.map(|budget| Seconds(rest(budget).max(0.0) / launches))
    };
    let schedule = Schedule {
        budget: measuring(shares.refinement),
        startup,
        min_gain: tuning.criteria.min_gain,
        keep_slow: tuning.keep_slow,
        ..timed(&tuning.timing)
    };
    let System { layout, oversubscribe, .. } = tuning.system;
    let planner = Planner { grid: &tuning.grid, layout, oversubscribe: oversubscribes(oversubscribe), survey };
    let planned = planner.plan(tuning.launches, schedule, tuning.seed);
    let mut plan = planned.map_err(|error| error.on(tuning.system.is_simulated()))?;
    // Refinement measures between two cells. Programs may call each collective with one size.
    let alike = |pair: &[CellPlan]| {
        let (one, other) = (pair[0].cell, pair[1].cell);
        one.collective == other.collective && (one.ranks == other.ranks || tuning.refinement.ranks)
    };
    if !plan.cells.windows(2).any(alike) {
        plan.schedule.budget = measuring(0.0);
    }
    Ok(plan)
}

/// Takes the layout in which programs spend the most time, where none was asked for, and says so where it is not the usual one.
pub fn lay_out(tuning: &mut Tuning, started: &mut Started) -> Option<String> {
    if !std::mem::take(&mut tuning.grid.any_layout) {
        return None;
    }
    let before = tuning.system.layout;
    let survey = &started.survey;
    let planner = Planner { grid: &tuning.grid, layout: before, oversubscribe: tuning.system.oversubscribe, survey };
    let layout = planner.layout_of_programs();
    tuning.system.layout = layout;
    started.backend.lay_out(layout);
    (layout != before)
        .then(|| format!("--layout {layout}: programs spend the most time on communicators that lie like that"))
}

/// What starting the jobs of a tuning takes in all.
pub fn starting(tuning: &Tuning, startup: Seconds) -> Seconds {
    Seconds(startup.0 * (1.0 + PROOF_JOBS + f64::from(tuning.launches) * halves(tuning)))
}

/// How often all is measured: a check of guidelines is made once more under a rules file.
fn halves(tuning: &Tuning) -> f64 {
    let under_rules = tuning.grid.mockups.as_ref().is_some_and(|mockups| mockups.rules.is_some());
    if under_rules { 2.0 } else { 1.0 }
}

/// The usual schedule with this way of timing.
pub(crate) fn timed(timing: &Timing) -> Schedule {
    Schedule {
        sync: timing.sync,
        clock_bound: timing.clock_bound,
        separate_clocks: timing.separate_clocks,
        ..Schedule::default()
    }
}
