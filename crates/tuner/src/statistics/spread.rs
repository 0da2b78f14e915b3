//! Standard errors of medians, and the variance between launches beyond that between visits.

use collrules_record::estimate::{Variance, median, robust_deviation};

/// Standard error of the median of values that are normal except for outliers: `sqrt(pi / 2n)` deviations, where the
/// deviation is the median distance from the median over 0.6745. 0 without values.
pub(crate) fn standard_error(values: &[f64]) -> f64 {
    let mut distances = values.to_vec();
    let Some(centre) = median(&mut distances) else { return 0.0 };
    distances.iter_mut().for_each(|value| *value = (*value - centre).abs());
    let deviation = robust_deviation(&mut distances).unwrap_or_default();
    deviation * (std::f64::consts::FRAC_PI_2 / values.len() as f64).sqrt()
}

/// Variance between launches in addition to that between visits; may be negative by chance.
///
/// From the log gains of visits, which are in order of launch: the variance of the launches' medians, minus the part that
/// visits explain. Launches with fewer than three visits do not count: their uncertainty is unknown.
pub(crate) fn launch_variance(visits: &[((u32, u32), f64)]) -> Option<Variance> {
    let mut medians = Vec::new();
    let mut explained = 0.0;
    for launch in visits.chunk_by(|a, b| a.0.0 == b.0.0) {
        let mut gains: Vec<f64> = launch.iter().map(|(_, gain)| *gain).collect();
        if gains.len() < 3 {
            continue;
        }
        explained += standard_error(&gains).powi(2);
        medians.push(median(&mut gains)?);
    }
    let total = Variance::from_values(&medians);
    let value = total.value - explained / medians.len() as f64;
    (medians.len() > 1).then_some(Variance { value, ..total })
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

    /// Visits 0, 1, 2 and 10, 11, 12: the medians 1 and 11 have the variance 50; a launch's median has the standard error
    /// 1 / 0.6745 sqrt(pi / 6), squared 1.15096.
    #[test]
    fn launches_differ_by_more_than_their_visits() {
        let visits: Vec<_> = (0..6).map(|k| ((k / 3, k % 3), f64::from(k % 3 + 10 * (k / 3)))).collect();
        let seen = launch_variance(&visits).expect("two launches");
        assert!((seen.value - (50.0 - 1.150_96)).abs() < 1e-4, "{seen:?}");
        assert_eq!(seen.degrees, 1.0);
        assert_eq!(launch_variance(&visits[..3]), None, "one launch");
        assert_eq!(launch_variance(&visits[..5]), None, "two visits show no spread to rely on");
    }
}
