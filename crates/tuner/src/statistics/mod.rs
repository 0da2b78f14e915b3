//! Tests, with the correction for multiple ones. Means are tested with
//! [`TestedMean`](collrules_record::estimate::TestedMean).
//!
//! | module | job |
//! |---|---|
//! | here | correction for multiple tests, and several tests as one |
//! | `launches` | how launches differ: tests of pairs of launches, and of launches of two runs |
//! | `moderation` | variances that borrow from each other |
//! | `spread` | standard errors of medians, and the variance between launches beyond that between visits |
//! | `signed_rank` | a rank test of pairs |

mod launches;
mod moderation;
mod signed_rank;
mod spread;

pub use launches::{LaunchLogs, common_means};
pub(crate) use launches::{Replicates, test_all};
pub use signed_rank::signed_rank;
pub(crate) use spread::{launch_variance, standard_error};

use statrs::distribution::{ContinuousCDF, Normal};

/// `P(Z <= z)` of the standard normal distribution; 1 if z is not a number because nothing varies.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    if z.is_nan() { 1.0 } else { Normal::standard().cdf(z) }
}

/// The one-sided p value of independent tests together: that of the sum of their normal scores (Stouffer).
///
/// Every test has the same weight, however many values it has, as in a mean. A p value of 1 is that of values that do not vary,
/// or all speak against the effect: it has no part. Without others the p value is 1.
pub(crate) fn combine(p_values: &[f64]) -> f64 {
    let scores: Vec<f64> = p_values
        .iter()
        .filter(|p_value| **p_value < 1.0)
        .map(|p_value| Normal::standard().inverse_cdf(*p_value))
        .collect();
    normal_cdf(scores.iter().sum::<f64>() / (scores.len() as f64).sqrt())
}

/// Adjusts p values so that accepting all `q <= r` limits the expected share of wrong ones among the accepted to `r`.
///
/// For p values in ascending order `q(i)` is the minimum over `j >= i` of `p(j) m / j`, at most 1 (Benjamini and
/// Hochberg, *Journal of the Royal Statistical Society B* 57, 1995). The bound holds for tests that are independent or
/// positively dependent, as comparisons with the same builtin are. The order of the input is kept; what was not tested
/// does not count.
pub fn adjust(p_values: impl IntoIterator<Item = Option<f64>>) -> Vec<Option<f64>> {
    let mut q_values: Vec<Option<f64>> = p_values.into_iter().collect();
    let mut order: Vec<(f64, usize)> = q_values.iter().enumerate().filter_map(|(at, p)| Some(((*p)?, at))).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (tests, mut least) = (order.len() as f64, 1.0);
    for (below, (p_value, at)) in order.into_iter().enumerate().rev() {
        least = f64::min(least, p_value * tests / (below + 1) as f64);
        q_values[at] = Some(least);
    }
    q_values
}

