//! Estimate of a campaign's duration: a short job times the builtin at the smallest and largest sizes, and every
//! candidate is assumed to take as long, and to be timed until races leave it out.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::pattern::Shape;
use collrules_record::plan::{PatternPlan, Schedule};
use collrules_record::{Bytes, Candidate, Launch, Plan, Ranks, Seconds, Subject};
use collrules_rules::Collective;

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::launch::{LaunchCell, LaunchPlan};
use crate::schedule::history::{DECISION_VISITS, strides};
use crate::separate;
use crate::wire::WorkerEvent;

/// Visits to each cell of the short job, since first calls take longer.
const VISITS: u32 = 2;

/// Share of the candidates of a launch that the next one times again: 0.55 and 0.6 in simulated campaigns of three collectives.
const RACES: f64 = 0.6;

/// Seconds after which it begins no further cell.
const LIMIT: f64 = 30.0;

/// Expected duration of a campaign.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// All launches with their starts.
    pub measuring: Seconds,
    /// Duration without a budget.
    pub unbounded: Seconds,
    /// Cells and patterns that were timed for this, with the cost of each of their candidates.
    pub timed: Vec<(Subject, CandidateCost)>,
    /// Cells and patterns without an estimate, because the short job ended before it timed any of the same collective, or
    /// because the builtin failed there.
    pub unknown: usize,
}

impl Forecast {
    /// Number of cells of each collective that get enough visits for a decision within the budget of a plan: all without a
    /// budget. Cells without an estimate are not among them.
    pub fn reach(&self, plan: &Plan) -> BTreeMap<Collective, usize> {
        let worth = strides(plan.cells.iter().map(|planned| planned.cell));
        let turns = Turns::new(plan);
        let mut costs: BTreeMap<bool, Vec<(f64, f64, Collective)>> = BTreeMap::new();
        for planned in &plan.cells {
            let Some(cost) = cost_in(&self.timed, Subject::Cell(planned.cell)) else { continue };
            let is_apart = plan.is_apart(planned.cell.collective);
            let seconds = planned.candidates.len() as f64 * turns.seconds(cost, is_apart);
            costs.entry(is_apart).or_default().push((seconds / worth[&planned.cell], seconds, planned.cell.collective));
        }
        let mut reach: BTreeMap<Collective, usize> =
            plan.cells.iter().map(|planned| (planned.cell.collective, 0)).collect();
        let (together, alone) = separate::measuring(plan);
        for (is_apart, mut costs) in costs {
            let mut left = if is_apart { alone } else { together }.map_or(f64::INFINITY, |seconds| seconds.0);
            costs.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, seconds, collective) in costs {
                if seconds <= left {
                    left -= seconds;
                    *reach.entry(collective).or_default() += 1;
                }
            }
        }
        reach
    }
}

/// How often a campaign calls a candidate.
struct Turns {
    /// Launches with all candidates in which it is not left out, and series.
    launches: [f64; 2],
    visits: f64,
}

impl Turns {
    fn new(plan: &Plan) -> Self {
        let raced: f64 = (0..plan.launches).map(|launch| RACES.powi(launch as i32)).sum();
        let together = if plan.schedule.keep_slow { f64::from(plan.launches) } else { raced };
        let visits = f64::from(DECISION_VISITS.div_ceil(plan.launches.max(1)));
        Self { launches: [together, f64::from(plan.separate.series)], visits }
    }

    /// Seconds until a candidate has the visits that a decision needs.
    fn seconds(&self, cost: CandidateCost, is_apart: bool) -> f64 {
        // A round each, since calls that matter are long; each series is a visit.
        let visits = if is_apart { 1.0 } else { self.visits };
        self.launches[usize::from(is_apart)] * (cost.check + visits * cost.turn)
    }
}

/// Assumed cost of a candidate of a cell, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CandidateCost {
    /// Making its communicator and checking it.
    check: f64,
    /// A call with its overhead.
    turn: f64,
}

