//! What stays the same through a launch, and is new in the next.
//!
//! Visits of one launch share it, so that their number alone makes certain what is chance. How much there is of it is too
//! uncertain from the few launches of one point: all points of a collective are asked together. Intervals are widened
//! by it.

use collrules_record::Cell;
use collrules_record::estimate::{Estimate, median};

use crate::evidence::Evidence;
use crate::statistics::{standard_error, student_quantile};

/// How much more launches differ than their visits explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Between {
    /// The variance of the launches' medians less what visits explain of it; below 0 by chance where there is nothing.
    variance: f64,
    /// Launches less 1.
    degrees: f64,
}

/// Compares launches by the log gains of their visits, which are in order of launch. Of a single visit nobody knows how
/// uncertain it is.
pub(crate) fn between(visits: &[((u32, u32), f64)]) -> Option<Between> {
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
    let mean = medians.iter().sum::<f64>() / count;
    let total = medians.iter().map(|median| (median - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some(Between { variance: total - explained / count, degrees: count - 1.0 })
}

/// Widens the intervals of gains, and their standard errors, by what launches differ, each collective by its own.
///
/// The distance from the gain to either end and that of a normal interval for the mean over launches add up as squares.
/// Cells are ordered by collective.
pub(crate) fn widen(cells: &[Cell], evidence: &mut [Vec<Evidence>]) {
    let mut rest = evidence;
    for block in cells.chunk_by(|a, b| a.collective == b.collective) {
        let (own, others) = rest.split_at_mut(block.len());
        rest = others;
        let seen = || own.iter().flatten().filter_map(|evidence| evidence.basis.between);
        let degrees: f64 = seen().map(|between| between.degrees).sum();
        if degrees == 0.0 {
            continue;
        }
        let variance = seen().map(|between| between.degrees * between.variance).sum::<f64>() / degrees;
        if variance > 0.0 {
            own.iter_mut().flatten().for_each(|evidence| widen_one(evidence, variance, degrees));
        }
    }
}

fn widen_one(evidence: &mut Evidence, variance: f64, degrees: f64) {
    let launches = evidence.basis.launches.len();
    if launches == 0 {
        return;
    }
    let of_mean = variance / launches as f64;
    evidence.basis.deviation = (evidence.basis.deviation.powi(2) + of_mean).sqrt();
    if let Some(gain) = &mut evidence.gain {
        let reach = student_quantile(gain.level, degrees) * of_mean.sqrt();
        let point = gain.point.ln();
        let end = |end: Option<f64>, sign: f64| end.map(|end| (point + sign * (end.ln() - point).hypot(reach)).exp());
        *gain = Estimate { low: end(gain.low, -1.0), high: end(gain.high, 1.0), ..*gain };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits 0, 1, 2 and 10, 11, 12: the medians 1 and 11 have the variance 50; a launch's median has the standard error
    /// 1 / 0.6745 sqrt(pi / 6), squared 1.15096.
    #[test]
    fn launches_differ_by_more_than_their_visits() {
        let visits: Vec<_> = (0..6).map(|k| ((k / 3, k % 3), f64::from(k % 3 + 10 * (k / 3)))).collect();
        let seen = between(&visits).expect("two launches");
        assert!((seen.variance - (50.0 - 1.150_96)).abs() < 1e-4, "{seen:?}");
        assert_eq!(seen.degrees, 1.0);
        assert_eq!(between(&visits[..3]), None, "one launch");
        assert_eq!(between(&visits[..5]), None, "two visits show no spread to rely on");
    }
}
