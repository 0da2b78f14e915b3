//! Ranks with ties, and rank tests of several strata taken together.

use super::normal_cdf;

/// Ranks the values, which have to be numbers, from 1, with mean ranks for ties. Returns with them the sum of `t^3 - t` over
/// groups of `t` equal values: 0 if and only if there are no ties.
pub(super) fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut below = 0;
    for group in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let size = group.len();
        // The mean of below + 1 ..= below + size.
        let rank = below as f64 + (size + 1) as f64 / 2.0;
        for place in group {
            ranks[*place] = rank;
        }
        ties += (size as f64).powi(3) - size as f64;
        below += size;
    }
    (ranks, ties)
}

/// A rank statistic relative to its distribution without any effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The statistic minus its mean without any effect: negative values are evidence of an effect.
    pub(crate) excess: f64,
    /// Its standard deviation without any effect; 0 if nothing varies.
    pub(crate) deviation: f64,
}

impl Score {
    /// The one-sided p value by the normal approximation, with a continuity correction of one half.
    pub(super) fn p_value(self) -> f64 {
        normal_cdf((self.excess + 0.5) / self.deviation)
    }
}

/// The one-sided p value of strata together: that of the sum of their standardised statistics.
///
/// Every stratum has the same weight, however many values it has, as in a mean over strata. The strata have to be
/// independent, so that the variance of the sum is their number; the sum is near to normal. The continuity correction
/// is that of the coarsest stratum, which is the usual one where there is one stratum or all are of one size. A stratum
/// in which nothing varies says nothing and has no part. Without any the p value is 1.
pub(crate) fn stratified(scores: &[Score]) -> f64 {
    let varying = || scores.iter().filter(|score| score.deviation > 0.0);
    let strata = varying().count();
    if strata == 0 {
        return 1.0;
    }
    let sum: f64 = varying().map(|score| score.excess / score.deviation).sum();
    let correction = varying().map(|score| 0.5 / score.deviation).fold(0.0, f64::max);
    normal_cdf((sum + correction) / (strata as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::super::{mann_whitney, signed_rank};
    use super::*;

    #[test]
    fn one_stratum_is_the_test_itself() {
        let differences = [-1.0, -1.0, 2.0, -2.0, -3.0, 3.0, -3.0, -4.0, -5.0, -5.0];
        let (p_value, score) = signed_rank(&differences);
        assert_eq!(stratified(&[score]), p_value);
        let (x, y) = ([1.0, 2.0, 2.0, 3.0, 4.0], [2.0, 3.0, 3.0, 5.0, 5.0, 6.0, 6.0]);
        let (p_value, score) = mann_whitney(&x, &y);
        assert!((stratified(&[score]) / p_value - 1.0).abs() < 1e-9);
    }

    /// Six differences below 0 have the excess -10.5 and the variance 22.75. Two such strata have
    /// `z = (-21 + 0.5) / sqrt(45.5)`; one in the other direction takes it all back.
    #[test]
    fn strata_add_up() {
        let down = signed_rank(&[-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]).1;
        let up = Score { excess: -down.excess, ..down };
        let nothing = signed_rank(&[0.0; 6]).1;
        assert_eq!((down.excess, down.deviation), (-10.5, 22.75f64.sqrt()));
        let reference = normal_cdf(-20.5 / 45.5f64.sqrt());
        assert!((stratified(&[down, nothing, down]) / reference - 1.0).abs() < 1e-12);
        assert!(stratified(&[down, up]) > 0.5);
        assert_eq!(stratified(&[]), 1.0);
        assert_eq!(stratified(&[nothing]), 1.0);
    }

    /// All signs that 6 and 7 differences can have, each as likely as any other.
    #[test]
    fn the_error_rate_is_kept_in_small_strata() {
        let sizes = [0.3, 0.7, 1.1, 1.9, 2.3, 4.2, 0.4, 0.5, 1.3, 2.9, 3.1, 3.3, 9.7];
        let patterns = 1u32 << sizes.len();
        let p_value = |pattern: u32| {
            let sign = |place: usize| if pattern >> place & 1 == 0 { -1.0 } else { 1.0 };
            let signed: Vec<f64> = sizes.iter().enumerate().map(|(place, size)| sign(place) * size).collect();
            stratified(&[signed_rank(&signed[..6]).1, signed_rank(&signed[6..]).1])
        };
        let p_values: Vec<f64> = (0..patterns).map(p_value).collect();
        for rate in [0.1, 0.05, 0.01, 0.002] {
            let share = p_values.iter().filter(|p_value| **p_value <= rate).count() as f64 / f64::from(patterns);
            assert!(share <= 1.05 * rate, "{share} instead of {rate}");
            assert!(share >= 0.25 * rate, "{share} instead of {rate}");
        }
    }

    /// `scipy.stats.rankdata([3, 1, 4, 1, 5, 1, 4])`
    #[test]
    fn ties_share_their_mean_rank() {
        let (places, ties) = ranks(&[3.0, 1.0, 4.0, 1.0, 5.0, 1.0, 4.0]);
        assert_eq!(places, [4.0, 2.0, 5.5, 2.0, 7.0, 2.0, 5.5]);
        assert_eq!(ties, 24.0 + 6.0);
        assert_eq!(ranks(&[]), (vec![], 0.0));
    }
}
