//! Lower bounds of the network in a cell, and crossovers of two algorithms under the model, from the times of patterns.

use collrules_model::pattern_fit::PatternFit;
use collrules_program::{Costs, Reference, play};
use collrules_record::cell::type_size;
use collrules_record::pattern::Shape;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell, Estimate, Nodes, Placement, Ranks};

/// The largest vector in the search for a crossing.
const MOST_BYTES: u64 = 1 << 40;

/// Number of steps from a vector to one of twice the size in the search for a crossing.
const STEPS: u32 = 4;

/// Costs of messages and of the operation, with the participants that they are valid for.
#[derive(Clone, Copy)]
pub(super) struct MachineNumbers<'a> {
    pub(super) fits: &'a [PatternFit],
    pub(super) placement: &'a Placement,
}

/// Costs of a message and of the operation among the ranks of a communicator.
#[derive(Clone, Copy)]
struct Played<'a> {
    link: &'a PatternFit,
    operation: Option<&'a PatternFit>,
}

impl Costs for Played<'_> {
    fn message(&self, bytes: u64) -> f64 {
        self.link.seconds(bytes as f64)
    }

    fn operation(&self, bytes: u64) -> f64 {
        self.operation.map_or(0.0, |fit| fit.seconds(bytes as f64))
    }
}

