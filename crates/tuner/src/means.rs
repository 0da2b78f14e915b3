//! Comparison by means, in which rare slow calls count for what they take.

use collrules_record::Estimate;

use crate::cells::Pair;
use crate::statistics::{Score, mean, student_p, student_quantile};

/// What the means of calls that were timed side by side say.
pub(crate) struct ByMeans {
    /// The builtin's mean over the candidate's.
    pub(crate) gain: Estimate,
    pub(crate) p_value: f64,
    pub(crate) score: Score,
    /// The standard error of the gain's logarithm.
    pub(crate) error: f64,
}

/// A normal statistic has no steps to correct for: so large a unit leaves nothing of the correction for ranks.
const UNIT: f64 = 1e9;

/// The ratio of means with Student's interval; the visit is the unit of replication, as it is for medians. None without pairs.
pub(crate) fn by_means(pairs: &[Pair], level: f64) -> Option<ByMeans> {
    let visits: Vec<(f64, f64)> =
        pairs.chunk_by(|a, b| (a.launch, a.visit) == (b.launch, b.visit)).map(means).collect();
    let (builtin, own) = (mean_of(&visits, |visit| visit.0), mean_of(&visits, |visit| visit.1));
    let count = visits.len() as f64;
    let log_gain = (builtin / own).ln();
    // To first order, the logarithm of a ratio of means varies as the difference of both over their means does.
    let squares: f64 = visits.iter().map(|visit| (visit.0 / builtin - visit.1 / own).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let reach = student_quantile(level, count - 1.0) * error;
    Some(ByMeans {
        gain: Estimate::ratio(log_gain, reach, level, visits.len()),
        p_value: student_p(log_gain / error, count - 1.0),
        score: Score { excess: -UNIT * log_gain / error, deviation: UNIT },
        error,
    })
    .filter(|found| found.gain.point.is_finite())
}

/// The logarithm of the ratio of means in each run of pairs with the same key.
pub(crate) fn log_gains<K: PartialEq>(pairs: &[Pair], key: impl Fn(&Pair) -> K) -> Vec<(K, f64)> {
    let one = |pairs: &[Pair]| {
        let (builtin, own) = means(pairs);
        (key(&pairs[0]), (builtin / own).ln())
    };
    pairs.chunk_by(|a, b| key(a) == key(b)).map(one).collect()
}

fn means(pairs: &[Pair]) -> (f64, f64) {
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
        let pair = |(visit, b, c): (u32, f64, f64)| Pair { launch: 0, visit, log_gain: 0.0, seconds: (b, c) };
        let pairs = [(0, 3.0, 2.0), (1, 5.0, 2.0), (2, 4.0, 1.0), (3, 4.0, 3.0)].map(pair);
        let found = by_means(&pairs, 0.95).expect("pairs");
        assert!((found.gain.point - 2.0).abs() < 1e-12 && (found.error - 0.228_218).abs() < 1e-6, "{}", found.error);
        assert!((found.p_value - 0.0279951).abs() < 1e-6, "{}", found.p_value);
        assert!(by_means(&[], 0.95).is_none());
    }
}
