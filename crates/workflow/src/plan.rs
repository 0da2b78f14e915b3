//! The plan from an experiment and a survey, with the shares of the budget.

use std::collections::BTreeSet;

use collrules_record::condition::{Arrival, ArrivalPattern, BufferUse, find_pattern};
use collrules_record::experiment::Experiment;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::options::{Budget, Jobs, Scenario, Simulated, SystemOptions, TimingOptions, TuneOptions};
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::question::TEST_VISITS;
use collrules_record::units::{Ranks, Seconds};
use collrules_record::{Candidate, Cell, Plan, Survey};
use collrules_rules::Collective;
use collrules_rules::words::listed;
use collrules_runner::backend::silence_within;
use collrules_runner::grid::Planner;
use collrules_runner::{RunnerError, separate};

use crate::error::WorkflowError;
use crate::start::{Started, oversubscribes};

/// Number of jobs besides the survey that do not measure: before, one to find out if `coll/tuned` handles the calls;
/// afterwards, one to show that the file is obeyed, and one to check the data under it.
pub const PROOF_JOBS: f64 = 3.0;

// All shares of time are here. A part that needs less leaves the rest to those after it.

/// Share of a budget for settings: the search, and the comparison of what it finds with the rules.
pub(crate) const SETTINGS: f64 = 0.4;

/// Share of the time for settings for the search; the rest is for comparing what it finds.
pub(crate) const SEARCH: f64 = 0.4;

/// Share of the time after the search for the rules under the settings, if there are rules.
pub(crate) const UNDER_SETTINGS: f64 = 0.2;

/// Share of the time for rules that their comparison gets.
pub(crate) const VALIDATION: f64 = 0.4;

/// Share of the time for comparing rules that is kept for comparing them once more, later.
pub(crate) const AGAIN: f64 = 0.2;

/// Largest share of the time for measuring rules that refinement gets.
const REFINEMENT: f64 = 0.15;

/// Smallest budget for a search for settings, unless some are named.
const LEAST_BUDGET: f64 = 60.0;

/// Starts of jobs for which the time of a comparison has to be enough.
pub(crate) const LEAST_STARTS: f64 = 4.0;

/// Smallest share of a budget with which what is undecided goes on.
const REST: f64 = 0.02;

/// Share of a budget for which a job may be silent.
const SILENCE: f64 = 0.05;

/// Ends silent jobs early enough for others to have most of a budget.
pub(crate) fn limit_patience(started: &mut Started, budget: Budget) {
    let most = budget.map(|budget| silence_within(SILENCE * budget.0, started.startup));
    if let (Some(most), Some(patience)) = (most, started.backend.patience()) {
        *patience = most.min(*patience);
    }
}

/// Returns true if a rest of a budget is enough to compare what is undecided, and to prove it before and afterwards.
pub(crate) fn is_worth(rest: Seconds, experiment: &Experiment, startup: Seconds) -> bool {
    let share = experiment.budget.map_or(0.0, |budget| REST * budget.0);
    rest.0 > share.max(2.0 * proving(startup) + LEAST_STARTS * startup.0)
}

/// Seconds that the starts of all comparisons and proofs after a measurement take.
pub(crate) fn concluding(experiment: &Experiment, startup: Seconds) -> f64 {
    let comparisons = if experiment.searches { 4.0 } else { 2.0 };
    2.0 * proving(startup) + comparisons * LEAST_STARTS * startup.0
}

/// Seconds that the jobs of a proof take to start.
pub(crate) fn proving(startup: Seconds) -> f64 {
    PROOF_JOBS * startup.0
}

/// Seconds of a tuning's budget that are not for the grid. Parts that need less leave the rest to those after them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetShares {
    /// For refinement.
    pub refinement: f64,
    /// Seconds for the comparison of the rules; none if they do not suffice for two pairs of launches.
    pub validation: f64,
    /// For settings, and for comparing them with the rules.
    pub settings: f64,
}

impl BudgetShares {
    /// The shares of a budget; empty without a budget.
    pub fn new(experiment: &Experiment, startup: Seconds) -> Self {
        let Some(Seconds(budget)) = rules_budget(experiment) else {
            return Self { refinement: 0.0, validation: 0.0, settings: 0.0 };
        };
        let share = budget * VALIDATION;
        let validation = if experiment.validate && share >= LEAST_STARTS * startup.0 { share } else { 0.0 };
        let refinement = if !refines(experiment) { 0.0 } else { (budget - validation) * REFINEMENT };
        let settings = experiment.budget.filter(|_| experiment.searches).map_or(0.0, |budget| SETTINGS * budget.0);
        Self { refinement, validation, settings }
    }

