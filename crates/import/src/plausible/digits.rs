//! Times whose digits are those of the message size, as if from the wrong column.

use super::Suspicion;
use crate::finding::FindingCode;
use crate::imported::Imported;
use crate::raw::digits;

/// Significant digits from here on agree by chance once in a million values.
const CERTAIN: u64 = 100_000;

pub(super) fn check(timings: &[Imported]) -> Vec<Suspicion> {
    let slips = timings.iter().enumerate().filter_map(|(place, timing)| {
        let size = digits(&timing.cell.bytes.0.to_string())?;
        if timing.digits? != size || size < CERTAIN {
            return None;
        }
        let time = timing.times.mean.or(timing.times.max)?;
        let what = format!(
            "{time} in {} with {} has the digits of the message size, {} bytes: perhaps columns were mixed up",
            timing.cell, timing.candidate, timing.cell.bytes.0,
        );
        Some(Suspicion { place, code: FindingCode::DigitSlip, what, timings: vec![place] })
    });
    slips.collect()
}
