//! Which cell is visited next, and when a point has enough samples. Pure logic: time and timings come from outside.

use std::collections::VecDeque;

use collrules_record::plan::{Plan, Schedule};
use collrules_record::{Candidate, Estimate};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::wire::Timing;

/// Confidence of the intervals that end or drop a point.
const LEVEL: f64 = 0.95;

/// From so many samples on the interval of a median has its level; with fewer, the extremes stand for it.
const INTERVAL_SAMPLES: usize = 6;

/// How many times the slowest call of the best the fastest call of a candidate has to take to be dropped on few samples.
const EARLY_FACTOR: f64 = 2.0;

/// The same on a single sample, which says something only where calls take longer than any hiccup of the system.
const SINGLE_FACTOR: f64 = 4.0;

/// Calls of so many seconds are long.
const LONG_CALL: f64 = 5e-3;

/// The share of the budget that one visit to each cell may use up; the rest is for coming back.
const FIRST_PASS_SHARE: f64 = 0.1;

/// A visit to a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The cell's index in the plan.
    pub cell: usize,
    /// How many visits the cell had before.
    pub visit: u32,
    /// Untimed rounds first.
    pub warmup: u32,
    /// Timed rounds.
    pub rounds: u32,
    /// The candidates to time, by index.
    pub candidates: Vec<usize>,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Check the candidates of a cell that was not visited before.
    Open(usize),
    /// Visit a cell.
    Visit(Visit),
    /// Stop, for this reason.
    Stop(String),
}

/// What is known about a cell while measuring.
#[derive(Clone, Debug, Default)]
struct CellState {
    /// Seconds that one round of all candidates took at last.
    round_cost: f64,
    visits: u32,
    rounds: u32,
    /// Candidates still timed.
    active: Vec<usize>,
    /// How many of them it takes to learn something: two to compare, or the only one that there is.
    needed: usize,
    /// Candidates that stay whatever they take: the builtin, and what is left of it when another component is out of
    /// the way. All others are compared with them.
    references: Vec<usize>,
    /// Rank maxima per candidate of the plan, in the order taken.
    times: Vec<Vec<f64>>,
}

/// Decides the order of visits and the end of every point.
#[derive(Debug)]
pub struct Scheduler {
    settings: Schedule,
    cells: Vec<CellState>,
    queue: VecDeque<Step>,
    /// Cells that get another visit in the next pass.
    unfinished: Vec<usize>,
    rng: ChaCha8Rng,
}

impl Scheduler {
    /// A scheduler for a plan; all cells are opened and visited once, in an order shuffled by the plan's seed.
    pub fn new(plan: &Plan) -> Self {
        let cells = plan.cells.iter().map(|cell| CellState {
            active: (0..cell.candidates.len()).collect(),
            needed: cell.candidates.len().min(2),
            times: vec![Vec::new(); cell.candidates.len()],
            references: (0..cell.candidates.len())
                .filter(|place| !matches!(cell.candidates[*place], Candidate::Tuned(_)))
                .collect(),
            ..CellState::default()
        });
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        let mut order: Vec<usize> = (0..plan.cells.len()).collect();
        order.shuffle(&mut rng);
        Self {
            settings: plan.schedule,
            cells: cells.collect(),
            queue: order.into_iter().map(Step::Open).collect(),
            unfinished: Vec::new(),
            rng,
        }
    }

    /// What to do next, `elapsed` seconds after the start.
    pub fn next(&mut self, elapsed: f64) -> Step {
        if self.queue.is_empty() && !self.unfinished.is_empty() {
            let mut pass = std::mem::take(&mut self.unfinished);
            pass.shuffle(&mut self.rng);
            self.queue = pass.into_iter().map(|cell| Step::Visit(self.visit(cell))).collect();
        }
        match self.queue.pop_front() {
            None => Step::Stop("every cell is as precise as asked for, or has its most rounds".to_owned()),
            Some(Step::Visit(visit)) if visit.visit > 0 && elapsed >= self.settings.budget.0 => {
                let open = self.unfinished.len() + self.queue.len() + 1;
                Step::Stop(format!(
                    "the budget of {} is spent; {open} of {} cells are less precise than asked for",
                    self.settings.budget,
                    self.cells.len(),
                ))
            }
            Some(step) => step,
        }
    }

