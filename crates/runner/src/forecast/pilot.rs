//! What the events of a pilot say about costs, for its cells and for those between them.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::{Candidate, Cell, Plan};

use super::rehearsal::{CellCost, Noise};
use crate::wire::{Event, Timing};

/// Half of all normal deviates are within this many standard deviations.
const QUARTILE: f64 = 0.6745;

/// The variance of the median of three normal values, in that of one.
const MEDIAN_OF_THREE: f64 = 0.4487;

/// How much launches differ, in the middle of PEAK's public data: a pilot is a single launch.
const LAUNCH_DEVIATION: f64 = 0.06;

/// What was seen of a cell.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Seconds that checking took.
    check: f64,
    /// Seconds of all visits, and rounds in them, the untimed one of each included.
    seconds: f64,
    rounds: f64,
    /// Candidates and timings of each visit.
    visits: Vec<(Vec<usize>, Vec<Vec<Timing>>)>,
}

/// A pilot under way.
#[derive(Clone, Debug)]
pub(super) struct Pilot<'a> {
    plan: &'a Plan,
    seen: Vec<Seen>,
    setup: Option<f64>,
}

impl<'a> Pilot<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        Self { plan, seen: vec![Seen::default(); plan.cells.len()], setup: None }
    }

    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::Opened { cell, seconds, at } => {
                self.setup.get_or_insert(at - seconds);
                self.seen[*cell].check = *seconds;
            }
            Event::Visited { cell, candidates, rounds, seconds, .. } => {
                let seen = &mut self.seen[*cell];
                seen.seconds += seconds;
                seen.rounds += rounds.len() as f64 + 1.0;
                seen.visits.push((candidates.clone(), rounds.clone()));
            }
            _ => {}
        }
    }

    /// Seconds before the first cell.
    pub(super) fn setup(&self) -> f64 {
        self.setup.unwrap_or_default().max(0.0)
    }

    /// The number of cells that were timed.
    pub(super) fn cells(&self) -> usize {
        self.seen.iter().filter(|seen| !seen.visits.is_empty()).count()
    }

    /// The costs of every cell of a plan that has a timed one of its collective and communicator size.
    pub(super) fn costs(&self, plan: &Plan) -> BTreeMap<Cell, CellCost> {
        let known: BTreeMap<Cell, CellCost> = self
            .plan
            .cells
            .iter()
            .zip(&self.seen)
            .filter_map(|(planned, seen)| Some((planned.cell, cost(planned, seen)?)))
            .collect();
        let cells = plan.cells.iter().filter_map(|planned| {
            let alike = known
                .iter()
                .filter(|(cell, _)| (cell.collective, cell.ranks) == (planned.cell.collective, planned.cell.ranks));
            let alike: Vec<(f64, &CellCost)> = alike.map(|(cell, cost)| (cell.bytes.0 as f64, cost)).collect();
            Some((planned.cell, between(&alike, planned.cell.bytes.0 as f64, &planned.candidates)?))
        });
        cells.collect()
    }
}

/// What a timed cell costs.
fn cost(planned: &collrules_record::plan::CellPlan, seen: &Seen) -> Option<CellCost> {
    let mut times: BTreeMap<Candidate, Vec<f64>> = BTreeMap::new();
    for (candidates, rounds) in &seen.visits {
        for round in rounds {
            for (candidate, timing) in candidates.iter().zip(round) {
                times.entry(planned.candidates[*candidate]).or_default().push(timing[0]);
            }
        }
    }
    let calls: BTreeMap<Candidate, f64> =
        times.into_iter().filter_map(|(candidate, mut times)| Some((candidate, median(&mut times)?))).collect();
    // Visits become shorter as candidates are dropped.
    let in_rounds = seen.visits.iter().map(|(candidates, rounds)| {
        let round: f64 = candidates.iter().filter_map(|candidate| calls.get(&planned.candidates[*candidate])).sum();
        (round * (rounds.len() as f64 + 1.0), candidates.len() as f64 * (rounds.len() as f64 + 1.0))
    });
    let (called, turns) = in_rounds.fold((0.0, 0.0), |sum, visit| (sum.0 + visit.0, sum.1 + visit.1));
    (turns > 0.0 && !calls.is_empty()).then(|| CellCost {
        check: seen.check / planned.candidates.len() as f64,
        // Slow outliers are in here too, on average.
        turn: ((seen.seconds - called) / turns).max(0.0),
        noise: noise(seen),
        calls,
    })
}

