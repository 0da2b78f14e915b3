//! Curves of the time of a candidate over numbers of ranks, and over message sizes: their peaks, steps and bends.
//!
//! Curves are analysed in logarithms, in which a power is a line. A step is a factor between two neighbouring points
//! beyond the trends of both sides, from the level of two points to that of two others: an outlier is none. With the
//! steps taken out, a bend is a change from one power to another. Bends are found in the medians over launches; times on
//! one line (a start plus a share of the size) have none.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use collrules_model::line::{Coordinates, Errors, StraightLine, noise, segments};
use collrules_record::estimate::{Estimate, mean, median};
use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;

use crate::study::results::{Curve, CurveAxis, CurvePart, Peak, Point, StudyPoint};

/// Difference of single launches from one point to the next, if it is unknown: those of the tables from Summit and PEAK
/// differ by 2 and 6 % in the median, and by 22 and 39 % in a tenth of the cells.
const UNKNOWN_NOISE: f64 = 0.1;

/// Largest number of points of the trend on a side of a step.
const SIDE: usize = 3;

/// Least factor of a step, and the one of a single launch, whose noise is unknown.
const STEP: (f64, f64) = (1.5, 1.6);

/// Least share of a step's height, as a logarithm, without either point next to it.
const LASTING: f64 = 0.5;

/// Least difference between powers at a bend.
const POWERS: f64 = 0.2;

/// Smallest number of points of a curve.
const LEAST_SIZES: usize = 3;

/// The points of a curve by place, in ascending order.
type CurvePoints<'a> = Vec<(u64, &'a StudyPoint)>;

