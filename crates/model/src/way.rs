//! Common parameters of all pairs of a kind: lines by range of sizes, gaps, and LogGP's parameters.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::{mean, median};
use collrules_record::pattern::Shape;
use collrules_record::transport::Transport;
use collrules_record::{Bytes, Estimate, Pattern, Seconds};

use crate::line::{Coordinates, Errors, LaunchCurves, StraightLine, ranges};
use crate::model::{LogGp, PathModel, Regime};
use crate::place::Where;
use crate::probe::{Probe, Probes};
use crate::unknown::{LogGpParameter, Unknown};

/// A limit of Open MPI above which it sends messages by another protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limit.
    pub name: String,
    /// The largest size below it.
    pub bytes: u64,
    /// Pairs to which it applies.
    pub place: Where,
    /// True if Open MPI reports it; false if it is only the usual value.
    pub reported: bool,
}

impl Limit {
    /// The eager limits that an Open MPI reports, by the names of its components, or the defaults of 4.1 and 5.0.
    /// Longer messages wait for their receiver. Empty under a pml other than `ob1`, which reports none.
    pub fn from_reported(reported: &BTreeMap<String, Bytes>, transport: Option<&Transport>) -> Vec<Self> {
        if transport.is_some_and(|transport| transport.pml != "ob1") {
            return Vec::new();
        }
        let limit = |place, components: &[&'static str], usual: u64| {
            let told = components.iter().find_map(|name| Some((*name, *reported.get(*name)?)));
            let (name, bytes, default) =
                told.map_or((components[0], Bytes(usual), "default "), |(name, bytes)| (name, bytes, ""));
            let name = format!("the {default}eager limit of btl/{name} ({bytes})");
            Self { name, bytes: bytes.0, place, reported: told.is_some() }
        };
        // 5.0 calls sm what 4.1 called vader, and knows both names.
        vec![limit(Where::Between, &["tcp"], 65536), limit(Where::Inside, &["sm", "vader"], 4096)]
    }
}

/// Fits all pairs of a kind; none where no pair was timed.
pub(crate) fn fit(
    probes: &Probes,
    place: Where,
    limits: &[Limit],
    level: f64,
    unknown: &mut Vec<Unknown>,
) -> Option<PathModel> {
    let of_kind = |probe: &Probe| at(probes, &probe.ranks) == Some(place);
    let pairs: BTreeSet<(u32, u32)> = probes
        .all()
        .into_iter()
        .filter(|probe| probe.is_round_trip() && of_kind(probe))
        .map(|probe| (probe.ranks[0].min(probe.ranks[1]), probe.ranks[0].max(probe.ranks[1])))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    // Per launch, the median over pairs, so that a slow one does not count.
    let curve = |wanted: &dyn Fn(&Probe) -> bool| -> LaunchCurves {
        let launch = |launch: u32| {
            let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
            for (probe, time) in probes.of_launch(launch).filter(|(probe, _)| of_kind(probe) && wanted(probe)) {
                sizes.entry(probe.bytes).or_default().push(time);
            }
            sizes.into_iter().filter_map(|(size, mut times)| Some((size as f64, median(&mut times)?))).collect()
        };
        probes
            .launches()
            .map(|number| (number, launch(number)))
            .filter(|(_, points): &(_, Vec<_>)| !points.is_empty())
            .collect()
    };
    let timed = |shape: Shape| curve(&|probe| probe.shape == shape);
    let both = timed(Shape::PingPong);
    let one_way = curve(&|probe| probe.is_round_trip() && (probe.shape == Shape::Ping || probe.bytes == 0));
    // Where answers are empty, the way back is that of the empty message, which is half of the empty round trip.
    let times: LaunchCurves = if points_of(&one_way) > points_of(&both) {
        one_way.iter().map(|(launch, points)| (*launch, without_answer(points))).collect()
    } else {
        both.iter()
            .map(|(launch, points)| (*launch, points.iter().map(|(size, time)| (*size, time / 2.0)).collect()))
            .collect()
    };
    let (regimes, by_launch) = lines(&times, place, limits, level);
    if regimes.is_empty() {
        unknown.push(Unknown::Line(place));
    }
    let trains = timed(Shape::Train);
    let mut loggp = loggp(&timed, &one_way, &trains, level, unknown, place);
    let gaps = gaps(&one_way, loggp.as_ref(), level);
    let long = long_train(&trains, level);
    let burst = burst(&by_launch, long, level);
    if let (Some(found), Some(_)) = (&mut loggp, burst) {
        // Short trains pass for free as well, and say nothing about the rate.
        found.gap_per_byte = long;
    }
    Some(PathModel { place, pairs: pairs.len(), regimes, burst, gaps, loggp })
}

