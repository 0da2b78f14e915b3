//! Series in another unit: all sizes of a candidate on a communicator are a thousand times too long or short.
//!
//! Real algorithms differ by up to some hundred times, but not by that much between one communicator and the next.

use std::collections::BTreeMap;

use super::{ABOUT, PointValue, Suspicion, THOUSAND, factor};
use crate::finding::FindingCode;
use collrules_record::estimate::median;

/// Least number of sizes of a series.
const LEAST_SIZES: usize = 3;

pub(super) fn check(points: &[PointValue], beside: &[Option<f64>]) -> Vec<Suspicion> {
    let mut columns: BTreeMap<_, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        let column = columns.entry((point.cell.collective, point.candidate, point.launch)).or_default();
        column.entry(point.cell.ranks.0).or_default().push(place);
    }
    let mut doubts = Vec::new();
    for column in columns.values() {
        let offsets: Vec<(f64, &Vec<usize>)> = column
            .values()
            .filter_map(|places| {
                let mut own: Vec<f64> = places.iter().filter_map(|place| beside[*place]).collect();
                (own.len() >= LEAST_SIZES).then(|| median(&mut own)).flatten().map(|offset| (offset, places))
            })
            .collect();
        for (at, (offset, places)) in offsets.iter().enumerate() {
            let mut others: Vec<f64> =
                offsets.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, (offset, _))| *offset).collect();
            // On a single communicator, or with one other to compare with, the other candidates have to tell.
            let usual = if others.len() >= 2 { median(&mut others).unwrap_or(0.0) } else { 0.0 };
            // Where the whole column is off, its smallest communicator tells, on which algorithms differ least.
            let all =
                at == 0 && (offset.abs() - THOUSAND).abs() < ABOUT && (usual.abs() - THOUSAND).abs() < 2.0 * ABOUT;
            let off = offset - usual;
            if all {
                let places: Vec<usize> = offsets.iter().flat_map(|(_, places)| places.iter().copied()).collect();
                doubts.extend(doubt(&places, *offset, points));
                break;
            }
            if (off.abs() - THOUSAND).abs() < ABOUT {
                doubts.extend(doubt(places, off, points));
            }
        }
    }
    doubts
}

fn doubt(places: &[usize], off: f64, points: &[PointValue]) -> Option<Suspicion> {
    let first = &points[*places.first()?];
    let last = &points[*places.last()?];
    let ranks = if first.cell.ranks == last.cell.ranks {
        format!("on {} ranks", first.cell.ranks)
    } else {
        format!("on {} to {} ranks", first.cell.ranks, last.cell.ranks)
    };
    let much = if off > 0.0 { "longer" } else { "shorter" };
    let what = format!(
        "{} {ranks} with {} takes {} times {much} at all sizes than the other algorithms and communicators suggest; \
         perhaps it is in another unit",
        first.cell.collective,
        first.candidate,
        factor(off),
    );
    let timings = places.iter().flat_map(|place| points[*place].timings.clone()).collect();
    Some(Suspicion { timings, ..first.suspicion(FindingCode::UnitSlip, what) })
}
