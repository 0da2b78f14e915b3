//! A value with its interval; never a bare mean.

mod student;

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

pub use student::{TestedMean, Variance, mean, student_quantile};

/// A point value with a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The point value.
    pub point: f64,
    /// Lower end of the interval; missing if there are too few samples.
    pub low: Option<f64>,
    /// Upper end of the interval; missing if there are too few samples.
    pub high: Option<f64>,
    /// The requested confidence, such as 0.95.
    pub level: f64,
    /// The number of samples.
    pub samples: usize,
}

impl Estimate {
    /// The median with its distribution-free interval from order statistics.
    ///
    /// For sorted samples the interval `[x(l), x(n+1-l)]` covers the median with probability
    /// `1 - 2 P(B < l)`, B binomial with n trials of one half (David and Nagaraja, *Order Statistics*, section 7.1);
    /// the largest `l` that keeps the level is taken. Under 6 samples no such interval has level 0.95, and both ends
    /// are missing. Samples that are not numbers are left out; without any there is no estimate.
    pub fn median(samples: &[f64], level: f64) -> Option<Self> {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| !x.is_nan()).collect();
        let point = median(&mut sorted)?;
        let rank = interval_rank(sorted.len(), level);
        Some(Self {
            point,
            low: rank.map(|rank| sorted[rank - 1]),
            high: rank.map(|rank| sorted[sorted.len() - rank]),
            level,
            samples: sorted.len(),
        })
    }

    /// The ratio whose natural logarithm this is, see [`ratio()`].
    #[must_use]
    pub fn exp(self) -> Self {
        self.map(ratio)
    }

    /// The product of powers of ratios from the same launches, which may all be wrong in the same direction: its ends are the
    /// products of the powers of their ends. None without ratios.
    pub fn product_of_powers(factors: impl IntoIterator<Item = (f64, Self)>) -> Option<Self> {
        Self::combine(&factors.into_iter().collect::<Vec<_>>(), |sum, half| sum + half)
    }

    /// The product of powers of ratios from different launches: half widths are added in quadrature.
    pub fn product_of_independent(factors: impl IntoIterator<Item = (f64, Self)>) -> Option<Self> {
        let factors: Vec<(f64, Self)> = factors.into_iter().collect();
        let samples = factors.iter().map(|(_, factor)| factor.samples).sum();
        Some(Self { samples, ..Self::combine(&factors, f64::hypot)? })
    }

    fn combine(factors: &[(f64, Self)], add: fn(f64, f64) -> f64) -> Option<Self> {
        let log: f64 = factors.iter().map(|(power, factor)| power * factor.point.ln()).sum();
        let half = |end: fn(&Self) -> Option<f64>| {
            let halves = factors.iter().map(|(power, factor)| Some(power * (end(factor)? / factor.point).ln().abs()));
            halves.into_iter().try_fold(0.0, |sum, half| Some(add(sum, half?)))
        };
        Some(Self {
            point: ratio(log),
            low: half(|it| it.low).map(|half| ratio(log - half)),
            high: half(|it| it.high).map(|half| ratio(log + half)),
            level: factors.first()?.1.level,
            samples: factors.iter().map(|(_, factor)| factor.samples).min()?,
        })
    }

    /// The geometric mean of ratios from the same launches, see [`Self::product_of_powers`].
    pub fn geometric_mean(ratios: impl IntoIterator<Item = Self>) -> Option<Self> {
        let ratios: Vec<Self> = ratios.into_iter().collect();
        let power = 1.0 / ratios.len() as f64;
        Self::product_of_powers(ratios.into_iter().map(|ratio| (power, ratio)))
    }

    /// Half the width of the interval relative to the point; missing without an interval or a scale.
    pub fn relative_half_width(&self) -> Option<f64> {
        match (self.low, self.high) {
            (Some(low), Some(high)) if self.point > 0.0 => Some((high - low) / 2.0 / self.point),
            _ => None,
        }
    }

    /// Applies a monotone increasing function to the value and its interval.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { point: f(self.point), low: self.low.map(&f), high: self.high.map(&f), ..self }
    }
}

/// The ratio with a natural logarithm, at most 10^12 and at least 10^-12. An interval from two launches that differ by factors
/// would end beyond all numbers that a file can hold.
pub fn ratio(log: f64) -> f64 {
    log.exp().clamp(1e-12, 1e12)
}

/// The median, the mean of the two middle values if their number is even; none without values. Sorts the values, which
/// have to be numbers.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| f64::midpoint(values[(n - 1) / 2], values[n / 2]))
}

/// The median of the values of each key; none for those without values.
pub fn medians<K>(values: impl IntoIterator<Item = (K, Vec<f64>)>) -> impl Iterator<Item = (K, f64)> {
    values.into_iter().filter_map(|(key, mut values)| Some((key, median(&mut values)?)))
}

/// The standard deviation of normal values from their distances to their centre, so that outliers do not count: half of
/// the distances are within 0.6745 deviations. None without values; sorts the distances.
pub fn robust_deviation(distances: &mut [f64]) -> Option<f64> {
    Some(median(distances)? / 0.674_489_750_196_081_7)
}

