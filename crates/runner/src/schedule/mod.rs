//! Order of visits, and conditions for enough samples. Pure logic: time and timings come from outside.
//!
//! | module | job |
//! |---|---|
//! | here | the order of visits within a launch |
//! | `visit` | a visit, and the confidence of its consequences |
//! | `cell` | precision of a cell, and which candidates rest or are dropped |
//! | `costs` | expected times of calls that were not made |
//! | `neighbours` | the nearest known cells around a cell |
//! | `waves` | which cells come next if time is short |
//! | `history` | results of the launches so far, and the division of the next one's time |

mod cell;
mod costs;
pub(crate) mod history;
mod neighbours;
#[cfg(test)]
mod tests;
mod visit;
mod waves;

use std::collections::{BTreeSet, VecDeque};

use collrules_record::plan::Schedule;
use collrules_record::{Candidate, Ranks};
use collrules_rules::Collective;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use self::cell::CellState;
pub use self::costs::Costs;
pub use self::visit::Visit;
use self::waves::Waves;
use crate::launch::{Effort, LaunchCell, LaunchPlan};
use crate::wire::RankTimes;

/// The share of the budget for one visit to each cell; the rest is for further visits.
const FIRST_PASS_SHARE: f64 = 0.1;

/// Maximum number of communicators that a job keeps for candidates, unless a single cell has more candidates.
///
/// Each takes memory on every rank for every other rank, and a number of the transport: ob1 and `pml ucx` have 16 to 20
/// bits for these, psm2 16, and libfabric 30, 12 without data in completions, and at least 8 if a provider keeps bits of
/// tags to itself (`mtl_ofi_component.c`). 192 leave a quarter of 8 bits to other communicators.
pub const MOST_COMMUNICATORS: usize = 192;

/// The next step of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleStep {
    /// Check the candidates of a cell that was not visited before.
    Open(usize),
    /// Visit a cell.
    Visit(Visit),
    /// Stop, for this reason.
    Stop(String),
}

/// A waiting cell.
#[derive(Clone, Copy, Debug)]
enum Todo {
    /// A cell without a visit in this launch.
    First(usize),
    Visit(usize),
}

/// A candidate in all cells that share its communicator.
type Player = (Collective, Ranks, Candidate);

/// Decides the order of visits and the end of every point.
#[derive(Debug)]
pub(crate) struct Scheduler {
    settings: Schedule,
    cells: Vec<CellState>,
    /// Number of the group of each cell, so that a pass makes few communicators: collective and communicator size.
    groups: Option<Vec<usize>>,
    queue: VecDeque<Todo>,
    /// Cells that get another visit in the next pass.
    unfinished: BTreeSet<usize>,
    /// The candidates of each cell; none for patterns.
    players: Vec<Vec<Player>>,
    /// Time that programs spend in each cell; 0 without programs.
    weights: Vec<f64>,
    /// The share of the time for each cell if calls take seconds: its share of programs' time, or of all bytes.
    parts: Vec<f64>,
    /// Players that were called in this launch, so that their connections are set up.
    familiar: BTreeSet<Player>,
    /// Cells that were not begun, if there may be too little time for all.
    waves: Option<Waves>,
    rng: ChaCha8Rng,
}

impl Scheduler {
    /// A scheduler for a plan; all cells are opened and visited once, in an order shuffled with the plan's seed, or by
    /// the time that programs spend in them.
    pub(crate) fn new(plan: &LaunchPlan) -> Self {
        let patterns = plan.patterns.iter().map(|planned| CellState::of_casts(planned.casts.len()));
        let cells = plan.cells.iter().map(CellState::new);
        let cells = cells.chain(patterns).collect();
        let mut scheduler = Self {
            settings: plan.schedule,
            cells,
            groups: groups(plan),
            queue: VecDeque::new(),
            unfinished: BTreeSet::new(),
            players: (0..plan.subjects()).map(|at| plan.cells.get(at).map_or_else(Vec::new, players)).collect(),
            weights: per_subject(plan, |planned| planned.weight.unwrap_or_default().0),
            parts: parts(plan),
            familiar: BTreeSet::new(),
            waves: Waves::of_launch(plan),
            rng: ChaCha8Rng::seed_from_u64(plan.seed),
        };
        // Patterns have no time of their own to wait for.
        let first = if scheduler.waves.is_some() { plan.cells.len() } else { 0 };
        scheduler.queue = scheduler.first_visits((first..plan.subjects()).collect());
        scheduler
    }

