//! Differences of the gains of a cell from pair to pair.
//!
//! With three to five pairs the variance of a single cell is very uncertain. Cells of a collective are similar, so
//! their variances borrow from each other (see [`moderation`](super::moderation)). But cells of one launch share its
//! noise: fifty cells that are slower in a slow launch are not fifty independent observations. So the degrees of
//! freedom are reduced to their effective number. For residuals with correlation `r` between cells of a pair, the mean
//! square of N of them varies as that of `N / (1 + m r^2)` independent ones would, m being the number of others in its
//! pair; with `r = 1` that leaves the degrees of one cell. There are two such correlations, of cells on the same
//! communicator and of others.
//!
//! If time is short, cells differ in the number of rounds of their launches. Variances are compared after correction
//! for that: they are assumed to be proportional to a power of `1/n + 1/m`, with n and m the rounds of the two launches
//! of a pair. The power is fitted to all cells by least squares, and lies between 0 (only launches differ) and 1 (only
//! rounds differ).

use std::collections::BTreeMap;

use collrules_record::{Cell, Ranks};
use collrules_rules::Collective;

use statrs::function::gamma::digamma;

use super::moderation::{CellVariance, moderate};
use crate::statistics::{LogRatio, Variance};

/// The logarithms of a cell's speedup in each pair.
pub(crate) struct PairGains {
    pub(crate) cell: Cell,
    pub(crate) of_pairs: BTreeMap<u32, f64>,
    /// Mean over the pairs of 1/n + 1/m, with n rounds without the file and m with it.
    pub(crate) per_round: f64,
}

impl PairGains {
    pub(super) fn mean(&self) -> f64 {
        self.of_pairs.values().sum::<f64>() / self.of_pairs.len() as f64
    }

    /// The test of the mean with the noise of a pair; none without degrees of freedom.
    pub(super) fn test(&self, Noise { variance, degrees }: Noise) -> Option<LogRatio> {
        (degrees > 0.0).then(|| LogRatio::new(self.mean(), variance, degrees, self.of_pairs.len()))
    }
}

/// A collective with fewer cells than this borrows from all others of its kind.
const LEAST_CELLS: usize = 6;

/// Lower bound of the variation of times, as a logarithm: medians of equal readings of a clock are not certain.
pub(crate) const FLOOR: f64 = 1e-3;

/// The variance of a cell's log gain in one pair, with its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise {
    pub(crate) variance: f64,
    /// Degrees of freedom.
    pub(crate) degrees: f64,
}

/// The noise of each cell; missing if no cell has two pairs.
pub(crate) fn estimate(gains: &[PairGains]) -> Vec<Option<Noise>> {
    let kinds = kinds(gains);
    let scales = scales(gains, &kinds);
    let own: Vec<CellVariance> = gains.iter().zip(&scales).map(|(gains, scale)| own(gains, *scale)).collect();
    let mut noise = vec![None; gains.len()];
    for kind in kinds {
        let members: Vec<CellVariance> = kind.iter().map(|at| own[*at]).collect();
        let degrees: f64 = members.iter().map(|own| own.degrees).sum();
        if degrees == 0.0 {
            continue;
        }
        let pooled = members.iter().map(|own| own.degrees * own.variance).sum::<f64>() / degrees;
        let cells: Vec<(&PairGains, f64)> = kind.iter().map(|at| (&gains[*at], scales[*at])).collect();
        let worth = degrees / design_effect(&cells, pooled);
        for (at, moderated) in kind.iter().zip(moderate(&members, worth)) {
            noise[*at] = Some(Noise { variance: moderated.variance * scales[*at], degrees: moderated.degrees });
        }
    }
    noise
}

/// Indices of cells that borrow from each other: those of a collective, small collectives together.
fn kinds(gains: &[PairGains]) -> Vec<Vec<usize>> {
    let mut kinds: BTreeMap<Collective, Vec<usize>> = BTreeMap::new();
    for (at, gains) in gains.iter().enumerate() {
        kinds.entry(gains.cell.collective).or_default().push(at);
    }
    let (mut large, small): (Vec<_>, Vec<_>) = kinds.into_values().partition(|kind| kind.len() >= LEAST_CELLS);
    let rest: Vec<usize> = small.into_iter().flatten().collect();
    if !rest.is_empty() {
        large.push(rest);
    }
    large
}

