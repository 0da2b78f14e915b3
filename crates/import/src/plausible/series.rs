//! Series in another unit: all sizes of a candidate on a communicator are a thousand times too long or short, relative to
//! the other candidates, and than on the other communicators. Real algorithms differ by up to some hundred times, but not
//! by that much between one communicator and the next.

use super::{ABOUT, PointValue, Suspicion, THOUSAND, factor, group};
use crate::finding::FindingCode;
use collrules_record::estimate::median;

/// Least number of sizes of a series.
const LEAST_SIZES: usize = 3;

/// One suspicion per candidate, about all of its series that are off.
pub(super) fn check(points: &[PointValue]) -> Vec<Suspicion> {
    let columns = group(points, |point| (point.cell.collective, point.candidate, point.launch));
    columns.into_values().filter_map(doubt).collect()
}

fn doubt(column: Vec<&PointValue>) -> Option<Suspicion> {
    let offset = |series: &[&PointValue]| {
        let mut own: Vec<f64> = series.iter().filter_map(|point| point.beside).collect();
        median(&mut own).filter(|_| own.len() >= LEAST_SIZES)
    };
    let is_thousand = |log: f64, tolerance: f64| (log.abs() - THOUSAND).abs() < tolerance;
    let series = group(column, |point| point.cell.ranks).into_values();
    let mut off: Vec<(f64, Vec<&PointValue>)> = series.filter_map(|series| Some((offset(&series)?, series))).collect();
    let mut offsets: Vec<f64> = off.iter().map(|(offset, _)| *offset).collect();
    // Judge a whole column by its smallest communicator, on which algorithms differ least.
    let smallest = *offsets.first()?;
    let usual = median(&mut offsets)?;
    let is_whole = is_thousand(smallest, ABOUT) && is_thousand(usual, 2.0 * ABOUT);
    let usual = if is_whole || offsets.len() < 3 { 0.0 } else { usual };
    off.retain(|(offset, _)| is_whole || is_thousand(offset - usual, ABOUT));
    let (first_off, first) = off.first().map(|(offset, series)| (*offset, series[0]))?;
    let ranks: Vec<String> = off.iter().map(|(_, series)| series[0].cell.ranks.to_string()).collect();
    let (collective, candidate) = (first.cell.collective, first.candidate);
    let what = format!(
        "{collective} on {} ranks with {candidate} takes {} at all sizes than the other algorithms suggest; perhaps it is \
         in another unit",
        ranks.join(", "),
        factor(first_off),
    );
    Some(first.suspicion(off.into_iter().flat_map(|(_, series)| series), FindingCode::UnitSlip, what))
}