/// Times the builtin in a few cells and estimates the duration of the campaign.
pub fn forecast(backend: &mut dyn Backend, plan: &Plan) -> Result<Forecast, RunnerError> {
    let short = short_job(plan);
    let (mut setup, mut found) = (None, BTreeMap::<usize, CandidateCost>::new());
    backend.measure(&short, &mut |event| {
        match event {
            WorkerEvent::Opened { cell, seconds, at } => {
                setup.get_or_insert(at - seconds);
                found.entry(cell).or_default().check = seconds;
            }
            // The last visit stays.
            WorkerEvent::Visited { cell, rounds, seconds, .. } if !rounds.is_empty() => {
                found.entry(cell).or_default().turn = seconds / (rounds.len() as f64 + 1.0);
            }
            _ => {}
        }
        Ok(())
    })?;
    found.retain(|_, cost| cost.turn > 0.0);
    let timed: Vec<(Subject, CandidateCost)> = found.into_iter().map(|(at, cost)| (short.subject(at), cost)).collect();

    let Schedule { min_rounds, warmup_rounds, rounds_per_visit, budget, startup, .. } = plan.schedule;
    // One untimed round goes with every visit, where there are any.
    let untimed = warmup_rounds + warmup_rounds.min(1) * min_rounds.div_ceil(rounds_per_visit.max(1));
    let rounds = f64::from(untimed + min_rounds);
    let (mut all, mut unknown) = (0.0, 0);
    let turns = Turns::new(plan);
    let times = |apart: bool| turns.launches[usize::from(apart)];
    let cells = plan.cells.iter().map(|planned| {
        (Subject::Cell(planned.cell), vec![plan.is_apart(planned.cell.collective); planned.candidates.len()])
    });
    let patterns =
        plan.patterns.iter().map(|planned| (Subject::Pattern(planned.pattern), vec![false; planned.casts.len()]));
    for (subject, turns) in cells.chain(patterns) {
        let Some(cost) = cost_in(&timed, subject) else {
            unknown += 1;
            continue;
        };
        let turns: f64 = turns.into_iter().map(times).sum();
        all += turns * (cost.check + rounds * cost.turn);
    }
    let starts = separate::starts(plan);
    let starting = starts.len() as f64 * (startup.0 + setup.unwrap_or_default().max(0.0));
    let alone = starts.iter().filter(|start| matches!(start, Launch::Alone { .. })).count() as f64 * startup.0;
    // Launches with one candidate start on top of it.
    let within = |whole: Seconds| starting.max(whole.0 + alone);
    let unbounded = starting + all;
    let measuring = plan.budget().filter(|_| budget.is_some()).map_or(unbounded, |whole| unbounded.min(within(whole)));
    Ok(Forecast { measuring: Seconds(measuring), unbounded: Seconds(unbounded), timed, unknown })
}

/// The builtin at the smallest and the largest message of every collective and communicator size, and each pattern at its
/// smallest and largest size.
fn short_job(plan: &Plan) -> LaunchPlan {
    let cells = ends(plan.cells.iter().map(|planned| Subject::Cell(planned.cell)));
    let cells: Vec<LaunchCell> = plan
        .cells
        .iter()
        .filter(|planned| cells.contains(&Subject::Cell(planned.cell)))
        .map(|planned| LaunchCell::new(planned.cell, vec![Candidate::Builtin]))
        .collect();
    let patterns = ends(plan.patterns.iter().map(|planned| Subject::Pattern(planned.pattern)));
    let is_end = |planned: &&PatternPlan| patterns.contains(&Subject::Pattern(planned.pattern));
    let patterns = plan.patterns.iter().filter(is_end).cloned().collect();
    let schedule = Schedule {
        warmup_rounds: 1,
        min_rounds: 0,
        max_rounds: VISITS * plan.schedule.rounds_per_visit,
        precision: 0.0,
        // Short calls come first.
        budget: Some(Seconds(LIMIT)),
        limit: Some(Seconds(LIMIT)),
        ..plan.schedule
    };
    let (ranks, placement, arrivals) = (plan.ranks, plan.placement.clone(), plan.arrivals.clone());
    LaunchPlan { ranks, patterns, placement, arrivals, ..LaunchPlan::new(cells, schedule, plan.seed) }
}

/// Returns the key of the line over bytes on which the costs of a subject lie, and its bytes.
fn line_of(subject: Subject) -> ((Option<Collective>, Option<Shape>, Ranks), Bytes) {
    match subject {
        Subject::Cell(cell) => ((Some(cell.collective), None, cell.ranks), cell.bytes),
        Subject::Pattern(pattern) => ((None, Some(pattern.shape), pattern.ranks), pattern.bytes),
    }
}

/// The first and the last subject of every line.
fn ends(subjects: impl Iterator<Item = Subject>) -> BTreeSet<Subject> {
    let mut ends: BTreeMap<_, (Subject, Subject)> = BTreeMap::new();
    for subject in subjects {
        let (first, last) = ends.entry(line_of(subject).0).or_insert((subject, subject));
        (*first, *last) = ((*first).min(subject), (*last).max(subject));
    }
    ends.into_values().flat_map(|(first, last)| [first, last]).collect()
}

/// The cost of a subject: linear in bytes between the timed ends of its line. If one of them was not reached, that of the
/// nearest communicator with both ends, in proportion to the ranks.
fn cost_in(timed: &[(Subject, CandidateCost)], subject: Subject) -> Option<CandidateCost> {
    let (line, bytes) = line_of(subject);
    let mut lines: BTreeMap<Ranks, Vec<(Bytes, CandidateCost)>> = BTreeMap::new();
    for (known, cost) in timed {
        let ((collective, shape, ranks), bytes) = line_of(*known);
        if (collective, shape) == (line.0, line.1) {
            lines.entry(ranks).or_default().push((bytes, *cost));
        }
    }
    let own = lines.get(&line.2);
    let ratio = |ranks: Ranks| f64::from(line.2.0.max(1)) / f64::from(ranks.0.max(1));
    let with_both = lines.iter().filter(|(_, known)| known.len() > 1);
    let nearest = with_both.min_by(|a, b| ratio(*a.0).ln().abs().total_cmp(&ratio(*b.0).ln().abs()));
    let is_whole = own.is_some_and(|own| own.len() > 1 || own[0].0 >= bytes);
    match (own, nearest) {
        (Some(own), _) if is_whole => Some(interpolate(own, bytes, 1.0)),
        (_, Some((ranks, known))) => Some(interpolate(known, bytes, ratio(*ranks).max(1.0))),
        (own, None) => own.map(|own| interpolate(own, bytes, 1.0)),
    }
}