    /// The time for a comparison of the rules, in one layout.
    pub(crate) fn of_comparison(experiment: &Experiment) -> Option<Seconds> {
        rules_budget(experiment).map(|budget| Seconds(VALIDATION * budget.0))
    }
}

/// The part of a budget for the rules in one layout: the rest is for settings and other layouts.
pub(crate) fn rules_budget(experiment: &Experiment) -> Option<Seconds> {
    let share = if experiment.searches { 1.0 - SETTINGS } else { 1.0 };
    let layouts = 1.0 + experiment.also_layout.len() as f64;
    experiment.budget.map(|budget| Seconds(share * budget.0 / layouts))
}

/// Decides whether settings are searched within a budget, in seconds.
pub fn searches_settings(options: &TuneOptions, budget: Budget) -> Result<bool, WorkflowError> {
    let is_named = !options.settings.requests.is_empty();
    if is_named && !options.also_layout.is_empty() {
        return Err(WorkflowError::Usage(
            "--setting and --also-layout cannot be combined: settings are compared in one layout".to_owned(),
        ));
    }
    let can = match &options.system.jobs {
        Jobs::Mpi(_) => true,
        Jobs::Simulation(Simulated { scenario, .. }) => *scenario == Scenario::Settings,
    };
    // Without an end there is no share of the time; settings that a user names are tried in any case.
    let has_time = budget.is_some_and(|budget| budget.0 >= LEAST_BUDGET);
    Ok(can && !options.settings.none && (has_time || is_named) && options.also_layout.is_empty())
}

/// Returns true if sizes between those of the grid are measured. With other layouts they are not, since the effect on
/// those would be unknown.
pub(crate) fn refines(experiment: &Experiment) -> bool {
    experiment.refinement.rounds > 0 && experiment.also_layout.is_empty()
}

/// Returns the number of refinement rounds that fit into the time, and the largest time of each launch of one; no limit
/// without a budget. Starting its launches may take half of a round.
pub(crate) fn refinement(experiment: &Experiment, startup: Seconds) -> (u32, Option<Seconds>) {
    let rounds = experiment.refinement.rounds;
    let Some(budget) = rules_budget(experiment) else { return (rounds, None) };
    let launches = budget.0 * REFINEMENT / f64::from(experiment.launches.max(1));
    let most = if startup.0 > 0.0 { (launches / (2.0 * startup.0)).min(f64::from(rounds)) as u32 } else { rounds };
    (most, Some(Seconds((launches / f64::from(most.max(1)) - startup.0).max(0.0))))
}

/// The plan for these options. The budget is for the whole command: starting jobs, one of which was the survey,
/// measuring, and the proof, which takes three more jobs.
pub fn plan(experiment: &Experiment, survey: &Survey, startup: Seconds) -> Result<Plan, RunnerError> {
    let launches = launches(experiment);
    let shares = BudgetShares::new(experiment, startup);
    let measuring = |refinement| measuring(experiment, startup, refinement).map(|all| Seconds(all / launches));
    let schedule = Schedule {
        budget: measuring(shares.refinement),
        startup,
        min_gain: experiment.min_gain,
        assumptions: experiment.assumptions,
        keep_slow: experiment.keep_slow,
        ..Schedule::default()
    };
    let schedule = Schedule { condition: experiment.condition, ..timed(&experiment.timing, schedule) };
    let SystemOptions { layout, oversubscribe, .. } = experiment.system;
    let planner = Planner { grid: &experiment.grid, layout, oversubscribe: oversubscribes(oversubscribe), survey };
    let planned = planner.plan(experiment.launches, schedule, experiment.seed);
    let mut plan = planned.map_err(|error| error.on(experiment.system.is_simulated()))?;
    if !can_be_refined(&plan, experiment) {
        plan.schedule.budget = measuring(0.0);
    }
    separate::afford(&mut plan, 0);
    if experiment.condition.arrival == Arrival::Profile {
        plan.arrivals.clone_from(&experiment.arrivals);
        let cells: Vec<Cell> = plan.cells.iter().map(|planned| planned.cell).collect();
        refuse_missing_arrivals(&cells, &plan.arrivals)?;
    }
    refuse_impossible_calls(&plan)?;
    Ok(plan)
}

