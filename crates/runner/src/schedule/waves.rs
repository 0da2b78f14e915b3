//! Order of cells in a launch whose time may not be enough for all of them: a wave of cells gets all visits that a
//! decision needs from the launch, then the next wave begins. First come the cells that are worth most per second, by
//! what is known of their neighbours.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Bytes, Candidate, Ranks};
use collrules_rules::Collective;

use super::costs::Costs;
use super::neighbours::Neighbours;
use crate::launch::{LaunchCell, LaunchPlan};

/// Largest share of the remaining time for a wave, so that the next one is chosen with the times that this one shows.
const WAVE_SHARE: f64 = 0.25;

/// Multiple of its expected time after which a wave begins no more cells.
const EXCESS: f64 = 2.0;

/// Largest ratio of a size to the largest one of its line that was called, so that times are not extrapolated too far.
const STEP: u64 = 16;

/// Factor on the worth of a cell that earlier launches began: with fewer visits than a decision needs they are worth
/// nothing.
const BEGUN: f64 = 16.0;

/// Factors on the worth of a cell between two known ones if the choice or the default's algorithm changes between them, and
/// if not: then both ends decide for it.
const CHANGE: (f64, f64) = (2.0, 0.5);

/// What is known of a cell: its fastest candidate, and those that are clearly slower than the best of their group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Known {
    pub(super) fastest: Option<Candidate>,
    pub(super) slow: Vec<Candidate>,
}

/// Cells that a launch did not begin, and those of the current wave.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    /// Cells that were not begun.
    waiting: Vec<usize>,
    /// Cells of the current wave, and the time after which it begins no more cells.
    wave: Vec<usize>,
    end: f64,
    cells: Vec<LaunchCell>,
    /// What is known of each cell.
    known: Vec<Known>,
    neighbours: Neighbours,
    costs: Costs,
}

impl Waves {
    /// All cells of a launch; none if its time is not limited, if it is a launch of an arm, or if it is for programs,
    /// which need all of their cells.
    pub(super) fn of_launch(plan: &LaunchPlan) -> Option<Self> {
        let is_limited = plan.schedule.budget.is_some_and(|budget| budget.0 > 0.0);
        let is_weighed = plan.cells.iter().any(|planned| planned.weight.is_some());
        let known = |planned: &LaunchCell| Known { fastest: planned.fastest, slow: planned.slow.clone() };
        (is_limited && !is_weighed).then(|| Self {
            waiting: (0..plan.cells.len()).collect(),
            wave: Vec::new(),
            end: 0.0,
            cells: plan.cells.clone(),
            known: plan.cells.iter().map(known).collect(),
            neighbours: Neighbours::new(plan.cells.iter().map(|planned| planned.cell).collect()),
            costs: Costs::default(),
        })
    }

    /// Returns true for cells; patterns are in no wave.
    pub(super) fn has(&self, subject: usize) -> bool {
        subject < self.cells.len()
    }

    /// Records the seconds of a round of this many candidates of a cell.
    pub(super) fn learn(&mut self, cell: usize, round: f64, candidates: usize) {
        if let Some(planned) = self.cells.get(cell).filter(|_| candidates > 0) {
            self.costs.learn(planned.cell, round / candidates as f64);
        }
    }

    /// Records what the visits of a cell show: its fastest candidate, and what earlier launches or these show to be slow.
    pub(super) fn decide(&mut self, cell: usize, fastest: Option<usize>, slow: &[usize]) {
        if let Some(planned) = self.cells.get(cell) {
            let candidate = |place: &usize| planned.candidates[*place];
            let slow = planned.slow.iter().copied().chain(slow.iter().map(candidate)).collect();
            self.known[cell] = Known { fastest: fastest.as_ref().map(candidate).or(planned.fastest), slow };
        }
    }

    /// The candidates of a cell, by place, that are clearly slower at the nearest known sizes on both sides, or on the
    /// nearest known numbers of ranks, with these sizes in words.
    ///
    /// By public data of Summit and PEAK (ORNL), a fifth of all candidates take twice as long as the best on both sides, up to
    /// two sizes or numbers of ranks away; none of these is the best in between, or within 3 % of it.
    pub(super) fn list_slow(&self, cell: usize) -> Vec<(usize, String)> {
        let is_known = |other: usize| self.known[other].fastest.is_some();
        let Some(planned) = self.cells.get(cell) else { return Vec::new() };
        let of_size = self.neighbours.of_size(cell, is_known);
        let of_ranks = self.neighbours.of_ranks(cell, is_known);
        let at = |other: usize| self.cells[other].cell;
        let sizes = of_size.map(|(below, above)| format!("at {} and {}", at(below).bytes, at(above).bytes));
        let ranks = of_ranks.map(|(below, above)| format!("on {} and {} ranks", at(below).ranks, at(above).ranks));
        let pairs: Vec<_> = of_size.zip(sizes).into_iter().chain(of_ranks.zip(ranks)).collect();
        let is_slow = |candidate: &Candidate, other: usize| self.known[other].slow.contains(candidate);
        let slow = planned.candidates.iter().enumerate().filter_map(|(place, candidate)| {
            let on_both =
                |pair: &&((usize, usize), String)| is_slow(candidate, pair.0.0) && is_slow(candidate, pair.0.1);
            Some((place, pairs.iter().find(on_both)?.1.clone()))
        });
        slow.collect()
    }