/// This multiple of the cost at a size between the first and the last known one.
fn interpolate(known: &[(Bytes, CandidateCost)], bytes: Bytes, factor: f64) -> CandidateCost {
    let ((low, first), (high, last)) = (known[0], known[known.len() - 1]);
    let width = high.0.saturating_sub(low.0).max(1) as f64;
    let share = bytes.0.saturating_sub(low.0) as f64 / width;
    let on_line = |from: f64, to: f64| factor * (from + share * (to - from)).max(0.0);
    CandidateCost { check: on_line(first.check, last.check), turn: on_line(first.turn, last.turn) }
}

#[cfg(test)]
mod tests {
    use collrules_record::grid::Grid;
    use collrules_record::{Cell, Layout};
    use collrules_rules::Release;

    use super::*;
    use crate::grid::Planner;
    use crate::schedule::history::History;
    use crate::simulate::{Scenario, Simulation};
    use crate::wire::WorkerEvent;

    fn plan(cluster: &mut Simulation, budget: Option<f64>) -> Plan {
        let grid = Grid {
            collectives: vec![Collective::Barrier, Collective::Bcast, Collective::Scatter],
            ranks: vec![Ranks(2), Ranks(8)].into(),
            ..Grid::default()
        };
        let schedule = Schedule { budget: budget.map(Seconds), ..Schedule::default() };
        let survey = cluster.survey().expect("simulated");
        let planner = Planner { grid: &grid, layout: Layout::Block, oversubscribe: false, survey: &survey };
        planner.plan(2, schedule, 3).expect("a grid")
    }

    /// The duration of a campaign by the clock of the simulation.
    fn reality(cluster: &mut Simulation, plan: &Plan) -> f64 {
        let mut history = History::new(plan);
        let mut total = 0.0;
        for number in 0..plan.launches {
            let launch = history.next(number, Seconds(total), false, |_, _| true).expect("there is one");
            let mut last = 0.0;
            cluster
                .measure(&launch, &mut |event| {
                    if let WorkerEvent::Visited { at, .. } | WorkerEvent::Opened { at, .. } = event {
                        last = at;
                    }
                    history.watch(&event);
                    let of = crate::campaign::CampaignLaunch { number, planned: number, plan: &launch };
                    history.see(&crate::campaign::rows::list_rows(&of, &event));
                    Ok(())
                })
                .expect("there is one");
            history.close(number);
            total += last;
        }
        total
    }

    #[test]
    fn a_simulated_campaign_takes_what_was_foreseen() {
        let cases = [Scenario::Stale, Scenario::Rotated, Scenario::Deceptive, Scenario::Fastest];
        for (scenario, budget) in
            cases.into_iter().flat_map(|it| [None, Some(3.0), Some(1e4)].map(|budget| (it, budget)))
        {
            let mut cluster = Simulation::new(scenario, Release::V5_0, 8);
            let plan = plan(&mut cluster, budget);
            let forecast = forecast(&mut cluster, &plan).expect("there is one");
            let real = reality(&mut cluster, &plan);
            let ratio = forecast.measuring.0 / real;
            assert!((0.5..2.0).contains(&ratio), "{scenario:?}, {budget:?}: {forecast:?}, and it took {real} s");
            assert!(forecast.timed.len() < plan.cells.len() / 3 && forecast.unknown == 0, "{forecast:?}");
        }
    }

    #[test]
    fn costs_lie_on_the_line_between_the_ends() {
        let of = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) };
        let cell = |bytes| Subject::Cell(of(bytes));
        let cost = |turn| CandidateCost { check: 2.0 * turn, turn };
        let timed = [(cell(100), cost(1.0)), (cell(300), cost(3.0))];
        let turn = |bytes| cost_in(&timed, cell(bytes)).map(|cost| cost.turn);
        assert_eq!([100, 200, 300].map(turn), [Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(cost_in(&timed[..1], cell(500)), Some(cost(1.0)));
        let on = |ranks, bytes| Subject::Cell(Cell { ranks: Ranks(ranks), ..of(bytes) });
        assert_eq!([cost_in(&timed, on(2, 200)), cost_in(&timed, on(8, 200))], [Some(cost(2.0)), Some(cost(4.0))]);
        let other = Subject::Cell(Cell { collective: Collective::Reduce, ..of(200) });
        assert_eq!(cost_in(&timed, other), None);
    }
}
