//! Comparison by means, which include rare slow calls.

use collrules_record::Estimate;

use crate::cells::TimingPair;
use crate::statistics::{LogRatio, Score, mean};

/// Comparison of two candidates by their means.
pub(crate) struct ByMeans {
    /// The builtin's mean over the candidate's.
    pub(crate) gain: Estimate,
    pub(crate) p_value: f64,
    pub(crate) score: Score,
    /// The standard error of the gain's logarithm.
    pub(crate) error: f64,
}

/// A normal statistic has no steps to correct for: this unit is large enough to make the correction for ranks vanish.
const UNIT: f64 = 1e9;

/// The ratio of means with Student's interval; the visit is the unit of replication, as it is for medians. None without pairs.
pub(crate) fn by_means(pairs: &[TimingPair], level: f64) -> Option<ByMeans> {
    let visits: Vec<(f64, f64)> =
        pairs.chunk_by(|a, b| (a.launch, a.visit) == (b.launch, b.visit)).map(means).collect();
    let (builtin, own) = (mean_of(&visits, |visit| visit.0), mean_of(&visits, |visit| visit.1));
    let count = visits.len() as f64;
    let log_gain = (builtin / own).ln();
    // To first order, the logarithm of a ratio of means varies like the difference of the values, each over its mean.
    let squares: f64 = visits.iter().map(|visit| (visit.0 / builtin - visit.1 / own).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let test = LogRatio { log: log_gain, error, degrees: count - 1.0, samples: visits.len() };
    Some(ByMeans {
        gain: test.estimate(level),
        p_value: test.p_above(0.0),
        score: Score { excess: -UNIT * log_gain / error, deviation: UNIT },
        error,
    })
    .filter(|found| found.gain.point.is_finite())
}

/// The logarithm of the ratio of means for each group of consecutive pairs with equal keys.
pub(crate) fn log_gains<K: PartialEq>(pairs: &[TimingPair], key: impl Fn(&TimingPair) -> K) -> Vec<(K, f64)> {
    let one = |pairs: &[TimingPair]| {
        let (builtin, own) = means(pairs);
        (key(&pairs[0]), (builtin / own).ln())
    };
    pairs.chunk_by(|a, b| key(a) == key(b)).map(one).collect()
}

fn means(pairs: &[TimingPair]) -> (f64, f64) {
    (mean_of(pairs, |pair| pair.seconds.0), mean_of(pairs, |pair| pair.seconds.1))
}

fn mean_of<T>(all: &[T], value: impl Fn(&T) -> f64) -> f64 {
    mean(&all.iter().map(value).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the residuals -1/4, 1/4, 1/2, -1/2 of b/4 - c/2 have the standard error sqrt(5/8 / 3 / 4), so that
    /// t = ln 2 / 0.228218 = 3.0372; with 3 degrees of freedom, P(T > t) = 1/2 - (atan x + x / (1 + x^2)) / pi for
    /// x = t / sqrt 3.
    #[test]
    fn a_ratio_of_means_has_the_error_of_its_residuals() {
        let pair = |(visit, b, c): (u32, f64, f64)| TimingPair { launch: 0, visit, log_gain: 0.0, seconds: (b, c) };
        let pairs = [(0, 3.0, 2.0), (1, 5.0, 2.0), (2, 4.0, 1.0), (3, 4.0, 3.0)].map(pair);
        let found = by_means(&pairs, 0.95).expect("pairs");
        assert!((found.gain.point - 2.0).abs() < 1e-12 && (found.error - 0.228_218).abs() < 1e-6, "{}", found.error);
        assert!((found.p_value - 0.0279951).abs() < 1e-6, "{}", found.p_value);
        assert!(by_means(&[], 0.95).is_none());
    }
}
