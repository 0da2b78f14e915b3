//! Distributions of calls: stalls in levels, ranges of sizes that have them, cures, and jumps of the time.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::sample::Sample;
use collrules_record::{Bytes, Candidate, Cell, Estimate, Mockup, Ranks, Seconds};
use collrules_rules::Collective;
use statrs::distribution::{Beta, ContinuousCDF};

use crate::line::{Coordinates, Errors, StraightLine, segments};
use crate::stalls::{CallTimes, Cured, First, Jump, StallCure, StallLevel, Stalls};

/// A call stalls if it takes longer than usual by this factor of the usual time. Delays by the operating system are as
/// long for short calls, so a level has to be discrete as well.
const FOLD: f64 = 3.0;

/// Largest ratio between neighbouring stalls of a level.
const GAP: f64 = 1.25;

/// Largest width of a level's middle half, as a share of its median.
const WIDTH: f64 = 0.25;

/// Least share of calls that stall, with confidence.
const RARE: f64 = 0.01;

/// Least mean cost of a level, as a share of the usual time.
const COST: f64 = 0.25;

/// TCP's shortest timeout on Linux, in seconds; each further one is twice as long.
const TIMEOUT: f64 = 0.2;

/// Shortest stall beyond the usual time, in seconds: less may be a system call.
const LEAST_STALL: f64 = 100e-6;

/// Largest deviation of medians that is no jump.
const LEAP: f64 = 0.3;

/// Lowest jump, in seconds: less is not worth a further call.
const LEAST_LEAP: f64 = 2e-6;

/// A candidate on all sizes of a communicator size.
type CandidateKey = (Collective, Ranks, Candidate);

/// The distribution of each point. The usual time is found from all sizes of a series, since most calls of a size may
/// stall. If `cold`, no calls were made untimed, and the first call of each launch is counted apart. `is_control` is
/// true for communicators with all ranks on one host.
pub fn distributions(samples: &[Sample], cold: bool, level: f64, is_control: impl Fn(Ranks) -> bool) -> Vec<CallTimes> {
    let mut series: BTreeMap<CandidateKey, BTreeMap<Bytes, Vec<f64>>> = BTreeMap::new();
    let mut firsts: BTreeMap<(CandidateKey, Bytes), Vec<f64>> = BTreeMap::new();
    for sample in samples {
        let Cell { collective, ranks, bytes } = sample.cell;
        let key = (collective, ranks, sample.candidate);
        if cold && sample.visit == 0 && sample.round == 0 {
            firsts.entry((key, bytes)).or_default().push(sample.max.0);
        } else {
            series.entry(key).or_default().entry(bytes).or_default().push(sample.max.0);
        }
    }
    series.values_mut().flat_map(BTreeMap::values_mut).for_each(|times| times.sort_unstable_by(f64::total_cmp));
    // Of the same calls on a communicator inside one host, by how much they exceed what is usual there.
    let mut controls: BTreeMap<(Collective, Candidate, Bytes), Vec<f64>> = BTreeMap::new();
    for ((collective, _, candidate), sizes) in series.iter().filter(|((_, ranks, _), _)| is_control(*ranks)) {
        for (bytes, times) in sizes {
            let usual = quantile(times, 0.1);
            controls
                .entry((*collective, *candidate, *bytes))
                .or_default()
                .extend(times.iter().map(|time| time - usual));
        }
    }
    let mut found = Vec::new();
    for ((collective, ranks, candidate), sizes) in series {
        let quick: Vec<Coordinates> =
            sizes.iter().map(|(bytes, times)| (bytes.0 as f64, quantile(times, 0.1))).collect();
        for (place, (bytes, times)) in sizes.iter().enumerate() {
            let usual = usual(&quick, place);
            let count = times.len();
            let contact = match controls.get(&(collective, candidate, *bytes)) {
                _ if is_control(ranks) => Contact::None,
                control => Contact::Network { control: control.map(Vec::as_slice) },
            };
            found.push(CallTimes {
                cell: Cell { collective, ranks, bytes: *bytes },
                candidate,
                calls: count,
                usual: Seconds(usual),
                median: Seconds(quantile(times, 0.5)),
                mean: Seconds(times.iter().sum::<f64>() / count as f64),
                p99: Seconds(quantile(times, 0.99)),
                longest: Seconds(times[count - 1]),
                levels: levels(times, usual, level, contact),
                first: firsts.get_mut(&((collective, ranks, candidate), *bytes)).and_then(|times| first(times)),
            });
        }
    }
    found
}