/// Adjusts the p values of the alternatives of each case, so that accepting all `q <= r` limits the expected share of
/// wrong cases among those with an accepted alternative to `r`, however many alternatives each case has.
///
/// A case has the p value of Simes (*Biometrika* 73, 1986): the smallest of its alternatives' values, adjusted among
/// themselves. Cases are adjusted by [`adjust`]. If `k` of `m` cases are accepted at `r`, then the alternatives of these
/// whose value, adjusted within its case, is at most `r k / m` (Benjamini and Bogomolov, *Journal of the Royal
/// Statistical Society B* 76, 2014): at least one in each. A q value is the least `r` for which this holds.
pub fn adjust_cases(cases: &[Vec<Option<f64>>]) -> Vec<Vec<Option<f64>>> {
    let within: Vec<Vec<Option<f64>>> = cases.iter().map(|case| adjust(case.iter().copied())).collect();
    let simes = |case: &Vec<Option<f64>>| case.iter().flatten().copied().min_by(f64::total_cmp);
    let mut q_values: Vec<f64> = adjust(within.iter().map(simes)).into_iter().flatten().collect();
    q_values.sort_unstable_by(f64::total_cmp);
    let count = q_values.len() as f64;
    let least_rate = |p_value: f64| {
        let rates = q_values.iter().enumerate().map(|(below, q)| q.max(p_value * count / (below + 1) as f64));
        rates.fold(1.0, f64::min)
    };
    within.into_iter().map(|case| case.into_iter().map(|p_value| p_value.map(least_rate)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1/64 and 1/64 have the scores -2.15387.
    #[test]
    fn tests_add_up() {
        let (down, up, nothing) = (1.0 / 64.0, 63.0 / 64.0, 1.0);
        let reference = normal_cdf(-2.0 * 2.153_874_694_061_456 / 2.0_f64.sqrt());
        assert!((combine(&[down, nothing, down]) / reference - 1.0).abs() < 1e-9);
        assert!((combine(&[down, up]) - 0.5).abs() < 1e-9);
        assert!((combine(&[down]) - down).abs() < 1e-12);
        assert_eq!((combine(&[]), combine(&[nothing])), (1.0, 1.0));
    }

    /// All signs that 6 and 7 differences can have, each as likely as any other.
    #[test]
    fn the_error_rate_is_kept_in_small_tests() {
        let sizes = [0.3, 0.7, 1.1, 1.9, 2.3, 4.2, 0.4, 0.5, 1.3, 2.9, 3.1, 3.3, 9.7];
        let patterns = 1u32 << sizes.len();
        let p_value = |pattern: u32| {
            let sign = |place: usize| if pattern >> place & 1 == 0 { -1.0 } else { 1.0 };
            let signed: Vec<f64> = sizes.iter().enumerate().map(|(place, size)| sign(place) * size).collect();
            combine(&[signed_rank(&signed[..6]), signed_rank(&signed[6..])])
        };
        let p_values: Vec<f64> = (0..patterns).map(p_value).collect();
        for rate in [0.1, 0.05, 0.01, 0.002] {
            let share = p_values.iter().filter(|p_value| **p_value <= rate).count() as f64 / f64::from(patterns);
            assert!(share <= 1.05 * rate, "{share} instead of {rate}");
            assert!(share >= 0.25 * rate, "{share} instead of {rate}");
        }
    }

    /// By hand. Within the cases: 0.02 and 0.04, 0.03 and 0.03, 0.5. Cases: 0.02 and 0.03 adjust to 0.045, 0.5 to 0.5.
    /// Two of three are accepted at 0.045, then alternatives up to 0.03, and 0.04 at 0.06.
    #[test]
    fn a_case_counts_once_however_many_alternatives_it_has() {
        let cases = [vec![Some(0.01), None, Some(0.04)], vec![Some(0.03), Some(0.02)], vec![Some(0.5)], vec![None]];
        let expected = [vec![Some(0.045), None, Some(0.06)], vec![Some(0.045); 2], vec![Some(0.5)], vec![None]];
        for (found, expected) in adjust_cases(&cases).iter().flatten().zip(expected.iter().flatten()) {
            assert_eq!(found.is_some(), expected.is_some());
            assert!(found.zip(*expected).is_none_or(|(a, b)| (a - b).abs() < 1e-12), "{found:?}, not {expected:?}");
        }
        // With one alternative each, it is the adjustment of these.
        let p_values = [0.01, 0.04, 0.03, 0.005].map(Some);
        assert_eq!(adjust_cases(&p_values.map(|p_value| vec![p_value])).concat(), adjust(p_values));
    }

    /// SciPy 1.17.1: `scipy.stats.false_discovery_control(p, method='bh')`.
    #[test]
    fn adjusted_values_agree_with_scipy() {
        for (p_values, reference) in [
            (vec![0.7], vec![0.7]),
            (vec![0.01, 0.04, 0.03, 0.005], vec![0.02, 0.04, 0.04, 0.02]),
            (vec![0.01, 0.01, 0.02, 0.9, 0.5, 0.5], vec![0.03, 0.03, 0.04, 0.9, 0.6, 0.6]),
            (vec![0.0, 1.0, 0.2, 0.04, 0.049, 0.001, 0.3], vec![0.0, 1.0, 0.28, 0.08575, 0.08575, 0.0035, 0.35]),
        ] {
            let tested = p_values.iter().map(|p| Some(*p)).chain([None]);
            for (value, reference) in adjust(tested).into_iter().flatten().zip(reference) {
                assert!((value - reference).abs() < 1e-12, "{p_values:?}: {value} instead of {reference}");
            }
        }
        assert_eq!(adjust([None]), [None]);
    }
}
