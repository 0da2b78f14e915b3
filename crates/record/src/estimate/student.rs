//! Student's t: the one test and interval of means, and so of logarithms of ratios.
//!
//! Logarithms of times and of their ratios are close to normal, and the unit of replication is the launch. Tests differ
//! in the source of their variance: own values, or those of similar subjects as well.

use std::borrow::Borrow;

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Estimate;

/// A variance with its degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variance {
    /// The variance; 0 without degrees of freedom.
    pub value: f64,
    /// Degrees of freedom.
    pub degrees: f64,
}

impl Variance {
    /// The variance of values about their mean.
    pub fn from_values(values: impl IntoIterator<Item: Borrow<f64>>) -> Self {
        let values: Vec<f64> = numbers(values).collect();
        let (mean, degrees) = (mean(&values), (values.len() as f64 - 1.0).max(0.0));
        Self { value: values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / degrees.max(1.0), degrees }
    }

    /// Pools variances, each about its own mean.
    pub fn pooled(all: impl IntoIterator<Item = Self>) -> Self {
        let add = |(squares, degrees), own: Self| (squares + own.degrees * own.value, degrees + own.degrees);
        let (squares, degrees) = all.into_iter().fold((0.0, 0.0), add);
        Self { value: if degrees > 0.0 { squares / degrees } else { 0.0 }, degrees }
    }
}

/// A mean with its standard error. Without degrees of freedom nothing is certain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestedMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub degrees: f64,
    /// Number of values.
    pub samples: usize,
}

impl TestedMean {
    /// The mean of values, with the variance that they show themselves.
    pub fn from_values(values: impl IntoIterator<Item: Borrow<f64>>) -> Self {
        let values: Vec<f64> = numbers(values).collect();
        Self::new(mean(&values), Variance::from_values(&values), values.len())
    }

    /// The mean of a number of values with a known variance.
    pub fn new(mean: f64, variance: Variance, samples: usize) -> Self {
        Self { mean, error: (variance.value / samples.max(1) as f64).sqrt(), degrees: variance.degrees, samples }
    }

    /// The one-sided p value: how probable so large a mean is if the true one is `limit`; missing without degrees of freedom.
    pub fn p_above(self, limit: f64) -> Option<f64> {
        let t = (self.mean - limit) / self.error;
        let student = StudentsT::new(0.0, 1.0, self.degrees).ok()?;
        Some(match t {
            f64::INFINITY => 0.0,
            // Nothing varies, and nothing differs or the other way.
            t if !t.is_finite() => 1.0,
            t => student.sf(t),
        })
    }

    /// Like [`p_above`](Self::p_above), for so small a mean.
    pub fn p_below(self, limit: f64) -> Option<f64> {
        Self { mean: -self.mean, ..self }.p_above(-limit)
    }

    /// The two-sided p value of a mean whose true distance from 0 is at most `limit`.
    pub fn p_beyond(self, limit: f64) -> Option<f64> {
        Some((2.0 * self.p_above(limit)?.min(self.p_below(-limit)?)).min(1.0))
    }

    /// Half the width of the interval; infinite without degrees of freedom.
    pub fn reach(self, level: f64) -> f64 {
        if self.degrees > 0.0 { student_quantile(level, self.degrees) * self.error } else { f64::INFINITY }
    }

    /// The mean with its interval.
    pub fn estimate(self, level: f64) -> Estimate {
        let reach = Some(self.reach(level)).filter(|reach| reach.is_finite());
        let end = |sign: f64| reach.map(|reach| self.mean + sign * reach);
        Estimate { point: self.mean, low: end(-1.0), high: end(1.0), level, samples: self.samples }
    }
}

impl Estimate {
    /// The mean with Student's interval, for a few values that are medians or fits themselves. Both ends are missing for
    /// fewer than 2 values. Values that are not finite are left out; without any there is no estimate.
    pub fn mean(samples: impl IntoIterator<Item: Borrow<f64>>, level: f64) -> Option<Self> {
        let values: Vec<f64> = numbers(samples).filter(|x| x.is_finite()).collect();
        (!values.is_empty()).then(|| TestedMean::from_values(&values).estimate(level))
    }
}

/// The quantile that the absolute value of Student's t exceeds with probability `1 - level`; infinite without degrees
/// of freedom.
pub fn student_quantile(level: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(f64::midpoint(1.0, level)))
}

/// The mean; 0 without values.
pub fn mean(values: impl IntoIterator<Item: Borrow<f64>>) -> f64 {
    let (sum, count) = numbers(values).fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    sum / count.max(1) as f64
}

fn numbers(values: impl IntoIterator<Item: Borrow<f64>>) -> impl Iterator<Item = f64> {
    values.into_iter().map(|value| {
        let value: &f64 = value.borrow();
        *value
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `t.interval(0.95, 3, loc=2.5, scale=sem([1, 2, 3, 4]))` is (0.445739743239121, 4.554260256760879), and
    /// SciPy's test of one sample, 1 to 4 against 0 in the direction of more, has the p value 0.01523314583108548.
    #[test]
    fn a_mean_is_tested_like_in_scipy() {
        let found = TestedMean::from_values([0.1, 0.2, 0.3, 0.4]);
        let (above, below) = (found.p_above(0.0).expect("tested"), found.p_below(0.0).expect("tested"));
        assert!(
            (above - 0.015_233_145_831_085_48).abs() < 1e-9 && (above + below - 1.0).abs() < 1e-9,
            "{above} {below}"
        );
        assert!((found.p_beyond(0.0).expect("tested") - 2.0 * above).abs() < 1e-12);
        let Estimate { low, high, .. } = found.estimate(0.95);
        let (low, high) = (low.expect("an end"), high.expect("an end"));
        assert!((low - 0.044_573_974).abs() < 1e-6 && (high - 0.455_426_026).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn values_that_do_not_vary_are_certain_only_if_they_differ() {
        let found = TestedMean::from_values([0.5, 0.5, 0.5]);
        assert_eq!((found.p_above(0.0), found.p_below(0.0)), (Some(0.0), Some(1.0)));
        assert_eq!(TestedMean::from_values([0.0, 0.0, 0.0]).p_above(0.0), Some(1.0));
        let single = TestedMean::from_values([0.5]);
        assert_eq!((single.p_above(0.0), single.estimate(0.95).low), (None, None));
    }

    /// SciPy 1.17.1: `scipy.stats.t.ppf(0.5 + level / 2, degrees)`.
    #[test]
    fn quantiles_agree_with_scipy() {
        for (level, degrees, reference) in [
            (0.95, 1.0, 12.706204736174694),
            (0.95, 2.0, 4.302652729749462),
            (0.9, 7.0, 1.8945786050900062),
            (0.99, 200.0, 2.600634436191558),
        ] {
            let value = student_quantile(level, degrees);
            assert!((value / reference - 1.0).abs() < 1e-6, "{level}, {degrees}: {value} instead of {reference}");
        }
        assert_eq!(student_quantile(0.95, 0.0), f64::INFINITY);
    }
}
