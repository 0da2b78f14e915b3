//! Noise that is constant in a launch and differs in the next.
//!
//! Visits of one launch share it, so intervals from visits alone would be too narrow. One point has too few launches to
//! estimate it, so all points of a collective are used together, and intervals are widened by the result.

use collrules_record::Cell;
use collrules_record::estimate::{Estimate, ratio};

use crate::evidence::Evidence;
use crate::statistics::student_quantile;

/// Widens the intervals and standard errors of gains by the variance between launches, which is estimated for each
/// collective.
///
/// The half width of an interval and that of a normal interval for the mean over launches are added in quadrature.
/// Cells are ordered by collective.
pub fn widen(cells: &[Cell], evidence: &mut [Vec<Evidence>]) {
    let mut rest = evidence;
    for block in cells.chunk_by(|a, b| a.collective == b.collective) {
        let (own, others) = rest.split_at_mut(block.len());
        rest = others;
        let seen = || own.iter().flatten().filter_map(|evidence| evidence.basis.launch_variance);
        let degrees: f64 = seen().map(|seen| seen.degrees).sum();
        if degrees == 0.0 {
            continue;
        }
        let variance = seen().map(|seen| seen.degrees * seen.variance).sum::<f64>() / degrees;
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
        let end = |end: Option<f64>, sign: f64| end.map(|end| ratio(point + sign * (end.ln() - point).hypot(reach)));
        *gain = Estimate { low: end(gain.low, -1.0), high: end(gain.high, 1.0), ..*gain };
    }
}