    /// Returns the next step, `elapsed` seconds after the start.
    pub(crate) fn next(&mut self, elapsed: f64) -> ScheduleStep {
        loop {
            if self.queue.is_empty() {
                self.fill(elapsed);
            }
            let Some(todo) = self.queue.pop_front() else {
                return ScheduleStep::Stop(match self.waves.as_ref().map_or(0, Waves::unreached) {
                    0 => "done: every size is precise enough, or has its maximum of rounds".to_owned(),
                    missing => self.unreached(missing),
                });
            };
            match todo {
                // A launch without a visit is worth nothing, so the first cell gets one in any case.
                Todo::First(_) if self.has_visits() && self.settings.limit.is_some_and(|limit| elapsed >= limit.0) => {
                    let waiting = self.waves.as_ref().map_or(0, Waves::unreached);
                    let missing = 1 + self.queue.iter().filter(|todo| matches!(todo, Todo::First(_))).count();
                    return ScheduleStep::Stop(self.unreached(missing + waiting));
                }
                Todo::First(cell) if self.has_visits() && self.is_wave_over(cell, elapsed) => {
                    self.waves.iter_mut().for_each(|waves| waves.put_back(cell));
                }
                Todo::First(cell) if self.is_known(cell) => return ScheduleStep::Visit(self.visit(cell)),
                Todo::First(cell) => return ScheduleStep::Open(cell),
                // It ended at another visit of the same pass.
                Todo::Visit(cell) if self.cells[cell].visits > 0 && !self.unfinished.contains(&cell) => {}
                Todo::Visit(cell) => {
                    let late = self.settings.budget.filter(|budget| elapsed >= budget.0);
                    let Some(budget) = late.filter(|_| self.cells[cell].visits > 0) else {
                        return ScheduleStep::Visit(self.visit(cell));
                    };
                    // First visits may go on: those that are waiting have not had their turn.
                    self.queue.retain(|todo| matches!(todo, Todo::First(_)) && self.waves.is_none());
                    if let Some(missing) = self.waves.as_ref().map(Waves::unreached).filter(|missing| *missing > 0) {
                        return ScheduleStep::Stop(self.unreached(missing));
                    }
                    if self.queue.is_empty() {
                        let (open, cells) = (self.unfinished.len(), self.cells.len());
                        let one = "one visit to each size, as planned".to_owned();
                        let more =
                            || format!("budget of {budget} used up; {open} of {cells} sizes could be more precise");
                        return ScheduleStep::Stop(if budget.0 > 0.0 { more() } else { one });
                    }
                }
            }
        }
    }

    fn unreached(&self, missing: usize) -> String {
        format!("budget used up; {missing} of {} sizes were not reached", self.cells.len())
    }

    /// Returns true if a cell is of a wave that takes longer than expected, or the budget of the launch is used up.
    fn is_wave_over(&self, cell: usize, elapsed: f64) -> bool {
        let is_late = self.settings.budget.is_some_and(|budget| elapsed >= budget.0);
        self.waves.as_ref().is_some_and(|waves| waves.has(cell) && (is_late || waves.is_over(elapsed)))
    }

    /// Returns true if a cell was visited.
    fn has_visits(&self) -> bool {
        self.cells.iter().any(|state| state.visits > 0)
    }

    /// Returns true if a cell needs no check: earlier launches made it, and every candidate was called in this launch,
    /// so no timed call sets up connections, or takes so long that this is negligible.
    fn is_known(&self, cell: usize) -> bool {
        let state = &self.cells[cell];
        let is_familiar = || self.players[cell].iter().all(|player| self.familiar.contains(player));
        state.is_known && (state.takes_seconds || is_familiar())
    }