    /// Takes note of a check: the candidates that failed, and the seconds that one call of each took together.
    pub fn opened(&mut self, cell: usize, failed: &[usize], round_cost: f64) {
        let state = &mut self.cells[cell];
        state.active.retain(|candidate| !failed.contains(candidate));
        state.round_cost = round_cost;
        // Nothing can be compared where the builtin or everything else failed.
        if state.active.first() == Some(&0) && state.active.len() >= state.needed {
            let visit = self.visit(cell);
            self.queue.push_front(Step::Visit(visit));
        }
    }

    /// Takes note of a visit's timings (per round, per candidate of the visit) and returns the candidates that are
    /// dropped for being beaten, with the reason.
    pub fn visited(&mut self, visit: &Visit, rounds: &[Vec<Timing>], seconds: f64) -> Vec<(usize, String)> {
        let settings = self.settings;
        let state = &mut self.cells[visit.cell];
        state.visits += 1;
        state.rounds += rounds.len() as u32;
        for round in rounds {
            for (candidate, timing) in visit.candidates.iter().zip(round) {
                state.times[*candidate].push(timing[0]);
            }
        }
        state.round_cost = seconds / f64::from(visit.rounds + visit.warmup).max(1.0);
        let dropped = state.drop_beaten(settings.drop_factor);
        let finished = state.rounds >= settings.max_rounds
            || state.active.len() < state.needed
            || (state.rounds >= settings.min_rounds && state.is_precise(settings.precision));
        if !finished {
            self.unfinished.push(visit.cell);
        }
        dropped
    }

    /// The next visit to a cell, as long as the budget's share of a visit allows.
    fn visit(&self, cell: usize) -> Visit {
        let state = &self.cells[cell];
        let settings = &self.settings;
        let share = settings.budget.0 * FIRST_PASS_SHARE / self.cells.len() as f64;
        // As many rounds as the share pays for, but one. Where it pays for none to spare, calls are so long that what
        // precedes them does not matter, and rounds that are not timed are a waste.
        let affordable = (share / state.round_cost.max(1e-9)).min(f64::from(u32::MAX)) as u32;
        let left = settings.max_rounds.saturating_sub(state.rounds);
        let rounds = affordable.min(settings.rounds_per_visit).min(left).max(1);
        let warmup = if state.visits > 0 { 1 } else { settings.warmup_rounds };
        Visit {
            cell,
            visit: state.visits,
            warmup: warmup.min(affordable.saturating_sub(rounds)),
            rounds,
            candidates: state.active.clone(),
        }
    }
}

impl CellState {
    /// Removes candidates that are clearly slower than the best; the builtin, which all are compared with, stays.
    fn drop_beaten(&mut self, factor: f64) -> Vec<(usize, String)> {
        let ranges: Vec<(usize, Range)> = self
            .active
            .iter()
            .filter_map(|candidate| Some((*candidate, Range::of(&self.times[*candidate], factor)?)))
            .collect();
        let best = ranges.iter().map(|(_, range)| range.high).fold(f64::INFINITY, f64::min);
        let beaten: Vec<(usize, String)> = ranges
            .iter()
            .filter(|(candidate, range)| !self.references.contains(candidate) && range.low > range.factor * best)
            .map(|(candidate, range)| {
                (*candidate, format!("at least {:.2} times the best after {} rounds", range.low / best, range.samples))
            })
            .collect();
        self.active.retain(|candidate| !beaten.iter().any(|(out, _)| out == candidate));
        beaten
    }

    fn is_precise(&self, precision: f64) -> bool {
        self.active.iter().all(|candidate| {
            Estimate::median(&self.times[*candidate], LEVEL)
                .and_then(|estimate| estimate.relative_half_width())
                .is_some_and(|width| width <= precision)
        })
    }
}

/// Where the time of a candidate lies, as far as its samples tell.
struct Range {
    low: f64,
    high: f64,
    samples: usize,
    /// How many times the best it has to take to be dropped on such evidence.
    factor: f64,
}

