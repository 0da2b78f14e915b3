//! Distributions of calls: stalls in levels, ranges of sizes that have them, cures, and jumps of the time.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::sample::Sample;
use collrules_record::{Bytes, Candidate, Cell, Estimate, Mockup, Ranks, Seconds};
use collrules_rules::Collective;
use statrs::distribution::{Beta, ContinuousCDF};

use crate::line::{Coordinates, Errors, StraightLine};
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

/// Largest number of timeouts in a row.
const TIMEOUTS: i32 = 8;

/// Least share of calls, with confidence, that only the network delays: the operating system delays some, never all.
const ALWAYS: f64 = 0.9;

/// Share of the controls that have to lack a level that the network causes.
const LACKING: f64 = 0.25;

/// Shortest stall beyond the usual time, in seconds: less may be a system call.
const LEAST_STALL: f64 = 100e-6;

/// Largest deviation of medians that is no jump.
const LEAP: f64 = 0.3;

/// Largest number of points of the trend before a jump.
const TREND: usize = 3;

/// Lowest jump, in seconds: less is not worth a further call.
const LEAST_LEAP: f64 = 2e-6;

/// A candidate on all sizes of a communicator size.
pub type CandidateKey = (Collective, Ranks, Candidate);

/// The sorted times of a point.
struct Timed<'a> {
    cell: Cell,
    candidate: Candidate,
    times: &'a [f64],
    usual: f64,
}

/// The distribution of each point. The usual time is found from all sizes of a series, from other candidates, and from
/// the time that a fitted model `expects` at most, since all calls of a size may stall. If `cold`, no calls were made
/// untimed, and the first call of each launch is counted apart. `is_inside` is true for communicators with all ranks on
/// one host: if others are not, they are controls without network.
pub fn distributions(
    samples: &[Sample],
    cold: bool,
    level: f64,
    is_inside: impl Fn(Ranks) -> bool,
    expects: impl Fn(Cell, Candidate) -> Option<f64>,
) -> Vec<CallTimes> {
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
    let mut points: Vec<Timed<'_>> = Vec::new();
    for ((collective, ranks, candidate), sizes) in &series {
        let of_others = |bytes: &Bytes| {
            let others =
                series.iter().filter(|((by, on, with), _)| (by, on) == (collective, ranks) && with != candidate);
            others.filter_map(|(_, sizes)| sizes.get(bytes)).map(|times| quick(times)).min_by(f64::total_cmp)
        };
        let on = |bytes: Bytes| Cell { collective: *collective, ranks: *ranks, bytes };
        let usual = usual(sizes, of_others, |bytes| expects(on(*bytes), *candidate));
        points.extend(sizes.iter().zip(usual).map(|((bytes, times), usual)| {
            let cell = on(*bytes);
            Timed { cell, candidate: *candidate, times, usual }
        }));
    }
    let is_one_host = points.iter().all(|point| is_inside(point.cell.ranks));
    let one = |point: &Timed<'_>| {
        let Timed { cell, candidate, times, usual } = *point;
        let has_network = !is_inside(cell.ranks);
        // Calls inside one host are the control of others, not of each other, unless there are no others.
        let controls =
            (has_network || is_one_host).then(|| controls(point, &points, |ranks| !is_one_host && is_inside(ranks)));
        let count = times.len();
        CallTimes {
            cell,
            candidate,
            calls: count,
            usual: Seconds(usual),
            median: Seconds(quantile(times, 0.5)),
            mean: Seconds(times.iter().sum::<f64>() / count as f64),
            p99: Seconds(quantile(times, 0.99)),
            longest: Seconds(times[count - 1]),
            levels: levels(point, level, has_network, controls),
            first: firsts
                .get(&((cell.collective, cell.ranks, candidate), cell.bytes))
                .and_then(|times| first(&mut times.clone())),
        }
    };
    let mut found: Vec<CallTimes> = points.iter().map(one).collect();
    share_causes(&mut found);
    found
}