    /// Adds a check that ended `elapsed` seconds after the start: failed candidates, seconds of each call, and seconds
    /// of a round. Returns the beaten candidates that are dropped, with the reason.
    pub(crate) fn opened(
        &mut self,
        cell: usize,
        failed: &[usize],
        checks: &[f64],
        round_cost: f64,
        elapsed: f64,
    ) -> Vec<(usize, String)> {
        let left = self.settings.limit.map(|limit| (limit.0 - elapsed) * self.parts[cell]);
        let (state, players) = (&mut self.cells[cell], &self.players[cell]);
        state.active.retain(|candidate| !failed.contains(candidate));
        state.round_cost = round_cost;
        let mut dropped = Vec::new();
        if state.is_compared && !self.settings.keep_slow {
            // The first call in a launch sets up connections, which says nothing.
            dropped = state.drop_hopeless(checks, |place| self.familiar.contains(&players[place]));
            dropped.extend(left.into_iter().flat_map(|left| state.drop_unpaid(checks, left)));
            let slow = self.waves.as_ref().map_or_else(Vec::new, |waves| waves.list_slow(cell));
            dropped.extend(state.drop_slow_around(slow, checks));
        }
        self.familiar.extend(players);
        if state.is_worth_timing() {
            let active = state.active.len();
            let round = active as f64 * round_cost / self.players[cell].len().max(1) as f64;
            let is_too_long = self.has_visits()
                && self.settings.budget.is_some_and(|budget| elapsed + self.visiting(cell, round) > budget.0);
            match self.waves.as_mut().filter(|waves| waves.has(cell)) {
                Some(waves) => {
                    waves.learn(cell, round, active);
                    // Fewer visits than a decision needs are worth nothing.
                    if is_too_long { waves.put_back(cell) } else { self.queue.push_front(Todo::Visit(cell)) }
                }
                None => self.queue.push_front(Todo::Visit(cell)),
            }
        }
        dropped
    }

    /// Adds a visit's timings (per round, per candidate of the visit), and returns the beaten candidates that are
    /// dropped, with the reason.
    pub(crate) fn visited(&mut self, visit: &Visit, rounds: &[Vec<RankTimes>], seconds: f64) -> Vec<(usize, String)> {
        let settings = self.settings;
        let players = &self.players[visit.cell];
        self.familiar.extend(visit.candidates.iter().filter_map(|place| players.get(*place)));
        let state = &mut self.cells[visit.cell];
        state.note(visit, rounds);
        state.round_cost = seconds / f64::from(visit.rounds + visit.warmup).max(1.0);
        if let Some(waves) = &mut self.waves {
            waves.learn(visit.cell, state.round_cost, visit.candidates.len());
        }
        let mut dropped = Vec::new();
        if state.is_compared && !settings.keep_slow {
            dropped = state.drop_beaten();
            state.rest(settings.drop_factor);
        }
        if let Some(waves) = self.waves.as_mut().filter(|_| state.has_least_visits()) {
            waves.decide(visit.cell, state.fastest(), &state.list_slow());
        }
        if state.is_finished(&settings) {
            self.unfinished.remove(&visit.cell);
        } else {
            self.unfinished.insert(visit.cell);
        }
        dropped
    }

    /// Returns true if a cell that was just visited gets no more visits.
    pub(crate) fn is_finished(&self, cell: usize) -> bool {
        !self.unfinished.contains(&cell)
    }

    /// Begins another pass over the cells of the wave that need one, or the next wave; after all waves, another pass over
    /// all cells that need one.
    fn fill(&mut self, elapsed: f64) {
        let needs = |cell: &&usize| self.unfinished.contains(cell) && !self.cells[**cell].has_least_visits();
        let wave: Vec<usize> =
            self.waves.iter().flat_map(|waves| waves.current().iter().filter(needs).copied()).collect();
        if !wave.is_empty() {
            self.queue = self.shuffled(wave).into_iter().map(Todo::Visit).collect();
            return;
        }
        if let (Some(mut waves), Some(budget)) = (self.waves.take(), self.settings.budget) {
            let check = |cell: usize, round: f64| round + self.visiting(cell, round);
            let begun = waves.begin(elapsed, budget.0 - elapsed, check).to_vec();
            self.waves = Some(waves);
            if !begun.is_empty() {
                self.queue = self.first_visits(begun);
                return;
            }
        }
        let unfinished: Vec<usize> = self.unfinished.iter().copied().collect();
        let twice = unfinished.iter().copied().filter(|cell| self.cells[*cell].effort == Effort::More).collect();
        let (pass, again) = (self.shuffled(unfinished), self.shuffled(twice));
        self.queue = pass.into_iter().chain(again).map(Todo::Visit).collect();
    }

    /// The first visits to these cells. Those that need no check come when others have called their candidates: short
    /// rounds first.
    fn first_visits(&mut self, cells: Vec<usize>) -> VecDeque<Todo> {
        let mut order = self.shuffled(cells);
        let group = |cell: &usize| self.groups.as_ref().map(|groups| groups[*cell]);
        let round = |cell: &usize| if self.cells[*cell].takes_seconds { 0.0 } else { self.cells[*cell].round_cost };
        for together in order.chunk_by_mut(|a, b| group(a) == group(b)) {
            together.sort_by(|a, b| round(a).total_cmp(&round(b)));
        }
        order.into_iter().map(Todo::First).collect()
    }

