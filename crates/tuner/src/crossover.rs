//! Message sizes between two measured ones at which the choice changes.

use collrules_record::{Bytes, Candidate};

use crate::verdict::JudgedCell;

/// The boundary between two neighbouring measured sizes: the first size above the range of the lower choice, and the first
/// one in the range of the upper choice. If they differ, the default is used between them.
///
/// Between neighbouring sizes of the grid times are taken as affine in the message size (Hockney's model), so that
/// the difference of two candidates is as well. The boundary is the smallest size beyond the lower one at which the
/// choice above takes at most as long as the choice below. It is the upper size itself if the medians do not cross
/// in between, because the verdicts differ by significance alone.
///
/// If one of the two was not timed at an end, the choice above begins at its measured size, and the choice below ends where
/// the default catches up with it. Where that is unknown too, the choice below ends at its own measured size.
pub(crate) fn boundary(lower: &JudgedCell, upper: &JudgedCell, below: Candidate, above: Candidate) -> (Bytes, Bytes) {
    let bracket = (lower.cell.bytes, upper.cell.bytes);
    let lead = |cell: &JudgedCell, below, above| {
        let seconds = |candidate| cell.point(candidate).map(|finding| finding.time.point);
        Some(seconds(above)? - seconds(below)?)
    };
    let change = |below, above| {
        let leads = lead(lower, below, above).zip(lead(upper, below, above))?;
        Some(crossing(bracket, leads).unwrap_or(bracket.1))
    };
    match change(below, above) {
        Some(at) => (at, at),
        None => {
            let end = change(below, Candidate::Builtin).unwrap_or(Bytes(bracket.0.0.saturating_add(1)));
            (end.min(bracket.1), bracket.1)
        }
    }
}

/// The smallest integer size in `(low, high]` at which a difference that is affine in the size, and positive at the low
/// end, is zero or less; none if there is no such size.
pub fn crossing((low, high): (Bytes, Bytes), (at_low, at_high): (f64, f64)) -> Option<Bytes> {
    if !(at_low > 0.0 && at_high <= 0.0) {
        return None;
    }
    let span = high.0.checked_sub(low.0).filter(|span| *span > 0)?;
    let exact = span as f64 * (at_low / (at_low - at_high));
    // A crossing at an integer is that integer, despite rounding errors.
    let nearest = exact.round();
    let offset = if (exact - nearest).abs() <= 1e-9 * span as f64 { nearest } else { exact.ceil() };
    Some(Bytes(low.0 + (offset as u64).clamp(1, span)))
}

/// The interval of sizes that contains the crossover.
///
/// For each measured size the log ratio of the two times has an interval, made of those of the two gains over the builtin
/// (method of variance estimates recovery, Zou and Donner, Statistics in Medicine 27, 2008; that both gains share the
/// builtin's noise makes it too wide rather than too narrow). Between sizes its ends are interpolated linearly in the
/// logarithm of the size. The interval of the crossover is where this band holds zero around it, out to where one of the
/// two choices was not timed or the measured sizes end.
pub(crate) fn interval(block: &[JudgedCell], at: Bytes, below: Candidate, above: Candidate) -> Option<(Bytes, Bytes)> {
    band(block, |cell| cell.cell.bytes, |cell| lead(cell, below, above), at)
}