/// The geometric mean of positive values; none without values.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0usize), |(sum, count), value| (sum + value.ln(), count + 1));
    (count > 0).then(|| (sum / count as f64).exp())
}

/// The largest `l >= 1` with `2 P(B < l) <= 1 - level`, B binomial(n, 1/2).
fn interval_rank(n: usize, level: f64) -> Option<usize> {
    let binomial = Binomial::new(0.5, n as u64).ok()?;
    let fits = |rank: usize| 2.0 * binomial.cdf(rank as u64 - 1) <= 1.0 - level + 1e-12;
    if n == 0 || !fits(1) {
        return None;
    }
    // P(B < l) grows with l, so the ranks that fit are a prefix of 1..=n/2.
    let (mut fit, mut misfit) = (1, n / 2 + 1);
    while misfit - fit > 1 {
        let middle = fit.midpoint(misfit);
        if fits(middle) { fit = middle } else { misfit = middle }
    }
    Some(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two launches that differ by factors once made a `validation.json` that could not be read again.
    #[test]
    fn ends_of_a_ratio_are_finite_whatever_the_noise() {
        let wide = Estimate { point: 0.3, low: Some(-1e3), high: Some(1e3), level: 0.95, samples: 2 }.exp();
        assert_eq!((wide.low, wide.high), (Some(1e-12), Some(1e12)));
    }

    /// Ranks from the usual table of distribution-free 95 % intervals for the median (for instance Conover,
    /// *Practical Nonparametric Statistics*, table A3 with p = 0.5).
    #[test]
    fn ranks_agree_with_the_published_table() {
        for (n, rank) in [
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (10, Some(2)),
            (20, Some(6)),
            (25, Some(8)),
            (50, Some(18)),
            (100, Some(40)),
        ] {
            assert_eq!(interval_rank(n, 0.95), rank, "{n} samples");
        }
    }

    #[test]
    fn the_median_of_even_odd_and_no_samples() {
        assert_eq!(Estimate::median(&[], 0.95), None);
        assert_eq!(Estimate::median(&[f64::NAN], 0.95), None);
        let one = Estimate::median(&[3.0], 0.95).expect("one sample");
        assert_eq!((one.point, one.low, one.high, one.samples), (3.0, None, None, 1));
        assert_eq!(Estimate::median(&[4.0, 1.0, 2.0], 0.95).expect("three").point, 2.0);
        assert_eq!(Estimate::median(&[4.0, 1.0, 2.0, 3.0], 0.95).expect("four").point, 2.5);
        let ten = Estimate::median(&[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0], 0.95).expect("ten");
        assert_eq!((ten.low, ten.high), (Some(1.0), Some(8.0)));
        let mut values = [4.0, 1.0, 2.0];
        assert_eq!((median(&mut values), values), (Some(2.0), [1.0, 2.0, 4.0]), "the values are sorted");
        assert_eq!(median(&mut []), None);
    }

    /// 2.776 is Student's 97.5 % quantile with 4 degrees of freedom, as in every table.
    #[test]
    fn means_have_student_s_interval() {
        let mean = Estimate::mean([1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN], 0.95).expect("five");
        let half = 2.776_445 * 2.5_f64.sqrt() / 5.0_f64.sqrt();
        assert!((mean.point - 3.0).abs() < 1e-12 && mean.samples == 5);
        assert!((mean.high.expect("an end") - 3.0 - half).abs() < 1e-5, "{mean:?}");
        let one = Estimate::mean([3.0], 0.95).expect("one");
        assert_eq!((one.low, one.high), (None, None));
        assert_eq!(Estimate::mean([0.0; 0], 0.95), None);
    }

    /// Ratios of the same launches are wrong together: their mean is no more certain than they are.
    #[test]
    fn means_of_dependent_ratios_are_as_uncertain_as_these() {
        let ratio =
            |point: f64| Estimate { point, low: Some(point / 1.2), high: Some(point * 1.2), level: 0.95, samples: 8 };
        let close = |one: Option<f64>, other: f64| one.is_some_and(|one| (one / other - 1.0).abs() < 1e-12);
        let mean = Estimate::geometric_mean([2.0, 8.0, 4.0].map(ratio)).expect("three");
        assert!(close(Some(mean.point), 4.0) && close(mean.low, 4.0 / 1.2) && close(mean.high, 4.8), "{mean:?}");
        let open = Estimate { low: None, samples: 3, ..ratio(1.0) };
        let mean = Estimate::geometric_mean([ratio(4.0), open]).expect("two");
        assert!(close(Some(mean.point), 2.0) && mean.low.is_none() && close(mean.high, 2.4) && mean.samples == 3);
        assert_eq!(Estimate::geometric_mean([]), None);
        let both = Estimate::product_of_independent([2.0, 3.0].map(|it| (1.0, ratio(it)))).expect("two");
        let end = (2f64.sqrt() * 1.2f64.ln()).exp();
        assert!(close(Some(both.point), 6.0) && close(both.low, 6.0 / end) && close(both.high, 6.0 * end), "{both:?}");
    }

    #[test]
    fn geometric_means_of_some_and_no_values() {
        assert!((geometric_mean([2.0, 8.0, 4.0]).expect("three") - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean([]), None);
    }
}
