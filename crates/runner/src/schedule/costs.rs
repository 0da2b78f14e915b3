//! Times of calls that were not made, extrapolated from those that were.

use std::collections::BTreeMap;

use collrules_record::{Bytes, Cell, Ranks};
use collrules_rules::Collective;

use super::history::DECISION_VISITS;

/// Message bytes that take about as long as the latency: time grows with the sum of both.
const LATENCY_BYTES: f64 = 1024.0;

/// Seconds of a call on two ranks, if nothing is known.
const UNKNOWN_CALL: f64 = 10e-6;

/// Mean seconds of a candidate's call in the cells that were called.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    lines: BTreeMap<(Collective, Ranks), BTreeMap<Bytes, f64>>,
}

impl Costs {
    /// Records the mean seconds of a candidate in a cell.
    pub fn learn(&mut self, cell: Cell, seconds: f64) {
        self.lines.entry((cell.collective, cell.ranks)).or_default().insert(cell.bytes, seconds);
    }

    /// Returns true if nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The largest size of a collective on a communicator that was called.
    pub(super) fn largest(&self, line: (Collective, Ranks)) -> Option<Bytes> {
        self.lines.get(&line)?.last_key_value().map(|(bytes, _)| *bytes)
    }

    /// Expected mean seconds of a candidate in a cell: proportional to its size, from the next smaller one that was called
    /// on as many ranks, or else on the nearest number of ranks.
    pub(super) fn expect(&self, Cell { collective, ranks, bytes }: Cell) -> f64 {
        let size = |bytes: Bytes| bytes.0 as f64 + LATENCY_BYTES;
        let on_line = |line: &BTreeMap<Bytes, f64>| {
            let below = line.range(..=bytes).next_back().map(|(known, mean)| mean * size(bytes) / size(*known));
            below.or_else(|| line.first_key_value().map(|(_, mean)| *mean))
        };
        let ratio = |other: Ranks| f64::from(ranks.0.max(1)) / f64::from(other.0.max(1));
        let nearest = || {
            let lines = self.lines.iter().filter(|((other, _), _)| *other == collective);
            let distance = |line: &(&(Collective, Ranks), _)| ratio(line.0.1).ln().abs();
            let near = lines.min_by(|a, b| distance(a).total_cmp(&distance(b)));
            near.and_then(|((_, other), line)| Some(on_line(line)? * ratio(*other).max(1.0)))
        };
        let own = self.lines.get(&(collective, ranks)).and_then(on_line);
        let unknown = || UNKNOWN_CALL * f64::from(ranks.0.max(2)).log2() * size(bytes) / LATENCY_BYTES;
        own.or_else(nearest).unwrap_or_else(unknown)
    }

    /// Expected seconds until this many candidates of a cell are checked and have the visits that a decision needs.
    pub fn deciding(&self, cell: Cell, candidates: usize) -> f64 {
        f64::from(1 + DECISION_VISITS) * candidates as f64 * self.expect(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_the_size_and_the_number_of_ranks() {
        let cell = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let mut costs = Costs::default();
        assert!(costs.expect(cell(4, 8)) > 0.0, "a guess");
        costs.learn(cell(4, 1024), 1.0);
        costs.learn(cell(4, 7168), 3.0);
        assert_eq!([8, 1024, 3072, 7168, 15360].map(|bytes| costs.expect(cell(4, bytes))), [1.0, 1.0, 2.0, 3.0, 6.0]);
        assert_eq!(
            [costs.expect(cell(8, 1024)), costs.expect(cell(2, 1024))],
            [2.0, 1.0],
            "fewer ranks may take as long"
        );
        assert_eq!(costs.deciding(cell(4, 1024), 3), 30.0);
    }
}