    /// A random order, or by the time that programs spend in cells, so that unreached cells matter least. If the plan
    /// needs more communicators than are kept, cells with the same ones stay together.
    fn shuffled(&mut self, mut cells: Vec<usize>) -> Vec<usize> {
        cells.shuffle(&mut self.rng);
        cells.sort_by(|a, b| self.weights[*b].total_cmp(&self.weights[*a]));
        if let Some(groups) = &self.groups {
            let mut order: Vec<usize> = groups.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            order.shuffle(&mut self.rng);
            cells.sort_by_key(|cell| order.iter().position(|group| *group == groups[*cell]));
        }
        cells
    }

    /// The next visit to a cell, with as many rounds as the budget's share of a visit allows.
    fn visit(&self, cell: usize) -> Visit {
        let state = &self.cells[cell];
        let (warmup, rounds) = self.rounds(state.round_cost, state.visits, state.rounds);
        Visit { cell, visit: state.visits, warmup, rounds, candidates: state.active.clone() }
    }

    /// Seconds for all visits that a cell needs in this launch, if a round takes this long.
    fn visiting(&self, cell: usize, round: f64) -> f64 {
        let rounds = |(done, sum): (u32, u32), visit| {
            let (warmup, rounds) = self.rounds(round, visit, done);
            (done + rounds, sum + warmup + rounds)
        };
        let (_, rounds) = (0..self.cells[cell].least_visits).fold((0, 0), rounds);
        round * f64::from(rounds)
    }

    /// Numbers of untimed and of timed rounds of a visit to a cell with so many visits and rounds, if a round takes this
    /// long.
    fn rounds(&self, round: f64, visits: u32, rounds: u32) -> (u32, u32) {
        let settings = &self.settings;
        let share = first_share(settings, self.cells.len());
        // As many rounds as the share pays for, but one. Where it pays for none to spare, calls are so long that what
        // precedes them does not matter, and rounds that are not timed are a waste.
        let affordable = (share / round.max(1e-9)).min(f64::from(u32::MAX)) as u32;
        let left = settings.max_rounds.saturating_sub(rounds);
        let rounds = affordable.min(settings.rounds_per_visit).min(left).max(1);
        let warmup = if visits > 0 { settings.warmup_rounds.min(1) } else { settings.warmup_rounds };
        (warmup.min(affordable.saturating_sub(rounds)), rounds)
    }
}

/// The seconds for one visit to each of this many cells.
fn first_share(settings: &Schedule, cells: usize) -> f64 {
    settings.budget.map_or(f64::INFINITY, |budget| budget.0 * FIRST_PASS_SHARE / cells as f64)
}

fn per_subject(plan: &LaunchPlan, of_cell: impl Fn(&LaunchCell) -> f64) -> Vec<f64> {
    (0..plan.subjects()).map(|at| plan.cells.get(at).map_or(0.0, &of_cell)).collect()
}

/// See [`Scheduler::parts`]. Calls take seconds because they move many bytes.
fn parts(plan: &LaunchPlan) -> Vec<f64> {
    let share = |planned: &LaunchCell| planned.weight.map_or(planned.cell.bytes.0 as f64, |weight| weight.0);
    let shares = per_subject(plan, share);
    let all: f64 = shares.iter().sum();
    shares.into_iter().map(|share| share / all.max(1e-9)).collect()
}

fn players(planned: &LaunchCell) -> Vec<Player> {
    let LaunchCell { cell, candidates, .. } = planned;
    candidates.iter().map(|candidate| (cell.collective, cell.ranks, *candidate)).collect()
}

/// The group of each cell, if the plan needs more communicators than are kept at a time. Patterns have permanent
/// communicators, and are one group.
fn groups(plan: &LaunchPlan) -> Option<Vec<usize>> {
    let key = |at: usize| plan.cells.get(at).map(|planned| (planned.cell.collective, planned.cell.ranks));
    let all = 0..plan.subjects();
    let needed: BTreeSet<_> = (0..plan.cells.len())
        .flat_map(|at| plan.cells[at].candidates.iter().map(move |candidate| (key(at), *candidate)))
        .collect();
    let keys: BTreeSet<_> = all.clone().map(key).collect();
    let place = |at| keys.iter().position(|known| *known == key(at));
    (needed.len() > MOST_COMMUNICATORS).then(|| all.filter_map(place).collect())
}
