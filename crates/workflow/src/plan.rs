//! The plan from an experiment and a survey.

use std::collections::BTreeSet;

use collrules_record::condition::{Arrival, ArrivalPattern, BufferUse, find_pattern};
use collrules_record::options::{SystemOptions, TimingOptions};
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::{Candidate, Cell, Experiment, Plan, Ranks, Seconds, Survey};
use collrules_rules::Collective;
use collrules_rules::words::listed;
use collrules_runner::grid::Planner;
use collrules_runner::{RunnerError, separate};

use crate::budget::Shares;
use crate::start::{Started, oversubscribes};

/// The plan for these options. The budget is for the whole command: starting jobs, one of which was the survey,
/// measuring, and the proof, which takes three more jobs.
pub fn plan(experiment: &Experiment, survey: &Survey, startup: Seconds) -> Result<Plan, RunnerError> {
    let shares = Shares::new(experiment, startup);
    let launch = |is_refined| shares.measuring(is_refined).map(|all| Seconds(all.0 / shares.launches()));
    let schedule = Schedule {
        budget: launch(true),
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
        plan.schedule.budget = launch(false);
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

/// Shortens the launches of a resumed plan if the present budget has less time for measuring. `spent` is the time of
/// earlier measurements.
pub(crate) fn fit(plan: &mut Plan, experiment: &Experiment, spent: Seconds, startup: Seconds) {
    let measuring = Shares::new(experiment, startup).measuring(can_be_refined(plan, experiment));
    let Some(Seconds(measuring)) = measuring else { return };
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
    use collrules_record::options::{Jobs, Simulated, TuneOptions};

    use super::*;
    use crate::start::start;

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