/// The interval of sizes that contains the crossover of any items in order of size. A lead is the time of the upper choice
/// over that of the lower choice, as the ends of the interval of its logarithm: positive if the lower choice is faster.
/// Between sizes a factor of 4 or more apart nothing is interpolated: the interval reaches to the measured size.
/// Computes leads only as far out as needed: computing all of them for each crossover would take quadratic time.
pub fn band<T>(
    block: &[T],
    size: impl Fn(&T) -> Bytes,
    lead: impl Fn(&T) -> Option<(f64, f64)>,
    at: Bytes,
) -> Option<(Bytes, Bytes)> {
    // Points of the lower and the upper end over the logarithm of the size.
    let ends = |item: &T| {
        let ((low, high), x) = (lead(item)?, (size(item).0.max(1) as f64).ln());
        Some(((x, low), (x, high)))
    };
    let (lower, upper) = block.split_at(block.partition_point(|item| size(item) < at));
    let (below, above) = (lower.last().and_then(&ends), upper.first().and_then(&ends));
    // Both ends of the gap must be known.
    above.or(below)?;
    let mut low = at;
    let mut inner = above.map(|(low, _)| low);
    for item in lower.iter().rev() {
        let Some((end, _)) = ends(item) else { break };
        if end.1 > 0.0 {
            low = inner.map_or(low, |inner| zero(end, inner)).max(size(item)).min(low);
            break;
        }
        (low, inner) = (size(item), Some(end));
    }
    let mut high = at;
    let mut inner = below.map(|(_, high)| high);
    for item in upper {
        let Some((_, end)) = ends(item) else { break };
        if end.1 < 0.0 {
            high = inner.map_or(high, |inner| zero(end, inner)).min(size(item)).max(high);
            break;
        }
        (high, inner) = (size(item).max(high), Some(end));
    }
    Some((low, high))
}

/// Ratio of neighbouring sizes from which on times between them are unknown.
const FAR: f64 = 4.0;

/// Returns the zero of a line through two points (logarithm of the size, value), or the second point if the zero is not
/// in between; the first if they are far apart.
fn zero((x, y): (f64, f64), (other_x, other_y): (f64, f64)) -> Bytes {
    let is_far = (other_x - x).abs() >= FAR.ln() * (1.0 - 1e-9);
    let share = if is_far {
        0.0
    } else if y * other_y < 0.0 {
        y / (y - other_y)
    } else {
        1.0
    };
    Bytes((x + share * (other_x - x)).exp().round() as u64)
}

/// The lead at a cell: positive if the lower choice is faster.
fn lead(cell: &JudgedCell, below: Candidate, above: Candidate) -> Option<(f64, f64)> {
    let log_gain = |candidate: Candidate| {
        if candidate == Candidate::Builtin {
            return Some((0.0, 0.0, 0.0));
        }
        let gain = cell.point(candidate)?.gain?;
        Some((gain.low?.ln(), gain.point.ln(), gain.high?.ln()))
    };
    let ((b_low, b, b_high), (a_low, a, a_high)) = (log_gain(below)?, log_gain(above)?);
    Some((b - a - (b - b_low).hypot(a_high - a), b - a + (b_high - b).hypot(a - a_low)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(low: u64, high: u64, at_low: f64, at_high: f64) -> Option<u64> {
        crossing((Bytes(low), Bytes(high)), (at_low, at_high)).map(|bytes| bytes.0)
    }

    /// The difference is `d(m) = 3 - (m - 1000) / 100`, zero at m = 1300.
    #[test]
    fn a_crossing_at_a_whole_size_is_exact() {
        assert_eq!(at(1000, 2000, 3.0, -7.0), Some(1300));
    }

    /// The difference is `d(m) = 1 - (m - 4) 5/12`, zero at m = 6.4, so that 7 is the first size that is no worse.
    #[test]
    fn a_crossing_between_sizes_belongs_to_the_next() {
        assert_eq!(at(4, 16, 1.0, -4.0), Some(7));
    }

    #[test]
    fn without_a_crossing_there_is_no_size() {
        assert_eq!(at(4, 8, -1.0, -2.0), None);
        assert_eq!(at(4, 8, 2.0, 1.0), None);
        assert_eq!(at(4, 8, 0.0, 0.0), None);
        assert_eq!(at(4, 8, -1.0, 1.0), None);
        assert_eq!(at(4, 8, f64::NAN, -1.0), None);
        assert_eq!(at(8, 8, 1.0, -1.0), None);
    }

    #[test]
    fn a_crossing_at_an_end_stays_inside() {
        assert_eq!(at(4, 8, 1.0, 0.0), Some(8));
        assert_eq!(at(4, 8, 1e-12, -1.0), Some(5));
    }

    proptest! {
        #[test]
        fn a_crossing_lies_in_its_bracket(
            low in 0u64..1 << 40, span in 1u64..1 << 40, a in 0.0f64..9.0, b in 0.0f64..9.0,
        ) {
            if let Some(size) = at(low, low + span, a, -b) {
                prop_assert!(size > low && size <= low + span);
            }
        }
    }
}
