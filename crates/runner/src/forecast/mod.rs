//! How long a campaign will take: a pilot times a few cells, the others are interpolated, and the real scheduler plays
//! the whole campaign on these times.
//!
//! | module | job |
//! |---|---|
//! | here | the pilot, and what is made of it |
//! | `pilot` | what the events of a pilot say about costs |
//! | `rehearsal` | a campaign on paper |

mod pilot;
pub(crate) mod rehearsal;

use std::collections::BTreeMap;

use collrules_record::plan::{CellPlan, Schedule, Separate};
use collrules_record::{Cell, Plan, Ranks, Seconds};
use collrules_rules::Collective;

use self::pilot::Pilot;
use self::rehearsal::{CellCost, rehearse};
use crate::backend::Backend;
use crate::error::RunnerError;
use crate::separate::{self, Start};

/// Message sizes that the pilot times per collective and communicator size.
const PILOT_SIZES: usize = 4;

/// Visits to each of its cells, if there is time: rare delays make up much of what a campaign takes on a busy machine.
const PILOT_VISITS: u32 = 12;

/// The share of a campaign's budget after which the pilot begins no second visits, and the seconds without a budget.
const PILOT_SHARE: f64 = 0.1;
const PILOT_TIME: f64 = 6.0;

/// Seconds after which it ends in any case.
const PILOT_LIMIT: f64 = 30.0;

/// The expected course of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// What each launch will take, without its start.
    pub launches: Vec<Seconds>,
    /// All launches with their starts.
    pub measuring: Seconds,
    /// What it would take without a budget.
    pub unbounded: Seconds,
    /// Cells that were timed for this.
    pub piloted: usize,
    /// Cells of which nothing is known, and which are left out: the pilot ended before it reached any of the same
    /// collective and communicator size, or nothing of theirs passed its check.
    pub unknown: usize,
}

/// Times a few cells in one launch and foresees the campaign.
pub fn forecast(backend: &mut dyn Backend, plan: &Plan) -> Result<Forecast, RunnerError> {
    let pilot_plan = pilot_plan(plan);
    let mut pilot = Pilot::new(&pilot_plan);
    backend.measure(&pilot_plan, &mut |event| {
        pilot.see(&event);
        Ok(())
    })?;
    let costs = pilot.costs(plan);
    let total = |plan: &Plan| {
        let played = rehearse(&separate::together(plan), &costs, pilot.setup(), plan.seed).launches;
        let seconds = played.iter().map(|seconds| seconds + plan.schedule.startup.0).sum::<f64>();
        (played, Seconds(seconds + apart(plan, &costs, pilot.setup())))
    };
    let (launches, measuring) = total(plan);
    let free = Plan { schedule: Schedule { budget: None, ..plan.schedule }, ..plan.clone() };
    let unbounded = if plan.schedule.budget.is_none() { measuring } else { total(&free).1 };
    Ok(Forecast {
        launches: launches.into_iter().map(Seconds).collect(),
        measuring,
        unbounded,
        piloted: pilot.cells(),
        unknown: plan.cells.len() - costs.len(),
    })
}

/// What launches with one candidate take together, with their starts: the builtin's calls stand for those of all.
fn apart(plan: &Plan, costs: &BTreeMap<Cell, CellCost>, setup: f64) -> f64 {
    let of_start = |start| {
        let Start::Alone { series, collective, candidate } = start else { return 0.0 };
        let Some(launch) = separate::alone(plan, series, collective, candidate, |_, _| true) else { return 0.0 };
        let Schedule { min_rounds, warmup_rounds, rounds_per_visit, budget, startup, .. } = launch.schedule;
        let visits = min_rounds.div_ceil(rounds_per_visit.max(1));
        let rounds = f64::from(min_rounds + warmup_rounds + visits);
        let cells = launch.cells.iter().filter_map(|planned| costs.get(&planned.cell));
        let first: f64 = cells.clone().map(|cost| cost.check + cost.round()).sum();
        let all: f64 = cells.map(|cost| cost.check + rounds * cost.round()).sum();
        // Every cell gets one visit, whatever the budget.
        startup.0 + setup + budget.map_or(all, |budget| all.min(budget.0.max(first)))
    };
    separate::starts(plan).into_iter().map(of_start).sum()
}

