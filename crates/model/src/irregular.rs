//! Distributions of calls: stalls in levels, ranges of sizes that have them, cures, and leaps of the time.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::irregular::{Calls, Cure, First, Level, Stalls, Step};
use collrules_record::line::{Errors, Line, Point, segments};
use collrules_record::sample::Sample;
use collrules_record::{Bytes, Candidate, Cell, Estimate, Ranks, Seconds};
use collrules_rules::Collective;
use statrs::distribution::{Beta, ContinuousCDF};

/// A call stalls if it takes so many times as much more than usual as it usually takes. Delays by the operating system are as
/// long for short calls, so that a level has to be discrete as well.
const FOLD: f64 = 3.0;

/// Stalls of a level differ by no more than this from one to the next longer one.
const GAP: f64 = 1.25;

/// The middle half of a level is no wider than this share of its median.
const WIDTH: f64 = 0.25;

/// The share of calls that stall has to exceed this, for certain.
const RARE: f64 = 0.01;

/// A level has to cost so large a share of the usual time on average: less is no matter.
const COST: f64 = 0.25;

/// TCP's shortest timeout on Linux, in seconds; it doubles with each that follows.
const TIMEOUT: f64 = 0.2;

/// Deviations of medians that are no leap.
const LEAP: f64 = 0.3;

/// A candidate on all sizes of a communicator size.
type Series = (Collective, Ranks, Candidate);

/// The distribution of each point. What is usual is found from all sizes of a series: where most calls stall, the others are
/// few. Where `cold`, nothing was called untimed, and the first call of each launch is apart.
pub fn distributions(samples: &[Sample], cold: bool, level: f64) -> Vec<Calls> {
    let mut series: BTreeMap<Series, BTreeMap<Bytes, Vec<f64>>> = BTreeMap::new();
    let mut firsts: BTreeMap<(Series, Bytes), Vec<f64>> = BTreeMap::new();
    for sample in samples {
        let Cell { collective, ranks, bytes } = sample.cell;
        let key = (collective, ranks, sample.candidate);
        if cold && sample.visit == 0 && sample.round == 0 {
            firsts.entry((key, bytes)).or_default().push(sample.max.0);
        } else {
            series.entry(key).or_default().entry(bytes).or_default().push(sample.max.0);
        }
    }
    let mut found = Vec::new();
    for ((collective, ranks, candidate), mut sizes) in series {
        sizes.values_mut().for_each(|times| times.sort_unstable_by(f64::total_cmp));
        let quick: Vec<Point> = sizes.iter().map(|(bytes, times)| (bytes.0 as f64, quantile(times, 0.1))).collect();
        for (place, (bytes, times)) in sizes.iter().enumerate() {
            let usual = usual(&quick, place);
            let count = times.len();
            found.push(Calls {
                cell: Cell { collective, ranks, bytes: *bytes },
                candidate,
                calls: count,
                usual: Seconds(usual),
                median: Seconds(quantile(times, 0.5)),
                mean: Seconds(times.iter().sum::<f64>() / count as f64),
                p99: Seconds(quantile(times, 0.99)),
                longest: Seconds(times[count - 1]),
                levels: levels(times, usual, level),
                first: firsts.get_mut(&((collective, ranks, candidate), *bytes)).and_then(|times| first(times)),
            });
        }
    }
    found
}

/// What the first calls of launches took.
fn first(times: &mut [f64]) -> Option<First> {
    let calls = times.len();
    let median = Seconds(median(times)?);
    Some(First { calls, median, longest: Seconds(*times.last()?) })
}

/// A quantile of sorted values: the smallest that so large a share does not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted[place.clamp(1, sorted.len()) - 1]
}

/// What a call of a size takes without stalls: its own quick calls, or, where even these take several times what the sizes
/// beside it let expect, that.
fn usual(quick: &[Point], place: usize) -> f64 {
    let (size, own) = quick[place];
    let below = quick[..place].last();
    let above = quick.get(place + 1);
    let expected = match (below, above) {
        (Some(a), Some(b)) => a.1 + (b.1 - a.1) * (size - a.0) / (b.0 - a.0),
        // A size takes no longer than in proportion to a smaller one.
        (Some(a), None) if a.0 > 0.0 => a.1 * size / a.0,
        (None, Some(b)) => b.1,
        _ => own,
    };
    if own > (1.0 + FOLD) * expected { expected } else { own }
}

