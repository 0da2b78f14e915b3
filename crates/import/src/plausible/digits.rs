//! Times whose digits are those of the message size, as if from the wrong column.

use super::Suspicion;
use crate::finding::FindingCode;
use crate::imported::Imported;

/// Numbers of this many significant digits agree by chance once in a million values.
const CERTAIN: usize = 6;

/// Rounding error of the quotient of two numbers that differ in the place of their decimal point alone, as a logarithm.
const ROUNDING: f64 = 1e-12;

pub(super) fn check(timings: &[Imported]) -> Vec<Suspicion> {
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
