//! Weights of cells: equal, or the time that programs spend in them.
//!
//! With equal weights, the measure is the geometric mean of ratios. With times of programs, seconds are added up: a
//! ratio of sums, since half the time of a call that takes ten seconds saves more than half of one that takes one.

use std::collections::BTreeMap;

use collrules_record::estimate::mean;
use collrules_record::{Cell, Seconds};

/// Weight of a cell in which programs spend no time, relative to 1 for the mean of those in which they do: enough to
/// choose between candidates that are equal otherwise.
const LIGHTEST: f64 = 1e-3;

/// The times of programs under the builtin, over their mean; none if no programs are known.
pub(crate) fn normalized(times: impl IntoIterator<Item = (Cell, Seconds)>) -> BTreeMap<Cell, f64> {
    let mut weights: BTreeMap<Cell, f64> = BTreeMap::new();
    for (cell, time) in times {
        *weights.entry(cell).or_default() += time.0;
    }
    let mean = mean(weights.values());
    if mean > 0.0 {
        weights.values_mut().for_each(|weight| *weight = (*weight / mean).max(LIGHTEST));
    } else {
        weights.clear();
    }
    weights
}

/// Weight of each cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights<'a>(pub(crate) &'a BTreeMap<Cell, f64>);

impl Weights<'_> {
    /// Returns true if the weights are times of programs.
    pub(crate) fn are_times(self) -> bool {
        !self.0.is_empty()
    }

    /// Weight of a cell; 1 without times of programs.
    fn of(self, cell: Cell) -> f64 {
        if self.are_times() { self.0.get(&cell).copied().unwrap_or(LIGHTEST) } else { 1.0 }
    }

    /// Returns the weight of a cell under a choice of this gain: the time that its calls then take, or 1.
    pub(crate) fn under(self, cell: Cell, log_gain: f64) -> f64 {
        if self.are_times() { self.of(cell) * (-log_gain).exp() } else { 1.0 }
    }

    /// Returns the cost of a choice relative to the best one, given the gains of both: the time that is lost, or the
    /// logarithm of its share.
    pub(crate) fn cost(self, cell: Cell, log_gain: f64, best: f64) -> f64 {
        let lost = if self.are_times() { self.under(cell, log_gain) - self.under(cell, best) } else { best - log_gain };
        lost.max(0.0)
    }

    /// Largest cost for this share of the time, if the best choice has weight 1.
    pub(crate) fn bound(self, share: f64) -> f64 {
        if self.are_times() { share } else { share.ln_1p() }
    }

    /// Logarithm of the time over that of the best choice, whose weight is `best`.
    pub(crate) fn log_regret(self, cost: f64, best: f64) -> f64 {
        if self.are_times() { (cost / best).ln_1p() } else { cost / best }
    }

    /// Returns the time of calls with the first of two log times over that with the second, over all of these cells;
    /// both log times are relative to the builtin's. 1 without cells.
    pub(crate) fn ratio(self, cells: impl Iterator<Item = (Cell, f64, f64)>) -> f64 {
        if !self.are_times() {
            let (sum, count) = cells.fold((0.0, 0.0), |(sum, count), (_, one, other)| (sum + one - other, count + 1.0));
            return (sum / f64::max(count, 1.0)).exp();
        }
        let (one, other) = cells.fold((0.0, 0.0), |(all, others), (cell, one, other)| {
            (all + self.of(cell) * one.exp(), others + self.of(cell) * other.exp())
        });
        if other > 0.0 { one / other } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    fn cell(bytes: u64) -> Cell {
        Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) }
    }

    /// Calls of 9 s that become 3 s, and of 1 s that stay: 10 s become 4 s.
    #[test]
    fn seconds_are_added_and_ratios_multiplied() {
        let halves = || [(cell(1), 0.0, -(3.0f64.ln())), (cell(2), 0.0, 0.0)].into_iter();
        let times = normalized([(cell(1), Seconds(9.0)), (cell(2), Seconds(1.0))]);
        assert!((Weights(&times).ratio(halves()) - 2.5).abs() < 1e-12);
        assert!((Weights(&BTreeMap::new()).ratio(halves()) - 3.0f64.sqrt()).abs() < 1e-12);
        for weights in [Weights(&times), Weights(&BTreeMap::new())] {
            assert_eq!(weights.ratio(std::iter::empty()), 1.0);
            // A loss of a share costs the same for any weight.
            let (best, own) = (2.0f64.ln(), 2.0f64.ln() - 0.03f64.ln_1p());
            let (cost, unit) = (weights.cost(cell(1), own, best), weights.under(cell(1), best));
            assert!((cost / unit - weights.bound(0.03)).abs() < 1e-12);
            assert!((weights.log_regret(cost, unit) - 0.03f64.ln_1p()).abs() < 1e-12);
        }
    }

    #[test]
    fn what_no_program_calls_counts_for_little() {
        let times = normalized([(cell(1), Seconds(3.0)), (cell(1), Seconds(1.0)), (cell(2), Seconds(0.0))]);
        assert_eq!(times, BTreeMap::from([(cell(1), 2.0), (cell(2), LIGHTEST)]));
        assert_eq!(Weights(&times).under(cell(3), 0.0), LIGHTEST);
        assert!(normalized([(cell(1), Seconds(0.0))]).is_empty());
    }
}