impl MachineNumbers<'_> {
    /// Returns the fit of a message's time: between hosts if the communicator spans several, otherwise inside a host.
    fn link(&self, ranks: Ranks) -> Option<&PatternFit> {
        let inside = !self.placement.nodes.get(&ranks).is_some_and(Nodes::are_several);
        self.fits.iter().find(|fit| fit.shape == Shape::PingPong && fit.inside == inside)
    }

    fn operation(&self) -> Option<&PatternFit> {
        self.fits.iter().find(|fit| fit.shape == Shape::ReduceLocal)
    }

    /// Lower bound of the time of any algorithm in a cell, in seconds; none if there is no such bound, or no numbers
    /// for it.
    pub(super) fn bound(&self, cell: Cell) -> Option<Estimate> {
        let bound = cell.bound()?;
        let size = type_size(cell.collective) as f64;
        let (moved, reduced) = (bound.moved * size, bound.reduced * size);
        let link = self.link(cell.ranks)?;
        let (empty, line) = (link.regime(0.0)?, link.regime(moved)?);
        let others = (bound.messages - 1.0).max(0.0);
        let operation = if reduced > 0.0 { self.operation()?.regime(reduced)?.per_byte } else { line.per_byte };
        let last = bound.messages - others;
        let parts = [(others, empty.start), (last, line.start), (moved, line.per_byte), (reduced, operation)];
        let point = parts.iter().map(|(amount, cost)| amount * cost.point).sum::<f64>().max(0.0);
        // Errors of the parts are added in quadrature.
        let reach = |end: fn(&Estimate) -> Option<f64>| -> Option<f64> {
            let reaches = parts.iter().map(|(amount, cost)| Some((amount * (end(cost)? - cost.point)).powi(2)));
            Some(reaches.sum::<Option<f64>>()?.sqrt())
        };
        let low = reach(|cost| cost.low).map(|reach| (point - reach).max(0.0));
        let high = reach(|cost| cost.high).map(|reach| point + reach);
        Some(Estimate { point, low, high, level: line.start.level, samples: line.start.samples })
    }

    /// Returns the message bytes of the first crossing of the two reference algorithms in the model; none if there is
    /// none.
    pub(super) fn predicted(&self, cell: Cell, one: Candidate, other: Candidate) -> Option<Bytes> {
        let (Candidate::Reference(one), Candidate::Reference(other)) = (one, other) else { return None };
        let size = type_size(cell.collective);
        let costs = Played { link: self.link(cell.ranks)?, operation: self.operation() };
        let seconds = |cell: Cell, reference: Reference| -> Option<f64> {
            let times = play(&cell.reference(reference)?, &costs).ok()?;
            Some(times.into_iter().fold(0.0, f64::max))
        };
        // Vectors that divide evenly, since a remainder makes additional steps.
        let unit = if cell.collective.counts_blocks() { size } else { size * u64::from(cell.ranks.0) };
        let lead = |units: u64| -> Option<f64> {
            let cell = Cell { bytes: Bytes(units * unit), ..cell };
            Some(seconds(cell, one)? - seconds(cell, other)?)
        };
        let first = lead(1)?;
        let is_turned = |units: u64| Some(lead(units)? * first < 0.0);
        let steps = (1..).map(|step| 2f64.powf(f64::from(step) / f64::from(STEPS)).round() as u64);
        let mut low = 1;
        for mut high in steps.take_while(|units| units * unit <= MOST_BYTES) {
            if is_turned(high)? {
                while high - low > 1 {
                    let middle = low.midpoint(high);
                    *(if is_turned(middle)? { &mut high } else { &mut low }) = middle;
                }
                return Some(Bytes(high * unit));
            }
            low = high;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use collrules_model::pattern_fit::PatternRegime;
    use collrules_rules::Collective;

    use super::*;

    const START: f64 = 20e-6;
    const BYTE: f64 = 1e-9;
    const REDUCED: f64 = 0.25e-9;

    fn fit(shape: Shape, start: f64, per_byte: f64) -> PatternFit {
        let exact = |point| Estimate { point, low: Some(point), high: Some(point), level: 0.95, samples: 6 };
        let (start, per_byte) = (exact(start), exact(per_byte));
        let regime = PatternRegime { first: Bytes(0), last: Bytes(1 << 20), start, per_byte, misfit: 0.0 };
        let cast = collrules_record::Cast::first(Ranks(2));
        PatternFit { shape, ranks: Ranks(2), cast, inside: true, regimes: vec![regime] }
    }

    fn with_numbers<T>(then: impl FnOnce(MachineNumbers<'_>) -> T) -> T {
        let fits = [fit(Shape::PingPong, START, BYTE), fit(Shape::ReduceLocal, 0.0, REDUCED)];
        then(MachineNumbers { fits: &fits, placement: &Placement { nodes: BTreeMap::new(), ..Placement::default() } })
    }

    /// The table of crossovers on paper, whole vectors in units of alpha over beta with gamma a quarter of beta.
    #[test]
    fn crossovers_are_those_on_paper_within_one_per_cent() {
        let paper = |collective, ranks: u32| -> Option<f64> {
            let p = f64::from(ranks);
            let (levels, q) = (p.log2().ceil(), (p - 1.0) / p);
            let g = REDUCED / BYTE;
            let crossing = match collective {
                Collective::Bcast => (p - 1.0) / (levels - 2.0 * q),
                Collective::Reduce => (p - 1.0) / ((levels - 2.0 * q) + (levels - q) * g),
                Collective::Allgather => (p - 1.0 - 2.0 * levels) / levels,
                Collective::ReduceScatter => (p - 1.0 - 2.0 * levels) / (levels + (levels - q) * g),
                _ => 2.0 * (p - 1.0 - levels) / ((levels - q) * (2.0 + g)),
            };
            (crossing.is_finite() && crossing > 0.0).then_some(crossing * START / BYTE)
        };
        let collectives = [
            Collective::Bcast,
            Collective::Reduce,
            Collective::Allgather,
            Collective::ReduceScatter,
            Collective::Allreduce,
        ];
        for ranks in [4, 8, 16, 32, 6, 12, 24] {
            for collective in collectives {
                let cell = Cell { collective, ranks: Ranks(ranks), bytes: Bytes(0) };
                let [short, long] = Reference::ALL.map(Candidate::Reference);
                let found = with_numbers(|numbers| numbers.predicted(cell, short, long));
                let whole = if collective == Collective::Allgather { f64::from(ranks) } else { 1.0 };
                let found = found.map(|bytes| bytes.0 as f64 * whole);
                let paper = paper(collective, ranks);
                let near = match (found, paper) {
                    (Some(found), Some(paper)) => (found / paper - 1.0).abs() < 0.01,
                    (found, paper) => found.is_none() && paper.is_none(),
                };
                // Sums of trees and buckets are exact at powers of two alone, but for those that have only one of both.
                let exact = ranks.is_power_of_two() || collective == Collective::Allreduce;
                assert!(near || !exact, "{collective} on {ranks}: {found:?} instead of {paper:?}");
            }
        }
    }

    #[test]
    fn a_bound_takes_the_line_of_its_messages() {
        let cell = Cell { collective: Collective::Allreduce, ranks: Ranks(8), bytes: Bytes(8000) };
        let bound = with_numbers(|numbers| numbers.bound(cell)).expect("there is one");
        let exact = 3.0 * START + 2.0 * 7000.0 * BYTE + 7000.0 * REDUCED;
        assert!((bound.point / exact - 1.0).abs() < 1e-9, "{bound:?} instead of {exact}");
        let nothing = MachineNumbers { fits: &[], placement: &Placement::default() };
        assert_eq!(nothing.bound(cell), None);
    }
}