/// Estimates the time per byte of long messages: the slope between the longest trains and the longest ones of at most
/// half that size.
fn long_train(trains: &LaunchCurves, level: f64) -> Option<Estimate> {
    let slope = |points: &Vec<Coordinates>| {
        let (size, time) = points.last()?;
        let (less, before) = points.iter().rfind(|(other, _)| 2.0 * other <= *size)?;
        Some((time - before) / (f64::from(Pattern::TRAIN) * (size - less)))
    };
    Estimate::mean(trains.values().filter_map(slope), level)
}

/// Least ratio between the times per byte of long and of short messages if short ones pass for free.
const STEEPER: f64 = 2.0;

/// Estimates the bytes that pass an idle link before its rate holds: the size at which the line of long messages meets
/// that of short ones. Trains distinguish such a burst from messages that take longer for each byte because they are
/// long: a train of short messages soon gets no more than the rate of long ones.
fn burst(by_launch: &[Vec<StraightLine>], of_train: Option<Estimate>, level: f64) -> Option<Estimate> {
    let (first, last) = by_launch.first().zip(by_launch.last()).filter(|_| by_launch.len() > 1)?;
    let slope = |lines: &[StraightLine]| lines.iter().map(|line| line.slope).sum::<f64>() / lines.len() as f64;
    let (short, long) = (slope(first).max(0.0), slope(last));
    let of_train = of_train?.point;
    if long < STEEPER * short || of_train < f64::midpoint(short, long) {
        return None;
    }
    let meet = |(short, long): (&StraightLine, &StraightLine)| {
        (short.start - long.start) / (long.slope - short.slope.max(0.0))
    };
    let found: Vec<f64> = first.iter().zip(last).map(meet).collect();
    Estimate::mean(found, level).filter(|bytes| bytes.low.unwrap_or(bytes.point) > 0.0)
}

/// Returns the location of a probe's ranks; none if some share the first one's host and others do not.
pub(crate) fn at(probes: &Probes, ranks: &[u32]) -> Option<Where> {
    let inside = ranks[1..].iter().filter(|rank| probes.share_host(ranks[0], **rank)).count();
    match inside {
        0 => Some(Where::Between),
        all if all == ranks.len() - 1 => Some(Where::Inside),
        _ => None,
    }
}

fn points_of(curve: &LaunchCurves) -> usize {
    curve.values().map(Vec::len).max().unwrap_or(0)
}

fn without_answer(points: &[Coordinates]) -> Vec<Coordinates> {
    let empty = points.first().filter(|(size, _)| *size == 0.0).map_or(0.0, |(_, time)| time / 2.0);
    points.iter().map(|(size, time)| (*size, time - empty)).collect()
}

/// The ranges with their lines, and the lines of each launch that has all sizes of a range.
fn lines(times: &LaunchCurves, place: Where, limits: &[Limit], level: f64) -> (Vec<Regime>, Vec<Vec<StraightLine>>) {
    let through = |points: &[Coordinates], _: &[f64]| StraightLine::through(points, Errors::Relative);
    let mut before: Option<u64> = None;
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for (points, by_launch) in ranges(times, |times| Some(mean(times)), through) {
        let (Some((from, _)), Some((to, _))) = (points.first(), points.last()) else { continue };
        let part = |value: fn(&StraightLine) -> f64| Estimate::mean(by_launch.iter().map(value), level);
        let (Some(alpha), Some(beta)) = (part(|line| line.start), part(|line| line.slope)) else { continue };
        let line = StraightLine { start: alpha.point, slope: beta.point };
        let lies = |limit: &&Limit| before.is_some_and(|last| last <= limit.bytes && limit.bytes < *from as u64);
        let begins_at = limits.iter().filter(|limit| limit.place == place).find(lies).map(|limit| limit.name.clone());
        found.push(Regime {
            from: Bytes(*from as u64),
            to: Bytes(*to as u64),
            alpha,
            beta,
            residual: points.iter().map(|(size, time)| ((time - line.at(*size)) / time).abs()).fold(0.0, f64::max),
            begins_at,
        });
        before = Some(*to as u64);
        lines.push(by_launch);
    }
    (found, lines)
}