/// The levels of sorted times.
fn levels(sorted: &[f64], usual: f64, level: f64) -> Vec<Level> {
    let more: Vec<f64> = sorted.iter().map(|time| time - usual).filter(|more| *more >= FOLD * usual).collect();
    let mut found = Vec::new();
    for cluster in more.chunk_by(|a, b| *b <= GAP * *a) {
        let middle = quantile(cluster, 0.5);
        let width = (quantile(cluster, 0.75) - quantile(cluster, 0.25)) / middle;
        let probability = share(cluster.len(), sorted.len(), level);
        let certain = probability.low.is_some_and(|low| low > RARE);
        if certain && width <= WIDTH && probability.point * middle >= COST * usual {
            // Between a timeout and the next, nothing but the usual time passes.
            let doublings = (middle / TIMEOUT).log2().round().max(0.0);
            let timeout = TIMEOUT * doublings.exp2();
            let is_timeout = middle > 0.95 * timeout && middle < 1.25 * timeout + usual;
            found.push(Level { more: Seconds(middle), probability, is_timeout });
        }
    }
    found
}

/// A share of calls with its exact interval (Clopper and Pearson).
fn share(hits: usize, all: usize, level: f64) -> Estimate {
    let tail = (1.0 - level) / 2.0;
    let (k, n) = (hits as f64, all as f64);
    let beta = |a: f64, b: f64, at: f64| Beta::new(a, b).ok().map(|beta| beta.inverse_cdf(at));
    Estimate {
        point: k / n,
        low: if hits == 0 { Some(0.0) } else { beta(k, n - k + 1.0, tail) },
        high: if hits == all { Some(1.0) } else { beta(k + 1.0, n - k, 1.0 - tail) },
        level,
        samples: all,
    }
}

/// The ranges of sizes in which calls stall, with their cures.
pub fn stalls(points: &[Calls]) -> Vec<Stalls> {
    let mut series: BTreeMap<Series, Vec<&Calls>> = BTreeMap::new();
    for calls in points {
        series.entry((calls.cell.collective, calls.cell.ranks, calls.candidate)).or_default().push(calls);
    }
    let mut found = Vec::new();
    for ((collective, ranks, candidate), sizes) in &series {
        let stalling: Vec<&&Calls> = sizes.iter().filter(|calls| !calls.levels.is_empty()).collect();
        let (Some(first), Some(last)) = (stalling.first(), stalling.last()) else { continue };
        let (first, last) = (first.cell.bytes, last.cell.bytes);
        let range = |calls: &&&Calls| (first..=last).contains(&calls.cell.bytes);
        let others =
            series.iter().filter(|((other, on, with), _)| (other, on) == (collective, ranks) && with != candidate);
        let before: Vec<&&Calls> = sizes.iter().filter(range).collect();
        let cure =
            |(with, all): (&Series, &Vec<&Calls>)| cure(&before, with.2, &all.iter().filter(range).collect::<Vec<_>>());
        let mut cures: Vec<Cure> = others.filter_map(cure).collect();
        cures.sort_by(|a, b| a.mean.1.0.total_cmp(&b.mean.1.0));
        let quiet_below = sizes.iter().map(|calls| calls.cell.bytes).rfind(|bytes| *bytes < first);
        found.push(Stalls {
            collective: *collective,
            ranks: *ranks,
            candidate: *candidate,
            pieces: quiet_below.map(|quiet| pieces(last, quiet)),
            quiet_below,
            first,
            last,
            cures,
        });
    }
    found
}

/// A candidate as a cure, if it was timed at all sizes of the range, stalls at none, and takes less on average.
fn cure(before: &[&&Calls], candidate: Candidate, after: &[&&Calls]) -> Option<Cure> {
    let sizes = |calls: &[&&Calls]| calls.iter().map(|calls| calls.cell.bytes).collect::<Vec<_>>();
    let quiet = after.iter().all(|calls| calls.levels.is_empty());
    let mean = |calls: &[&&Calls]| Seconds(calls.iter().map(|calls| calls.mean.0).sum::<f64>() / calls.len() as f64);
    let p99 = |calls: &[&&Calls]| Seconds(calls.iter().map(|calls| calls.p99.0).fold(0.0, f64::max));
    let usable = quiet && sizes(before) == sizes(after) && mean(after) < mean(before);
    usable.then(|| Cure { candidate, mean: (mean(before), mean(after)), p99: (p99(before), p99(after)) })
}

