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
use collrules_record::units::Seconds;

/// Expected number of false alarms in a table: one table in ten has one.
const FALSE_ALARMS: f64 = 0.1;
/// Smallest deviation of a slip: a factor of two.
const LEAST: f64 = std::f64::consts::LN_2;
/// Least number of values that define a scale.
const LEAST_VALUES: usize = 20;

pub(super) fn check(points: &[PointValue]) -> Vec<Suspicion> {
    // For each value its deviations, each with a flag that is true beyond both neighbours, and if it has two of them.
    let mut evidence: Vec<(Vec<(f64, bool)>, bool)> = vec![(Vec::new(), false); points.len()];
    let chains = |key: &dyn Fn(&PointValue) -> u64, at: &dyn Fn(&PointValue) -> u64| {
        let of = |place: &usize| {
            let point = &points[*place];
            (point.cell.collective, point.candidate, point.launch, key(point))
        };
        // Points are ordered by cell, so those of a group are ordered by what they differ in.
        let log = |place: usize| ((at(&points[place]) as f64).max(0.5).ln(), place);
        let groups = group(0..points.len(), of).into_values();
        groups.map(|places| places.into_iter().map(log).collect()).collect::<Vec<Vec<(f64, usize)>>>()
    };
    let (size, ranks) = (|point: &PointValue| point.cell.bytes.0, |point: &PointValue| u64::from(point.cell.ranks.0));
    for chain in chains(&ranks, &size).iter().chain(&chains(&size, &ranks)) {
        for (at, (_, place)) in chain.iter().enumerate() {
            let (found, between) = &mut evidence[*place];
            found.extend(deviations(chain, at, points).into_iter().flatten());
            *between |= at > 0 && at + 1 < chain.len();
        }
    }
    let mut sizes: Vec<f64> =
        evidence.iter().flat_map(|(found, _)| found).map(|(deviation, _)| deviation.abs()).collect();
    let judged = || points.iter().zip(&evidence).filter(|(_, (found, between))| found.len() >= 2 && *between);
    let count = judged().count();
    let Some(scale) = median(&mut sizes).filter(|_| count >= LEAST_VALUES) else { return Vec::new() };
    let threshold = (scale * (count as f64 / FALSE_ALARMS).log2()).max(LEAST);
    let launches = group(points, |point| (point.cell, point.candidate));
    // A value that another launch repeats is no slip.
    let is_repeated = |point: &PointValue| {
        let others = launches[&(point.cell, point.candidate)].iter();
        others.into_iter().any(|other| other.launch != point.launch && (other.log - point.log).abs() < LEAST)
    };
    let is_far = |found: &[(f64, bool)]| {
        let agrees = |(deviation, beyond): &(f64, bool)| *beyond && deviation.signum() == found[0].0.signum();
        found.iter().all(|one| agrees(one) && one.0.abs() > threshold)
    };
    let far = judged().filter(|(point, (found, _))| is_far(found) && !is_repeated(point));
    far.map(|(point, (found, _))| {
        doubt(point, found.iter().map(|(deviation, _)| deviation).sum::<f64>() / found.len() as f64)
    })
    .collect()
}

/// The absolute deviation and the one relative to the other candidates, each with a flag that is true if the value is
/// beyond both neighbours. At the end of a chain only the second exists: times grow with the size, ratios hardly.
fn deviations(chain: &[(f64, usize)], at: usize, points: &[PointValue]) -> [Option<(f64, bool)>; 2] {
    let neighbour = |(x, place): (f64, usize)| (x, &points[place]);
    let (here, point) = neighbour(chain[at]);
    let before = at.checked_sub(1).map(|at| neighbour(chain[at]));
    let after = chain.get(at + 1).map(|after| neighbour(*after));
    match (before, after) {
        (Some((low, before)), Some((high, after))) => {
            let share = (here - low) / (high - low);
            let off = |value: f64, a: f64, b: f64| {
                (value - (a * (1.0 - share) + b * share), value < a.min(b) || value > a.max(b))
            };
            let relative = point.beside.zip(before.beside).zip(after.beside);
            let relative = relative.map(|((value, a), b)| off(value, a, b));
            [Some(off(point.log, before.log, after.log)), relative]
        }
        (Some((_, only)), None) | (None, Some((_, only))) => {
            [None, point.beside.zip(only.beside).map(|(value, other)| (value - other, value != other))]
        }
        (None, None) => [None, None],
    }
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
        return point.suspicion([point], FindingCode::UnitSlip, what);
    }
    point.suspicion([point], FindingCode::Outlier, what)
}
