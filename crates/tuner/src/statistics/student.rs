//! Student's t test on the logarithm of a ratio: the one answer to "did this change?" for validations, drift, comparisons of
//! runs, programs and settings.
//!
//! Logarithms of times and their ratios are close to normal, and the unit of replication is the launch. The tests differ in
//! where their variance comes from: own pairs, or pairs of several sizes together (`validation::noise`, `moderation`).

use collrules_record::Estimate;
use collrules_record::estimate::student_quantile;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::spread::{Variance, mean};

/// The logarithm of a ratio with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LogRatio {
    pub(crate) log: f64,
    pub(crate) error: f64,
    /// Without degrees of freedom nothing is certain.
    pub(crate) degrees: f64,
    /// Launches or pairs behind it.
    pub(crate) samples: usize,
}

impl LogRatio {
    /// The mean of logarithms, with the variance that they show themselves.
    pub(crate) fn from_logs(logs: &[f64]) -> Self {
        let variance = Variance::from_values(logs);
        Self::new(mean(logs), variance.value(), variance.degrees, logs.len())
    }

    /// The mean of so many logarithms whose variance is known with some degrees of freedom.
    pub(crate) fn new(log: f64, variance: f64, degrees: f64, samples: usize) -> Self {
        Self { log, error: (variance / samples.max(1) as f64).sqrt(), degrees, samples }
    }

    /// The one-sided p value: how probable so large a logarithm is if the true one is `limit`.
    pub(crate) fn p_above(self, limit: f64) -> f64 {
        student_p((self.log - limit) / self.error, self.degrees)
    }

    /// Like `p_above`, for so small a logarithm.
    pub(crate) fn p_below(self, limit: f64) -> f64 {
        student_p((limit - self.log) / self.error, self.degrees)
    }

    /// Half the width of the interval of the logarithm; infinite without degrees of freedom.
    pub(crate) fn reach(self, level: f64) -> f64 {
        student_quantile(level, self.degrees) * self.error
    }

    /// The ratio with its interval.
    pub(crate) fn estimate(self, level: f64) -> Estimate {
        let reach = if self.degrees > 0.0 { self.reach(level) } else { f64::INFINITY };
        Estimate::ratio(self.log, reach, level, self.samples)
    }
}

/// The one-sided p value of Student's t: how probable a larger value is; 1 without degrees of freedom, or if nothing varies
/// and nothing differs.
fn student_p(t: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees) {
        Ok(_) if t == f64::INFINITY => 0.0,
        Ok(student) if t.is_finite() => student.sf(t),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distribution with 3 degrees of freedom has a closed form; its quantile of 97.5 % is 3.182446.
    #[test]
    fn a_mean_of_logs_is_tested_like_in_scipy() {
        let found = LogRatio::from_logs(&[0.1, 0.2, 0.3, 0.4]);
        assert!((found.p_above(0.0) - 0.015_233_145_831_085_48).abs() < 1e-9, "{}", found.p_above(0.0));
        assert!((found.p_below(0.0) - (1.0 - 0.015_233_145_831_085_48)).abs() < 1e-9);
        let Estimate { low, high, .. } = found.estimate(0.95);
        let (low, high) = (low.expect("an end").ln(), high.expect("an end").ln());
        assert!((low - 0.044_573_6).abs() < 1e-6 && (high - 0.455_426_4).abs() < 1e-6, "{low} {high}");
    }

    #[test]
    fn values_that_do_not_vary_are_certain_only_if_they_differ() {
        let found = LogRatio::from_logs(&[0.5, 0.5, 0.5]);
        assert_eq!((found.p_above(0.0), found.p_below(0.0)), (0.0, 1.0));
        assert_eq!(LogRatio::from_logs(&[0.0, 0.0, 0.0]).p_above(0.0), 1.0);
        let single = LogRatio::from_logs(&[0.5]);
        assert_eq!((single.p_above(0.0), single.estimate(0.95).low), (1.0, None));
    }
}