/// LogGP from trains, as in netgauge: with n messages and an empty answer, a train takes (n - 1) gaps longer than one
/// message. If the sender is busy in between, it takes longer only by the sending.
fn loggp(
    timed: &dyn Fn(Shape) -> LaunchCurves,
    single: &LaunchCurves,
    trains: &LaunchCurves,
    level: f64,
    unknown: &mut Vec<Unknown>,
    place: Where,
) -> Option<LogGp> {
    let busy_trains = timed(Shape::BusyTrain);
    if trains.is_empty() && busy_trains.is_empty() {
        unknown.push(Unknown::LogGp(place));
        return None;
    }
    let each = |trains: &LaunchCurves, delay: u64| -> LaunchCurves {
        let more = |(launch, points): (&u32, &Vec<Coordinates>)| {
            let points = points.iter().filter_map(|(size, time)| {
                let (_, one) = single.get(launch)?.iter().find(|(other, _)| other == size)?;
                Some((*size, (time - one) / f64::from(Pattern::TRAIN - 1) - delay as f64 * 1e-9))
            });
            (*launch, points.collect())
        };
        trains.iter().map(more).collect()
    };
    let free = each(trains, 0);
    let sizes = points_of(&free);
    let whole = free.values().filter(|points| points.len() == sizes);
    let lines: Vec<StraightLine> =
        whole.filter_map(|points| StraightLine::through(&positive(points), Errors::Relative)).collect();
    let mean = |values: Vec<f64>| Estimate::mean(values, level);
    let smallest = |curve: &LaunchCurves| -> BTreeMap<u32, f64> {
        curve.iter().filter_map(|(launch, points)| Some((*launch, points.first()?.1))).collect()
    };
    let send = smallest(&each(&busy_trains, Pattern::BUSY));
    let receive = smallest(&timed(Shape::LateReceive));
    let trips = smallest(single);
    // An empty message takes o_s, L and o_r: neither end can take more than all of it.
    let whole = mean(trips.values().map(|time| time / 2.0).collect()).map_or(f64::INFINITY, |time| time.point);
    let latency: Vec<f64> =
        trips.iter().filter_map(|(launch, time)| Some(time / 2.0 - send.get(launch)? - receive.get(launch)?)).collect();
    if send.is_empty() {
        unknown.push(Unknown::Send(place));
    }
    if receive.is_empty() {
        unknown.push(Unknown::Receive(place));
    }
    // What may as well be nothing is no parameter.
    let mut told = |parameter: LogGpParameter, values: Vec<f64>| {
        let found = mean(values)?;
        let is_some = found.low.unwrap_or(found.point) > 0.0;
        if !is_some {
            unknown.push(Unknown::Small { parameter, place });
        } else if found.point > whole {
            // Ranks that share processors lose their turn while they are busy.
            let (estimate, whole) = (Seconds(found.point), Seconds(whole));
            unknown.push(Unknown::Large { parameter, place, estimate, whole });
        }
        Some(found).filter(|found| is_some && found.point <= whole)
    };
    Some(LogGp {
        send: told(LogGpParameter::Send, send.into_values().collect()),
        receive: told(LogGpParameter::Receive, receive.into_values().collect()),
        // Where a sender waits until its message is there, sending and receiving are all of the way.
        latency: told(LogGpParameter::Latency, latency),
        gap: mean(lines.iter().map(|line| line.start).collect()),
        gap_per_byte: mean(lines.iter().map(|line| line.slope).collect()),
    })
}

fn positive(points: &[Coordinates]) -> Vec<Coordinates> {
    points.iter().filter(|(_, time)| *time > 0.0).copied().collect()
}

/// PLogP: with an empty answer, a round trip takes 2 L + g(m) + g(0).
fn gaps(one_way: &LaunchCurves, loggp: Option<&LogGp>, level: f64) -> Vec<(Bytes, Estimate)> {
    let Some(shortest) = loggp.and_then(|found| found.gap) else { return Vec::new() };
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for points in one_way.values() {
        let Some((_, empty)) = points.first().filter(|(size, _)| *size == 0.0) else { continue };
        for (size, time) in points {
            sizes.entry(*size as u64).or_default().push(time - empty + shortest.point);
        }
    }
    sizes.into_iter().filter_map(|(size, values)| Some((Bytes(size), Estimate::mean(values, level)?))).collect()
}