/// Blames the network for a level if it does so for one of about the same length of the same collective on these ranks:
/// controls differ by algorithm, and few take as long as the slowest.
fn share_causes(points: &mut [CallTimes]) {
    let of_network = |calls: &CallTimes| {
        let place = (calls.cell.collective, calls.cell.ranks);
        let levels = calls.levels.iter().filter(|level| level.in_control == Some(false));
        levels.map(|level| (place, level.more.0)).collect::<Vec<_>>()
    };
    let known: Vec<_> = points.iter().flat_map(of_network).collect();
    for calls in points {
        let place = (calls.cell.collective, calls.cell.ranks);
        for level in &mut calls.levels {
            let is_alike = |more: f64| more.max(level.more.0) <= GAP * more.min(level.more.0);
            if known.iter().any(|(of, more)| *of == place && is_alike(*more)) {
                level.in_control = Some(false);
            }
        }
    }
}

/// The points that show whether a level comes from the network: the same calls inside one host or, without these, the
/// other calls on these ranks that take at least half as long, which delays by the operating system hit about as often.
fn controls<'a>(point: &Timed<'_>, points: &'a [Timed<'a>], is_inside: impl Fn(Ranks) -> bool) -> Vec<&'a Timed<'a>> {
    let same = |other: &&Timed<'_>| {
        (other.cell.collective, other.cell.bytes, other.candidate)
            == (point.cell.collective, point.cell.bytes, point.candidate)
    };
    let inside: Vec<_> = points.iter().filter(same).filter(|other| is_inside(other.cell.ranks)).collect();
    let is_as_long = |other: &&Timed<'_>| other.cell.ranks == point.cell.ranks && other.usual >= point.usual / 2.0;
    let others = || {
        points.iter().filter(is_as_long).filter(|other| (other.cell, other.candidate) != (point.cell, point.candidate))
    };
    if inside.is_empty() { others().collect() } else { inside }
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

/// The time of the quick calls.
fn quick(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.1)
}

/// Returns true if calls take so much longer than expected that they stall.
fn is_fold(time: f64, expected: f64) -> bool {
    time > (1.0 + FOLD) * expected
}

/// The usual time of each size, without stalls: that of its own quick calls, unless even these stall. They do if a larger
/// size is much quicker, if they take a timeout longer than another candidate, if they take much longer than the model
/// expects at most, or if they take much longer than in proportion to smaller sizes while single calls do not.
fn usual(
    sizes: &BTreeMap<Bytes, Vec<f64>>,
    of_others: impl Fn(&Bytes) -> Option<f64>,
    expects: impl Fn(&Bytes) -> Option<f64>,
) -> Vec<f64> {
    let points: Vec<Coordinates> = sizes.iter().map(|(bytes, times)| (bytes.0 as f64, quick(times))).collect();
    let is_quickest = |place: usize| !points[place..].iter().any(|larger| is_fold(points[place].1, larger.1));
    let mut below: Option<Coordinates> = None;
    let mut found = Vec::with_capacity(points.len());
    for (place, (bytes, times)) in sizes.iter().enumerate() {
        let (size, own) = points[place];
        let in_proportion = below.filter(|below| below.0 > 0.0).map(|below| below.1 * size / below.0);
        let above = (place + 1..points.len()).find(|larger| is_quickest(*larger)).map(|larger| points[larger]);
        let other = of_others(bytes).filter(|other| is_fold(own, *other) && is_timeout(own - other, *other));
        let expected = if is_quickest(place) {
            other.or(in_proportion.filter(|expected| is_fold(own, *expected) && !is_fold(times[0], *expected)))
        } else {
            let between = |above: Coordinates| {
                below.map_or(above.1, |below| below.1 + (above.1 - below.1) * (size - below.0) / (above.0 - below.0))
            };
            above.map(between)
        };
        let most = expects(bytes).filter(|most| is_fold(expected.unwrap_or(own), *most));
        if expected.or(most).is_none() {
            below = Some((size, own));
        }
        found.push(most.or(expected).unwrap_or(own));
    }
    found
}