/// How calls vary. Differences against the builtin in the same round show what is each call's own.
fn noise(seen: &Seen) -> Noise {
    let (mut own, mut all, mut visits) = (Vec::new(), Vec::new(), Vec::new());
    let mut medians: Option<(Vec<usize>, Vec<f64>)> = None;
    for (candidates, rounds) in &seen.visits {
        for pair in rounds.windows(2) {
            for place in 0..candidates.len() {
                let step = (pair[1][place][0] / pair[0][place][0]).ln();
                all.push(step.abs());
                if place > 0 {
                    own.push((step - (pair[1][0][0] / pair[0][0][0]).ln()).abs());
                }
            }
        }
        let here: Vec<f64> = (0..candidates.len())
            .filter_map(|place| median(&mut rounds.iter().map(|round| round[place][0]).collect::<Vec<f64>>()))
            .collect();
        if here.len() != candidates.len() {
            continue;
        }
        if let Some((_, before)) = medians.as_ref().filter(|(known, _)| known == candidates) {
            let step = |place: usize| (here[place] / before[place]).ln();
            visits.extend((1..here.len()).map(|place| (step(place) - step(0)).abs()));
        }
        medians = Some((candidates.clone(), here));
    }
    let variance = |steps: &mut Vec<f64>, parts: f64| {
        median(steps).filter(|step| step.is_finite()).map_or(0.0, |step| (step / QUARTILE).powi(2) / parts)
    };
    // A step is the difference of two values, a step against the builtin that of four.
    let call = variance(&mut own, 4.0);
    let round = (variance(&mut all, 2.0) - call).max(0.0);
    let visit = (variance(&mut visits, 4.0) - MEDIAN_OF_THREE * call).max(0.0);
    Noise { launch: LAUNCH_DEVIATION, visit: visit.sqrt(), round: round.sqrt(), call: call.sqrt(), outliers: 0.0 }
}

/// The costs at a size between, or beyond, sizes with known costs, which ascend: straight lines between logarithms.
fn between(known: &[(f64, &CellCost)], bytes: f64, candidates: &[Candidate]) -> Option<CellCost> {
    let x = |bytes: f64| bytes.max(1.0).ln();
    let at = |points: &[(f64, f64)]| -> Option<f64> {
        let above = points.iter().position(|(at, _)| *at >= bytes);
        let (low, high) = match above {
            Some(0) => (points.first()?, points.first()?),
            Some(place) => (&points[place - 1], &points[place]),
            None => (points.last()?, points.last()?),
        };
        let (from, to) = (low.1.max(1e-12), high.1.max(1e-12));
        if high.0 <= low.0 {
            return Some(from);
        }
        let share = (x(bytes) - x(low.0)) / (x(high.0) - x(low.0));
        Some((from.ln() + share * (to.ln() - from.ln())).exp())
    };
    let all = |value: &dyn Fn(&CellCost) -> Option<f64>| -> Vec<(f64, f64)> {
        known.iter().filter_map(|(bytes, cost)| Some((*bytes, value(cost)?))).collect()
    };
    let builtin = at(&all(&|cost| cost.calls.get(&Candidate::Builtin).copied()))?;
    let call = |candidate: &Candidate| {
        // Relative to the builtin: a candidate may not be there, or not have lasted, in all timed cells.
        let ratio = all(&|cost| Some(cost.calls.get(candidate)? / cost.calls.get(&Candidate::Builtin)?));
        (*candidate, builtin * at(&ratio).unwrap_or(1.0))
    };
    let nearest = known.iter().min_by(|a, b| (x(a.0) - x(bytes)).abs().total_cmp(&(x(b.0) - x(bytes)).abs()))?.1;
    Some(CellCost {
        calls: candidates.iter().map(call).collect(),
        check: at(&all(&|cost| Some(cost.check)))?,
        turn: at(&all(&|cost| Some(cost.turn)))?,
        noise: nearest.noise,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_between_sizes_lie_on_straight_lines_of_logarithms() {
        let cost = |call: f64| CellCost {
            calls: BTreeMap::from([(Candidate::Builtin, call)]),
            check: 10.0 * call,
            turn: 1e-6,
            noise: Noise::default(),
        };
        let (small, large) = (cost(1e-5), cost(1e-3));
        let found = between(&[(1.0, &small), (1e4, &large)], 1e2, &[Candidate::Builtin]).expect("there is one");
        assert!((found.calls[&Candidate::Builtin] / 1e-4 - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.check / 1e-3 - 1.0).abs() < 1e-9 && (found.turn / 1e-6 - 1.0).abs() < 1e-9);
        let beyond = between(&[(1.0, &small), (1e4, &large)], 1e6, &[Candidate::Builtin]).expect("there is one");
        assert_eq!(beyond.calls[&Candidate::Builtin], 1e-3);
    }
}
