//! How uncertain a median is.

use collrules_record::estimate::median;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The standard error of the median of values that are normal but for outliers: `sqrt(pi / 2n)` deviations, the deviation
/// taken from the median distance from the median, over 0.6745. 0 without values.
pub fn standard_error(values: &[f64]) -> f64 {
    let mut distances = values.to_vec();
    let Some(centre) = median(&mut distances) else { return 0.0 };
    distances.iter_mut().for_each(|value| *value = (*value - centre).abs());
    let deviation = median(&mut distances).unwrap_or_default() / 0.674_489_750_196_081_7;
    deviation * (std::f64::consts::FRAC_PI_2 / values.len() as f64).sqrt()
}

/// The value that Student's t exceeds in absolute terms with probability `1 - level`; infinite without degrees of freedom.
pub fn student_quantile(level: f64, degrees: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + level / 2.0))
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
}
