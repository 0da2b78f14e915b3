//! Curves of the time of a candidate over numbers of ranks, and over message sizes: their peaks and bends.
//!
//! Curves are analysed in logarithms, in which a power is a line: a bend is a change from one power to another. Bends
//! are found in the medians over launches; the bends of single launches give their range.

use std::ops::Range;

use collrules_model::line::{Errors, LEAST, StraightLine, noise, segments};
use collrules_record::estimate::{Estimate, median};

use super::{LEAST_SIZES, Point, by_launch, grouped, largest_campaign};
use crate::study::results::{Bend, Curve, CurveAxis, CurveSection, Peak};

/// Difference of single launches from one point to the next, if it is unknown: those of the tables from Summit and PEAK
/// differ by 2 and 6 % in the median, and by 22 and 39 % in a tenth of the cells.
const UNKNOWN_NOISE: f64 = 0.1;

/// Curves over at least three numbers of ranks or sizes.
pub(super) fn curves(points: &[Point<'_>], level: f64) -> Vec<Curve> {
    let over_ranks = grouped(points, |(cell, known)| (cell.collective, CurveAxis::Ranks(cell.bytes), known.candidate));
    let sized: Vec<Point<'_>> = points.iter().filter(|(cell, _)| cell.bytes.0 > 0).copied().collect();
    let over_sizes =
        grouped(&sized, |(cell, known)| (cell.collective, CurveAxis::Messages(cell.ranks), known.candidate));
    let one = |((collective, along, candidate), group): (_, Vec<Point<'_>>)| {
        let place = |cell: collrules_record::Cell| match along {
            CurveAxis::Ranks(_) => u64::from(cell.ranks.0),
            CurveAxis::Messages(_) => cell.bytes.0,
        };
        let group = largest_campaign(&group);
        let places: Vec<u64> = group.iter().map(|(cell, _)| place(*cell)).collect();
        let launches: Vec<Vec<f64>> = by_launch(&group, |_| 0.0)
            .into_iter()
            .map(|points| points.into_iter().map(|(_, time)| time).collect())
            .collect();
        let (peak, stretches) = curve(&places, &launches, level)?;
        Some(Curve { collective, candidate, along, peak, stretches })
    };
    over_ranks.into_iter().chain(over_sizes).filter_map(one).collect()
}

/// Curve of the times at places in ascending order, by launch.
fn curve(places: &[u64], launches: &[Vec<f64>], level: f64) -> Option<(Peak, Vec<CurveSection>)> {
    let count = places.len();
    if count < LEAST_SIZES || launches.iter().flatten().any(|time| *time <= 0.0) {
        return None;
    }
    let at = |place: usize| -> Vec<f64> { launches.iter().map(|times| times[place]).collect() };
    let typical: Vec<f64> = (0..count).map(|place| median(&mut at(place))).collect::<Option<_>>()?;
    let highest = |times: &[f64]| (0..count).max_by(|a, b| times[*a].total_cmp(&times[*b]));
    let top = highest(&typical)?;
    let tops: Vec<u64> = launches.iter().filter_map(|times| Some(places[highest(times)?])).collect();
    let end = Estimate::mean(launches.iter().map(|times| (times[count - 1] / times[top]).ln()), level)?.exp();
    let peak = Peak { at: places[top], launches: (*tops.iter().min()?, *tops.iter().max()?), end };

    let logarithms = |times: &[f64]| -> Vec<(f64, f64)> {
        places.iter().zip(times).map(|(place, time)| ((*place as f64).ln(), time.ln())).collect()
    };
    // Times of the medians, and of each launch.
    let by_place: Vec<Vec<f64>> = (0..count).map(at).collect();
    let (of_all, of_one) = match launches.len() {
        1 => (vec![UNKNOWN_NOISE; count], vec![UNKNOWN_NOISE; count]),
        many => {
            let noise = noise(by_place.iter().map(Vec::as_slice));
            let of_one = noise.iter().map(|noise| noise * (many as f64).sqrt()).collect();
            (noise, of_one)
        }
    };
    let rows = segments(&logarithms(&typical), &of_all, Errors::Absolute);
    let alone: Vec<Vec<Range<usize>>> =
        launches.iter().map(|times| segments(&logarithms(times), &of_one, Errors::Absolute)).collect();
    let stretch = |row: &Range<usize>| {
        let slope =
            |times: &Vec<f64>| Some(StraightLine::through(&logarithms(times)[row.clone()], Errors::Absolute)?.slope);
        let exponent = Estimate::mean(launches.iter().filter_map(slope), level)?;
        let begins = (row.start > 0).then(|| bend(places, row.start, &alone));
        Some(CurveSection { first: places[row.start], last: places[row.end - 1], exponent, begins })
    };
    Some((peak, rows.iter().filter_map(stretch).collect()))
}

/// Returns the bend before the place `start`, with its range over launches: for each launch, its nearest bend if no
/// other stretch lies between.
fn bend(places: &[u64], start: usize, alone: &[Vec<Range<usize>>]) -> Bend {
    let near = |rows: &Vec<Range<usize>>| {
        let starts = rows.iter().map(|row| row.start).filter(|begin| *begin > 0);
        starts.min_by_key(|begin| begin.abs_diff(start)).filter(|begin| begin.abs_diff(start) < LEAST)
    };
    let found: Vec<usize> = alone.iter().filter_map(near).collect();
    let starts = || found.iter().copied().chain([start]);
    let (low, high) = (starts().min().unwrap_or(start), starts().max().unwrap_or(start));
    Bend { between: (places[low - 1], places[high]), found: found.len(), launches: alone.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six launches, each slower or faster by its share, with places that deviate by a few per cent.
    fn launches(count: usize, time: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
        let wobble = |launch: usize, place: usize| 1.0 + 0.02 * ((7 * launch + 3 * place) % 5) as f64 / 5.0;
        (0..6).map(|launch| (0..count).map(|place| time(place) * wobble(launch, place)).collect()).collect()
    }

    #[test]
    fn bends_are_where_they_were_planted() {
        // Constant up to 8 KiB, then proportional to the size.
        let sizes: Vec<u64> = (0..=20).map(|power| 1 << power).collect();
        let level_then_steep = |place: usize| 5e-6 * (sizes[place] as f64 / 8192.0).max(1.0);
        let (peak, stretches) = curve(&sizes, &launches(21, level_then_steep), 0.95).expect("a curve");
        assert_eq!((peak.at, peak.launches), (1 << 20, (1 << 20, 1 << 20)));
        let [level, steep] = stretches.as_slice() else { panic!("{stretches:?}") };
        assert!(level.exponent.point.abs() < 0.01 && (steep.exponent.point - 1.0).abs() < 0.02, "{stretches:?}");
        assert!(matches!(level.last, 4096 | 8192) && level.begins.is_none(), "{stretches:?}");
        let bend = steep.begins.expect("it begins somewhere");
        assert!(bend.between.0 <= 8192 && bend.between.1 >= 8192 && bend.between.1 <= 32768, "{bend:?}");
        assert_eq!((bend.found, bend.launches), (6, 6));
    }

    #[test]
    fn a_curve_that_rises_and_falls_has_its_peak_inside() {
        let ranks = [2, 4, 8, 16, 32, 64, 128, 256];
        let (peak, _) = curve(&ranks, &launches(8, |place| [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 4.5][place]), 0.95)
            .expect("a curve");
        assert_eq!((peak.at, peak.launches), (128, (128, 128)));
        assert!(peak.end.high.is_some_and(|high| high < 0.55), "{peak:?}");
    }

    #[test]
    fn a_power_has_no_bend_and_two_places_make_no_curve() {
        let ranks = [2, 4, 8, 16, 32, 64, 128, 256];
        let (peak, stretches) = curve(&ranks, &launches(8, |place| (place as f64).exp()), 0.95).expect("a curve");
        assert_eq!((peak.at, stretches.len()), (256, 1));
        assert!(curve(&ranks[..2], &launches(2, |_| 1.0), 0.95).is_none());
    }
}