/// Curves over at least three numbers of ranks or sizes.
pub(super) fn curves(points: &[Point<'_>], level: f64) -> Vec<Curve> {
    let mut groups: BTreeMap<(Collective, CurveAxis, Candidate), CurvePoints<'_>> = BTreeMap::new();
    for (Cell { collective, ranks, bytes }, point) in points {
        let over_ranks = (CurveAxis::Ranks(*bytes), u64::from(ranks.0));
        let over_sizes = (bytes.0 > 0).then_some((CurveAxis::Messages(*ranks), bytes.0));
        for (along, place) in [over_ranks].into_iter().chain(over_sizes) {
            groups.entry((*collective, along, point.candidate)).or_default().push((place, *point));
        }
    }
    let one = |((collective, along, candidate), group): (_, CurvePoints<'_>)| {
        let places: Vec<u64> = group.iter().map(|(place, _)| *place).collect();
        let launches: BTreeSet<u32> = group.iter().flat_map(|(_, point)| point.launches.keys().copied()).collect();
        // A launch without some of the places would give another curve.
        let times = |launch| group.iter().map(|(_, point)| point.launches.get(&launch).copied()).collect();
        let launches: Vec<Vec<f64>> = launches.into_iter().filter_map(times).collect();
        let (peak, steps, powers) = curve(&places, &launches, level)?;
        Some(Curve { collective, candidate, along, peak, steps, powers })
    };
    groups.into_iter().filter_map(one).collect()
}

/// Curve of the times at places in ascending order, by launch.
fn curve(places: &[u64], launches: &[Vec<f64>], level: f64) -> Option<(Peak, Vec<CurvePart>, Vec<CurvePart>)> {
    let count = places.len();
    if count < LEAST_SIZES || launches.iter().flatten().any(|time| *time <= 0.0) {
        return None;
    }
    let at = |place: usize| -> Vec<f64> { launches.iter().map(|times| times[place]).collect() };
    let median_at = |place: usize| Some((places[place] as f64, median(&mut at(place))?));
    let medians: Vec<Coordinates> = (0..count).map(median_at).collect::<Option<_>>()?;
    let top = (0..count).max_by(|a, b| medians[*a].1.total_cmp(&medians[*b].1))?;
    let end = Estimate::mean(launches.iter().map(|times| (times[count - 1] / times[top]).ln()), level)?.exp();
    let peak = Peak { at: places[top], end };

    let logarithms = |times: &Vec<f64>| -> Vec<Coordinates> {
        places.iter().zip(times).map(|(place, time)| ((*place as f64).ln(), time.ln())).collect()
    };
    let mut logs: Vec<Vec<Coordinates>> = launches.iter().map(logarithms).collect();
    let steps = take_steps_out(places, &mut logs, level);
    let typical =
        |place: usize| Some((logs[0][place].0, median(&mut logs.iter().map(|own| own[place].1).collect::<Vec<_>>())?));
    let typical: Vec<Coordinates> = (0..count).map(typical).collect::<Option<_>>()?;
    // Times of the medians, and of each launch.
    let by_place: Vec<Vec<f64>> = (0..count).map(at).collect();
    let noise = match launches.len() {
        1 => vec![UNKNOWN_NOISE; count],
        _ => noise(by_place.iter().map(Vec::as_slice)),
    };
    let power = |points: &[Coordinates]| Some(StraightLine::through(points, Errors::Absolute)?.slope);
    let starts = steps.iter().filter_map(|step| places.iter().position(|place| *place == step.to));
    let starts: Vec<usize> = std::iter::once(0).chain(starts).chain([count]).collect();
    let is_line =
        |part: &Range<usize>| segments(&medians[part.clone()], &noise[part.clone()], Errors::Relative).len() == 1;
    let straight: Vec<Range<usize>> = starts.windows(2).map(|ends| ends[0]..ends[1]).filter(is_line).collect();
    let mut rows: Vec<Range<usize>> = Vec::new();
    for row in segments(&typical, &noise, Errors::Absolute) {
        let of = |row: &Range<usize>| power(&typical[row.clone()]);
        let is_inside_line = straight.iter().any(|part| part.start < row.start && row.start < part.end);
        match rows.last_mut() {
            Some(last) if is_inside_line || of(last).zip(of(&row)).is_some_and(|(a, b)| (a - b).abs() < POWERS) => {
                last.end = row.end;
            }
            _ => rows.push(row),
        }
    }
    let stretch = |row: &Range<usize>| {
        let value = Estimate::mean(logs.iter().filter_map(|points| power(&points[row.clone()])), level)?;
        Some(CurvePart { from: places[row.start], to: places[row.end - 1], value })
    };
    let powers = rows.iter().filter_map(stretch).collect();
    Some((peak, steps, powers))
}

/// The height of a step to a place as a logarithm, and the least of it if either point next to it is left out: an
/// outlier is no step. None without two points on both sides.
fn height(points: &[Coordinates], above: usize) -> Option<(f64, f64)> {
    let slope = |points: &[Coordinates]| Some(StraightLine::through(points, Errors::Absolute)?.slope);
    let before = |end: usize| &points[end.saturating_sub(SIDE)..end];
    let after = |start: usize| &points[start..points.len().min(start + SIDE)];
    let (below, next) = (slope(before(above))?, slope(after(above))?);
    let (from, to) = (points[above - 1], points[above]);
    // The value at a place according to other points, with this slope if there is only one.
    let project =
        |points: &[Coordinates], at: f64, slope: f64| match (points, StraightLine::through(points, Errors::Absolute)) {
            (_, Some(line)) => line.at(at),
            ([(x, y), ..], None) => y + slope * (at - x),
            ([], None) => f64::NAN,
        };
    let rise = |from_y: f64, to_y: f64, slope: f64| to_y - from_y - slope.max(0.0) * (to.0 - from.0);
    let (earlier, later) = (before(above - 1), after(above + 1));
    let without_to = rise(from.1, project(later, to.0, below), below.max(slope(later).unwrap_or(below)));
    let without_from = rise(project(earlier, from.0, next), to.1, next.max(slope(earlier).unwrap_or(next)));
    Some((rise(from.1, to.1, below.max(next)), without_to.min(without_from)))
}

/// Finds the steps of a curve, whose intervals hold for all places at once (Bonferroni), and removes them from the
/// logarithms of each launch.
fn take_steps_out(places: &[u64], launches: &mut [Vec<Coordinates>], level: f64) -> Vec<CurvePart> {
    let together = 1.0 - (1.0 - level) / places.len() as f64;
    let least = if launches.len() > 1 { STEP.0 } else { STEP.1 };
    let mut found = Vec::new();
    for above in 1..places.len() {
        let Some(all) = launches.iter().map(|points| height(points, above)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let (heights, lasting): (Vec<f64>, Vec<f64>) = all.into_iter().unzip();
        let lasts = mean(&lasting) >= LASTING * mean(&heights);
        let Some(factor) = Estimate::mean(heights.iter().copied(), together).map(Estimate::exp) else { continue };
        if lasts && factor.point >= least && factor.low.is_none_or(|low| low > 1.0) {
            found.push((heights, CurvePart { from: places[above - 1], to: places[above], value: factor }));
        }
    }
    for (heights, step) in &found {
        let after = places.iter().position(|place| *place == step.to).unwrap_or(places.len());
        for (points, height) in launches.iter_mut().zip(heights) {
            points[after..].iter_mut().for_each(|point| point.1 -= height);
        }
    }
    found.into_iter().map(|(_, step)| step).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, Normal};

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
        let (peak, steps, stretches) = curve(&sizes, &launches(21, level_then_steep), 0.95).expect("a curve");
        assert_eq!(peak.at, 1 << 20);
        let [level, steep] = stretches.as_slice() else { panic!("{stretches:?}") };
        assert!(level.value.point.abs() < 0.01 && (steep.value.point - 1.0).abs() < 0.02, "{stretches:?}");
        assert!(matches!(level.to, 4096 | 8192) && steep.from == 2 * level.to, "{stretches:?}");
        assert_eq!(steps, []);
    }

    /// One power on both sides of a step, which was once a bend from 1.15 to 1.16; a step where the power changes too; and a
    /// step of which a single launch has no interval.
    #[test]
    fn steps_are_factors_beyond_the_trends_of_both_sides() {
        let sizes: Vec<u64> = (0..=20).map(|power| 1 << power).collect();
        for (powers, factor) in [((0.5, 0.5), 4.0), ((0.1, 0.9), 4.0), ((0.5, 0.5), 0.2)] {
            let time = |place: usize| {
                let over = sizes[place] as f64 / 8192.0;
                5e-6 * if over <= 1.0 { over.powf(powers.0) } else { factor * over.powf(powers.1) }
            };
            let (_, steps, stretches) = curve(&sizes, &launches(21, time), 0.95).expect("a curve");
            if factor < 1.0 {
                assert_eq!(steps, [], "a fall is no step");
                continue;
            }
            let [step] = steps[..] else { panic!("{steps:?}") };
            assert_eq!((step.from, step.to), (8192, 16384));
            assert!(step.value.low <= Some(4.1) && step.value.high >= Some(3.9), "{step:?}");
            assert_eq!(stretches.len(), if powers.0 == powers.1 { 1 } else { 2 }, "{stretches:?}");
            let (_, steps, _) = curve(&sizes, &launches(21, time)[..1], 0.95).expect("a curve");
            assert!(matches!(steps[..], [CurvePart { to: 16384, value: Estimate { low: None, .. }, .. }]));
        }
    }

    /// A thousand curves of one power, with noise of 10 % in four launches and in one.
    #[test]
    fn steps_are_not_invented() {
        let sizes: Vec<u64> = (0..=20).map(|power| 1 << power).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let normal = Normal::new(0.0, 0.1).expect("a spread");
        for (count, most) in [(4, 25), (1, 25)] {
            let mut wrong = 0;
            for _ in 0..500 {
                let mut launch =
                    || (0..21).map(|place| 1e-6 * f64::exp(0.4 * f64::from(place) + normal.sample(&mut rng))).collect();
                let launches: Vec<Vec<f64>> = (0..count).map(|_| launch()).collect();
                wrong += usize::from(!curve(&sizes, &launches, 0.95).expect("a curve").1.is_empty());
            }
            assert!(wrong <= most, "{wrong} of 500 with {count} launches");
        }
    }

    /// Outliers, high ones and low ones, at any place, were steps once, and hid others; a step to the last two sizes is one.
    #[test]
    fn an_outlier_is_no_step() {
        let sizes: Vec<u64> = (0..=16).map(|power| 1 << power).collect();
        let smooth = |place: usize| 2e-6 + 3e-9 * sizes[place] as f64;
        for place in 0..17 {
            for factor in [0.2, 0.5, 3.0, 8.0] {
                let time = |at: usize| smooth(at) * if at == place { factor } else { 1.0 };
                for count in [1, 6] {
                    let (_, steps, _) = curve(&sizes, &launches(17, time)[..count], 0.95).expect("a curve");
                    assert_eq!(steps, [], "{factor} at {place} of {count}");
                }
            }
            let (_, steps, _) =
                curve(&sizes, &launches(17, |at| smooth(at) * if at >= place { 4.0 } else { 1.0 }), 0.95)
                    .expect("a curve");
            let is_found =
                matches!(steps[..], [step] if step.to == sizes[place] && (2.8..4.3).contains(&step.value.point));
            assert!(if (2..=15).contains(&place) { is_found } else { steps.is_empty() }, "{place}: {steps:?}");
        }
        // The report's own: 128 and 256 ranks from 2 KiB on.
        for times in [
            [10.93, 15.01, 24.33, 207.38, 86.46, 275.45, 589.14, 1091.66, 2109.8, 4224.9],
            [8.75, 18.26, 33.57, 111.7, 136.87, 263.25, 573.03, 1177.22, 2218.22, 4119.46],
        ] {
            let (_, steps, _) = curve(&sizes[..10], &[times.to_vec()], 0.95).expect("a curve");
            assert_eq!(steps, []);
        }
    }

    /// A start and a share of the size were three powers once, with two bends; two lines have one.
    #[test]
    fn a_line_in_bytes_has_no_bend() {
        let sizes: Vec<u64> = (0..=20).map(|power| 1 << power).collect();
        for (start, slope) in [(5e-6, 1e-9), (1e-6, 4e-10), (4e-5, 2e-8)] {
            let line = |place: usize| start + slope * sizes[place] as f64;
            for count in [1, 6] {
                let (_, steps, powers) = curve(&sizes, &launches(21, line)[..count], 0.95).expect("a curve");
                assert_eq!((steps.len(), powers.len()), (0, 1), "{powers:?}");
            }
            // With a step, neither side has one.
            let stepped = |place: usize| line(place) * if place >= 10 { 3.0 } else { 1.0 };
            let (_, steps, powers) = curve(&sizes, &launches(21, stepped), 0.95).expect("a curve");
            assert!(steps.len() == 1 && powers.len() <= 2, "{steps:?} {powers:?}");
        }
    }

    #[test]
    fn a_curve_that_rises_and_falls_has_its_peak_inside() {
        let ranks = [2, 4, 8, 16, 32, 64, 128, 256];
        let (peak, ..) = curve(&ranks, &launches(8, |place| [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 4.5][place]), 0.95)
            .expect("a curve");
        assert_eq!(peak.at, 128);
        assert!(peak.end.high.is_some_and(|high| high < 0.55), "{peak:?}");
    }

    #[test]
    fn a_power_has_no_bend_and_two_places_make_no_curve() {
        let ranks = [2, 4, 8, 16, 32, 64, 128, 256];
        let (peak, _, stretches) = curve(&ranks, &launches(8, |place| (place as f64).exp()), 0.95).expect("a curve");
        assert_eq!((peak.at, stretches.len()), (256, 1));
        assert!(curve(&ranks[..2], &launches(2, |_| 1.0), 0.95).is_none());
    }
}
