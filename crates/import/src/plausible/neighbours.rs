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

use std::collections::HashMap;
use std::hash::Hash;

use super::{ABOUT, PointValue, Suspicion, THOUSAND, factor};
use crate::finding::FindingCode;
use collrules_record::estimate::median;
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell};

/// Expected number of false alarms in a table: one table in ten has one.
const FALSE_ALARMS: f64 = 0.1;
/// Smallest deviation of a slip: a factor of two.
const LEAST: f64 = std::f64::consts::LN_2;
/// Least number of values that define a scale.
const LEAST_VALUES: usize = 20;

pub(super) fn check(points: &[PointValue], beside: &[Option<f64>]) -> Vec<Suspicion> {
    // For each value its deviations, each with a flag that is true beyond both neighbours, and if it has two of them.
    let mut evidence: Vec<(Vec<(f64, bool)>, bool)> = vec![(Vec::new(), false); points.len()];
    let by_size = chains(points, |p| (p.cell.collective, p.candidate, p.launch, p.cell.ranks.0), |p| p.cell.bytes.0);
    let by_ranks =
        chains(points, |p| (p.cell.collective, p.candidate, p.launch, p.cell.bytes), |p| u64::from(p.cell.ranks.0));
    for chain in by_size.iter().chain(&by_ranks) {
        for (at, (_, place)) in chain.iter().enumerate() {
            let (found, between) = &mut evidence[*place];
            found.extend(deviations(chain, at, points, beside).into_iter().flatten());
            *between |= at > 0 && at + 1 < chain.len();
        }
    }
    let mut sizes: Vec<f64> =
        evidence.iter().flat_map(|(found, _)| found).map(|(deviation, _)| deviation.abs()).collect();
    let judged = || points.iter().zip(&evidence).filter(|(_, (found, between))| found.len() >= 2 && *between);
    let count = judged().count();
    let Some(scale) = median(&mut sizes).filter(|_| count >= LEAST_VALUES) else { return Vec::new() };
    let threshold = (scale * (count as f64 / FALSE_ALARMS).log2()).max(LEAST);
    let mut launches: HashMap<(Cell, Candidate), Vec<&PointValue>> = HashMap::new();
    for point in points {
        launches.entry((point.cell, point.candidate)).or_default().push(point);
    }
    let is_far = |found: &[(f64, bool)]| {
        let agrees = |(deviation, beyond): &(f64, bool)| *beyond && deviation.signum() == found[0].0.signum();
        found.iter().all(|one| agrees(one) && one.0.abs() > threshold)
    };
    let far = judged().filter(|(point, (found, _))| is_far(found) && !repeated(point, &launches));
    far.map(|(point, (found, _))| {
        doubt(point, found.iter().map(|(deviation, _)| deviation).sum::<f64>() / found.len() as f64)
    })
    .collect()
}

/// Points that differ in a single respect, ordered by it.
fn chains<K: Hash + Eq>(
    points: &[PointValue],
    key: impl Fn(&PointValue) -> K,
    at: impl Fn(&PointValue) -> u64,
) -> Vec<Vec<(f64, usize)>> {
    let mut chains: HashMap<K, Vec<(u64, usize)>> = HashMap::new();
    for (place, point) in points.iter().enumerate() {
        chains.entry(key(point)).or_default().push((at(point), place));
    }
    let log = |(at, place): (u64, usize)| ((at as f64).max(0.5).ln(), place);
    let ordered = |mut chain: Vec<(u64, usize)>| {
        chain.sort_unstable();
        chain.into_iter().map(log).collect()
    };
    chains.into_values().map(ordered).collect()
}

/// The absolute deviation and the one relative to the other candidates, each with a flag that is true if the value is
/// beyond both neighbours. At the end of a chain only the second exists: times grow with the size, ratios hardly.
fn deviations(
    chain: &[(f64, usize)],
    at: usize,
    points: &[PointValue],
    beside: &[Option<f64>],
) -> [Option<(f64, bool)>; 2] {
    let (here, place) = chain[at];
    let before = at.checked_sub(1).map(|at| chain[at]);
    let after = chain.get(at + 1).copied();
    match (before, after) {
        (Some((low, before)), Some((high, after))) => {
            let share = (here - low) / (high - low);
            let off = |value: f64, a: f64, b: f64| {
                (value - (a * (1.0 - share) + b * share), value < a.min(b) || value > a.max(b))
            };
            let relative = match (beside[place], beside[before], beside[after]) {
                (Some(value), Some(a), Some(b)) => Some(off(value, a, b)),
                _ => None,
            };
            [Some(off(points[place].log, points[before].log, points[after].log)), relative]
        }
        (Some((_, only)), None) | (None, Some((_, only))) => {
            let relative = beside[place].zip(beside[only]).map(|(value, other)| (value - other, value != other));
            [None, relative]
        }
        (None, None) => [None, None],
    }
}

/// Returns true if another launch gave about the same value, so that it is no slip.
fn repeated(point: &PointValue, launches: &HashMap<(Cell, Candidate), Vec<&PointValue>>) -> bool {
    let others = launches.get(&(point.cell, point.candidate)).into_iter().flatten();
    others.into_iter().any(|other| other.launch != point.launch && (other.log - point.log).abs() < LEAST)
}

/// `mean` is the mean deviation from its neighbours.
fn doubt(point: &PointValue, mean: f64) -> Suspicion {
    let expected = Seconds((point.log - mean).exp());
    let much = if mean > 0.0 { "longer" } else { "shorter" };
    let mut what = format!(
        "{} in {} with {} does not fit its neighbours, which suggest about {expected}: {} times {much}",
        point.time(),
        point.cell,
        point.candidate,
        factor(mean),
    );
    let thousands = (mean.abs() / THOUSAND).round();
    if thousands >= 1.0 && (mean.abs() - thousands * THOUSAND).abs() < ABOUT {
        what += "; perhaps it is in another unit";
        return point.suspicion(FindingCode::UnitSlip, what);
    }
    point.suspicion(FindingCode::Outlier, what)
}
