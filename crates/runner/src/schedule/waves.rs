//! Order of cells in a launch whose time may not be enough for all of them: a wave of cells gets all visits that a
//! decision needs from the launch, then the next wave begins. First come the cells that are worth most per second.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Bytes, Cell, Ranks};
use collrules_rules::Collective;

use super::costs::Costs;
use crate::launch::{LaunchCell, LaunchPlan};

/// Largest share of the remaining time for a wave, so that the next one is chosen with the times that this one shows.
const WAVE_SHARE: f64 = 0.25;

/// Multiple of its expected time after which a wave begins no more cells.
const EXCESS: f64 = 2.0;

/// Largest ratio of a size to the largest one of its line that was called, so that times are not extrapolated too far.
const STEP: u64 = 16;

/// Cells that a launch did not begin, and those of the current wave.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    /// Cells that were not begun.
    waiting: Vec<usize>,
    /// Cells of the current wave, and the time after which it begins no more cells.
    wave: Vec<usize>,
    end: f64,
    /// The cell of each index, with its worth and its number of candidates.
    cells: Vec<(Cell, f64, usize)>,
    costs: Costs,
}

impl Waves {
    /// All cells of a launch; none if its time is not limited, if it is a launch of an arm, or if it is for programs,
    /// which need all of their cells.
    pub(super) fn of_launch(plan: &LaunchPlan) -> Option<Self> {
        let is_limited = plan.schedule.budget.is_some_and(|budget| budget.0 > 0.0);
        let is_weighed = plan.cells.iter().any(|planned| planned.weight.is_some());
        let cell = |planned: &LaunchCell| (planned.cell, planned.worth, planned.candidates.len());
        (is_limited && !is_weighed).then(|| Self {
            waiting: (0..plan.cells.len()).collect(),
            wave: Vec::new(),
            end: 0.0,
            cells: plan.cells.iter().map(cell).collect(),
            costs: Costs::default(),
        })
    }

    /// Returns true for cells; patterns are in no wave.
    pub(super) fn has(&self, subject: usize) -> bool {
        subject < self.cells.len()
    }

    /// Records the seconds of a round of this many candidates of a cell.
    pub(super) fn learn(&mut self, cell: usize, round: f64, candidates: usize) {
        if let Some((cell, ..)) = self.cells.get(cell).filter(|_| candidates > 0) {
            self.costs.learn(*cell, round / candidates as f64);
        }
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
        let line_of = |cell: usize| (self.cells[cell].0.collective, self.cells[cell].0.ranks);
        let mut reach: BTreeMap<(Collective, Ranks), Bytes> = BTreeMap::new();
        for cell in &self.waiting {
            let bytes = self.cells[*cell].0.bytes;
            reach.entry(line_of(*cell)).and_modify(|least| *least = bytes.min(*least)).or_insert(bytes);
        }
        for (line, reach) in &mut reach {
            let known = self.costs.largest(*line).map_or(0, |known| known.0.max(1));
            *reach = (*reach).max(Bytes(known.saturating_mul(STEP)));
        }
        let near = self.waiting.iter().filter(|cell| self.cells[**cell].0.bytes <= reach[&line_of(**cell)]);
        let timed = near.map(|cell| {
            let (place, _, candidates) = self.cells[*cell];
            (needs(*cell, candidates as f64 * self.costs.expect(place)), *cell)
        });
        let mut ranked: Vec<(f64, usize)> = timed.filter(|(seconds, _)| *seconds <= left || is_first).collect();
        let per_worth = |(seconds, cell): &(f64, usize)| seconds / self.cells[*cell].1;
        ranked.sort_by(|a, b| per_worth(a).total_cmp(&per_worth(b)).then(a.1.cmp(&b.1)));
        let (mut wave, mut spent) = (BTreeSet::new(), 0.0);
        for (seconds, cell) in ranked {
            if !wave.is_empty() && spent + seconds > WAVE_SHARE * left {
                break;
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