/// Computes the effect of the number of rounds on each cell's variance, relative to the mean of its kind.
fn scales(gains: &[PairGains], kinds: &[Vec<usize>]) -> Vec<f64> {
    let mut centred = vec![0.0; gains.len()];
    let (mut products, mut squares) = (0.0, 0.0);
    for kind in kinds {
        let seen: Vec<usize> = kind.iter().copied().filter(|at| gains[*at].of_pairs.len() > 1).collect();
        let mean = |of: &dyn Fn(&PairGains) -> f64| {
            seen.iter().map(|at| of(&gains[*at])).sum::<f64>() / seen.len().max(1) as f64
        };
        let place = |gains: &PairGains| gains.per_round.ln();
        let height = |gains: &PairGains| {
            let CellVariance { variance, degrees } = own(gains, 1.0);
            // The mean logarithm of a sample variance is lower with fewer pairs.
            variance.ln() - digamma(degrees / 2.0) + (degrees / 2.0).ln()
        };
        let (middle, level) = (mean(&place), mean(&height));
        for at in kind {
            centred[*at] = if seen.is_empty() { 0.0 } else { place(&gains[*at]) - middle };
        }
        for at in &seen {
            products += centred[*at] * (height(&gains[*at]) - level);
            squares += centred[*at].powi(2);
        }
    }
    let power = if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 };
    centred.into_iter().map(|place| (power * place).exp()).collect()
}

fn own(gains: &PairGains, scale: f64) -> CellVariance {
    let degrees = gains.of_pairs.len() as f64 - 1.0;
    let values: Vec<f64> = gains.of_pairs.values().copied().collect();
    let variance = if degrees > 0.0 { Variance::from_values(&values).value().max(FLOOR * FLOOR) / scale } else { 0.0 };
    CellVariance { variance, degrees }
}

/// Returns the ratio of apparent to effective degrees of freedom.
fn design_effect(cells: &[(&PairGains, f64)], pooled: f64) -> f64 {
    // Residuals of unit variance, by pair and communicator.
    let mut pairs: BTreeMap<u32, BTreeMap<(Collective, Ranks), Sum>> = BTreeMap::new();
    for (gains, scale) in cells.iter().filter(|(gains, _)| gains.of_pairs.len() > 1) {
        let (count, mean) = (gains.of_pairs.len() as f64, gains.mean());
        let scale = (count / (count - 1.0) / pooled / scale).sqrt();
        for (pair, gain) in &gains.of_pairs {
            let block = (gains.cell.collective, gains.cell.ranks);
            pairs.entry(*pair).or_default().entry(block).or_default().add((gain - mean) * scale);
        }
    }
    // Products of different cells of a pair: on the same communicator, and all.
    let (mut near, mut all) = (Sum::default(), Sum::default());
    let mut count = 0.0;
    for blocks in pairs.values() {
        let mut whole = Sum::default();
        for block in blocks.values() {
            near.absorb(block.products());
            whole.absorb(*block);
        }
        all.absorb(whole.products());
        count += whole.count;
    }
    let far = Sum { sum: all.sum - near.sum, count: all.count - near.count, squares: 0.0 };
    let correlation = |products: Sum| (products.sum / products.count.max(1.0)).clamp(0.0, 1.0);
    let others = |products: Sum| products.count / f64::max(count, 1.0);
    1.0 + others(near) * correlation(near).powi(2) + others(far) * correlation(far).powi(2)
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    squares: f64,
    count: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.absorb(Self { sum: value, squares: value * value, count: 1.0 });
    }

    fn absorb(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares += other.squares;
        self.count += other.count;
    }

    /// The products of each value with each other one, and their number.
    fn products(self) -> Self {
        Self { sum: self.sum * self.sum - self.squares, count: self.count * (self.count - 1.0), squares: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Cell};

    use super::*;

    fn cell(place: u64, gains: &[f64]) -> PairGains {
        PairGains {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(place) },
            of_pairs: (0..).zip(gains.iter().copied()).collect(),
            per_round: 0.1,
        }
    }

    /// Ten cells that move together are worth one: 3 degrees of freedom of 30.
    #[test]
    fn what_moves_together_counts_once() {
        let together: Vec<PairGains> = (0..10).map(|place| cell(place, &[0.1, -0.1, 0.2, 0.0])).collect();
        let noise = estimate(&together);
        let one = noise[0].expect("four pairs");
        assert!((one.variance - 0.05 / 3.0).abs() < 1e-9, "{one:?}");
        assert!((one.degrees - 3.0).abs() < 1e-6, "{one:?}");
    }

    #[test]
    fn without_a_second_pair_there_is_nothing_to_say() {
        assert_eq!(estimate(&[cell(1, &[0.3]), cell(2, &[0.1])]), [None, None]);
        assert_eq!(estimate(&[]), []);
        // One with a single pair borrows from one with two.
        let both = estimate(&[cell(1, &[0.3]), cell(2, &[0.1, 0.2])]);
        assert!(both.iter().all(Option::is_some), "{both:?}");
    }
}
