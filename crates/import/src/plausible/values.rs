//! Values that are impossible by themselves.

use super::{PointValue, Suspicion, group, through_one_process};
use crate::finding::FindingCode;
use crate::timing::Imported;

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
        let others = match beyond.len() - 1 {
            0 => String::new(),
            1 => "; one other size of this algorithm exceeds that too".to_owned(),
            count => format!("; {count} other sizes of this algorithm exceed that too"),
        };
        let what = format!(
            "{} in {} with {} would be {:.1} GB/s through one process, more than the {:.0} GB/s that a process can send \
             or receive (--process-bandwidth){others}",
            worst.time(),
            worst.cell,
            worst.candidate,
            speed(worst) / 1e9,
            most / 1e9,
        );
        Some(worst.suspicion(beyond, FindingCode::Bandwidth, what))
    });
    suspicions.collect()
}