/// A few sizes of every collective and communicator size, a few visits each. Where candidates cannot be switched, the
/// builtin alone.
fn pilot_plan(plan: &Plan) -> Plan {
    let mut groups: BTreeMap<(Collective, Ranks), Vec<&CellPlan>> = BTreeMap::new();
    for planned in &plan.cells {
        groups.entry((planned.cell.collective, planned.cell.ranks)).or_default().push(planned);
    }
    let mut cells = Vec::new();
    for group in groups.values_mut() {
        group.sort_by_key(|planned| planned.cell.bytes);
        // Evenly spaced among the sizes, both ends included.
        let last = group.len() - 1;
        let steps = (PILOT_SIZES - 1).min(last).max(1);
        let mut places: Vec<usize> = (0..=steps).map(|step| step * last / steps).collect();
        places.dedup();
        cells.extend(places.into_iter().map(|place| group[place].clone()).map(|mut planned| {
            if plan.separate.collectives.contains(&planned.cell.collective) {
                planned.candidates.truncate(1);
            }
            planned
        }));
    }
    let share = plan.budget().map_or(PILOT_TIME, |budget| (budget.0 * PILOT_SHARE).min(PILOT_TIME));
    let schedule = Schedule {
        warmup_rounds: 1,
        rounds_per_visit: plan.schedule.rounds_per_visit,
        min_rounds: 0,
        max_rounds: PILOT_VISITS * plan.schedule.rounds_per_visit,
        precision: 0.0,
        drop_factor: f64::MAX,
        budget: Some(Seconds(share)),
        limit: Some(Seconds(PILOT_LIMIT)),
        ..plan.schedule
    };
    Plan { cells, schedule, launches: 1, separate: Separate::default(), ..plan.clone() }
}

#[cfg(test)]
mod tests {
    use collrules_rules::Release;

    use super::*;
    use crate::grid::Grid;
    use crate::schedule::history::History;
    use crate::simulate::{Scenario, Simulation};
    use crate::wire::Event;

    fn plan(cluster: &mut Simulation, budget: Option<f64>) -> Plan {
        let grid = Grid {
            collectives: vec![Collective::Barrier, Collective::Bcast, Collective::Scatter],
            ranks: vec![Ranks(2), Ranks(8)],
            ..Grid::default()
        };
        let schedule = Schedule { budget: budget.map(Seconds), ..Schedule::default() };
        grid.plan(&cluster.survey().expect("simulated"), 2, schedule, 3).expect("a grid")
    }

    /// The clock of the simulation tells what a campaign takes there.
    fn reality(cluster: &mut Simulation, plan: &Plan) -> f64 {
        let mut history = History::new(plan);
        let mut total = 0.0;
        for number in 0..plan.launches {
            let launch = history.next(number, Seconds(total), false, |_, _| true).expect("there is one");
            let mut last = 0.0;
            cluster
                .measure(&launch, &mut |event| {
                    if let Event::Visited { at, .. } | Event::Opened { at, .. } = event {
                        last = at;
                    }
                    history.watch(&event);
                    let of = crate::campaign::Launch { number, series: number, planned: number, plan: &launch };
                    history.see(&crate::campaign::rows::of(&of, &event));
                    Ok(())
                })
                .expect("there is one");
            history.close(number);
            total += last;
        }
        total
    }

    /// Where the budget does not bind, the prediction rests on nothing but the pilot.
    #[test]
    fn a_simulated_campaign_takes_what_was_foreseen() {
        let mut cluster = Simulation::new(Scenario::Stale, Release::V5_0, 8);
        for budget in [None, Some(3.0), Some(1e4)] {
            let plan = plan(&mut cluster, budget);
            let forecast = forecast(&mut cluster, &plan).expect("there is one");
            let real = reality(&mut cluster, &plan);
            let ratio = forecast.measuring.0 / real;
            assert!((0.5..2.0).contains(&ratio), "{budget:?}: {forecast:?}, and it took {real} s");
            assert!(forecast.piloted < plan.cells.len() / 3);
        }
    }
}
