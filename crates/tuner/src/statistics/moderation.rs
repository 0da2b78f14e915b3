//! Variances of many small samples that borrow from each other.
//!
//! After Smyth, *Linear models and empirical Bayes methods for assessing differential expression in microarray
//! experiments*, Statistical Applications in Genetics and Molecular Biology 3, 2004: true variances are taken to scatter
//! about `s0^2` as `d0 s0^2 / chi^2(d0)` does; both are estimated from the mean and the variance of the logarithms of the
//! sample variances. A subject's variance is then the mean of its own and `s0^2`, weighted by degrees of freedom, and has
//! the degrees of both.

use collrules_record::estimate::{Variance, mean};
use statrs::function::gamma::digamma;

/// Moderates variances. All of them together count as `worth` degrees of freedom, fewer than their sum if they are
/// dependent; a subject borrows at most those beyond its own.
pub(super) fn moderate(own: &[Variance], worth: f64) -> Vec<Variance> {
    let (value, spread) = prior(own);
    let one = |own: &Variance| {
        let lent = Variance { value, degrees: spread.min(worth - own.degrees).max(0.0) };
        Variance::pooled([*own, lent])
    };
    own.iter().map(one).collect()
}

/// The mean logarithm of sample variances is lower with fewer degrees of freedom: the logarithm after correction for that.
fn log_variance(own: Variance) -> f64 {
    own.value.ln() - digamma(own.degrees / 2.0) + (own.degrees / 2.0).ln()
}

/// `s0^2` and `d0`, infinite where the variances differ by no more than chance. At least one subject has a variance.
fn prior(all: &[Variance]) -> (f64, f64) {
    let seen = || all.iter().filter(|own| own.degrees > 0.0);
    let logs: Vec<f64> = seen().map(|own| log_variance(*own)).collect();
    let by_chance = seen().map(|own| trigamma(own.degrees / 2.0)).sum::<f64>() / logs.len() as f64;
    let beyond = Variance::from_values(&logs).value - by_chance;
    if beyond > 0.0 {
        let half = trigamma_inverse(beyond);
        return ((mean(&logs) + digamma(half) - half.ln()).exp(), 2.0 * half);
    }
    (Variance::pooled(seen().copied()).value, f64::INFINITY)
}

/// The second derivative of the logarithm of the gamma function, for positive values: recurrence up to 10, then the
/// asymptotic series (Abramowitz and Stegun, 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + square / x * series
}

/// The positive value whose trigamma, a falling function, is this positive one.
fn trigamma_inverse(y: f64) -> f64 {
    let (mut low, mut high) = (1e-9_f64, 1e9_f64);
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > y { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trigamma of 1 is pi^2/6 and of one half pi^2/2; that of n + 1 is less by 1/n^2.
    #[test]
    fn known_values() {
        let square = std::f64::consts::PI.powi(2);
        for (x, value) in
            [(1.0, square / 6.0), (0.5, square / 2.0), (2.0, square / 6.0 - 1.0), (1.5, square / 2.0 - 4.0)]
        {
            assert!((trigamma(x) - value).abs() < 1e-10, "{x}: {}", trigamma(x));
        }
        for x in [1e-4, 0.03, 0.5, 1.0, 4.2, 100.0, 1e5] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-4, "{x}: {}", trigamma_inverse(trigamma(x)));
        }
    }

    /// Variances that scatter less than chance would let them are one variance.
    #[test]
    fn equal_variances_are_pooled_and_different_ones_are_not() {
        let own = |value| Variance { value, degrees: 3.0 };
        let alike = moderate(&[own(1.0), own(1.2), own(0.8), own(1.1)], 12.0);
        assert!(alike.iter().all(|own| own.degrees == 12.0));
        assert!((alike[1].value - (3.0 * 1.2 + 9.0 * 1.025) / 12.0).abs() < 1e-12, "{alike:?}");
        let apart = moderate(&[own(1e-6), own(1.0), own(1e-3), own(1e3)], 12.0);
        assert!(apart.iter().all(|own| own.degrees < 4.0), "{apart:?}");
        assert!(apart[3].value > 100.0 * apart[1].value, "{apart:?}");
        let single = moderate(&[own(2.0)], 3.0);
        assert_eq!(single, [own(2.0)]);
    }
}