    /// Number of sizes that the decision of a cell stands for.
    fn worth(&self, cell: usize) -> f64 {
        let planned = &self.cells[cell];
        if planned.fastest.is_some() {
            return BEGUN * planned.worth;
        }
        let fastest = |other: usize| self.known[other].fastest;
        let around = self.neighbours.of_size(cell, |other| fastest(other).is_some());
        let changes = |pair: (usize, usize)| {
            fastest(pair.0) != fastest(pair.1) || self.neighbours.has_between(pair, |other| self.cells[other].is_jump)
        };
        let factor = around.map_or(1.0, |pair| if changes(pair) { CHANGE.0 } else { CHANGE.1 });
        factor * planned.worth
    }

    /// The cells of the current wave.
    pub(super) fn current(&self) -> &[usize] {
        &self.wave
    }

    /// Lets a cell wait on, since its visits take longer than what remains.
    pub(super) fn put_back(&mut self, cell: usize) {
        self.waiting.push(cell);
        self.wave.retain(|begun| *begun != cell);
    }

    /// Number of cells that were not begun.
    pub(super) fn unreached(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if the current wave takes longer than expected.
    pub(super) fn is_over(&self, elapsed: f64) -> bool {
        elapsed > self.end
    }

    /// Begins the next wave at a time, within the seconds after it. `needs` returns the seconds for all visits that a cell
    /// needs, if a round takes this long. Cells that take longer than what remains wait on.
    pub(super) fn begin(&mut self, elapsed: f64, left: f64, needs: impl Fn(usize, f64) -> f64) -> &[usize] {
        let is_first = self.costs.is_empty();
        let line_of = |cell: usize| (self.cells[cell].cell.collective, self.cells[cell].cell.ranks);
        let mut reach: BTreeMap<(Collective, Ranks), Bytes> = BTreeMap::new();
        for cell in &self.waiting {
            let bytes = self.cells[*cell].cell.bytes;
            reach.entry(line_of(*cell)).and_modify(|least| *least = bytes.min(*least)).or_insert(bytes);
        }
        for (line, reach) in &mut reach {
            let known = self.costs.largest(*line).map_or(0, |known| known.0.max(1));
            *reach = (*reach).max(Bytes(known.saturating_mul(STEP)));
        }
        let near = self.waiting.iter().filter(|cell| self.cells[**cell].cell.bytes <= reach[&line_of(**cell)]);
        let timed = near.map(|cell| {
            let LaunchCell { cell: place, candidates, .. } = &self.cells[*cell];
            let timed = candidates.len() - self.list_slow(*cell).len();
            let seconds = needs(*cell, timed.max(2).min(candidates.len()) as f64 * self.costs.expect(*place));
            (seconds / self.worth(*cell), seconds, *cell)
        });
        let mut ranked: Vec<(f64, f64, usize)> = timed.filter(|(_, seconds, _)| *seconds <= left || is_first).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
        let (mut wave, mut spent) = (BTreeSet::new(), 0.0);
        for (_, seconds, cell) in ranked {
            if !wave.is_empty() && spent + seconds > WAVE_SHARE * left {
                break;
            }
            // Cells on both sides come in an earlier wave, since they show which candidates it needs.
            let is_begun = |other: usize| wave.contains(&other) || self.known[other].fastest.is_some();
            let waits = |pair: (usize, usize)| wave.contains(&pair.0) || wave.contains(&pair.1);
            let around = [self.neighbours.of_size(cell, is_begun), self.neighbours.of_ranks(cell, is_begun)];
            if around.into_iter().flatten().any(waits) {
                continue;
            }
            spent += seconds;
            wave.insert(cell);
        }
        self.end = elapsed + EXCESS * spent;
        self.waiting.retain(|cell| !wave.contains(cell));
        self.wave = wave.into_iter().collect();
        &self.wave
    }
}