/// The planned sizes without timings, or for lack of time with fewer visits than a test needs.
pub(crate) fn unreached(plan: &Plan, findings: &Findings) -> Vec<CellPlan> {
    let Schedule { budget, min_rounds, max_rounds, .. } = plan.schedule;
    let least = if budget.is_some() && min_rounds < max_rounds { TEST_VISITS as usize } else { 1 };
    let is_reached = |found: &&CellFinding| {
        let visits = found.points.iter().filter_map(|point| point.gain).map(|gain| gain.samples).max();
        !found.disqualified.is_empty() || visits.is_some_and(|visits| visits >= least)
    };
    let reached: BTreeSet<Cell> = findings.cells.iter().filter(is_reached).map(|found| found.cell).collect();
    plan.cells.iter().filter(|planned| !reached.contains(&planned.cell)).cloned().collect()
}

/// Refuses cells for which a profile has no arrivals: those on other numbers of ranks than the program's communicators.
pub(crate) fn refuse_missing_arrivals(cells: &[Cell], arrivals: &[ArrivalPattern]) -> Result<(), RunnerError> {
    let without = cells.iter().filter(|cell| find_pattern(arrivals, **cell).is_none());
    let without: BTreeSet<Ranks> = without.map(|cell| cell.ranks).collect();
    if without.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<Ranks> = arrivals.iter().map(|pattern| pattern.cell.ranks).collect();
    let list = |ranks: BTreeSet<Ranks>| listed(&ranks.iter().map(ToString::to_string).collect::<Vec<_>>());
    Err(RunnerError::Condition(format!(
        "--arrival: the profile has arrivals on {} ranks, and none on {} ranks; name communicator sizes of the program \
         with --np",
        list(known),
        list(without),
    )))
}

/// Refuses calls that are impossible under the condition of a plan.
pub(crate) fn refuse_impossible_calls(plan: &Plan) -> Result<(), RunnerError> {
    let condition = plan.schedule.condition;
    let points = || plan.cells.iter().flat_map(|it| it.candidates.iter().map(|candidate| (it.cell, *candidate)));
    let refused = |why: &str, collectives: BTreeSet<Collective>| match collectives.is_empty() {
        true => Ok(()),
        false => {
            let names: Vec<String> = collectives.iter().map(ToString::to_string).collect();
            Err(RunnerError::Condition(why.replace("{}", &listed(&names))))
        }
    };
    if condition.buffers == BufferUse::InPlace {
        let without = plan.cells.iter().map(|planned| planned.cell.collective).filter(|it| !it.has_in_place());
        refused(
            "--buffers in-place: no calls of {} in place exist; name other collectives with --ops",
            without.collect(),
        )?;
        let programs = points().filter(|(_, candidate)| matches!(candidate, Candidate::Reference(_)));
        let why = "--buffers in-place: reference algorithms of {} need two buffers; leave out --reference";
        refused(why, programs.map(|(cell, _)| cell.collective).collect())?;
    }
    if condition.is_relative() {
        let apart = points().filter(|(cell, _)| plan.is_apart(cell.collective));
        let why = "--arrival: algorithms of {} have jobs of their own, in which the time of the default is not known; \
                   give --lateness";
        refused(why, apart.map(|(cell, _)| cell.collective).collect())?;
    }
    Ok(())
}

/// Refinement measures between two cells. Programs may call each collective with one size.
fn can_be_refined(plan: &Plan, experiment: &Experiment) -> bool {
    let alike = |pair: &[CellPlan]| {
        let (one, other) = (pair[0].cell, pair[1].cell);
        one.collective == other.collective && (one.ranks == other.ranks || experiment.refinement.ranks)
    };
    plan.cells.windows(2).any(alike)
}

/// Returns the seconds of the budget for the grid, after this share for refinement.
fn measuring(experiment: &Experiment, startup: Seconds, refinement: f64) -> Option<f64> {
    let others = BudgetShares::new(experiment, startup).validation + refinement + starting(experiment, startup).0;
    rules_budget(experiment).map(|budget| (budget.0 - others).max(0.0))
}

/// The smallest budget with which each launch measures for as long as it takes to start.
pub fn least_budget(experiment: &Experiment, startup: Seconds) -> Seconds {
    let mut budget = starting(experiment, startup);
    let is_enough = |budget| {
        let experiment = Experiment { budget: Some(budget), ..experiment.clone() };
        let refinement = BudgetShares::new(&experiment, startup).refinement;
        let all = measuring(&experiment, startup, refinement);
        all.is_none_or(|all| all >= startup.0 * launches(&experiment))
    };
    while !is_enough(budget) {
        budget.0 *= 1.05;
    }
    budget
}