impl Range {
    /// The interval of the median, or the extremes of few samples.
    fn of(times: &[f64], factor: f64) -> Option<Self> {
        let samples = times.len();
        if samples < INTERVAL_SAMPLES {
            let early = if samples > 1 { EARLY_FACTOR } else { SINGLE_FACTOR };
            let low = times.iter().copied().fold(f64::INFINITY, f64::min);
            let high = times.iter().copied().fold(0.0, f64::max);
            return (samples > 1 || high > LONG_CALL).then_some(Self { low, high, samples, factor: early.max(factor) });
        }
        let estimate = Estimate::median(times, LEVEL)?;
        Some(Self { low: estimate.low?, high: estimate.high?, samples, factor })
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::Cell;
    use collrules_record::Placement;
    use collrules_record::plan::{CellPlan, Separate};
    use collrules_record::units::{Bytes, Ranks, Seconds};
    use collrules_rules::{Choice, Collective};

    use super::*;

    fn plan(cells: u64, schedule: Schedule) -> Plan {
        let cell = |bytes| CellPlan {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) },
            candidates: vec![
                Candidate::Builtin,
                Candidate::Tuned(Choice::plain(1)),
                Candidate::Tuned(Choice::plain(2)),
            ],
            shared: Vec::new(),
        };
        Plan {
            cells: (1..=cells).map(cell).collect(),
            ranks: Ranks(4),
            launches: 1,
            schedule,
            seed: 7,
            separate: Separate::default(),
            skipped: Vec::new(),
            under_rule: None,
            placement: Placement::default(),
        }
    }

    /// Drives a scheduler with constant times per candidate; returns rounds per cell and candidate, and the end.
    fn drive(plan: &Plan, times: [f64; 3], failed: &[usize]) -> (Vec<Vec<u32>>, String) {
        let mut scheduler = Scheduler::new(plan);
        let mut rounds = vec![vec![0; 3]; plan.cells.len()];
        let mut clock = 0.0;
        loop {
            match scheduler.next(clock) {
                Step::Open(cell) => {
                    clock += times.iter().sum::<f64>();
                    scheduler.opened(cell, failed, times.iter().sum());
                }
                Step::Visit(visit) => {
                    let round: Vec<Timing> = visit.candidates.iter().map(|c| [times[*c]; 3]).collect();
                    let cost = round.iter().map(|t| t[0]).sum::<f64>() * f64::from(visit.rounds + visit.warmup);
                    clock += cost;
                    visit.candidates.iter().for_each(|c| rounds[visit.cell][*c] += visit.rounds);
                    scheduler.visited(&visit, &vec![round; visit.rounds as usize], cost);
                }
                Step::Stop(why) => return (rounds, why),
            }
        }
    }

    #[test]
    fn precise_cells_end_and_beaten_candidates_are_dropped() {
        let schedule = Schedule::default();
        let (rounds, why) = drive(&plan(5, schedule), [1e-5, 1.1e-5, 9e-5], &[]);
        for cell in rounds {
            assert_eq!(cell[0], schedule.min_rounds);
            assert_eq!(cell[1], schedule.min_rounds);
            assert_eq!(cell[2], schedule.rounds_per_visit, "nine times the best is dropped after one visit");
        }
        assert!(why.contains("as precise as asked for"), "{why}");
    }

    #[test]
    fn a_spent_budget_ends_it_but_every_cell_is_visited() {
        let schedule = Schedule { budget: Seconds(1.0), ..Schedule::default() };
        let (rounds, why) = drive(&plan(50, schedule), [0.1, 0.1, 0.1], &[]);
        assert!(rounds.iter().all(|cell| cell[0] == 1), "{rounds:?}");
        assert!(why.contains("budget of 1.000s is spent"), "{why}");
    }

    #[test]
    fn failed_candidates_are_not_timed() {
        let (rounds, _) = drive(&plan(2, Schedule::default()), [1e-5; 3], &[1]);
        assert!(rounds.iter().all(|cell| cell[1] == 0 && cell[2] > 0));
        let (rounds, _) = drive(&plan(2, Schedule::default()), [1e-5; 3], &[0]);
        assert!(rounds.iter().flatten().all(|rounds| *rounds == 0), "nothing to compare with");
    }

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let order = |seed| {
            let mut scheduler = Scheduler::new(&Plan { seed, ..plan(20, Schedule::default()) });
            (0..20).map(|_| scheduler.next(0.0)).collect::<Vec<_>>()
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
