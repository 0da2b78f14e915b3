//! From timings of patterns to what messages and the operation take.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::pattern::Shape;
use collrules_record::pattern_fit::{PatternFit, Regime};
use collrules_record::sample::PatternSample;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cast, Estimate};

use crate::statistics::{Line, over_launches, rows};

/// A line is fitted to so many sizes at least.
const LEAST_SIZES: usize = 3;

/// More regimes than this no library has: short, eager, and what is fetched when the receiver is ready.
const MOST_REGIMES: usize = 3;

/// The median of each launch, by size.
type Times = BTreeMap<Bytes, BTreeMap<u32, f64>>;

/// What was timed, with which ranks.
type Key = (Shape, Ranks, Cast);

/// A fit for each pattern and cast with times at three sizes or more. `hosts` are those of the job's ranks.
pub fn fit_patterns(samples: &[PatternSample], hosts: &[String], level: f64) -> Vec<PatternFit> {
    let fits = times(samples).into_iter().map(|((shape, ranks, cast), times)| {
        let inside = cast.is_inside(hosts);
        PatternFit { shape, ranks, inside, cast, regimes: regimes(&times, level) }
    });
    fits.filter(|fit| !fit.regimes.is_empty()).collect()
}

fn times(samples: &[PatternSample]) -> BTreeMap<Key, Times> {
    let mut visits: BTreeMap<(Key, Bytes, u32), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for sample in samples {
        let PatternSample { launch, visit, pattern, cast, max, .. } = sample;
        // There and back are two messages.
        let seconds = if pattern.shape == Shape::PingPong { max.0 / 2.0 } else { max.0 };
        if seconds.is_finite() && seconds > 0.0 {
            let key = ((pattern.shape, pattern.ranks, cast.clone()), pattern.bytes, *launch);
            visits.entry(key).or_default().entry(*visit).or_default().push(seconds);
        }
    }
    let mut times: BTreeMap<Key, Times> = BTreeMap::new();
    for ((key, bytes, launch), visits) in visits {
        let mut medians: Vec<f64> = visits.into_values().filter_map(|mut calls| median(&mut calls)).collect();
        if let Some(seconds) = median(&mut medians) {
            times.entry(key).or_default().entry(bytes).or_default().insert(launch, seconds);
        }
    }
    times
}

/// Bends are looked for in the medians over launches; between them every launch has a line of its own.
fn regimes(times: &Times, level: f64) -> Vec<Regime> {
    let typical = |(bytes, launches): (&Bytes, &BTreeMap<u32, f64>)| {
        Some((bytes.0 as f64, median(&mut launches.values().copied().collect::<Vec<_>>())?))
    };
    let points: Vec<(f64, f64)> = times.iter().filter_map(typical).collect();
    let sizes: Vec<Bytes> = times.keys().copied().collect();
    let found = rows(&points, LEAST_SIZES, MOST_REGIMES).into_iter();
    found.filter_map(|row| regime(times, &sizes[row.clone()], &points[row], level)).collect()
}

fn regime(times: &Times, sizes: &[Bytes], points: &[(f64, f64)], level: f64) -> Option<Regime> {
    let (first, last) = (*sizes.first()?, *sizes.last()?);
    let mut launches: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for bytes in sizes {
        for (launch, seconds) in &times[bytes] {
            launches.entry(*launch).or_default().push((bytes.0 as f64, *seconds));
        }
    }
    // A launch that missed sizes would have a line of other sizes.
    let whole = launches.into_values().filter(|points| points.len() == sizes.len());
    let lines: Vec<Line> = whole.filter_map(|points| Line::through(&points)).collect();
    let estimate = |of: fn(&Line) -> f64| -> Option<Estimate> {
        // Nothing costs less than nothing, though the interval of a small cost may reach there.
        Some(over_launches(&lines.iter().map(of).collect::<Vec<_>>(), level)?.map(|cost| cost.max(0.0)))
    };
    let (start, per_byte) = (estimate(|line| line.start)?, estimate(|line| line.slope)?);
    let line = Line { start: start.point, slope: per_byte.point };
    let misfit = (line.misses(points) / points.len() as f64).sqrt();
    Some(Regime { first, last, start, per_byte, misfit })
}

#[cfg(test)]
mod tests {
    use collrules_record::Pattern;
    use collrules_record::units::Seconds;

    use super::*;

    /// Timings of both casts in six launches, each of which is slower or faster by its own share.
    fn timed(seconds: impl Fn(&str, f64) -> f64) -> Vec<PatternSample> {
        let mut samples = Vec::new();
        for launch in 0..6 {
            for bytes in (0..18).map(|place| if place == 0 { 0 } else { 1 << place }) {
                for text in ["0+1", "0+2"] {
                    let pattern = Pattern { shape: Shape::PingPong, ranks: Ranks(2), bytes: Bytes(bytes) };
                    let time = 2.0 * seconds(text, bytes as f64) * (1.0 + 0.01 * (f64::from(launch) - 2.5));
                    let (max, cast) = (Seconds(time), text.parse().expect("two ranks"));
                    samples.push(PatternSample { launch, visit: 0, round: 0, pattern, cast, max, min: max, mean: max });
                }
            }
        }
        samples
    }

    #[test]
    fn costs_inside_and_between_hosts_come_back_by_regime() {
        let hosts = ["a", "a", "b"].map(str::to_owned);
        let planted = |cast: &str, bytes: f64| match cast {
            "0+1" => 1e-6 + 1e-10 * bytes,
            _ if bytes <= 4096.0 => 20e-6 + 10e-9 * bytes,
            _ => 120e-6 + 8e-9 * bytes,
        };
        let fits = fit_patterns(&timed(planted), &hosts, 0.95);
        let holds = |estimate: Estimate, value: f64| {
            estimate.low.is_some_and(|low| low <= value) && estimate.high.is_some_and(|high| value <= high)
        };
        let [inside, between] = fits.as_slice() else { panic!("{fits:?}") };
        assert_eq!((inside.inside, inside.regimes.len()), (true, 1));
        assert!(holds(inside.regimes[0].start, 1e-6) && holds(inside.regimes[0].per_byte, 1e-10), "{inside:?}");
        assert_eq!((between.inside, between.regimes.len()), (false, 2));
        let ends: Vec<u64> = between.regimes.iter().flat_map(|regime| [regime.first.0, regime.last.0]).collect();
        assert_eq!(ends, [0, 4096, 8192, 1 << 17]);
        assert!(holds(between.regimes[0].start, 20e-6) && holds(between.regimes[1].start, 120e-6), "{between:?}");
        assert!(holds(between.regimes[1].per_byte, 8e-9), "{between:?}");
        assert!((between.seconds(4096.0) / 60.96e-6 - 1.0).abs() < 0.01, "{}", between.seconds(4096.0));
    }

    #[test]
    fn two_sizes_are_too_few() {
        let few: Vec<PatternSample> = timed(|_, _| 1e-6).into_iter().filter(|it| it.pattern.bytes.0 < 4).collect();
        assert!(fit_patterns(&few, &[], 0.95).is_empty());
    }
}
