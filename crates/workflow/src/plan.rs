//! From options and a survey to a plan, and how the budget is shared.

use collrules_record::options::{PAIRS, System, Timing, Tuning};
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::units::Seconds;
use collrules_record::{Plan, Survey};
use collrules_runner::grid::Planner;
use collrules_runner::validation::{Spending, spending};
use collrules_runner::{RunnerError, separate};

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
        let refinement = if !refines(tuning) { 0.0 } else { (budget - validation) * REFINEMENT };
        Self { refinement, validation }
    }
}

/// Whether sizes between those of the grid are measured. What other layouts do there would not be known.
pub(crate) fn refines(tuning: &Tuning) -> bool {
    tuning.refinement.rounds > 0 && tuning.also_layout.is_empty()
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

/// How many rounds of refinement there is time for, and the most that each launch of one may measure; no limit without a
/// budget. Starting its launches may take half of a round.
pub(crate) fn refinement(tuning: &Tuning, startup: Seconds) -> (u32, Option<Seconds>) {
    let rounds = tuning.refinement.rounds;
    let Some(budget) = tuning.budget else { return (rounds, None) };
    let launches = budget.0 * REFINEMENT / f64::from(tuning.launches.max(1));
    let most = if startup.0 > 0.0 { (launches / (2.0 * startup.0)).min(f64::from(rounds)) as u32 } else { rounds };
    (most, Some(Seconds((launches / f64::from(most.max(1)) - startup.0).max(0.0))))
}

/// The plan that the options ask for. The budget is for the whole command: starting jobs, of which the survey was one,
/// measuring, and showing that the file is obeyed, which takes three more jobs.
pub fn plan(tuning: &Tuning, survey: &Survey, startup: Seconds) -> Result<Plan, RunnerError> {
    let launches = f64::from(tuning.launches) * halves(tuning);
    let shares = Shares::of(tuning, startup);
    let measuring = |refinement| measuring(tuning, startup, refinement).map(|all| Seconds(all / launches));
    let schedule = Schedule {
        budget: measuring(shares.refinement),
        startup,
        min_gain: tuning.criteria.min_gain,
        assumptions: tuning.policy.assumptions,
        keep_slow: tuning.keep_slow,
        ..Schedule::default()
    };
    let schedule = timed(&tuning.timing, schedule);
    let System { layout, oversubscribe, .. } = tuning.system;
    let planner = Planner { grid: &tuning.grid, layout, oversubscribe: oversubscribes(oversubscribe), survey };
    let planned = planner.plan(tuning.launches, schedule, tuning.seed);
    let mut plan = planned.map_err(|error| error.on(tuning.system.is_simulated()))?;
    if !can_be_refined(&plan, tuning) {
        plan.schedule.budget = measuring(0.0);
    }
    separate::afford(&mut plan, 0);
    Ok(plan)
}

/// Refinement measures between two cells. Programs may call each collective with one size.
fn can_be_refined(plan: &Plan, tuning: &Tuning) -> bool {
    let alike = |pair: &[CellPlan]| {
        let (one, other) = (pair[0].cell, pair[1].cell);
        one.collective == other.collective && (one.ranks == other.ranks || tuning.refinement.ranks)
    };
    plan.cells.windows(2).any(alike)
}

/// What is left of the budget for measuring the grid, in seconds, if so much goes to refinement.
fn measuring(tuning: &Tuning, startup: Seconds, refinement: f64) -> Option<f64> {
    let others = Shares::of(tuning, startup).validation + refinement + starting(tuning, startup).0;
    tuning.budget.map(|budget| (budget.0 - others).max(0.0))
}

/// Gives the launches of a plan that is resumed less time, where it has more left than today's budget has for measuring.
/// `spent` is what measuring took before.
pub(crate) fn fit(plan: &mut Plan, tuning: &Tuning, spent: Seconds, startup: Seconds) {
    let refinement = if can_be_refined(plan, tuning) { Shares::of(tuning, startup).refinement } else { 0.0 };
    let Some(measuring) = measuring(tuning, startup, refinement) else { return };
    let most = (spent.0 + measuring) / f64::from(plan.launches.max(1));
    plan.schedule.budget = Some(plan.schedule.budget.map_or(Seconds(most), |planned| Seconds(planned.0.min(most))));
}

/// Takes the layout in which programs spend the most time, where none was asked for, and says so where it is not the usual one.
pub fn lay_out(tuning: &mut Tuning, started: &mut Started) -> Option<String> {
    if !std::mem::take(&mut tuning.grid.any_layout) || tuning.system.jobs.is_model() {
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

/// This schedule with this way of timing.
pub(crate) fn timed(timing: &Timing, usual: Schedule) -> Schedule {
    let schedule = Schedule {
        sync: timing.sync,
        clock_bound: timing.clock_bound,
        separate_clocks: timing.separate_clocks,
        ..usual
    };
    match timing.calls {
        None => schedule,
        Some(calls) => Schedule { warmup_rounds: 0, min_rounds: calls, max_rounds: calls, keep_slow: true, ..schedule },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use collrules_record::options;

    use super::*;
    use crate::start::start;

    #[test]
    fn starting_launches_is_a_part_of_refinement() {
        let tuning =
            |budget| options::read(format!("--launches 3 --refine 2 --budget {budget}").split(' ')).expect("reads");
        assert_eq!(refinement(&tuning("none"), Seconds(1.0)), (2, None));
        assert_eq!(refinement(&tuning("40s"), Seconds(0.0)), (2, Some(Seconds(1.0))));
        let (rounds, launch) = refinement(&tuning("40s"), Seconds(0.8));
        assert!(rounds == 1 && launch.is_some_and(|launch| (launch.0 - 1.2).abs() < 1e-9), "{launch:?}");
        assert_eq!(refinement(&tuning("40s"), Seconds(2.0)).0, 0, "6 s for three starts and their measuring");
    }

    #[test]
    fn a_shorter_job_gets_less_of_what_a_run_has_left() {
        let tuning: Tuning =
            options::read("--np 4 --budget 200s --launches 4 --simulate=stale".split(' ')).expect("reads");
        let started = start(&tuning.system, &Arc::new(AtomicBool::new(false))).expect("is simulated");
        let begun = plan(&tuning, &started.survey, Seconds(0.0)).expect("is possible");
        let launch = |spent: f64, budget: f64| {
            let (mut plan, tuning) = (begun.clone(), Tuning { budget: Some(Seconds(budget)), ..tuning.clone() });
            fit(&mut plan, &tuning, Seconds(spent), Seconds(0.0));
            plan.schedule.budget.expect("there is one").0
        };
        let planned = begun.schedule.budget.expect("there is one").0;
        assert!((launch(0.0, 200.0) - planned).abs() < 1e-9, "the same budget");
        assert!((launch(100.0, 200.0) - planned).abs() < 1e-9, "what was spent is no reason for more");
        assert!((launch(0.0, 100.0) - planned / 2.0).abs() < 1e-9, "half of the time, half of the measuring");
        assert!((launch(2.0 * planned, 100.0) - planned).abs() < 1e-9, "half is done, and half is there");
    }
}
