//! Costs of messages and of the operation, from timings of patterns.

use std::collections::BTreeMap;

use collrules_model::line::{Coordinates, Errors, LEAST, LaunchCurves, ROUGHNESS, StraightLine, ranges};
use collrules_model::pattern_fit::{PatternFit, PatternRegime};
use collrules_record::Cast;
use collrules_record::estimate::{Estimate, median};
use collrules_record::pattern::Shape;
use collrules_record::sample::PatternSample;
use collrules_record::units::{Bytes, Ranks};

/// A line whose smallest size is below this gives the cost of an empty message.
const BEGINNING: u64 = 256;

/// A pattern's shape, communicator size and participants.
type CastKey = (Shape, Ranks, Cast);

/// Fits each pattern and cast that was timed at three sizes or more. `hosts` are those of the job's ranks.
pub(super) fn fit_patterns(samples: &[PatternSample], hosts: &[String], level: f64) -> Vec<PatternFit> {
    let fits = times(samples).into_iter().map(|((shape, ranks, cast), times)| {
        let inside = cast.is_inside(hosts);
        PatternFit { shape, ranks, inside, cast, regimes: regimes(&times, level) }
    });
    fits.filter(|fit| !fit.regimes.is_empty()).collect()
}

/// The medians of launches.
fn times(samples: &[PatternSample]) -> BTreeMap<CastKey, LaunchCurves> {
    let mut visits: BTreeMap<(CastKey, Bytes, u32), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for sample in samples {
        let PatternSample { launch, visit, pattern, cast, max, .. } = sample;
        // A round trip is two messages.
        let seconds = if pattern.shape == Shape::PingPong { max.0 / 2.0 } else { max.0 };
        if seconds.is_finite() && seconds > 0.0 {
            let key = ((pattern.shape, pattern.ranks, cast.clone()), pattern.bytes, *launch);
            visits.entry(key).or_default().entry(*visit).or_default().push(seconds);
        }
    }
    let mut times: BTreeMap<CastKey, LaunchCurves> = BTreeMap::new();
    for ((key, bytes, launch), visits) in visits {
        let mut medians: Vec<f64> = visits.into_values().filter_map(|mut calls| median(&mut calls)).collect();
        if let Some(seconds) = median(&mut medians) {
            times.entry(key).or_default().entry(launch).or_default().push((bytes.0 as f64, seconds));
        }
    }
    times
}

/// Finds bends in the medians over launches; between bends, each launch has its own line.
fn regimes(times: &LaunchCurves, level: f64) -> Vec<PatternRegime> {
    let found = ranges(times, median, through).into_iter().filter(|(points, _)| points.len() >= LEAST);
    found.filter_map(|(points, lines)| regime(&points, &lines, level)).collect()
}

fn regime(points: &[Coordinates], lines: &[StraightLine], level: f64) -> Option<PatternRegime> {
    let (first, last) = (Bytes(points.first()?.0 as u64), Bytes(points.last()?.0 as u64));
    let estimate = |of: fn(&StraightLine) -> f64| Estimate::mean(lines.iter().map(of), level);
    // A byte has a positive cost, though the interval of a small cost may include 0.
    let (start, per_byte) = (estimate(|line| line.start)?, estimate(|line| line.slope)?.map(|cost| cost.max(0.0)));
    // So has an empty message. For longer messages the start is what the line gives: if bytes pass without using the
    // link's time, as with a token bucket, it is negative.
    let start = if first.0 < BEGINNING { start.map(|cost| cost.max(0.0)) } else { start };
    let line = StraightLine { start: start.point, slope: per_byte.point };
    let misfit = (line.misses(points, Errors::Relative) / points.len() as f64).sqrt();
    Some(PatternRegime { first, last, start, per_byte, misfit })
}

/// The line through the times of a launch, or a level one if the least squares line falls.
fn through(points: &[Coordinates], noise: &[f64]) -> Option<StraightLine> {
    // Times are never exactly linear.
    let noise: Vec<f64> = noise.iter().map(|own| own.max(ROUGHNESS)).collect();
    let line = StraightLine::weighing(points, &noise, Errors::Relative)?;
    let sum = |of: fn(f64) -> f64| points.iter().zip(&noise).map(|((_, y), own)| of(*y) / (own * own)).sum::<f64>();
    let level = StraightLine { start: sum(f64::recip) / sum(|y| y.powi(-2)), slope: 0.0 };
    Some(if line.slope < 0.0 { level } else { line })
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

    /// On a link of 200 Mbit/s that lets 16 KiB pass free of its time, the rate is what long messages differ by.
    #[test]
    fn a_burst_that_passes_free_leaves_the_rate_as_it_is() {
        let planted = |_: &str, bytes: f64| 20e-6 + 1e-9 * bytes + 40e-9 * (bytes - 16384.0).max(0.0);
        let few: Vec<PatternSample> = timed(planted).into_iter().filter(|it| it.pattern.bytes.0 != 16384).collect();
        for fit in fit_patterns(&few, &[], 0.95) {
            let long = fit.regimes.last().expect("a line");
            assert!((long.per_byte.point / 41e-9 - 1.0).abs() < 0.01 && long.start.point < -600e-6, "{fit:?}");
            assert!((fit.seconds(100_000.0) / planted("", 100_000.0) - 1.0).abs() < 0.02, "{fit:?}");
            assert!(fit.regimes[0].start.point >= 0.0 && fit.seconds(0.0) < 30e-6, "{fit:?}");
        }
    }

    #[test]
    fn two_sizes_are_too_few() {
        let few: Vec<PatternSample> = timed(|_, _| 1e-6).into_iter().filter(|it| it.pattern.bytes.0 < 4).collect();
        assert!(fit_patterns(&few, &[], 0.95).is_empty());
    }
}
