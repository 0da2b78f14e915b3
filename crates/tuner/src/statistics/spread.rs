//! Variances, and standard errors of medians and means.

use collrules_record::estimate::median;

/// Standard error of the median of values that are normal except for outliers: `sqrt(pi / 2n)` deviations, where the
/// deviation is the median distance from the median over 0.6745. 0 without values.
pub(crate) fn standard_error(values: &[f64]) -> f64 {
    let mut distances = values.to_vec();
    let Some(centre) = median(&mut distances) else { return 0.0 };
    distances.iter_mut().for_each(|value| *value = (*value - centre).abs());
    let deviation = median(&mut distances).unwrap_or_default() / 0.674_489_750_196_081_7;
    deviation * (std::f64::consts::FRAC_PI_2 / values.len() as f64).sqrt()
}

/// A variance with its degrees of freedom.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Variance {
    /// The sum of squared distances from the mean.
    pub(crate) squares: f64,
    pub(crate) degrees: f64,
}

impl Variance {
    pub(crate) fn from_values(values: &[f64]) -> Self {
        let mean = mean(values);
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { squares, degrees: (values.len() as f64 - 1.0).max(0.0) }
    }

    /// Pools two variances, each about its own mean.
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

/// Variance between launches in addition to that between visits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LaunchVariance {
    /// Variance of the launches' medians, minus the part that visits explain; may be negative by chance.
    pub(crate) variance: f64,
    /// Number of launches minus 1.
    pub(crate) degrees: f64,
}

/// Compares launches by the log gains of their visits, which are in order of launch. Launches with fewer than three
/// visits do not count: their uncertainty is unknown.
pub(crate) fn launch_variance(visits: &[((u32, u32), f64)]) -> Option<LaunchVariance> {
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
    let count = medians.len() as f64;
    if count < 2.0 {
        return None;
    }
    let total = Variance::from_values(&medians);
    Some(LaunchVariance { variance: total.value() - explained / count, degrees: total.degrees })
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
        assert!((seen.variance - (50.0 - 1.150_96)).abs() < 1e-4, "{seen:?}");
        assert_eq!(seen.degrees, 1.0);
        assert_eq!(launch_variance(&visits[..3]), None, "one launch");
        assert_eq!(launch_variance(&visits[..5]), None, "two visits show no spread to rely on");
    }
}
