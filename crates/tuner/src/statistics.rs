//! Rank tests, with the correction for multiple tests. Pure functions of numbers, without collectives.

mod mann_whitney;
mod ranks;
mod signed_rank;
mod spread;
mod stratified;
mod student;

pub(crate) use collrules_record::estimate::student_quantile;
pub(crate) use mann_whitney::{mann_whitney, mann_whitney_score};
pub use signed_rank::signed_rank;
pub(crate) use signed_rank::signed_rank_score;
pub(crate) use spread::{LaunchVariance, Variance, launch_variance, mean, standard_error};
pub(crate) use stratified::{Score, stratified};
pub(crate) use student::LogRatio;

use statrs::distribution::{ContinuousCDF, Normal};

/// `P(Z <= z)` of the standard normal distribution; 1 if z is not a number because nothing varies.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    if z.is_nan() { 1.0 } else { Normal::standard().cdf(z) }
}

/// Adjusts p values so that accepting all `q <= r` limits the expected share of wrong ones among the accepted to `r`.
///
/// For p values in ascending order `q(i)` is the minimum over `j >= i` of `p(j) m / j`, at most 1 (Benjamini and
/// Hochberg, *Journal of the Royal Statistical Society B* 57, 1995). The bound holds for tests that are independent or
/// positively dependent, as comparisons with the same builtin are. The order of the input is kept.
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let tests = p_values.len() as f64;
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_unstable_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (below, place) in order.into_iter().enumerate().rev() {
        least = least.min(p_values[place] * tests / (below + 1) as f64);
        adjusted[place] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy 1.17.1: `scipy.stats.false_discovery_control(p, method='bh')`.
    #[test]
    fn adjusted_values_agree_with_scipy() {
        for (p_values, reference) in [
            (vec![0.7], vec![0.7]),
            (vec![0.01, 0.04, 0.03, 0.005], vec![0.02, 0.04, 0.04, 0.02]),
            (vec![0.01, 0.01, 0.02, 0.9, 0.5, 0.5], vec![0.03, 0.03, 0.04, 0.9, 0.6, 0.6]),
            (vec![0.0, 1.0, 0.2, 0.04, 0.049, 0.001, 0.3], vec![0.0, 1.0, 0.28, 0.08575, 0.08575, 0.0035, 0.35]),
        ] {
            for (value, reference) in adjust(&p_values).into_iter().zip(reference) {
                assert!((value - reference).abs() < 1e-12, "{p_values:?}: {value} instead of {reference}");
            }
        }
        assert!(adjust(&[]).is_empty());
    }
}