/// Returns true for a delay by TCP's timeouts. While one passes, a part of the usual time may pass too.
fn is_timeout(more: f64, usual: f64) -> bool {
    // One after several retransmissions, or the sum of all of them.
    let one = |timeout: f64| more > 0.95 * timeout - usual.min(timeout / 4.0) && more < 1.25 * timeout + usual;
    (0..TIMEOUTS)
        .map(|doublings| f64::from(1 << doublings))
        .any(|times| one(TIMEOUT * times) || one(TIMEOUT * (2.0 * times - 1.0)))
}

/// The levels of a point, which the network causes if enough controls lack them; without controls if its ranks are the
/// control of others. Only a network has timeouts.
fn levels(point: &Timed<'_>, level: f64, has_network: bool, controls: Option<Vec<&Timed<'_>>>) -> Vec<StallLevel> {
    let Timed { times, usual, .. } = *point;
    let least = LEAST_STALL.max(FOLD * usual);
    let more: Vec<f64> = times.iter().map(|time| time - usual).filter(|more| *more >= least).collect();
    let mut found = Vec::new();
    for cluster in more.chunk_by(|a, b| *b <= GAP * *a) {
        let middle = quantile(cluster, 0.5);
        let width = (quantile(cluster, 0.75) - quantile(cluster, 0.25)) / middle;
        let probability = share(cluster.len(), times.len(), level);
        let certain = probability.low.is_some_and(|low| low > RARE);
        if certain && width <= WIDTH && probability.point * middle >= COST * usual {
            let is_lacking = |control: &&&Timed<'_>| {
                let shorter = control.times.partition_point(|time| *time < control.usual + middle / 2.0);
                share(control.times.len() - shorter, control.times.len(), level).high < probability.low
            };
            let always = probability.low.is_some_and(|low| low > ALWAYS);
            let in_control = controls.as_ref().map_or(Some(true), |controls| {
                let lacking = controls.iter().filter(is_lacking).count() as f64;
                let shown = !always && lacking < LACKING * controls.len() as f64;
                (always || !controls.is_empty()).then_some(shown)
            });
            let is_timeout = has_network && is_timeout(middle, usual);
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

/// The sizes of each candidate on a communicator size, in order.
pub fn by_series(points: &[CallTimes]) -> BTreeMap<CandidateKey, Vec<&CallTimes>> {
    let mut series: BTreeMap<CandidateKey, Vec<&CallTimes>> = BTreeMap::new();
    for calls in points {
        series.entry((calls.cell.collective, calls.cell.ranks, calls.candidate)).or_default().push(calls);
    }
    series
}

/// The ranges of sizes in which calls stall because of the network, with their cures.
pub fn stalls(points: &[CallTimes]) -> Vec<Stalls> {
    let series = by_series(points);
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

/// Sizes at which the usual time jumps, in order.
pub fn steps(points: &[CallTimes]) -> Vec<Jump> {
    let by_series = by_series(points);
    let mut found = Vec::new();
    for ((collective, ranks, candidate), sizes) in &by_series {
        let points: Vec<Coordinates> = sizes.iter().map(|calls| (calls.cell.bytes.0 as f64, calls.usual.0)).collect();
        let leaps = leaps(&points).into_iter().filter(|leap| leap.is_certain);
        found.extend(leaps.map(|Leap { above, height, share, .. }| Jump {
            collective: *collective,
            ranks: *ranks,
            candidate: *candidate,
            below: sizes[above - 1].cell.bytes,
            above: sizes[above].cell.bytes,
            height: Seconds(height),
            share,
            cured: None,
        }));
    }
    for step in &mut found {
        step.cured = cured(&by_series, step);
    }
    found
}

/// A rise of the time beyond the trends of both sides.
struct Leap {
    /// The place of the first point after it.
    above: usize,
    height: f64,
    /// The height as a share of the time that the trend predicts.
    share: f64,
    /// False at either end of the points if the trend of the missing side could explain it.
    is_certain: bool,
}

/// Finds the rises of times over sizes that no line explains, however close to each other. A time grows as before it, or
/// as after it if it gets steeper there: after a rise that is a leap, it goes on less steeply. The slope before comes
/// from the points since the last leap; the one after is the smaller one of the next two rises, since one of these may
/// be a leap too. At the first size there is no slope before, and at the last none after: there, only a rise of more than
/// in proportion to the size is certain, which no line with a start of its own explains.
fn leaps(points: &[Coordinates]) -> Vec<Leap> {
    let rise = |above: usize| {
        let ((size, time), (next, after)) = (points[above - 1], points[above]);
        (after - time) / (next - size)
    };
    let mut found: Vec<Leap> = Vec::new();
    let (mut since, mut before) = (0, 0.0);
    for above in 1..points.len() {
        let ((size, time), (next, after)) = (points[above - 1], points[above]);
        let trend = &points[since.max(above.saturating_sub(TREND))..above];
        before = StraightLine::through(trend, Errors::Relative).map_or(before, |line| line.slope);
        let following = (above + 1..points.len()).take(2).map(rise).min_by(f64::total_cmp);
        // Two sizes alone have no trend.
        let in_proportion = if points.len() == 2 && size > 0.0 { time / size } else { 0.0 };
        let slope = before.max(following.unwrap_or(in_proportion)).max(0.0);
        let expected = time + slope * (next - size);
        let height = after - expected;
        let share = height / expected;
        if share > LEAP && height >= LEAST_LEAP {
            let is_at_end = above == 1 || following.is_none();
            let is_certain = !is_at_end || (size > 0.0 && after > (1.0 + LEAP) * time * next / size);
            found.push(Leap { above, height, share, is_certain });
            since = above;
        }
    }
    found
}

/// Returns the ends of the sizes at which further sizes would show whether the time jumps there: below the smallest, and
/// above the largest.
pub fn open_ends(sizes: &[&CallTimes]) -> [bool; 2] {
    let points: Vec<Coordinates> = sizes.iter().map(|calls| (calls.cell.bytes.0 as f64, calls.usual.0)).collect();
    let leaps = leaps(&points);
    [1, points.len().saturating_sub(1)].map(|end| leaps.iter().any(|leap| leap.above == end))
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
                !stalls(&distributions(
                    &samples(*seed, Candidate::Builtin, |_| Vec::new()),
                    false,
                    0.95,
                    |_| false,
                    |_, _| None,
                ))
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
            let points =
                distributions(&samples(seed, Candidate::Builtin, planted), false, 0.95, |_| false, |_, _| None);
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
        let found =
            stalls(&distributions(&samples(1, Candidate::Builtin, planted), false, 0.95, |_| false, |_, _| None));
        assert!(matches!(&found[..], [range] if range.first == Bytes(32 << 10)), "{found:?}");
    }

    /// Up to 0.88 was right; from 0.92 on, the stall was taken for the usual time.
    #[test]
    fn gathers_that_always_stall_are_found() {
        for (probability, last) in [(0.92, 64), (1.0, 64), (0.92, 128)] {
            let planted = |size| if (8..=last).contains(&size) { vec![(0.2, probability)] } else { Vec::new() };
            let mut all = samples(1, Candidate::Builtin, planted);
            let own = |all: &[Sample]| {
                let points = distributions(all, false, 0.95, |_| false, |_, _| None);
                let of_default = |range: &Stalls| range.candidate == Candidate::Builtin;
                let ranges = stalls(&points).into_iter().filter(of_default);
                let ranges: Vec<_> = ranges.map(|range| (range.quiet_below, range.first, range.last)).collect();
                let level = |bytes: u64| {
                    let own =
                        points.iter().find(|it| (it.cell.bytes, it.candidate) == (Bytes(bytes), Candidate::Builtin));
                    own.and_then(|it| it.levels.first()).map(|level| (level.probability.low, level.probability.high))
                };
                (ranges, level(8 << 10))
            };
            let (ranges, level) = own(&all);
            let kib = |size: u64| Bytes(size << 10);
            assert_eq!(ranges, [(Some(kib(4)), kib(8), kib(last))], "{probability}");
            assert!(level.is_some_and(|(low, high)| low <= Some(probability) && high >= Some(probability)));
            // Without sizes around, another candidate shows the usual time.
            all.extend(samples(2, Candidate::Tuned(collrules_rules::Choice::plain(2)), |_| Vec::new()));
            all.retain(|sample| (8..=64).contains(&(sample.cell.bytes.0 >> 10)));
            assert_eq!(own(&all).0, [(None, kib(8), kib(64))], "{probability}");
        }
    }

    /// If all calls of all sizes and algorithms stall, only a model shows the usual time, whatever the level.
    #[test]
    fn stalls_of_all_calls_are_found_with_a_model() {
        let slow = samples(1, Candidate::Builtin, |_| vec![(0.05, 1.0)]);
        let short = |size| if size <= 32 { vec![(0.3, 1.0)] } else { vec![(0.05, 1.0)] };
        let short = samples(1, Candidate::Builtin, short);
        for (all, levels) in [(slow, vec![0.05; 8]), (short, [vec![0.3; 6], vec![0.05; 2]].concat())] {
            let found = |factor: Option<f64>| {
                let expects = |cell: Cell, _| factor.map(|factor| factor * 10e-6 * cell.bytes.0 as f64 / 1024.0);
                let points = distributions(&all, false, 0.95, |_| false, expects);
                let level = |calls: &CallTimes| calls.levels.last().map_or(0.0, |level| level.more.0);
                points.iter().map(level).collect::<Vec<_>>()
            };
            // Twice the time is the most that the model can be wrong here.
            for factor in [1.0, 2.0] {
                let network = distributions(
                    &all,
                    false,
                    0.95,
                    |_| false,
                    |cell, _| Some(factor * 10e-6 * cell.bytes.0 as f64 / 1024.0),
                );
                assert!(network.iter().all(CallTimes::stalls), "the operating system delays no call always");
                let found = found(Some(factor));
                let is_near = |(found, planted): (&f64, &f64)| (found / planted - 1.0).abs() < 0.15;
                assert!(found.iter().zip(&levels).all(is_near), "{found:?}");
            }
            assert_eq!(found(None)[0] == 0.0, levels[0] == 0.05, "larger sizes may show it too");
        }
    }

    /// 50 ms in 30 % of gathers of 8 to 64 KiB, and in no others, are the network's, with hosts of one slot too; a
    /// delay that longer calls show as often is not.
    #[test]
    fn levels_that_longer_calls_lack_come_from_the_network() {
        let found = |stall: fn(u64) -> Vec<(f64, f64)>| {
            let ranges =
                stalls(&distributions(&samples(3, Candidate::Builtin, stall), false, 0.95, |_| false, |_, _| None));
            ranges.into_iter().map(|range| (range.quiet_below, range.first, range.last)).collect::<Vec<_>>()
        };
        let medium = found(|size| if (8..=64).contains(&size) { vec![(0.05, 0.3)] } else { Vec::new() });
        assert_eq!(medium, [(Some(Bytes(4 << 10)), Bytes(8 << 10), Bytes(64 << 10))]);
        assert_eq!(found(|_| vec![(0.05, 0.3)]), []);
    }

    #[test]
    fn a_timeout_is_one_or_the_sum_of_several() {
        assert!([0.2, 0.4, 0.6, 0.8, 1.4, 1.6, 3.0].iter().all(|more| is_timeout(*more, 1e-3)));
        assert!([0.05, 0.1, 0.3, 1.2, 2.2].iter().all(|more| !is_timeout(*more, 1e-3)));
    }

    #[test]
    fn what_is_quiet_and_quicker_on_average_is_a_cure() {
        let split = Candidate::Mockup("split:2+barrier".parse().expect("a mock-up"));
        let mut all = samples(1, Candidate::Builtin, |size| if size == 32 { vec![(0.2, 0.5)] } else { Vec::new() });
        all.extend(samples(2, split, |_| Vec::new()));
        all.extend(samples(3, Candidate::Tuned(collrules_rules::Choice::plain(1)), |_| vec![(0.2, 0.5)]));
        let found = stalls(&distributions(&all, false, 0.95, |_| false, |_, _| None));
        let builtin = found.iter().find(|range| range.candidate == Candidate::Builtin).expect("stalls");
        assert!(
            matches!(&builtin.cures[..], [cure] if cure.candidate == split && cure.mean.1.0 < 0.001),
            "{builtin:?}"
        );
    }

    #[test]
    fn a_leap_is_found_and_a_bend_is_none() {
        fn calls_of(time: impl Fn(f64) -> f64) -> Vec<CallTimes> {
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
        }
        let leap = steps(&calls_of(|size| if size <= 65536.0 { 1e-5 + 1e-9 * size } else { 1e-4 + 1e-9 * size }));
        assert!(matches!(leap[..], [Jump { below: Bytes(65536), above: Bytes(131_072), .. }]), "{leap:?}");
        let bend = steps(&calls_of(|size| 1e-5 + 1e-9 * size.min(65536.0) + 4e-9 * (size - 65536.0).max(0.0)));
        assert_eq!(bend, []);
        // One or two sizes above are enough; with two, a bend is told from it.
        for last in [65536.0, 524_288.0, 1_048_576.0] {
            let leap = |size: f64| 1e-5 + 1e-9 * size + if size > last { 1e-2 } else { 0.0 };
            let found = steps(&calls_of(leap));
            assert!(matches!(found[..], [Jump { below, .. }] if below == Bytes(last as u64)), "{last}: {found:?}");
            let bend = steps(&calls_of(|size| 1e-5 + 1e-9 * size + 2e-9 * (size - last).max(0.0)));
            assert!(bend.is_empty() || last > 1e6, "{last}: {bend:?}");
        }
        // A change of protocol at the size below hides nothing.
        let eager = |size: f64| 1e-5 + 7e-9 * size + if size >= 1_048_576.0 { 1e-3 } else { 0.0 };
        let found = steps(&calls_of(|size| eager(size) + if size > 1_048_576.0 { 0.1 } else { 0.0 }));
        assert!(found.iter().any(|step| step.below == Bytes(1 << 20)), "{found:?}");
    }

    #[test]
    fn planted_leaps_are_located_and_absent_ones_are_not_invented() {
        let (mut located, mut invented) = (0, 0);
        for seed in 0..100 {
            let leaps = |stall: fn(u64) -> Vec<(f64, f64)>| {
                steps(&distributions(&samples(seed, Candidate::Builtin, stall), false, 0.95, |_| false, |_, _| None))
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

    /// Two leaps, also at neighbouring sizes, and one at the first sizes; once the second of two hid the first, or both.
    #[test]
    fn leaps_are_found_however_close_they_are() {
        for (leaps, least) in [
            (&[(4, 1e-2)][..], 98),
            (&[(2, 1e-2)], 98),
            (&[(4, 4e-4), (8, 3e-3)], 95),
            (&[(8, 5e-4), (16, 2e-2)], 98),
            (&[(8, 5e-4), (32, 2e-2)], 98),
            (&[(16, 2e-3), (64, 5e-3)], 98),
            (&[(4, 1e-3), (16, 4e-3), (64, 3e-2)], 95),
            (&[(32, 3e-3), (64, 9e-3)], 95),
            (&[(16, 1e-3), (128, 2e-2)], 95),
        ] {
            let planted = |size: u64| leaps.iter().filter(move |(from, _)| size >= *from).map(|(_, more)| *more);
            let located = |seed: &u64| {
                let stall = |size| vec![(planted(size).sum(), 1.0)];
                let samples = samples(*seed, Candidate::Builtin, stall);
                let found = steps(&distributions(&samples, false, 0.95, |_| false, |_, _| None));
                let is_near = |(step, (from, more)): (&Jump, &(u64, f64))| {
                    step.above == Bytes(from << 10) && (step.height.0 / more - 1.0).abs() < 0.25
                };
                found.len() == leaps.len() && found.iter().zip(leaps).all(is_near)
            };
            let right = (0..100).filter(located).count();
            assert!(right >= least, "{leaps:?}: {right} of 100");
        }
    }

    /// Lines that may get steeper or less steep once, by factors up to 6, with noise of 2 %.
    #[test]
    fn bends_are_no_leaps() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let noise = LogNormal::new(0.0, 0.02).expect("a spread");
        let mut wrong = 0;
        for _ in 0..1000 {
            let start = 10f64.powf(rng.random_range(-6.0..-4.0));
            let slope = 10f64.powf(rng.random_range(-10.0..-8.0));
            let (bend, factor) = (f64::from(1 << rng.random_range(11..16)), rng.random_range(0.2..6.0));
            let time = |size: f64| start + slope * (size.min(bend) + factor * (size - bend).max(0.0));
            let sizes = (10..19).map(|power| f64::from(1 << power));
            let points: Vec<Coordinates> = sizes.map(|size| (size, time(size) * noise.sample(&mut rng))).collect();
            wrong += usize::from(leaps(&points).iter().any(|leap| leap.is_certain));
        }
        assert!(wrong <= 10, "{wrong} of 1000");
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
        let points = distributions(&all, false, 0.95, |_| false, |_, _| None);
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
            let points = distributions(&all, false, 0.95, |ranks| ranks == Ranks(4), |_, _| None);
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
        let points = distributions(&all, false, 0.95, |ranks| ranks == Ranks(2), |_, _| None);
        let small = points.iter().find(|calls| calls.cell.bytes == Bytes(2 << 10) && calls.cell.ranks == Ranks(8));
        assert!(small.is_some_and(CallTimes::stalls), "the control does not show it");
        let found = stalls(&points);
        let [range] = &found[..] else { panic!("{found:?}") };
        let ends = (range.quiet_below, range.first, range.last);
        assert_eq!(ends, (Some(Bytes(8 << 10)), Bytes(16 << 10), Bytes(32 << 10)));
    }

    /// Calls inside one host have no timeouts, but if all ranks are there, other sizes are the control: what all of them
    /// have is the operating system's, what some lack is not.
    #[test]
    fn other_sizes_are_the_control_on_one_host() {
        let found = |stall: fn(u64) -> Vec<(f64, f64)>| {
            let points = distributions(&samples(5, Candidate::Builtin, stall), false, 0.95, |_| true, |_, _| None);
            assert!(points.iter().any(|calls| !calls.levels.is_empty()));
            assert!(points.iter().flat_map(|calls| &calls.levels).all(|level| !level.is_timeout));
            stalls(&points).into_iter().map(|range| (range.quiet_below, range.first, range.last)).collect::<Vec<_>>()
        };
        let kib = |size: u64| Bytes(size << 10);
        let some = found(|size| if (8..=32).contains(&size) { vec![(0.2, 0.2), (0.4, 0.15)] } else { Vec::new() });
        assert_eq!(some, [(Some(kib(4)), kib(8), kib(32))]);
        assert_eq!(found(|_| vec![(0.2, 0.3)]), []);
    }

    /// The same delay in three algorithms of four has one cause: the slowest once was the operating system's, since few
    /// others take as long.
    #[test]
    fn one_delay_of_several_algorithms_has_one_cause() {
        let stall = |size: u64| if size >= 16 { vec![(0.02, 0.2)] } else { Vec::new() };
        for inside in [true, false] {
            let mut all = samples(11, Candidate::Builtin, stall);
            all.extend(samples(12, Candidate::Tuned(collrules_rules::Choice::plain(1)), |_| Vec::new()));
            for (id, factor) in [(2, 1.0), (3, 3.0)] {
                let mut own = samples(u64::from(id), Candidate::Tuned(collrules_rules::Choice::plain(id)), stall);
                for sample in own.iter_mut().filter(|sample| sample.max.0 < 0.01) {
                    sample.max.0 *= factor;
                }
                all.extend(own);
            }
            let points = distributions(&all, false, 0.95, |_| inside, |_, _| None);
            let (network, other): (Vec<&StallLevel>, Vec<&StallLevel>) =
                points.iter().flat_map(|calls| &calls.levels).partition(|level| level.is_network());
            assert!(network.len() >= 9 && other.is_empty(), "{other:?}");
            assert_eq!(stalls(&points).len(), 3);
        }
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
        let cures = |all: &[Sample]| stalls(&distributions(all, false, 0.95, |_| false, |_, _| None))[0].cures.clone();
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
            let points = distributions(&all, cold, 0.95, |_| false, |_, _| None);
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