/// Shortens the launches of a resumed plan if the present budget has less time for measuring. `spent` is the time of
/// earlier measurements.
pub(crate) fn fit(plan: &mut Plan, experiment: &Experiment, spent: Seconds, startup: Seconds) {
    let refinement =
        if can_be_refined(plan, experiment) { BudgetShares::new(experiment, startup).refinement } else { 0.0 };
    let Some(measuring) = measuring(experiment, startup, refinement) else { return };
    let most = (spent.0 + measuring) / f64::from(plan.launches.max(1));
    plan.schedule.budget = Some(plan.schedule.budget.map_or(Seconds(most), |planned| Seconds(planned.0.min(most))));
}

/// Selects the layout in which programs spend the most time, and reports it if it is not the usual one.
pub fn lay_out(experiment: &mut Experiment, started: &mut Started) -> Option<String> {
    if experiment.system.jobs.is_model() {
        return None;
    }
    let before = experiment.system.layout;
    let survey = &started.survey;
    let planner =
        Planner { grid: &experiment.grid, layout: before, oversubscribe: experiment.system.oversubscribe, survey };
    let layout = planner.layout_of_programs();
    experiment.system.layout = layout;
    started.backend.lay_out(layout);
    (layout != before)
        .then(|| format!("--layout {layout}: programs spend the most time on communicators with this layout"))
}

/// Returns the time that starting all jobs of a tuning takes.
pub fn starting(experiment: &Experiment, startup: Seconds) -> Seconds {
    Seconds(startup.0 * (1.0 + PROOF_JOBS + launches(experiment)))
}

/// The launches of all passes.
fn launches(experiment: &Experiment) -> f64 {
    f64::from(experiment.launches) * f64::from(experiment.passes())
}

/// The schedule with these timing options.
pub(crate) fn timed(timing: &TimingOptions, usual: Schedule) -> Schedule {
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

    use collrules_record::grid::Grid;
    use collrules_record::options::TuneOptions;

    use super::*;
    use crate::start::start;

    #[test]
    fn starting_launches_is_a_part_of_refinement() {
        let experiment = |budget| TuneOptions { budget, ..TuneOptions::default() }.experiment(Vec::new());
        assert_eq!(refinement(&experiment(None), Seconds(1.0)), (2, None));
        assert_eq!(refinement(&experiment(Some(Seconds(40.0))), Seconds(0.0)), (2, Some(Seconds(1.0))));
        let (rounds, launch) = refinement(&experiment(Some(Seconds(40.0))), Seconds(0.8));
        assert!(rounds == 1 && launch.is_some_and(|launch| (launch.0 - 1.2).abs() < 1e-9), "{launch:?}");
        assert_eq!(
            refinement(&experiment(Some(Seconds(40.0))), Seconds(2.0)).0,
            0,
            "6 s for three starts and their measuring"
        );
    }

    #[test]
    fn the_least_budget_measures_for_as_long_as_it_starts_jobs() {
        let experiment = TuneOptions { launches: 3, ..TuneOptions::default() }.experiment(Vec::new());
        let least = least_budget(&experiment, Seconds(2.0));
        // 7 starts of 2 s and 3 launches of 2 s are 20 s, of 51 % of the budget.
        assert!((39.0..42.0).contains(&least.0), "{least}");
        assert_eq!(least_budget(&experiment, Seconds(0.0)), Seconds(0.0));
    }

    #[test]
    fn a_shorter_job_gets_less_of_what_a_run_has_left() {
        let options = TuneOptions {
            grid: Grid { ranks: vec![Ranks(4)].into(), ..Grid::default() },
            budget: Some(Seconds(200.0)),
            launches: 4,
            system: SystemOptions { jobs: Jobs::Simulation(Simulated::default()), ..SystemOptions::default() },
            ..TuneOptions::default()
        };
        let experiment = options.experiment(Vec::new());
        let started = start(&experiment.system, &Arc::new(AtomicBool::new(false))).expect("is simulated");
        let begun = plan(&experiment, &started.survey, Seconds(0.0)).expect("is possible");
        let launch = |spent: f64, budget: f64| {
            let (mut plan, experiment) =
                (begun.clone(), Experiment { budget: Some(Seconds(budget)), ..experiment.clone() });
            fit(&mut plan, &experiment, Seconds(spent), Seconds(0.0));
            plan.schedule.budget.expect("there is one").0
        };
        let planned = begun.schedule.budget.expect("there is one").0;
        assert!((launch(0.0, 200.0) - planned).abs() < 1e-9, "the same budget");
        assert!((launch(100.0, 200.0) - planned).abs() < 1e-9, "what was spent is no reason for more");
        assert!((launch(0.0, 100.0) - planned / 2.0).abs() < 1e-9, "half of the time, half of the measuring");
        assert!((launch(2.0 * planned, 100.0) - planned).abs() < 1e-9, "half is done, and half is there");
    }
}
