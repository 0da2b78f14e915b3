//! Variances of many small samples that borrow from each other.
//!
//! After Smyth, *Linear models and empirical Bayes methods for assessing differential expression in microarray
//! experiments*, Statistical Applications in Genetics and Molecular Biology 3, 2004: true variances are taken to scatter
//! about `s0^2` as `d0 s0^2 / chi^2(d0)` does; both are estimated from the mean and the variance of the logarithms of the
//! sample variances. A cell's variance is then the mean of its own and `s0^2`, weighted by degrees of freedom, and has the
//! degrees of both.

use statrs::function::gamma::digamma;

/// The sample variance of one cell; without degrees of freedom there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellVariance {
    pub(crate) variance: f64,
    pub(crate) degrees: f64,
}

/// Moderates variances. All of them together count as `worth` degrees of freedom, fewer than their sum if they are
/// dependent; a cell borrows at most those beyond its own.
pub(crate) fn moderate(cells: &[CellVariance], worth: f64) -> Vec<CellVariance> {
    let (variance, spread) = prior(cells);
    let one = |own: &CellVariance| {
        let lent = spread.min(worth - own.degrees).max(0.0);
        let degrees = own.degrees + lent;
        CellVariance { variance: (own.degrees * own.variance + lent * variance) / degrees, degrees }
    };
    cells.iter().map(one).collect()
}

/// `s0^2` and `d0`, infinite where the variances differ by no more than chance. At least one cell has a variance.
fn prior(cells: &[CellVariance]) -> (f64, f64) {
    let seen = || cells.iter().filter(|own| own.degrees > 0.0);
    let count = seen().count() as f64;
    let centred = |own: &CellVariance| own.variance.ln() - digamma(own.degrees / 2.0) + (own.degrees / 2.0).ln();
    let mean = seen().map(centred).sum::<f64>() / count;
    let squares: f64 = seen().map(|own| (centred(own) - mean).powi(2)).sum();
    let by_chance = seen().map(|own| trigamma(own.degrees / 2.0)).sum::<f64>() / count;
    let beyond = if count > 1.0 { squares / (count - 1.0) - by_chance } else { 0.0 };
    if beyond > 0.0 {
        let half = trigamma_inverse(beyond);
        return ((mean + digamma(half) - half.ln()).exp(), 2.0 * half);
    }
    let degrees: f64 = seen().map(|own| own.degrees).sum();
    (seen().map(|own| own.degrees * own.variance).sum::<f64>() / degrees, f64::INFINITY)
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

/// The positive value whose trigamma is this positive one. The reciprocal of trigamma is convex and nearly linear, so
/// that Newton's method on it, begun above the solution, converges from one side.
fn trigamma_inverse(y: f64) -> f64 {
    // trigamma(x) is about 1/x for large x, and 1/x^2 for small ones.
    if y > 1e7 {
        return 1.0 / y.sqrt();
    }
    if y < 1e-6 {
        return 1.0 / y;
    }
    let mut x = 0.5 + 1.0 / y;
    for _ in 0..50 {
        let value = trigamma(x);
        let step = value * (1.0 - value / y) / tetragamma(x);
        x += step;
        if -step / x < 1e-8 {
            break;
        }
    }
    x
}

/// The derivative of trigamma.
fn tetragamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum - square - square / x - square * square * (0.5 - square * (1.0 / 6.0 - square / 6.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trigamma of 1 is pi^2/6 and of one half pi^2/2; that of n + 1 is less by 1/n^2. Tetragamma of 1 is -2 zeta(3).
    #[test]
    fn known_values() {
        let square = std::f64::consts::PI.powi(2);
        for (x, value) in
            [(1.0, square / 6.0), (0.5, square / 2.0), (2.0, square / 6.0 - 1.0), (1.5, square / 2.0 - 4.0)]
        {
            assert!((trigamma(x) - value).abs() < 1e-10, "{x}: {}", trigamma(x));
        }
        assert!((tetragamma(1.0) + 2.0 * 1.202_056_903_159_594).abs() < 1e-8, "{}", tetragamma(1.0));
        for x in [1e-4, 0.03, 0.5, 1.0, 4.2, 100.0, 1e5] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-4, "{x}: {}", trigamma_inverse(trigamma(x)));
        }
    }

    /// Variances that scatter less than chance would let them are one variance.
    #[test]
    fn equal_variances_are_pooled_and_different_ones_are_not() {
        let own = |variance| CellVariance { variance, degrees: 3.0 };
        let alike = moderate(&[own(1.0), own(1.2), own(0.8), own(1.1)], 12.0);
        assert!(alike.iter().all(|own| own.degrees == 12.0));
        assert!((alike[1].variance - (3.0 * 1.2 + 9.0 * 1.025) / 12.0).abs() < 1e-12, "{alike:?}");
        let apart = moderate(&[own(1e-6), own(1.0), own(1e-3), own(1e3)], 12.0);
        assert!(apart.iter().all(|own| own.degrees < 4.0), "{apart:?}");
        assert!(apart[3].variance > 100.0 * apart[1].variance, "{apart:?}");
        let single = moderate(&[own(2.0)], 3.0);
        assert_eq!(single, [CellVariance { variance: 2.0, degrees: 3.0 }]);
    }
}
