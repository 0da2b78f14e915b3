//! Values that no machine produces: digits of the message size, more data than links carry, times that do not grow with the
//! size of large messages, and times of a network slower than any in use.

use super::{PointValue, Suspicion, group, through_one_process};
use crate::finding::FindingCode;
use crate::timing::Imported;
use collrules_record::sample::{SLOWEST_BYTES, SLOWEST_STEP};

/// Numbers of this many significant digits agree by chance once in a million values.
const CERTAIN: usize = 6;

/// Rounding error of the quotient of two numbers that differ in the place of their decimal point alone, as a logarithm.
const ROUNDING: f64 = 1e-12;

/// Smaller messages take the time of a call rather than that of their data.
const LEAST_BYTES: f64 = 4096.0;

/// Times whose digits are those of the message size, as if from the wrong column.
pub(super) fn check_digits(timings: &[Imported]) -> Vec<Suspicion> {
    let slips = timings.iter().enumerate().filter_map(|(place, timing)| {
        let (bytes, time) = (timing.cell.bytes.0, timing.times.mean.or(timing.times.max)?);
        let digits = bytes.to_string().trim_end_matches('0').len();
        let shift = (time.0 / bytes as f64).log10();
        if digits < CERTAIN || (shift - shift.round()).abs() > ROUNDING {
            return None;
        }
        let what = format!(
            "{time} in {} with {} has the digits of the message size, {bytes} bytes: perhaps columns were mixed up",
            timing.cell, timing.candidate,
        );
        Some(Suspicion { place, code: FindingCode::DigitSlip, what, timings: vec![place] })
    });
    slips.collect()
}

/// More data through one process than any link or core carries: one suspicion per candidate, at its fastest point.
pub(super) fn check_bandwidth(points: &[PointValue], most: f64) -> Vec<Suspicion> {
    let speed = |point: &PointValue| through_one_process(point.cell) / point.time().0;
    let beyond = points.iter().filter(|it| through_one_process(it.cell) >= LEAST_BYTES && speed(it) > most);
    let candidates = group(beyond, |point| (point.cell.collective, point.candidate));
    let suspicions = candidates.into_values().filter_map(|beyond| {
        let worst = *beyond.iter().max_by(|a, b| speed(a).total_cmp(&speed(b)))?;
        let count = beyond.len();
        let (value, speed, most) = (worst.describe(), speed(worst) / 1e9, most / 1e9);
        let what = format!(
            "{value} would be {speed:.1} GB/s through one process, more than the {most:.0} GB/s that a process can send \
             or receive (--process-bandwidth); sizes of this algorithm beyond that: {count}"
        );
        Some(worst.suspicion(beyond, FindingCode::Bandwidth, what))
    });
    suspicions.collect()
}

/// Factor between sizes over which times grow, whatever the algorithms.
const FACTOR: u64 = 256;
/// Smallest sizes that are compared: latency hides the growth of smaller ones, and first calls set up connections.
const LEAST_SMALL: u64 = 1024;
const LEAST_LARGE: u64 = 256 * 1024;
/// Bytes of each rank, of one element: with fewer, Open MPI calls another algorithm in place of some (Rabenseifner's).
const ELEMENT: u64 = 8;

/// Sizes that show a network slower than any in use. The fastest algorithm needs a message for each doubling of the ranks.
const SMALL: u64 = 1024;
const LARGE: u64 = 64 * 1024;

/// Times that do not grow, and all times of a collective in another unit.
pub(super) fn check_growth(points: &[PointValue]) -> Vec<Suspicion> {
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
            let least = LEAST_SMALL.max(ELEMENT * u64::from(small.cell.ranks.0));
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
