//! Order of cells in a launch whose time may not be enough for all of them: a wave of cells gets all visits that a
//! decision needs from the launch, then the next wave begins. First come the cells that are worth most per second.
//!
//! Times of cells that were not called are extrapolated from those that were.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Bytes, Cell, Ranks};
use collrules_rules::Collective;

use crate::launch::{LaunchCell, LaunchPlan};

/// Largest share of the remaining time for a wave, so that the next one is chosen with the times that this one shows.
const WAVE_SHARE: f64 = 0.25;

/// Multiple of its expected time after which a wave begins no more cells.
const EXCESS: f64 = 2.0;

/// Message bytes that take about as long as the latency: time grows with the sum of both.
const LATENCY_BYTES: f64 = 1024.0;

/// Largest ratio of a size to the largest one of its line that was called, so that times are not extrapolated too far.
const STEP: u64 = 16;

/// Seconds of a call on two ranks, if nothing is known.
const UNKNOWN_CALL: f64 = 10e-6;

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
    /// Mean seconds of a candidate at the sizes of a collective on a communicator that were called.
    lines: BTreeMap<(Collective, Ranks), BTreeMap<Bytes, f64>>,
}

impl Waves {
    /// All cells of a launch; none if its time is not limited, if it is a launch of an arm, or if it is for programs,
    /// which need all of their cells.
    pub(super) fn of_launch(plan: &LaunchPlan) -> Option<Self> {
        let is_limited = plan.schedule.budget.is_some_and(|budget| budget.0 > 0.0) && plan.schedule.loop_time.is_none();
        let is_weighed = plan.cells.iter().any(|planned| planned.weight.is_some());
        let cell = |planned: &LaunchCell| (planned.cell, planned.worth, planned.candidates.len());
        (is_limited && !is_weighed).then(|| Self {
            waiting: (0..plan.cells.len()).collect(),
            wave: Vec::new(),
            end: 0.0,
            cells: plan.cells.iter().map(cell).collect(),
            lines: BTreeMap::new(),
        })
    }

    /// Records the seconds of a round of this many candidates of a cell.
    pub(super) fn learn(&mut self, cell: usize, round: f64, candidates: usize) {
        if let Some((Cell { collective, ranks, bytes }, ..)) = self.cells.get(cell).filter(|_| candidates > 0) {
            let line = self.lines.entry((*collective, *ranks)).or_default();
            line.insert(*bytes, round / candidates as f64);
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
        let is_first = self.lines.is_empty();
        let line_of = |cell: usize| (self.cells[cell].0.collective, self.cells[cell].0.ranks);
        let mut reach: BTreeMap<(Collective, Ranks), Bytes> = BTreeMap::new();
        for cell in &self.waiting {
            let bytes = self.cells[*cell].0.bytes;
            reach.entry(line_of(*cell)).and_modify(|least| *least = bytes.min(*least)).or_insert(bytes);
        }
        for (line, known) in &self.lines {
            if let (Some(reach), Some((known, _))) = (reach.get_mut(line), known.last_key_value()) {
                *reach = (*reach).max(Bytes(known.0.max(1).saturating_mul(STEP)));
            }
        }
        let near = self.waiting.iter().filter(|cell| self.cells[**cell].0.bytes <= reach[&line_of(**cell)]);
        let timed = near.map(|cell| (needs(*cell, self.round(*cell)), *cell));
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

    /// Expected seconds of a round of all candidates of a cell.
    fn round(&self, cell: usize) -> f64 {
        let (Cell { collective, ranks, bytes }, _, candidates) = self.cells[cell];
        let size = |bytes: Bytes| bytes.0 as f64 + LATENCY_BYTES;
        let on_line = |line: &BTreeMap<Bytes, f64>| {
            let below = line.range(..=bytes).next_back().map(|(known, mean)| mean * size(bytes) / size(*known));
            below.or_else(|| line.first_key_value().map(|(_, mean)| *mean))
        };
        let nearest = || {
            let of_collective = self.lines.iter().filter(|((other, _), _)| *other == collective);
            let ratio = |other: Ranks| f64::from(ranks.0) / f64::from(other.0.max(1));
            let near = of_collective.min_by(|a, b| {
                let distance = |other: Ranks| ratio(other).ln().abs();
                distance(a.0.1).total_cmp(&distance(b.0.1))
            });
            near.and_then(|((_, other), line)| Some(on_line(line)? * ratio(*other).max(1.0)))
        };
        let own = self.lines.get(&(collective, ranks)).and_then(on_line);
        let unknown = || UNKNOWN_CALL * f64::from(ranks.0.max(2)).log2() * size(bytes) / LATENCY_BYTES;
        candidates as f64 * own.or_else(nearest).unwrap_or_else(unknown)
    }
}
