//! Nodes and pairs that are slower than the others, beyond noise and what is tolerated.
//!
//! A node is judged by its quickest pairs, since a slow node is slow with all others. The usual time is the lower
//! median of the nodes. A pair is judged against the sum of its two nodes' slowdowns. Both are tested over launches
//! with Student's test against the tolerated slowdown, with Holm's correction over all tests.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::Criteria;
use collrules_record::estimate::{TestedMean, Variance, mean};
use collrules_record::pattern::Shape;
use collrules_record::{Bytes, Estimate};

use crate::model::{Slow, SlowNode, SlowPair};

use crate::place::Where;
use crate::probe::Probes;
use crate::unknown::Unknown;
use crate::way::at;

/// Node or pair that is tested.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    Node(u32),
    Pair(u32, u32),
}

impl Whom {
    fn is_node(self) -> bool {
        matches!(self, Self::Node(_))
    }
}

/// Round trips of pairs at a size in a launch.
type RoundTrips = BTreeMap<(u32, u32), f64>;

/// Finds slow nodes and pairs among pairs of a kind: slower by more than `min_gain`, with the error rate as the probability
/// of naming any on a machine without slow ones.
pub(crate) fn find(probes: &Probes, terms: Criteria, unknown: &mut Vec<Unknown>) -> Slow {
    let mut tests: Vec<(Whom, u64, Vec<f64>)> = Vec::new();
    let mut map = Vec::new();
    for place in [Where::Between, Where::Inside] {
        let sizes: BTreeSet<u64> = probes
            .all()
            .into_iter()
            .filter(|probe| probe.is_round_trip() && at(probes, &probe.ranks) == Some(place))
            .map(|probe| probe.bytes)
            .collect();
        let ends: BTreeSet<u64> = sizes.first().into_iter().chain(sizes.last()).copied().collect();
        for size in ends {
            let by_launch: Vec<RoundTrips> =
                probes.launches().map(|launch| times(probes, launch, place, size)).collect();
            tests.extend(factors(&by_launch).into_iter().map(|(whom, values)| (whom, size, values)));
            if Some(&size) == sizes.last() {
                map.extend(compared(&by_launch));
            }
        }
    }
    let tests: Vec<(Whom, u64, Vec<f64>)> =
        tests.into_iter().map(|(whom, size, values)| (whom, size, values.into_iter().map(f64::ln).collect())).collect();
    let bound = terms.min_gain.ln_1p();
    let mut judged: Vec<(f64, Whom, u64, Estimate)> = tests
        .iter()
        .filter_map(|(whom, size, logs)| {
            let alike = tests.iter().filter(|(other, at, _)| other.is_node() == whom.is_node() && at == size);
            let alike: Vec<&[f64]> = alike.map(|(_, _, logs)| &logs[..]).collect();
            let p_value = exceeds(logs, &alike, bound)?;
            Some((p_value, *whom, *size, Estimate::mean(logs, terms.level)?.map(f64::exp)))
        })
        .collect();
    judged.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tested = judged.len();
    if tested == 0 {
        unknown.push(Unknown::SlowNodes);
    }
    let held =
        judged.iter().enumerate().take_while(|(at, one)| one.0 * (tested - at) as f64 <= terms.error_rate).count();
    let mut slow = Slow {
        error_rate: terms.error_rate,
        tolerate: terms.min_gain,
        tested,
        nodes: Vec::new(),
        pairs: Vec::new(),
        map,
    };
    for (_, whom, size, factor) in judged.into_iter().take(held) {
        let bytes = Bytes(size);
        match whom {
            Whom::Node(rank) => {
                slow.nodes.push(SlowNode { rank, host: probes.hosts.get(&rank).cloned(), bytes, factor });
            }
            Whom::Pair(a, b) => slow.pairs.push(SlowPair { ranks: (a, b), bytes, factor }),
        }
    }
    slow.nodes.sort_by_key(|node| (node.rank, node.bytes));
    slow.pairs.sort_by_key(|pair| (pair.ranks, pair.bytes));
    slow
}

fn times(probes: &Probes, launch: u32, place: Where, size: u64) -> RoundTrips {
    let mut found = RoundTrips::new();
    for (probe, _) in probes.of_launch(launch) {
        if !probe.is_round_trip() || probe.bytes != size || at(probes, &probe.ranks) != Some(place) {
            continue;
        }
        let pair = (probe.ranks[0].min(probe.ranks[1]), probe.ranks[0].max(probe.ranks[1]));
        // With as much back, where there is that: it has both directions.
        let round_trip = [Shape::PingPong, Shape::Ping].into_iter();
        let round_trip = round_trip.filter_map(|shape| probes.round_trip(launch, shape, pair, size)).next();
        found.extend(round_trip.map(|time| (pair, time)));
    }
    found
}

/// Computes the time of each node relative to the usual time, and of each pair relative to what its nodes predict, in
/// each launch that has all pairs.
fn factors(launches: &[RoundTrips]) -> BTreeMap<Whom, Vec<f64>> {
    let mut found: BTreeMap<Whom, Vec<f64>> = BTreeMap::new();
    for times in launches {
        let best = best(times);
        // Of two nodes each is as slow as the other.
        if best.len() < 3 {
            continue;
        }
        let usual = lower_median(best.values().copied());
        for (rank, time) in &best {
            found.entry(Whom::Node(*rank)).or_default().push(time / usual);
        }
        for ((a, b), time) in times {
            let explained = (best[a] + best[b] - usual).max(best[a]).max(best[b]);
            found.entry(Whom::Pair(*a, *b)).or_default().push(time / explained);
        }
    }
    found
}

/// The time of each node with its quickest partners. With more than 3 nodes it is the second quickest, so that one
/// lucky pair does not excuse a node or make all others look slow.
fn best(times: &RoundTrips) -> BTreeMap<u32, f64> {
    let mut of_node: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((a, b), time) in times {
        of_node.entry(*a).or_default().push(*time);
        of_node.entry(*b).or_default().push(*time);
    }
    of_node
        .into_iter()
        .map(|(rank, mut times)| {
            times.sort_by(f64::total_cmp);
            (rank, times[usize::from(times.len() > 3)])
        })
        .collect()
}

fn lower_median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len().max(1) - 1) / 2).copied().unwrap_or(f64::NAN)
}

/// The mean over launches of each pair's time relative to a usual node's.
fn compared(launches: &[RoundTrips]) -> Vec<((u32, u32), f64)> {
    let mut all: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for times in launches {
        let usual = lower_median(best(times).into_values());
        times.iter().for_each(|(pair, time)| all.entry(*pair).or_default().push(time / usual));
    }
    all.into_iter().map(|(pair, values)| (pair, mean(values))).collect()
}

/// Probability of such a mean if the true one were the bound; none for fewer than 2 values. With few launches, a node's
/// own variance is uncertain, so the pooled variance of similar tests is used unless the own one is larger.
fn exceeds(values: &[f64], alike: &[&[f64]], bound: f64) -> Option<f64> {
    let (own, pooled) =
        (Variance::from_values(values), Variance::pooled(alike.iter().map(|it| Variance::from_values(*it))));
    // Times that are the same to the last digit are planted, or come from a clock too coarse to tell.
    let value = pooled.value.max(own.value).max(1e-18 * values.len() as f64);
    let test = TestedMean::new(mean(values), Variance { value, ..pooled }, values.len());
    test.p_above(bound).filter(|_| own.degrees > 0.0)
}
