//! Times whose digits are those of the message size, as if from the wrong column.

use std::collections::HashMap;

use super::Suspicion;
use crate::finding::FindingCode;
use crate::imported::Imported;
use crate::raw::Digits;

/// Significant digits from here on agree by chance once in a million values.
const CERTAIN: u64 = 100_000;
/// Significant digits from here on agree by chance once in some thousand values, and need another sign: more or fewer
/// decimals than the file usually has.
const LIKELY: u64 = 1_000;

pub(super) fn check(timings: &[Imported]) -> Vec<Suspicion> {
    let usual = usual_decimals(timings);
    let slips = timings.iter().enumerate().filter_map(|(place, timing)| {
        let written = timing.digits?;
        let size = Digits::parse(timing.cell.bytes.0.to_string().as_bytes())?;
        let unusual = usual.get(&timing.source).is_some_and(|usual| *usual != written.decimals);
        let same = written.significant == size.significant;
        if !same || !(size.significant >= CERTAIN || size.significant >= LIKELY && unusual) {
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

/// The most common number of decimals in each file.
fn usual_decimals(timings: &[Imported]) -> HashMap<usize, u8> {
    let mut counts: HashMap<(usize, u8), usize> = HashMap::new();
    for timing in timings {
        if let Some(digits) = timing.digits {
            *counts.entry((timing.source, digits.decimals)).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().map(|((source, decimals), count)| (source, count, decimals)).collect();
    // The last entry of a file stays.
    counts.sort_unstable();
    counts.into_iter().map(|(source, _, decimals)| (source, decimals)).collect()
}
