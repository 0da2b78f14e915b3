//! The Mann-Whitney test for unpaired samples.

use super::normal_cdf;
use super::signed_rank::ranks;

/// Largest number of values on either side for the exact distribution.
const EXACT: usize = 20;

/// The p value of the Mann-Whitney test against values of `x` that tend to be smaller than those of `y`.
///
/// Without ties the null distribution is exact up to 20 values on either side; otherwise it is normal with the
/// variance `n m / 12 (N + 1 - sum(t^3 - t) / (N (N - 1)))`, `N = n + m`, and a continuity correction of one half
/// (Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, section 4.1). An empty side is no evidence, and
/// the p value is 1. Values have to be numbers.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> f64 {
    let both: Vec<f64> = x.iter().chain(y).copied().collect();
    let (ranks, ties) = ranks(&both);
    let (n, m) = (x.len() as f64, y.len() as f64);
    // The number of pairs in which the value of x is the larger one, ties counting one half.
    let above = ranks[..x.len()].iter().sum::<f64>() - n * (n + 1.0) / 2.0;
    let all = n + m;
    let shared = if ties == 0.0 { 0.0 } else { ties / (all * (all - 1.0)) };
    let variance = n * m / 12.0 * (all + 1.0 - shared);
    if x.is_empty() || y.is_empty() {
        1.0
    } else if ties == 0.0 && x.len() <= EXACT && y.len() <= EXACT {
        exact_cdf(x.len(), y.len(), above as usize)
    } else {
        normal_cdf((above - n * m / 2.0 + 0.5) / variance.max(0.0).sqrt())
    }
}

/// `P(U <= u)`: the share of arrangements of n and m values with at most u inversions.
///
/// Arrangements by inversions are the coefficients of the Gaussian binomial, the product of
/// `(1 - q^(m + i)) / (1 - q^i)` for i in `1..=n`. All are whole numbers below 2^53 here, and hence exact.
fn exact_cdf(n: usize, m: usize, u: usize) -> f64 {
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..counts.len()).rev() {
            counts[at] -= counts[at - m - i];
        }
        for at in i..counts.len() {
            counts[at] += counts[at - i];
        }
    }
    counts[..=u].iter().sum::<f64>() / counts.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(value: f64, reference: f64, what: &str) {
        assert!((value / reference - 1.0).abs() < 1e-9, "{what}: {value} instead of {reference}");
    }

    /// Irregular numbers that any language reproduces: `sin(k^2)` and `cos(k^2) + 0.4` for k from 1 on.
    fn waves(n: u32, m: u32) -> (Vec<f64>, Vec<f64>) {
        ((1..=n).map(|k| f64::from(k * k).sin()).collect(), (1..=m).map(|k| f64::from(k * k).cos() + 0.4).collect())
    }

    /// SciPy 1.17.1: `scipy.stats.mannwhitneyu(x, y, alternative='less', method='exact')`.
    #[test]
    fn exact_values_agree_with_scipy() {
        let (x, y) = waves(20, 17);
        for (what, x, y, reference) in [
            ("one each", vec![1.0], vec![2.0], 0.5),
            ("apart", vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0], 0.05),
            (
                "five and seven",
                vec![1.1, 2.7, 0.4, 3.9, 2.2],
                vec![2.5, 4.1, 3.3, 5.8, 1.9, 4.4, 6.0],
                0.036616161616161616,
            ),
            ("twenty and seventeen", x, y, 0.00048750463704277117),
        ] {
            assert_close(mann_whitney(&x, &y), reference, what);
        }
    }

    /// SciPy 1.17.1: `scipy.stats.mannwhitneyu(x, y, alternative='less', method='asymptotic', use_continuity=True)`.
    #[test]
    fn normal_values_agree_with_scipy() {
        let (x, y) = waves(40, 25);
        assert_close(mann_whitney(&x, &y), 0.0010788923980707913, "forty and twenty-five");
        let (x, y) = ([1.0, 2.0, 2.0, 3.0, 4.0], [2.0, 3.0, 3.0, 5.0, 5.0, 6.0, 6.0]);
        assert_close(mann_whitney(&x, &y), 0.03449618165495414, "ties");
        assert_eq!(mann_whitney(&[1.0; 3], &[1.0; 4]), 1.0);
    }

    #[test]
    fn an_empty_side_is_no_evidence() {
        assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
        assert_eq!(mann_whitney(&[1.0], &[]), 1.0);
    }
}
