//! Series in another unit: all sizes of a candidate on a communicator are a thousand times too long or short, relative to
//! the other candidates, and than on the other communicators. Real algorithms differ by up to some hundred times, but not
//! by that much between one communicator and the next.

use std::collections::BTreeMap;

use super::{ABOUT, PointValue, Suspicion, THOUSAND, factor};
use crate::finding::FindingCode;
use collrules_record::estimate::median;

/// Least number of sizes of a series.
const LEAST_SIZES: usize = 3;

/// One suspicion per candidate, about all of its series that are off.
pub(super) fn check(points: &[PointValue], beside: &[Option<f64>]) -> Vec<Suspicion> {
    let mut columns: BTreeMap<_, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        let column = columns.entry((point.cell.collective, point.candidate, point.launch)).or_default();
        column.entry(point.cell.ranks.0).or_default().push(place);
    }
    let offset = |places: &Vec<usize>| {
        let mut own: Vec<f64> = places.iter().filter_map(|place| beside[*place]).collect();
        median(&mut own).filter(|_| own.len() >= LEAST_SIZES)
    };
    let is_thousand = |log: f64, tolerance: f64| (log.abs() - THOUSAND).abs() < tolerance;
    let doubts = columns.into_values().filter_map(|column| {
        let mut off: Vec<(f64, Vec<usize>)> =
            column.into_values().filter_map(|places| Some((offset(&places)?, places))).collect();
        let offsets: Vec<f64> = off.iter().map(|(offset, _)| *offset).collect();
        // Of a whole column its smallest communicator tells, on which algorithms differ least.
        let usual = median(&mut offsets.clone())?;
        let is_whole = is_thousand(offsets[0], ABOUT) && is_thousand(usual, 2.0 * ABOUT);
        let usual = if is_whole || offsets.len() < 3 { 0.0 } else { usual };
        off.retain(|(offset, _)| is_whole || is_thousand(offset - usual, ABOUT));
        let (first_off, first) = (off.first()?.0, &points[*off.first()?.1.first()?]);
        let ranks: Vec<String> = off.iter().map(|(_, places)| points[places[0]].cell.ranks.to_string()).collect();
        let what = format!(
            "{} on {} ranks with {} takes {} times {} at all sizes than the other algorithms suggest; perhaps it is in \
             another unit",
            first.cell.collective,
            ranks.join(", "),
            first.candidate,
            factor(first_off),
            if first_off > 0.0 { "longer" } else { "shorter" },
        );
        let timings =
            off.iter().flat_map(|(_, places)| places).flat_map(|place| points[*place].timings.clone()).collect();
        Some(Suspicion { timings, ..first.suspicion(FindingCode::UnitSlip, what) })
    });
    doubts.collect()
}
