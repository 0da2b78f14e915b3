//! Values far from those of all their neighbours.
//!
//! A value has up to four neighbours: the same candidate at the next smaller and larger message size, and on the next
//! smaller and larger communicator. They are compared on logarithmic scales, as they are and relative to the other
//! candidates of the cell, since a switch of protocol makes a step in all of them. That gives up to four deviations:
//! two directions, absolute and relative. The value's own deviation is the smallest of them, or none if they disagree
//! in sign or if the value lies between its neighbours in one of them: a value that one direction explains is no slip.
//!
//! The scale is the median size of all single deviations, so that slips do not widen it. Timing errors have heavy tails,
//! so they are taken to fall off exponentially (Laplace) rather than as a normal distribution: beyond `k` times the
//! median lies a share of `2^-k`. The threshold is where all values together would make [`FALSE_ALARMS`] false alarms
//! if single deviations alone counted; the smallest of several makes fewer.

use super::{ABOUT, PointValue, Suspicion, THOUSAND, factor, group};
use crate::finding::FindingCode;
use collrules_record::estimate::median;
use collrules_record::{Cell, Seconds};

/// Expected number of false alarms in a table: one table in ten has one.
const FALSE_ALARMS: f64 = 0.1;
/// Smallest deviation of a slip: a factor of two.
const LEAST: f64 = std::f64::consts::LN_2;
/// Least number of values that define a scale.
const LEAST_VALUES: usize = 20;

pub(super) fn check(points: &[PointValue]) -> Vec<Suspicion> {
    // For each value its deviations, each with a flag that is true beyond both neighbours, and if it has two of them.
    let mut evidence: Vec<(Vec<(f64, bool)>, bool)> = vec![(Vec::new(), false); points.len()];
    // The number that all of a chain have, and the one in which they differ.
    let directions: [fn(Cell) -> (u64, u64); 2] =
        [|cell| (u64::from(cell.ranks.0), cell.bytes.0), |cell| (cell.bytes.0, u64::from(cell.ranks.0))];
    for direction in directions {
        let of = |(_, point): &(usize, &PointValue)| {
            (point.cell.collective, point.candidate, point.launch, direction(point.cell).0)
        };
        // Points are ordered by cell, so those of a chain are ordered by what they differ in.
        for places in group(points.iter().enumerate(), of).into_values() {
            let log = |point: &PointValue| (direction(point.cell).1 as f64).max(0.5).ln();
            let chain: Vec<(f64, &PointValue)> = places.iter().map(|(_, point)| (log(point), *point)).collect();
            for (at, (place, _)) in places.into_iter().enumerate() {
                let (found, between) = &mut evidence[place];
                found.extend(deviations(&chain, at).into_iter().flatten());
                *between |= at > 0 && at + 1 < chain.len();
            }
        }
    }
    let deviations = evidence.iter().flat_map(|(found, _)| found);
    let mut sizes: Vec<f64> = deviations.map(|(deviation, _)| deviation.abs()).collect();
    let judged = || points.iter().zip(&evidence).filter(|(_, (found, between))| found.len() >= 2 && *between);
    let count = judged().count();
    let Some(scale) = median(&mut sizes).filter(|_| count >= LEAST_VALUES) else { return Vec::new() };
    let threshold = (scale * (count as f64 / FALSE_ALARMS).log2()).max(LEAST);
    let is_far = |found: &[(f64, bool)]| {
        let agrees = |(deviation, beyond): &(f64, bool)| *beyond && deviation.signum() == found[0].0.signum();
        found.iter().all(|one| agrees(one) && one.0.abs() > threshold)
    };
    // A value that another launch repeats is no slip.
    let is_repeated = |point: &PointValue| {
        let others = points.iter().filter(|it| (it.cell, it.candidate) == (point.cell, point.candidate));
        others.into_iter().any(|it| it.launch != point.launch && (it.log - point.log).abs() < LEAST)
    };
    let far = judged().filter(|(point, (found, _))| is_far(found) && !is_repeated(point));
    let mean = |found: &[(f64, bool)]| found.iter().map(|(it, _)| it).sum::<f64>() / found.len() as f64;
    far.map(|(point, (found, _))| doubt(point, mean(found))).collect()
}

/// The absolute deviation and the one relative to the other candidates, each with a flag that is true if the value is
/// beyond both neighbours. At the end of a chain only the second exists: times grow with the size, ratios hardly.
fn deviations(chain: &[(f64, &PointValue)], at: usize) -> [Option<(f64, bool)>; 2] {
    let (here, point) = chain[at];
    match (at.checked_sub(1).map(|at| chain[at]), chain.get(at + 1)) {
        (Some((low, before)), Some((high, after))) => {
            let share = (here - low) / (high - low);
            let off = |value: f64, a: f64, b: f64| {
                (value - (a * (1.0 - share) + b * share), value < a.min(b) || value > a.max(b))
            };
            let relative = point.beside.zip(before.beside).zip(after.beside);
            [Some(off(point.log, before.log, after.log)), relative.map(|((value, a), b)| off(value, a, b))]
        }
        (before, after) => {
            let only = before.or(after.copied()).and_then(|(_, only)| only.beside);
            [None, point.beside.zip(only).map(|(value, other)| (value - other, value != other))]
        }
    }
}

/// `mean` is the mean deviation from its neighbours.
fn doubt(point: &PointValue, mean: f64) -> Suspicion {
    let (value, expected, times) = (point.describe(), Seconds((point.log - mean).exp()), factor(mean));
    let what = format!("{value} does not fit its neighbours, which suggest about {expected}: {times}");
    let thousands = (mean.abs() / THOUSAND).round().max(1.0);
    let is_unit = (mean.abs() - thousands * THOUSAND).abs() < ABOUT;
    point.suspicion([point], if is_unit { FindingCode::UnitSlip } else { FindingCode::Outlier }, what)
}
