//! Wilcoxon's signed-rank test for pairs.

use std::sync::OnceLock;

use super::normal_cdf;

/// Largest number of differences for the exact distribution.
const EXACT: usize = 50;

/// The p value of Wilcoxon's signed-rank test against differences that tend to be negative.
///
/// Zeros are dropped, which is Wilcoxon's own treatment. Without ties the null distribution is exact up to 50
/// differences; otherwise it is normal with the variance `n(n+1)(2n+1)/24 - sum(t^3 - t)/48` and a continuity
/// correction of one half (Hollander, Wolfe and Chicken, *Nonparametric Statistical Methods*, section 3.1).
/// Without any difference there is no evidence, and the p value is 1. Differences have to be numbers.
pub fn signed_rank(differences: &[f64]) -> f64 {
    let nonzero: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = nonzero.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = ranks(&sizes);
    // The ranks of the differences above 0.
    let positive: f64 = nonzero.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let n = nonzero.len() as f64;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    match nonzero.len() {
        0 => 1.0,
        // Ranks without ties are whole numbers.
        count if ties == 0.0 && count <= EXACT => exact_cdf(count)[positive as usize],
        _ => normal_cdf((positive - n * (n + 1.0) / 4.0 + 0.5) / variance.sqrt()),
    }
}

/// Ranks the values, which have to be numbers, from 1, with mean ranks for ties. Returns with them the sum of `t^3 - t` over
/// groups of `t` equal values: 0 if and only if there are no ties.
fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
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

/// `P(W <= w)` for w in `0..=n(n+1)/2`, W being the sum of a random subset of the ranks `1..=n`.
fn exact_cdf(count: usize) -> &'static [f64] {
    static TABLES: [OnceLock<Vec<f64>>; EXACT + 1] = [const { OnceLock::new() }; EXACT + 1];
    TABLES[count].get_or_init(|| {
        let top = count * (count + 1) / 2;
        let mut probability = vec![0.0; top + 1];
        probability[0] = 1.0;
        for rank in 1..=count {
            // Each rank is in the subset or not, with probability one half; in descending order, so that it counts
            // once.
            for sum in (0..=top).rev() {
                let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
                probability[sum] = f64::midpoint(probability[sum], with);
            }
        }
        let mut total = 0.0;
        for value in &mut probability {
            total += *value;
            *value = total;
        }
        probability
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_close(value: f64, reference: f64, what: &str) {
        assert!((value / reference - 1.0).abs() < 1e-9, "{what}: {value} instead of {reference}");
    }

    /// `sin(k^2) - shift` for k in `1..=n`: irregular numbers that any language reproduces.
    fn waves(n: u32, shift: f64) -> Vec<f64> {
        (1..=n).map(|k| f64::from(k * k).sin() - shift).collect()
    }

    /// SciPy 1.17.1: `scipy.stats.wilcoxon(d, alternative='less', zero_method='wilcox', method='exact')`.
    #[test]
    fn exact_values_agree_with_scipy() {
        for (what, differences, reference) in [
            ("one", vec![-1.0], 0.5),
            ("six", vec![-1.0, -2.0, -3.0, -4.0, -5.0, -6.0], 0.015625),
            ("mixed", vec![-0.3, 1.2, -0.7, -2.1, 0.4, -1.9, -0.8, 0.1], 0.15625),
            ("upwards", vec![0.3, 1.2, 0.7, 2.1, -0.4, 1.9], 0.96875),
            ("zeros", vec![0.0, -1.0, 0.0, -2.0, 3.0, -4.0, -5.0, -6.0, 0.0, -7.0], 0.0390625),
            ("twenty", waves(20, 0.2), 0.009616851806640625),
            ("fifty", waves(50, 0.1), 0.015630828381745232),
        ] {
            assert_close(signed_rank(&differences), reference, what);
        }
    }

    /// SciPy 1.17.1: `scipy.stats.wilcoxon(d, alternative='less', zero_method='wilcox', method='approx',
    /// correction=True)`.
    #[test]
    fn normal_values_agree_with_scipy() {
        for (what, differences, reference) in [
            ("ties", vec![-1.0, -1.0, 2.0, -2.0, -3.0, 3.0, -3.0, -4.0, -5.0, -5.0], 0.03657217814562383),
            ("ties and zeros", vec![0.0, -1.0, -1.0, 0.0, 1.0, -2.0, -2.0, 2.0, -3.0, -4.0], 0.06878194695495164),
            ("all equal", vec![-2.0; 8], 0.0029810392660468534),
            ("fifty-one", waves(51, 0.1), 0.014309161856158686),
            ("two hundred", waves(200, 0.25), 1.7653184310689914e-6),
        ] {
            assert_close(signed_rank(&differences), reference, what);
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

    #[test]
    fn no_difference_is_no_evidence() {
        assert_eq!(signed_rank(&[]), 1.0);
        assert_eq!(signed_rank(&[0.0, 0.0]), 1.0);
    }

    proptest! {
        /// The two one-sided p values overlap in the observed rank sum alone.
        #[test]
        fn both_sides_add_up(differences in prop::collection::vec(-3.0f64..3.0, 1..60)) {
            let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            let (less, greater) = (signed_rank(&differences), signed_rank(&turned));
            prop_assert!((0.0..=1.0).contains(&less), "{}", less);
            prop_assert!((0.98..=2.0).contains(&(less + greater)), "{} + {}", less, greater);
        }
    }
}
