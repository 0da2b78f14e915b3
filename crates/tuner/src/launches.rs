//! What stays the same through a launch, and is new in the next.
//!
//! Visits of one launch share it, so that their number alone makes certain what is chance. How much there is of it is too
//! uncertain from the few launches of one point: all points of a collective are asked together. Intervals are widened
//! by it.

use collrules_record::Cell;
use collrules_record::estimate::Estimate;

use crate::evidence::Evidence;
use crate::statistics::student_quantile;

/// Widens the intervals of gains, and their standard errors, by what launches differ, each collective by its own.
///
/// The distance from the gain to either end and that of a normal interval for the mean over launches add up as squares.
/// Cells are ordered by collective.
pub(crate) fn widen(cells: &[Cell], evidence: &mut [Vec<Evidence>]) {
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
        let end = |end: Option<f64>, sign: f64| end.map(|end| (point + sign * (end.ln() - point).hypot(reach)).exp());
        *gain = Estimate { low: end(gain.low, -1.0), high: end(gain.high, 1.0), ..*gain };
    }
}