/// Summarizes the first calls of launches.
fn first(times: &mut [f64]) -> Option<First> {
    let calls = times.len();
    let median = Seconds(median(times)?);
    Some(First { calls, median, longest: Seconds(*times.last()?) })
}

/// A quantile of sorted values: the smallest value that at least this share does not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted[place.clamp(1, sorted.len()) - 1]
}

/// Estimates the usual time of a size, without stalls: that of its own quick calls or, if even these take several times
/// as long as the neighbouring sizes predict, the prediction.
fn usual(quick: &[Coordinates], place: usize) -> f64 {
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

/// Use of the network by a series of calls.
#[derive(Clone, Copy)]
enum Contact<'a> {
    /// All ranks are on one host.
    None,
    /// Ranks are on several hosts; `control` has the delays of the same calls on one host, if these were timed.
    Network { control: Option<&'a [f64]> },
}

/// The levels of sorted times.
fn levels(sorted: &[f64], usual: f64, level: f64, contact: Contact<'_>) -> Vec<StallLevel> {
    let least = LEAST_STALL.max(FOLD * usual);
    let more: Vec<f64> = sorted.iter().map(|time| time - usual).filter(|more| *more >= least).collect();
    let mut found = Vec::new();
    for cluster in more.chunk_by(|a, b| *b <= GAP * *a) {
        let middle = quantile(cluster, 0.5);
        let width = (quantile(cluster, 0.75) - quantile(cluster, 0.25)) / middle;
        let probability = share(cluster.len(), sorted.len(), level);
        let certain = probability.low.is_some_and(|low| low > RARE);
        if certain && width <= WIDTH && probability.point * middle >= COST * usual {
            // Between a timeout and the next, nothing but the usual time passes, a part of which may pass while one waits.
            let doublings = (middle / TIMEOUT).log2().round().max(0.0);
            let timeout = TIMEOUT * doublings.exp2();
            let least = 0.95 * timeout - usual.min(timeout / 4.0);
            let is_timeout = middle > least && middle < 1.25 * timeout + usual;
            let is_as_often = |control: &[f64]| {
                let as_long = control.iter().filter(|more| **more >= middle / 2.0).count();
                share(as_long, control.len(), level).high.is_none_or(|high| high >= probability.point)
            };
            let (is_timeout, in_control) = match contact {
                Contact::None => (false, Some(true)),
                Contact::Network { control } => (is_timeout, control.map(is_as_often)),
            };
            found.push(StallLevel { more: Seconds(middle), probability, is_timeout, in_control });
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

/// The ranges of sizes in which calls stall because of the network, with their cures.
pub fn stalls(points: &[CallTimes]) -> Vec<Stalls> {
    let mut series: BTreeMap<CandidateKey, Vec<&CallTimes>> = BTreeMap::new();
    for calls in points {
        series.entry((calls.cell.collective, calls.cell.ranks, calls.candidate)).or_default().push(calls);
    }
    let mut found = Vec::new();
    for ((collective, ranks, candidate), sizes) in &series {
        // Timeouts are sure. Other levels may be those of a machine that is busier with more ranks than the control has.
        let has_timeout = |calls: &CallTimes| calls.levels.iter().any(|level| level.is_timeout);
        let has_timeouts = sizes.iter().any(|calls| has_timeout(calls));
        let is_stalling = |calls: &CallTimes| if has_timeouts { has_timeout(calls) } else { calls.stalls() };
        let stalling: Vec<&&CallTimes> = sizes.iter().filter(|calls| is_stalling(calls)).collect();
        let (Some(first), Some(last)) = (stalling.first(), stalling.last()) else { continue };
        let (first, last) = (first.cell.bytes, last.cell.bytes);
        let range = |calls: &&&CallTimes| (first..=last).contains(&calls.cell.bytes);
        let others =
            series.iter().filter(|((other, on, with), _)| (other, on) == (collective, ranks) && with != candidate);
        let before: Vec<&&CallTimes> = sizes.iter().filter(range).collect();
        let of_other = |(with, all): (&CandidateKey, &Vec<&CallTimes>)| {
            cure(&before, with.2, &all.iter().filter(range).collect::<Vec<_>>(), is_stalling)
        };
        let mut cures: Vec<StallCure> = others.filter_map(of_other).collect();
        let quiet_below = sizes.iter().map(|calls| calls.cell.bytes).rfind(|bytes| *bytes < first);
        let in_pieces = quiet_below.and_then(|longest| {
            let after: Vec<&&CallTimes> =
                before.iter().map(|calls| calls_in_pieces(&series, calls, longest)).collect::<Option<_>>()?;
            let last = after.last()?.candidate;
            cures.retain(|cure| cure.candidate != last);
            cure(&before, last, &after, is_stalling).map(|cure| StallCure { longest: Some(longest), ..cure })
        });
        cures.extend(in_pieces);
        cures.sort_by(|a, b| a.mean.1.0.total_cmp(&b.mean.1.0));
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

/// The calls in pieces of at most this size, with barriers between them, that replace others.
fn calls_in_pieces<'a>(
    series: &'a BTreeMap<CandidateKey, Vec<&'a CallTimes>>,
    calls: &CallTimes,
    longest: Bytes,
) -> Option<&'a &'a CallTimes> {
    let Cell { collective, ranks, bytes } = calls.cell;
    let split = Candidate::Mockup(split(bytes, longest)?);
    series.get(&(collective, ranks, split))?.iter().find(|calls| calls.cell.bytes == bytes)
}

/// Splits a call into the fewest pieces of at most this size, with barriers between them.
pub fn split(message: Bytes, longest: Bytes) -> Option<Mockup> {
    let pieces = u32::try_from(pieces(message, longest)).ok().filter(|pieces| *pieces > 1)?;
    Some(Mockup::Split { pieces, barrier: true })
}

/// A candidate as a cure, if it was timed at all sizes of the range, stalls at none, and takes less on average.
fn cure(
    before: &[&&CallTimes],
    candidate: Candidate,
    after: &[&&CallTimes],
    is_stalling: impl Fn(&CallTimes) -> bool,
) -> Option<StallCure> {
    let sizes = |calls: &[&&CallTimes]| calls.iter().map(|calls| calls.cell.bytes).collect::<Vec<_>>();
    let quiet = after.iter().all(|calls| !is_stalling(calls));
    let mean =
        |calls: &[&&CallTimes]| Seconds(calls.iter().map(|calls| calls.mean.0).sum::<f64>() / calls.len() as f64);
    let p99 = |calls: &[&&CallTimes]| Seconds(calls.iter().map(|calls| calls.p99.0).fold(0.0, f64::max));
    let usable = quiet && sizes(before) == sizes(after) && mean(after) < mean(before);
    usable.then(|| StallCure {
        candidate,
        longest: None,
        mean: (mean(before), mean(after)),
        p99: (p99(before), p99(after)),
    })
}

/// Sizes at which the usual time jumps: one line ends and another begins higher.
pub fn steps(points: &[CallTimes]) -> Vec<Jump> {
    let mut series: BTreeMap<CandidateKey, Vec<Coordinates>> = BTreeMap::new();
    for calls in points {
        let key = (calls.cell.collective, calls.cell.ranks, calls.candidate);
        series.entry(key).or_default().push((calls.cell.bytes.0 as f64, calls.usual.0));
    }
    let mut found = Vec::new();
    for ((collective, ranks, candidate), points) in series {
        for pair in segments(&points, &vec![0.0; points.len()], Errors::Relative).windows(2) {
            let (before, after) = (&points[pair[0].clone()], &points[pair[1].clone()]);
            let line = |points: &[Coordinates]| StraightLine::through(points, Errors::Relative);
            let Some((line, next)) = line(before).zip(line(after)) else { continue };
            let (Some((below, _)), Some((above, _))) = (before.last(), after.first()) else { continue };
            let height = next.at(*above) - line.at(*above);
            let share = height / line.at(*above);
            // A line that only gets steeper is no leap: the next one has to be higher already where the first ends.
            if share > LEAP && height >= LEAST_LEAP && next.at(*below) > (1.0 + LEAP / 2.0) * line.at(*below) {
                found.push(Jump {
                    collective,
                    ranks,
                    candidate,
                    below: Bytes(*below as u64),
                    above: Bytes(*above as u64),
                    height: Seconds(height),
                    share,
                    cured: None,
                });
            }
        }
    }
    let mut by_series: BTreeMap<CandidateKey, Vec<&CallTimes>> = BTreeMap::new();
    for calls in points {
        by_series.entry((calls.cell.collective, calls.cell.ranks, calls.candidate)).or_default().push(calls);
    }
    for step in &mut found {
        step.cured = cured(&by_series, step);
    }
    found
}

/// The largest size up to which calls in pieces take less than a series after its jump.
fn cured(series: &BTreeMap<CandidateKey, Vec<&CallTimes>>, step: &Jump) -> Option<Cured> {
    let behind = series.get(&(step.collective, step.ranks, step.candidate))?.iter();
    let behind = behind.filter(|calls| calls.cell.bytes >= step.above);
    let both = behind.map_while(|before| {
        let after = calls_in_pieces(series, before, step.below)?;
        (after.mean < before.mean).then_some((before.cell.bytes, before.mean.0, after.mean.0))
    });
    let both: Vec<(Bytes, f64, f64)> = both.collect();
    let mean = |of: fn(&(Bytes, f64, f64)) -> f64| Seconds(both.iter().map(of).sum::<f64>() / both.len() as f64);
    Some(Cured { last: both.last()?.0, mean: (mean(|it| it.1), mean(|it| it.2)) })
}

/// The number of calls into which a message is split so that none stalls.
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

    /// Synthetic gathers of these sizes in KiB: 10 µs for each, with noise, delays of an operating system, and stalls
    /// with their probability.
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
                !stalls(&distributions(&samples(*seed, Candidate::Builtin, |_| Vec::new()), false, 0.95, |_| false))
                    .is_empty()
            })
            .count();
        assert!(wrong <= 10, "{wrong} of 200");
    }

    #[test]
    fn planted_levels_are_found_with_their_probabilities() {
        let (mut right, mut inside) = (0, 0);
        for seed in 0..100 {
            let planted = |size| if (16..=32).contains(&size) { vec![(0.2, 0.4), (0.4, 0.3)] } else { Vec::new() };
            let points = distributions(&samples(seed, Candidate::Builtin, planted), false, 0.95, |_| false);
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

    // If nearly all calls of a size stall, its quick calls do too, and the neighbouring sizes show the usual time.
    #[test]
    fn a_size_at_which_nearly_all_stall_is_found() {
        let planted = |size| if size == 32 { vec![(0.2, 0.98)] } else { Vec::new() };
        let found = stalls(&distributions(&samples(1, Candidate::Builtin, planted), false, 0.95, |_| false));
        assert!(matches!(&found[..], [range] if range.first == Bytes(32 << 10)), "{found:?}");
    }

    #[test]
    fn what_is_quiet_and_quicker_on_average_is_a_cure() {
        let split = Candidate::Mockup("split:2+barrier".parse().expect("a mock-up"));
        let mut all = samples(1, Candidate::Builtin, |size| if size == 32 { vec![(0.2, 0.5)] } else { Vec::new() });
        all.extend(samples(2, split, |_| Vec::new()));
        all.extend(samples(3, Candidate::Tuned(collrules_rules::Choice::plain(1)), |_| vec![(0.2, 0.5)]));
        let found = stalls(&distributions(&all, false, 0.95, |_| false));
        let builtin = found.iter().find(|range| range.candidate == Candidate::Builtin).expect("stalls");
        assert!(
            matches!(&builtin.cures[..], [cure] if cure.candidate == split && cure.mean.1.0 < 0.001),
            "{builtin:?}"
        );
    }

    #[test]
    fn a_leap_is_found_and_a_bend_is_none() {
        let calls = |time: fn(f64) -> f64| -> Vec<CallTimes> {
            let one = |power: u32| {
                let bytes = Bytes(1 << power);
                let time = Seconds(time(bytes.0 as f64));
                CallTimes {
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
        assert!(matches!(leap[..], [Jump { below: Bytes(65536), above: Bytes(131_072), .. }]), "{leap:?}");
        let bend = steps(&calls(|size| 1e-5 + 1e-9 * size.min(65536.0) + 4e-9 * (size - 65536.0).max(0.0)));
        assert_eq!(bend, []);
    }

    #[test]
    fn planted_leaps_are_located_and_absent_ones_are_not_invented() {
        let (mut located, mut invented) = (0, 0);
        for seed in 0..100 {
            let leaps = |stall: fn(u64) -> Vec<(f64, f64)>| {
                steps(&distributions(&samples(seed, Candidate::Builtin, stall), false, 0.95, |_| false))
            };
            // Every call from 32 KiB on takes a millisecond more.
            let found = leaps(|size| if size >= 32 { vec![(1e-3, 1.0)] } else { Vec::new() });
            let right = |step: &Jump| {
                let height = (step.height.0 / 1e-3 - 1.0).abs() < 0.25;
                (step.below, step.above) == (Bytes(16 << 10), Bytes(32 << 10)) && height
            };
            located += usize::from(found.len() == 1 && found.iter().all(right));
            invented += usize::from(!leaps(|_| Vec::new()).is_empty());
        }
        assert!(located >= 95 && invented <= 5, "{located} located, {invented} invented");
    }

    /// Delays of 1 to 30 ms by the scheduler at small sizes once made M1 unknown, so that clear timeouts had no cure.
    #[test]
    fn delays_that_are_no_timeouts_move_no_range() {
        let planted = |size| match size {
            1 => vec![(0.004, 0.2)],
            2 => vec![(0.02, 0.2)],
            16 | 32 => vec![(0.2, 0.4)],
            _ => Vec::new(),
        };
        let all = samples(5, Candidate::Builtin, planted);
        let points = distributions(&all, false, 0.95, |_| false);
        assert!(points.iter().filter(|calls| !calls.levels.is_empty()).count() >= 4, "{points:?}");
        let found = stalls(&points);
        let [range] = &found[..] else { panic!("{found:?}") };
        let ends = (range.quiet_below, range.first, range.last);
        assert_eq!(ends, (Some(Bytes(8 << 10)), Bytes(16 << 10), Bytes(32 << 10)));
    }

    // Delays that calls inside one host show as well are not caused by the network; others are, with or without a
    // timeout.
    #[test]
    fn a_control_without_network_tells_delays_from_stalls() {
        let inside = |stall: fn(u64) -> Vec<(f64, f64)>| -> Vec<Sample> {
            let mut own = samples(8, Candidate::Builtin, stall);
            own.iter_mut().for_each(|sample| sample.cell.ranks = Ranks(4));
            own
        };
        let delays = |size: u64| if size == 16 { vec![(0.02, 0.4)] } else { Vec::new() };
        for (control, ranges) in [(inside(delays), 0), (inside(|_| Vec::new()), 1)] {
            let mut all = samples(9, Candidate::Builtin, delays);
            all.extend(control);
            let points = distributions(&all, false, 0.95, |ranks| ranks == Ranks(4));
            let found = stalls(&points);
            assert_eq!(found.iter().filter(|range| range.ranks == Ranks(8)).count(), ranges, "{found:?}");
        }
    }

    /// With 16 ranks on two processors, gathers of 2 KiB waited 40 ms, which 2 ranks on one host did not show, so M1
    /// was unknown despite clear timeouts at 16 and 32 KiB. Also, a timeout of a long call adds less than 200 ms.
    #[test]
    fn timeouts_outrank_delays_that_a_small_control_does_not_show() {
        let mut all = samples(9, Candidate::Builtin, |size| match size {
            2 => vec![(0.04, 0.2)],
            16 => vec![(0.2, 0.4)],
            32 => vec![(0.17, 0.4)],
            _ => Vec::new(),
        });
        // Calls of 32 KiB take 40 ms.
        for sample in all.iter_mut().filter(|sample| sample.cell.bytes >= Bytes(32 << 10)) {
            sample.max.0 += 0.04;
        }
        let mut control = samples(8, Candidate::Builtin, |_| Vec::new());
        control.iter_mut().for_each(|sample| sample.cell.ranks = Ranks(2));
        all.extend(control);
        let points = distributions(&all, false, 0.95, |ranks| ranks == Ranks(2));
        let small = points.iter().find(|calls| calls.cell.bytes == Bytes(2 << 10) && calls.cell.ranks == Ranks(8));
        assert!(small.is_some_and(CallTimes::stalls), "the control does not show it");
        let found = stalls(&points);
        let [range] = &found[..] else { panic!("{found:?}") };
        let ends = (range.quiet_below, range.first, range.last);
        assert_eq!(ends, (Some(Bytes(8 << 10)), Bytes(16 << 10), Bytes(32 << 10)));
    }

    // Delays of calls inside one host are no timeouts of the network.
    #[test]
    fn calls_inside_one_host_have_no_timeouts() {
        let all = samples(5, Candidate::Builtin, |size| if size == 16 { vec![(0.2, 0.4)] } else { Vec::new() });
        let points = distributions(&all, false, 0.95, |_| true);
        assert!(points.iter().any(|calls| !calls.levels.is_empty()));
        assert_eq!(stalls(&points), []);
    }

    /// Pieces have the size that M1 requires for each message, and one message size without them leaves no cure.
    #[test]
    fn pieces_cure_where_they_were_timed_at_every_size() {
        let pieces = |pieces| Candidate::Mockup(Mockup::Split { pieces, barrier: true });
        let only = |size: u64, by: u32| -> Vec<Sample> {
            let mut own = samples(u64::from(by), pieces(by), |_| Vec::new());
            own.retain(|sample| sample.cell.bytes == Bytes(size << 10));
            own
        };
        let mut all = samples(1, Candidate::Builtin, |size| match size {
            16 | 32 => vec![(0.2, 0.5)],
            _ => Vec::new(),
        });
        all.extend(only(16, 2));
        let cures = |all: &[Sample]| stalls(&distributions(all, false, 0.95, |_| false))[0].cures.clone();
        assert_eq!(cures(&all), [], "32 KiB was not timed in pieces");
        all.extend(only(32, 4));
        let [cure] = cures(&all)[..] else { panic!("{:?}", cures(&all)) };
        assert_eq!((cure.candidate, cure.longest), (pieces(4), Some(Bytes(8 << 10))));
    }

    #[test]
    fn leaps_are_worth_a_call_and_pieces_cure_them_where_they_are_shorter() {
        let calls = |bytes: u64, candidate: Candidate, time: f64| CallTimes {
            cell: Cell { collective: Collective::Scatter, ranks: Ranks(8), bytes: Bytes(bytes) },
            candidate,
            calls: 50,
            usual: Seconds(time),
            median: Seconds(time),
            mean: Seconds(time),
            p99: Seconds(time),
            longest: Seconds(time),
            levels: Vec::new(),
            first: None,
        };
        let leap = |height: f64, each: f64| -> Vec<CallTimes> {
            let line = |power: u32| {
                let bytes = 1_u64 << power;
                let more = if power > 12 { height } else { 0.0 };
                calls(bytes, Candidate::Builtin, each * (200.0 + bytes as f64) + more)
            };
            (9..17).map(line).collect()
        };
        // 123 ns are no leap, however short the calls are.
        assert_eq!(steps(&leap(123e-9, 1e-11)), []);
        let mut points = leap(1e-3, 1e-9);
        let found = steps(&points);
        assert!(matches!(found[..], [step] if step.below == Bytes(4096) && step.cured.is_none()), "{found:?}");
        // 8 KiB in two pieces take less, 16 KiB in four take more.
        points.push(calls(8192, "split:2+barrier".parse().expect("a candidate"), 20e-6));
        points.push(calls(16384, "split:4+barrier".parse().expect("a candidate"), 2.0));
        let cured = steps(&points)[0].cured.expect("a cure");
        assert_eq!((cured.last, cured.mean.1), (Bytes(8192), Seconds(20e-6)));
    }

    #[test]
    fn first_calls_are_apart_where_they_were_timed() {
        let mut all = samples(7, Candidate::Builtin, |_| Vec::new());
        for sample in all.iter_mut().filter(|sample| sample.round == 0) {
            sample.max = Seconds(1.0);
        }
        for cold in [true, false] {
            let points = distributions(&all, cold, 0.95, |_| false);
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
