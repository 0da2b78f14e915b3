//! A rehearsed campaign: the real scheduler with times drawn from given costs, on a simulated clock.

use std::collections::BTreeMap;
use std::convert::Infallible;

use collrules_record::plan::Plan;
use collrules_record::sample::Row;
use collrules_record::{Candidate, Cell, Seconds};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::campaign::{self, CampaignLaunch};
use crate::engine::{self, CheckResult, Executor};
use crate::launch::LaunchPlan;
use crate::schedule::Visit;
use crate::schedule::history::History;
use crate::wire::RankTimes;

/// Cost of a cell, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CellCost {
    /// A call of each candidate.
    pub(super) calls: BTreeMap<Candidate, f64>,
    /// Creating and checking a candidate.
    pub(super) check: f64,
    /// Time of a turn in addition to the call.
    pub(super) turn: f64,
    /// Noise of calls.
    pub(super) noise: RehearsalNoise,
}

/// Standard deviations of the logarithms of factors on a time, each drawn anew for its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RehearsalNoise {
    /// A candidate in a cell, for a launch.
    pub(super) launch: f64,
    /// A candidate, for a visit.
    pub(super) visit: f64,
    /// All candidates together, for a round.
    pub(super) round: f64,
    /// A single call.
    pub(super) call: f64,
    /// The share of calls that take several times as long: 2 to 10 times, but no more than [`HICCUP`] longer.
    pub(super) outliers: f64,
}

/// Maximum time that systems keep a call waiting, in seconds.
const HICCUP: f64 = 30e-3;

/// Least duration of a check that estimates a round, as in the worker.
const LONG_CHECK: f64 = 0.25;

/// Result of a rehearsal.
#[derive(Clone, Debug, Default)]
pub(super) struct Rehearsal {
    /// The seconds of each launch, without its start.
    pub(super) launches: Vec<f64>,
    /// Every row that a real campaign would have written.
    pub(super) rows: Vec<Row>,
}

/// Plays a campaign whose launches take `setup` seconds before their first cell.
pub(super) fn rehearse(plan: &Plan, costs: &BTreeMap<Cell, CellCost>, setup: f64, seed: u64) -> Rehearsal {
    let mut history = History::new(plan);
    let mut rehearsal = Rehearsal::default();
    for number in 0..plan.launches {
        // Starting takes what the plan expects it to take.
        let elapsed = rehearsal.launches.iter().map(|seconds| seconds + plan.schedule.startup.0).sum();
        let Some(plan) = history.next(number, Seconds(elapsed), false, |_, _| true) else { break };
        let launch = CampaignLaunch { number, planned: number, plan: &plan };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(number));
        let mut player = RehearsalExecutor { plan: &plan, costs, rng, clock: setup, launch: BTreeMap::new() };
        let Ok(()) = engine::run(&plan, &mut player, &mut |event| {
            let rows = campaign::rows::list_rows(&launch, &event);
            history.see(&rows);
            history.watch(&event);
            rehearsal.rows.extend(rows);
        });
        rehearsal.launches.push(player.clock);
        rehearsal.rows.extend(history.close(number).into_iter().map(Row::Ended));
    }
    rehearsal
}

struct RehearsalExecutor<'a> {
    plan: &'a LaunchPlan,
    costs: &'a BTreeMap<Cell, CellCost>,
    rng: ChaCha8Rng,
    clock: f64,
    /// The factors that are constant within the launch.
    launch: BTreeMap<(usize, usize), f64>,
}

impl RehearsalExecutor<'_> {
    fn factor(&mut self, deviation: f64) -> f64 {
        if deviation > 0.0 { (deviation * self.rng.sample::<f64, _>(StandardNormal)).exp() } else { 1.0 }
    }

    fn call(&mut self, time: f64, noise: RehearsalNoise) -> f64 {
        let time = time * self.factor(noise.call);
        let slow = noise.outliers > 0.0 && self.rng.random::<f64>() < noise.outliers;
        if slow { time + (time * (1.0 + 8.0 * self.rng.random::<f64>())).min(HICCUP) } else { time }
    }

    /// Returns the time of a candidate's calls in this launch, without noise of visits and calls.
    fn in_launch(&mut self, cell: usize, place: usize, cost: &CellCost) -> f64 {
        let call = cost.calls.get(&self.plan.cells[cell].candidates[place]).copied().unwrap_or_default();
        if let Some(known) = self.launch.get(&(cell, place)) {
            return call * known;
        }
        let drawn = self.factor(cost.noise.launch);
        self.launch.insert((cell, place), drawn);
        call * drawn
    }
}

impl Executor for RehearsalExecutor<'_> {
    type Error = Infallible;

    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<CheckResult, Infallible> {
        let planned = &self.plan.cells[cell];
        (0..planned.candidates.len()).for_each(checking);
        let Some(cost) = self.costs.get(&planned.cell) else { return Ok(CheckResult::default()) };
        let mut checks = Vec::with_capacity(planned.candidates.len());
        for place in 0..planned.candidates.len() {
            let time = self.in_launch(cell, place, cost);
            checks.push(cost.check + self.call(time, cost.noise));
        }
        let mut round_cost = checks.iter().sum();
        self.clock += round_cost;
        if round_cost < LONG_CHECK {
            round_cost = cost.calls.values().map(|call| call + cost.turn).sum();
            self.clock += round_cost;
        }
        Ok(CheckResult { failed: Vec::new(), checks, round_cost })
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, Infallible> {
        let planned = &self.plan.cells[visit.cell];
        let Some(cost) = self.costs.get(&planned.cell) else { return Ok(Vec::new()) };
        let mut base = Vec::with_capacity(visit.candidates.len());
        for place in &visit.candidates {
            base.push(self.in_launch(visit.cell, *place, cost) * self.factor(cost.noise.visit));
        }
        let mut rounds = Vec::with_capacity(visit.rounds as usize);
        for round in 0..visit.warmup + visit.rounds {
            let common = self.factor(cost.noise.round);
            let times: Vec<f64> = base.iter().map(|base| self.call(base * common, cost.noise)).collect();
            self.clock += times.iter().map(|time| time + cost.turn).sum::<f64>();
            if round >= visit.warmup {
                rounds.push(times.into_iter().map(|time| [time; 3]).collect());
            }
        }
        Ok(rounds)
    }

    fn elapsed(&self) -> f64 {
        self.clock
    }
}