/// Sizes at which the usual time leaps: where one line gives way to another that begins higher.
pub fn steps(points: &[Calls]) -> Vec<Step> {
    let mut series: BTreeMap<Series, Vec<Point>> = BTreeMap::new();
    for calls in points {
        let key = (calls.cell.collective, calls.cell.ranks, calls.candidate);
        series.entry(key).or_default().push((calls.cell.bytes.0 as f64, calls.usual.0));
    }
    let mut found = Vec::new();
    for ((collective, ranks, candidate), points) in series {
        for pair in segments(&points, &vec![0.0; points.len()], Errors::Relative).windows(2) {
            let (before, after) = (&points[pair[0].clone()], &points[pair[1].clone()]);
            let line = |points: &[Point]| Line::through(points, Errors::Relative);
            let Some((line, next)) = line(before).zip(line(after)) else { continue };
            let (Some((below, _)), Some((above, _))) = (before.last(), after.first()) else { continue };
            let height = next.at(*above) - line.at(*above);
            let share = height / line.at(*above);
            // A line that only gets steeper is no leap: the next one has to be higher already where the first ends.
            if share > LEAP && next.at(*below) > (1.0 + LEAP / 2.0) * line.at(*below) {
                found.push(Step {
                    collective,
                    ranks,
                    candidate,
                    below: Bytes(*below as u64),
                    above: Bytes(*above as u64),
                    height: Seconds(height),
                    share,
                });
            }
        }
    }
    found
}

