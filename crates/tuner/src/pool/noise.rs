//! How far a measured log gain may lie from the true one.

use crate::evidence::Evidence;
use crate::statistics::normal_cdf;

/// Standard deviations of the log gain in one launch.
const DEVIATIONS: [f64; 5] = [0.006, 0.024, 0.06, 0.12, 0.3];

/// Their weights before anything is known of the table at hand.
///
/// The larger over the smaller time of two launches, for averages of one benchmark on two clusters, has the median 1.02
/// and 1.06, the 90 % quantile 1.22 and 1.39, the 99 % quantile 1.8 and 2.0 (24 880 and 62 000 public timings of
/// Summit and PEAK). The logarithm of such a ratio has the noise of two times in it, as the log gain of one launch has.
/// These weights give 1.03, 1.20 and 1.65.
const KNOWN: [f64; 5] = [0.0, 0.6, 0.0, 0.3, 0.1];

/// For how many differences between launches what is known stands.
const KNOWN_COUNT: f64 = 30.0;

/// From fewer residuals nothing is learned about what changes from size to size.
const LEAST_RESIDUALS: usize = 40;

const STEPS: usize = 60;

/// A mixture of normal distributions about 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Noise {
    parts: Vec<(f64, f64)>,
}

impl Noise {
    /// Normal of deviation 1: what has a deviation of its own has it as a factor.
    pub(super) fn unit() -> Self {
        Self { parts: vec![(1.0, 1.0)] }
    }

    /// What changes from one message size to the next: mostly of one scale, with outliers.
    pub(super) fn white(deviation: f64) -> Self {
        Self { parts: vec![(deviation, 0.85), (4.0 * deviation, 0.12), ((8.0 * deviation).max(0.3), 0.03)] }
    }

    /// Standard deviations and weights; the weights sum to 1.
    pub(super) fn parts(&self) -> impl Iterator<Item = (f64, f64)> + Clone + '_ {
        self.parts.iter().copied()
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = f64> + '_ {
        self.parts.iter().map(|(_, weight)| *weight)
    }

    /// The number of parts.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The weights as so many observations.
    pub(super) fn counts(&self, total: f64) -> Vec<f64> {
        self.weights().map(|weight| weight * total).collect()
    }

    /// Gives every part some weight, so that it can be learned.
    pub(super) fn open(&mut self) {
        let all = self.parts.len() as f64;
        self.parts.iter_mut().for_each(|(_, weight)| *weight = 0.95 * *weight + 0.05 / all);
    }

    /// Replaces the weights by counts.
    pub(super) fn reweigh(&mut self, counts: &[f64]) {
        let all: f64 = counts.iter().sum();
        self.parts.iter_mut().zip(counts).for_each(|((_, weight), count)| *weight = count / all);
    }

    /// The standard deviation of the whole.
    pub(super) fn deviation(&self) -> f64 {
        self.parts().map(|(deviation, weight)| weight * deviation * deviation).sum::<f64>().sqrt()
    }

    /// The probability that this noise times one factor less this noise times another lies below a limit: what one
    /// value says of the next, when nothing else is known.
    pub(super) fn difference_below(&self, fresh: f64, own: f64, limit: f64) -> f64 {
        let pairs = self.parts().flat_map(|one| self.parts().map(move |other| (one, other)));
        let part = |((a, weight), (b, share))| {
            let spread = f64::hypot(fresh * a, own * b).max(f64::MIN_POSITIVE);
            weight * share * normal_cdf(limit / spread)
        };
        pairs.map(part).sum()
    }
}

/// The noise of one launch, from what is known of other tables and, where points have several launches, from how those
/// of this one differ.
pub(super) fn of_launches(evidence: &[Vec<Evidence>]) -> Noise {
    let differences = evidence
        .iter()
        .flatten()
        .flat_map(|evidence| evidence.basis.launches.windows(2).map(|pair| pair[1].1 - pair[0].1));
    let likelihood: Vec<[f64; DEVIATIONS.len()]> = differences
        .map(|difference| {
            DEVIATIONS.map(|deviation| {
                // The difference has the noise of two launches.
                let z = difference / deviation;
                (-0.25 * z * z).exp() / deviation
            })
        })
        .collect();
    let mut noise = Noise { parts: DEVIATIONS.into_iter().zip(KNOWN).collect() };
    if !likelihood.is_empty() {
        noise.open();
        for _ in 0..STEPS {
            let mut counts = KNOWN.map(|weight| KNOWN_COUNT * weight);
            for likelihood in &likelihood {
                let joint = || likelihood.iter().zip(noise.weights()).map(|(likelihood, weight)| likelihood * weight);
                let total: f64 = joint().sum();
                if total > 0.0 {
                    counts.iter_mut().zip(joint()).for_each(|(count, part)| *count += part / total);
                } else {
                    // Beyond all scales: the widest.
                    counts[DEVIATIONS.len() - 1] += 1.0;
                }
            }
            noise.reweigh(&counts);
        }
    }
    noise
}

/// The standard deviation of what changes from one size to the next, from how far values lie from the mean of their two
/// neighbours. None from too few residuals.
///
/// A tenth of all normal values lie within 0.1257 deviations, and the residual has 1.5 times the variance. True structure,
/// bends and steps, only widens residuals: their lowest tenth shows it least.
pub(super) fn white(mut residuals: Vec<f64>) -> Option<f64> {
    if residuals.len() < LEAST_RESIDUALS {
        return None;
    }
    residuals.iter_mut().for_each(|residual| *residual = residual.abs());
    residuals.sort_unstable_by(f64::total_cmp);
    let tenth = residuals[residuals.len() / 10];
    Some((tenth / 0.125_661 / 1.5f64.sqrt()).clamp(0.002, 0.5))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    fn known() -> Noise {
        of_launches(&[])
    }

    /// The quantiles that the constants claim.
    #[test]
    fn the_known_noise_has_the_published_quantiles() {
        let noise = known();
        let beyond = |ratio: f64| noise.parts().map(|(d, w)| 2.0 * w * normal_cdf(-ratio.ln() / d)).sum::<f64>();
        for (ratio, share) in [(1.03, 0.5), (1.20, 0.1), (1.65, 0.01)] {
            assert!((beyond(ratio) / share - 1.0).abs() < 0.15, "{ratio}: {}", beyond(ratio));
        }
    }

    #[test]
    fn normal_noise_twice_is_root_two() {
        let below = Noise::unit().difference_below(0.1, 0.1, -0.1 * 2f64.sqrt());
        assert!((below - 0.158_655_253_931_457).abs() < 1e-9, "{below}");
    }

    /// Normal noise of deviation 0.1, with a step in the middle that must not pass for noise.
    #[test]
    fn white_noise_is_measured() {
        let normal = ChaCha8Rng::seed_from_u64(1).sample_iter::<f64, _>(StandardNormal);
        let values: Vec<f64> =
            (0..4000).zip(normal).map(|(k, value)| 0.1 * value + if k < 2000 { 0.0 } else { 1.0 }).collect();
        let white = white(values.windows(3).map(|w| w[1] - (w[0] + w[2]) / 2.0).collect()).expect("many");
        assert!((white / 0.1 - 1.0).abs() < 0.1, "{white}");
        assert_eq!(super::white(vec![0.1; 39]), None);
    }
}
