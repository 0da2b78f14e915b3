//! Variances, and how uncertain medians and means are.

use collrules_record::Estimate;
use collrules_record::estimate::median;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The standard error of the median of values that are normal but for outliers: `sqrt(pi / 2n)` deviations, the deviation
/// taken from the median distance from the median, over 0.6745. 0 without values.
pub(crate) fn standard_error(values: &[f64]) -> f64 {
    let mut distances = values.to_vec();
    let Some(centre) = median(&mut distances) else { return 0.0 };
    distances.iter_mut().for_each(|value| *value = (*value - centre).abs());
    let deviation = median(&mut distances).unwrap_or_default() / 0.674_489_750_196_081_7;
    deviation * (std::f64::consts::FRAC_PI_2 / values.len() as f64).sqrt()
}

/// The value that Student's t exceeds in absolute terms with probability `1 - level`; infinite without degrees of freedom.
pub(crate) fn student_quantile(level: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + level / 2.0))
}

/// The one-sided p value of Student's t: how probable a larger value is; 1 without degrees of freedom.
pub(crate) fn student_p(t: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(1.0, |student| if t.is_nan() { 1.0 } else { student.sf(t) })
}

/// The mean of values with half the width of its Student interval, which two values are needed for; none without values.
pub(crate) fn student_interval(values: &[f64], level: f64) -> Option<(f64, Option<f64>)> {
    let variance = Variance::of(values);
    let error = (variance.value() / values.len() as f64).sqrt();
    let reach = (values.len() > 1).then(|| student_quantile(level, variance.degrees) * error);
    (!values.is_empty()).then(|| (mean(values), reach))
}

/// A variance with its degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Variance {
    /// The sum of squared distances from the mean.
    pub(crate) squares: f64,
    pub(crate) degrees: f64,
}

impl Variance {
    pub(crate) fn of(values: &[f64]) -> Self {
        let mean = mean(values);
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { squares, degrees: (values.len() as f64 - 1.0).max(0.0) }
    }

    /// Both together, each about its own mean.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { squares: self.squares + other.squares, degrees: self.degrees + other.degrees }
    }

    pub(crate) fn value(self) -> f64 {
        self.squares / self.degrees.max(1.0)
    }
}

/// The mean; 0 without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The mean of a value per launch, with its Student interval.
pub(crate) fn over_launches(values: &[f64], level: f64) -> Option<Estimate> {
    let (mean, reach) = student_interval(values, level)?;
    let (low, high) = (reach.map(|reach| mean - reach), reach.map(|reach| mean + reach));
    Some(Estimate { point: mean, low, high, level, samples: values.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy 1.17.1: `median_abs_deviation(x, scale='normal') * sqrt(pi / (2 * len(x)))`.
    #[test]
    fn standard_errors_agree_with_scipy() {
        for (values, reference) in [
            (vec![2.0], 0.0),
            (vec![1.0, 2.0], 0.6569610028878289),
            (vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0], 1.3139220057756578),
            (vec![1.0, 1.0, 1.0, 1.0, 100.0], 0.0),
            (vec![0.1, -0.7, 0.4, 0.35, -0.2, 0.0, 1.9], 0.21069625622379962),
        ] {
            let value = standard_error(&values);
            assert!((value - reference).abs() < 1e-12, "{values:?}: {value} instead of {reference}");
        }
        assert_eq!(standard_error(&[]), 0.0);
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

    /// SciPy: `t.interval(0.95, 3, loc=2.5, scale=sem([1, 2, 3, 4]))` is (0.445739743239121, 4.554260256760879).
    #[test]
    fn launches_give_a_student_interval() {
        let estimate = over_launches(&[1.0, 2.0, 3.0, 4.0], 0.95).expect("values");
        assert!((estimate.point - 2.5).abs() < 1e-12);
        assert!((estimate.low.unwrap_or_default() - 0.445_739_743_239_121).abs() < 1e-6, "{estimate:?}");
        assert_eq!(over_launches(&[1.0], 0.95).map(|one| (one.point, one.low)), Some((1.0, None)));
        assert_eq!(over_launches(&[], 0.95), None);
    }
}
