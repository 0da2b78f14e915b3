//! How much the launches of one point differ.

use collrules_record::estimate::median;

use crate::statistics::{Variance, standard_error};

/// How much more launches differ than their visits explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LaunchVariance {
    /// The variance of the launches' medians less what visits explain of it; below 0 by chance where there is nothing.
    pub(crate) variance: f64,
    /// Launches less 1.
    pub(crate) degrees: f64,
}

/// Compares launches by the log gains of their visits, which are in order of launch. Of a single visit nobody knows how
/// uncertain it is.
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
    let total = Variance::of(&medians);
    Some(LaunchVariance { variance: total.value() - explained / count, degrees: total.degrees })
}

#[cfg(test)]
mod tests {
    use super::*;

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
