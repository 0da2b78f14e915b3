//! Times that do not grow with the size of large messages, and times of a network slower than any in use.

use super::{PointValue, Suspicion, group, through_one_process};
use crate::finding::FindingCode;
use collrules_record::sample::{SLOWEST_BYTES, SLOWEST_STEP};

/// Factor between sizes over which times grow, whatever the algorithms.
const FACTOR: u64 = 256;
/// Smallest sizes that are compared: latency hides the growth of smaller ones, and first calls set up connections.
const LEAST: u64 = 1024;
const LEAST_LARGE: u64 = 256 * 1024;
/// Bytes of each rank, of one element: with fewer, Open MPI calls another algorithm in place of some (Rabenseifner's).
const ELEMENT: u64 = 8;

/// Sizes that show a network slower than any in use. The fastest algorithm needs a message for each doubling of the ranks.
const SMALL: u64 = 1024;
const LARGE: u64 = 64 * 1024;

pub(super) fn check(points: &[PointValue]) -> Vec<Suspicion> {
    // One process alone moves no data.
    let several = points.iter().filter(|point| point.cell.ranks.0 > 1);
    let columns = group(several, |it| (it.cell.collective, it.cell.ranks, it.candidate, it.launch));
    let collectives = group(points, |point| point.cell.collective);
    let flat = columns.values().filter_map(|column| doubt_growth(column));
    flat.chain(collectives.values().filter_map(|points| doubt_unit(points))).collect()
}

/// Points of one candidate on one communicator, by size.
fn doubt_growth(column: &[&PointValue]) -> Option<Suspicion> {
    let pairs = column.iter().filter(|point| point.cell.bytes.0 >= LEAST_LARGE).flat_map(|large| {
        let is_small = |small: &&&PointValue| {
            let least = LEAST.max(ELEMENT * u64::from(small.cell.ranks.0));
            small.cell.bytes.0 >= least && small.cell.bytes.0 <= large.cell.bytes.0 / FACTOR && small.log >= large.log
        };
        column.iter().filter(is_small).map(move |small| (*small, *large))
    });
    let (small, large) = pairs.min_by_key(|(small, large)| (small.cell.bytes, large.cell.bytes))?;
    let what = format!(
        "{} with {} takes {} and {} takes {}: times that do not grow with the size are of something else",
        small.cell,
        small.candidate,
        small.time(),
        large.cell.bytes,
        large.time(),
    );
    Some(large.suspicion(column.iter().copied(), FindingCode::Flat, what))
}

/// All points of a collective. The fastest of each size counts.
fn doubt_unit(points: &[&PointValue]) -> Option<Suspicion> {
    let steps = |point: &PointValue| f64::from(u32::BITS - (point.cell.ranks.0.max(2) - 1).leading_zeros());
    let seconds = |point: &PointValue| point.time().0 / steps(point);
    let small = points.iter().filter(|point| point.cell.bytes.0 <= SMALL);
    let small = small.min_by(|a, b| seconds(a).total_cmp(&seconds(b))).copied()?;
    let speed = |point: &PointValue| through_one_process(point.cell) / seconds(point);
    let large = points.iter().filter(|point| point.cell.bytes.0 >= LARGE && point.cell.ranks.0 > 1);
    let large = large.max_by(|a, b| speed(a).total_cmp(&speed(b))).copied()?;
    if seconds(small) < SLOWEST_STEP || speed(large) > SLOWEST_BYTES {
        return None;
    }
    let what = format!(
        "{} takes at least {}, and {} takes at least {}: slower than any network in use; perhaps all times are in another unit",
        small.cell,
        small.time(),
        large.cell,
        large.time(),
    );
    Some(small.suspicion(points.iter().copied(), FindingCode::UnitSlip, what))
}