/// Into how many calls a message is split, so that none is longer than a size that is quiet.
fn pieces(message: Bytes, quiet: Bytes) -> u64 {
    message.0.div_ceil(quiet.0.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, LogNormal};

    use super::*;

    const SIZES: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

    /// Gathers of these sizes in KiB: 10 µs for each, with noise, the delays of an operating system, and stalls with their
    /// probability.
    fn samples(seed: u64, candidate: Candidate, stall: impl Fn(u64) -> Vec<(f64, f64)>) -> Vec<Sample> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let noise = LogNormal::new(0.0, 0.1).expect("a spread");
        let delay = LogNormal::new(-7.0, 1.0).expect("a spread");
        let mut made = Vec::new();
        for size in SIZES {
            for round in 0..100 {
                let mut time = 10e-6 * size as f64 * noise.sample(&mut rng);
                // One call in fifty waits for a processor, for about a millisecond.
                if rng.random_bool(0.02) {
                    time += delay.sample(&mut rng);
                }
                for (more, probability) in stall(size) {
                    if rng.random_bool(probability) {
                        time += more * rng.random_range(1.0..1.05);
                        break;
                    }
                }
                made.push(Sample {
                    launch: round / 34,
                    visit: 0,
                    round,
                    cell: Cell { collective: Collective::Gather, ranks: Ranks(8), bytes: Bytes(size << 10) },
                    candidate,
                    max: Seconds(time),
                    min: Seconds(time),
                    mean: Seconds(time),
                });
            }
        }
        made
    }

    #[test]
    fn no_stalls_are_invented() {
        let wrong = (0..200)
            .filter(|seed| {
                !stalls(&distributions(&samples(*seed, Candidate::Builtin, |_| Vec::new()), false, 0.95)).is_empty()
            })
            .count();
        assert!(wrong <= 10, "{wrong} of 200");
    }

    #[test]
    fn planted_levels_are_found_with_their_probabilities() {
        let (mut right, mut inside) = (0, 0);
        for seed in 0..100 {
            let planted = |size| if (16..=32).contains(&size) { vec![(0.2, 0.4), (0.4, 0.3)] } else { Vec::new() };
            let points = distributions(&samples(seed, Candidate::Builtin, planted), false, 0.95);
            let found = stalls(&points);
            let [range] = &found[..] else { continue };
            right += usize::from(
                (range.quiet_below, range.first, range.last)
                    == (Some(Bytes(8 << 10)), Bytes(16 << 10), Bytes(32 << 10)),
            );
            let stalled = points.iter().find(|calls| calls.cell.bytes == Bytes(32 << 10)).expect("timed");
            assert_eq!(stalled.levels.len(), 2, "seed {seed}: {:?}", stalled.levels);
            assert!(stalled.levels.iter().all(|level| level.is_timeout));
            let first = stalled.levels[0].probability;
            inside += usize::from(first.low < Some(0.4) && first.high > Some(0.4));
        }
        assert!(right >= 95 && inside >= 90, "{right} and {inside} of 100");
    }

    /// Where nearly all calls of a size stall, its quick calls do too, and the sizes beside it tell what is usual.
    #[test]
    fn a_size_at_which_nearly_all_stall_is_found() {
        let planted = |size| if size == 32 { vec![(0.2, 0.98)] } else { Vec::new() };
        let found = stalls(&distributions(&samples(1, Candidate::Builtin, planted), false, 0.95));
        assert!(matches!(&found[..], [range] if range.first == Bytes(32 << 10)), "{found:?}");
    }

    #[test]
    fn what_is_quiet_and_quicker_on_average_is_a_cure() {
        let split = Candidate::Mockup("split:2+barrier".parse().expect("a mock-up"));
        let mut all = samples(1, Candidate::Builtin, |size| if size == 32 { vec![(0.2, 0.5)] } else { Vec::new() });
        all.extend(samples(2, split, |_| Vec::new()));
        all.extend(samples(3, Candidate::Tuned(collrules_rules::Choice::plain(1)), |_| vec![(0.2, 0.5)]));
        let found = stalls(&distributions(&all, false, 0.95));
        let builtin = found.iter().find(|range| range.candidate == Candidate::Builtin).expect("stalls");
        assert!(
            matches!(&builtin.cures[..], [cure] if cure.candidate == split && cure.mean.1.0 < 0.001),
            "{builtin:?}"
        );
    }

    #[test]
    fn a_leap_is_found_and_a_bend_is_none() {
        let calls = |time: fn(f64) -> f64| -> Vec<Calls> {
            let one = |power: u32| {
                let bytes = Bytes(1 << power);
                let time = Seconds(time(bytes.0 as f64));
                Calls {
                    cell: Cell { collective: Collective::Scatter, ranks: Ranks(8), bytes },
                    candidate: Candidate::Builtin,
                    calls: 50,
                    usual: time,
                    median: time,
                    mean: time,
                    p99: time,
                    longest: time,
                    levels: Vec::new(),
                    first: None,
                }
            };
            (8..22).map(one).collect()
        };
        let leap = steps(&calls(|size| if size <= 65536.0 { 1e-5 + 1e-9 * size } else { 1e-4 + 1e-9 * size }));
        assert!(matches!(leap[..], [Step { below: Bytes(65536), above: Bytes(131_072), .. }]), "{leap:?}");
        let bend = steps(&calls(|size| 1e-5 + 1e-9 * size.min(65536.0) + 4e-9 * (size - 65536.0).max(0.0)));
        assert_eq!(bend, []);
    }

    #[test]
    fn planted_leaps_are_located_and_absent_ones_are_not_invented() {
        let (mut located, mut invented) = (0, 0);
        for seed in 0..100 {
            let leaps = |stall: fn(u64) -> Vec<(f64, f64)>| {
                steps(&distributions(&samples(seed, Candidate::Builtin, stall), false, 0.95))
            };
            // Every call from 32 KiB on takes a millisecond more.
            let found = leaps(|size| if size >= 32 { vec![(1e-3, 1.0)] } else { Vec::new() });
            let right = |step: &Step| {
                let height = (step.height.0 / 1e-3 - 1.0).abs() < 0.25;
                (step.below, step.above) == (Bytes(16 << 10), Bytes(32 << 10)) && height
            };
            located += usize::from(found.len() == 1 && found.iter().all(right));
            invented += usize::from(!leaps(|_| Vec::new()).is_empty());
        }
        assert!(located >= 95 && invented <= 5, "{located} located, {invented} invented");
    }

    #[test]
    fn first_calls_are_apart_where_they_were_timed() {
        let mut all = samples(7, Candidate::Builtin, |_| Vec::new());
        for sample in all.iter_mut().filter(|sample| sample.round == 0) {
            sample.max = Seconds(1.0);
        }
        for cold in [true, false] {
            let points = distributions(&all, cold, 0.95);
            assert!(points.iter().all(|calls| calls.first.is_some() == cold && (calls.longest < Seconds(1.0)) == cold));
            assert!(points.iter().all(|calls| calls.calls == if cold { 99 } else { 100 }));
            let first = points[0].first.map(|first| (first.calls, first.median, first.longest));
            assert_eq!(first, cold.then_some((1, Seconds(1.0), Seconds(1.0))));
        }
    }

    #[test]
    fn pieces_are_as_few_as_can_be() {
        for quiet in [1_u64, 5, 1024, 4096] {
            for message in [quiet, quiet + 1, 2 * quiet, 2 * quiet + 1, 7 * quiet - 1] {
                let m = pieces(Bytes(message), Bytes(quiet));
                assert!(message <= m * quiet && (m == 1 || message > (m - 1) * quiet), "{message} by {quiet}: {m}");
            }
        }
    }
}
