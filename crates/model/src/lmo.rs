//! Parameters of each node and pair, after Lastovetsky, O'Flynn and Rychkov, by estimators that remain valid if
//! messages overlap.
//!
//! A message from i to j takes `C_i + t_i M + L_ij + M / beta_ij + C_j + t_j M`. Published estimators assume that two
//! answers are handled one after the other, and are biased if one is handled while the other is on its way. So here i
//! sends to j, which does not answer, then to k, which does. Compared with the round trip to k alone, this takes longer
//! by the time in which i sends to j, `C_i + t_i M`, whatever overlaps. If the two messages share the link of i, its
//! time is included and cannot be separated.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::median;
use collrules_record::pattern::Shape;
use collrules_record::{Bytes, Estimate};

use crate::model::{Lmo, NodeModel, PairModel};

use crate::place::Where;
use crate::probe::Probes;
use crate::unknown::Unknown;
use crate::way::at;

/// If the times per byte of two nodes add up to more than this share of the time per byte between them, their links are
/// shared: otherwise the network would take less than nothing.
const SHARED: f64 = 1.1;

/// Two simultaneous messages must exceed the link rate seen by pairs by this factor to be believed.
const CLEARLY: f64 = 1.15;

/// Estimates of each launch for each node or pair.
type ByLaunch<K> = BTreeMap<K, Vec<f64>>;

/// Fits nodes and pairs; none if there are too few probes, with the reason added to `unknown`.
pub(crate) fn fit(probes: &Probes, level: f64, unknown: &mut Vec<Unknown>) -> Option<Lmo> {
    let ranks = probes.ranks();
    if ranks.len() < 3 {
        unknown.push(Unknown::FewRanks(ranks.len()));
        return None;
    }
    let all = probes.all();
    let sizes: BTreeSet<u64> =
        all.iter().filter(|probe| probe.shape == Shape::OneToTwo).map(|probe| probe.bytes).collect();
    if !sizes.contains(&0) {
        unknown.push(Unknown::OneToTwo);
        return None;
    }
    let bytes = sizes.iter().copied().max().filter(|size| *size > 0);
    let estimates = Estimates::from_probes(probes, &ranks, bytes);
    if bytes.is_none() {
        unknown.push(Unknown::NodeBytes);
    }
    let shared_links = bytes.is_some() && estimates.shared();
    if shared_links {
        unknown.push(Unknown::SharedLinks);
    }
    let measured: BTreeSet<(u32, u32)> = estimates.empty.keys().copied().collect();
    let count = ranks.len();
    let all = count * (count - 1) / 2;
    if measured.len() < all {
        unknown.push(Unknown::Pairs { untimed: all - measured.len(), all });
    }
    let mean = |values: Option<&Vec<f64>>| values.and_then(|values| Estimate::mean(values, level));
    let rate = |pair: &(u32, u32)| mean(Some(&estimates.network(*pair, shared_links))).and_then(inverse);
    // A link carries what the quickest of its pairs gets, and what two messages at once show.
    let link = |rank: &u32| {
        let own = measured.iter().filter(|(i, j)| i == rank || j == rank);
        let of_pairs = own.filter_map(rate).max_by(|a, b| a.point.total_cmp(&b.point));
        let at_once = mean(estimates.fullest(*rank)).and_then(inverse);
        // Long messages of a pair say it more exactly, but a partner may be what limits them.
        let clearly = |more: &Estimate| of_pairs.is_none_or(|pair| more.point > CLEARLY * pair.point);
        at_once.filter(clearly).or(of_pairs).filter(|_| shared_links)
    };
    let node = |rank: &u32| NodeModel {
        rank: *rank,
        fixed: mean(estimates.fixed.get(rank)),
        per_byte: mean(estimates.per_byte.get(rank)).filter(|_| !shared_links),
        link: link(rank),
        disagreement: estimates.disagreement(*rank),
    };
    let pair = |pair: &(u32, u32)| PairModel {
        ranks: *pair,
        place: at(probes, &[pair.0, pair.1]).unwrap_or(Where::Between),
        latency: mean(estimates.latency.get(pair).filter(|all| !below_zero(all, level))),
        rate: rate(pair),
    };
    let overlapping =
        measured.iter().filter(|pair| estimates.latency.get(pair).is_some_and(|all| below_zero(all, level)));
    let overlapping = overlapping.count();
    if overlapping > 0 {
        unknown.push(Unknown::PairLatency { overlapping, timed: measured.len() });
    }
    let pairs: Vec<PairModel> = measured.iter().map(pair).collect();
    let without = pairs.iter().filter(|pair| pair.rate.is_none() && estimates.slope.contains_key(&pair.ranks)).count();
    if without > 0 {
        unknown.push(Unknown::PairRate { inseparable: without, timed: pairs.len() });
    }
    Some(Lmo { bytes: Bytes(bytes.unwrap_or(0)), nodes: ranks.iter().map(node).collect(), pairs, shared_links })
}

/// Returns true if the mean of values is below zero, with its interval if it has one.
fn below_zero(values: &[f64], level: f64) -> bool {
    Estimate::mean(values, level).is_some_and(|mean| mean.point < 0.0 && mean.high.is_none_or(|high| high < 0.0))
}

/// The rate for a time per byte; none if that time may be zero.
fn inverse(time: Estimate) -> Option<Estimate> {
    let certain = time.point > 0.0 && time.low.is_none_or(|low| low > 0.0);
    certain.then(|| Estimate {
        point: 1.0 / time.point,
        low: time.high.map(|high| 1.0 / high),
        high: time.low.map(|low| 1.0 / low),
        ..time
    })
}

/// Estimates by launch.
#[derive(Default)]
struct Estimates {
    /// Half of the empty round trip.
    empty: ByLaunch<(u32, u32)>,
    fixed: ByLaunch<u32>,
    per_byte: ByLaunch<u32>,
    latency: ByLaunch<(u32, u32)>,
    /// Time of a byte between the pair, its nodes' included.
    slope: ByLaunch<(u32, u32)>,
    /// Part of `slope` that the nodes of the pair take.
    handling: ByLaunch<(u32, u32)>,
    /// All single estimates of the fixed time.
    redundant: ByLaunch<u32>,
    /// The time per byte by node and its two partners.
    triplets: BTreeMap<u32, ByLaunch<(u32, u32)>>,
}

impl Estimates {
    fn from_probes(probes: &Probes, ranks: &BTreeSet<u32>, bytes: Option<u64>) -> Self {
        let mut found = Self::default();
        for launch in probes.launches() {
            found.add(probes, ranks, bytes, launch);
        }
        found
    }

    fn add(&mut self, probes: &Probes, ranks: &BTreeSet<u32>, bytes: Option<u64>, launch: u32) {
        let (mut fixed, mut longer): (BTreeMap<u32, Vec<f64>>, BTreeMap<u32, Vec<f64>>) = Default::default();
        let mut triplets = Vec::new();
        for (probe, time) in probes.of_launch(launch).filter(|(probe, _)| probe.shape == Shape::OneToTwo) {
            let (i, k) = (probe.ranks[0], probe.ranks[2]);
            // Triplets within a host and without it do not mix.
            if at(probes, &probe.ranks).is_none() {
                continue;
            }
            let Some(alone) = probes.round_trip(launch, Shape::Ping, (i, k), probe.bytes) else { continue };
            if probe.bytes == 0 {
                fixed.entry(i).or_default().push(time - alone);
            } else if Some(probe.bytes) == bytes {
                longer.entry(i).or_default().push(time - alone);
                triplets.push((i, (probe.ranks[1], k), time - alone));
            }
        }
        let mut single = BTreeMap::new();
        for (rank, values) in &mut fixed {
            self.redundant.entry(*rank).or_default().extend(values.iter().copied());
            let Some(value) = median(values) else { continue };
            self.fixed.entry(*rank).or_default().push(value);
            let per_byte = longer.get_mut(rank).and_then(|values| median(values));
            let per_byte = per_byte.zip(bytes).map(|(more, bytes)| (more - value) / bytes as f64);
            if let Some(per_byte) = per_byte {
                self.per_byte.entry(*rank).or_default().push(per_byte);
            }
            single.insert(*rank, (value, per_byte));
        }
        for (rank, partners, more) in triplets {
            let (Some((fixed, _)), Some(bytes)) = (single.get(&rank), bytes) else { continue };
            let triplet = self.triplets.entry(rank).or_default().entry(partners).or_default();
            triplet.push((more - fixed) / bytes as f64);
        }
        let both_ways = probes
            .of_launch(launch)
            .map(|(probe, _)| probe)
            .filter(|probe| probe.shape == Shape::PingPong && probe.bytes > 0);
        let sizes: BTreeSet<u64> = both_ways.map(|probe| probe.bytes).collect();
        let longest = sizes.iter().rev().nth(1).zip(sizes.last()).map(|(long, longer)| (*long, *longer));
        for (i, j) in ranks.iter().flat_map(|i| ranks.range(i + 1..).map(|j| (*i, *j))) {
            let time = |shape, size| probes.round_trip(launch, shape, (i, j), size);
            let Some(empty) = time(Shape::PingPong, 0) else { continue };
            self.empty.entry((i, j)).or_default().push(empty / 2.0);
            let (Some((first, t)), Some((second, u))) = (single.get(&i), single.get(&j)) else { continue };
            self.latency.entry((i, j)).or_default().push(empty / 2.0 - first - second);
            // What a byte takes more between long messages: latency, and what a switch lets pass at first, are in both.
            let longest = longest.and_then(|(long, longer)| {
                Some((time(Shape::PingPong, longer)? - time(Shape::PingPong, long)?) / (2 * (longer - long)) as f64)
            });
            let slope = longest.or_else(|| {
                let bytes = bytes?;
                let there = time(Shape::Ping, bytes).map(|time| time - empty);
                let both = || time(Shape::PingPong, bytes).map(|time| (time - empty) / 2.0);
                Some(there.or_else(both)? / bytes as f64)
            });
            if let Some(slope) = slope {
                self.slope.entry((i, j)).or_default().push(slope);
                if let (Some(t), Some(u)) = (t, u) {
                    self.handling.entry((i, j)).or_default().push(t + u);
                }
            }
        }
    }

    /// Returns the time per byte of a node with the partners that delay it least: on shared links, a slow partner
    /// leaves most of the link to the other.
    fn fullest(&self, rank: u32) -> Option<&Vec<f64>> {
        let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        self.triplets.get(&rank)?.values().max_by(|a, b| mean(a).total_cmp(&mean(b)))
    }

    /// Returns true if, for most pairs, the nodes leave less than nothing to the network.
    fn shared(&self) -> bool {
        let most = |rank: &u32| self.fullest(*rank).and_then(|values| median(&mut values.clone()));
        let share =
            |((i, j), slopes): (&(u32, u32), &Vec<f64>)| Some((most(i)? + most(j)?) / median(&mut slopes.clone())?);
        let mut shares: Vec<f64> = self.slope.iter().filter_map(share).collect();
        median(&mut shares).is_some_and(|share| share > SHARED)
    }

    /// Returns the time per byte of a pair in the network, by launch.
    fn network(&self, pair: (u32, u32), shared: bool) -> Vec<f64> {
        let slopes = self.slope.get(&pair).map(Vec::as_slice).unwrap_or_default();
        let handling = self.handling.get(&pair).map(Vec::as_slice).unwrap_or_default();
        let alone = |(at, slope): (usize, &f64)| if shared { *slope } else { slope - handling.get(at).unwrap_or(&0.0) };
        slopes.iter().enumerate().map(alone).collect()
    }

    fn disagreement(&self, rank: u32) -> Option<f64> {
        let mut values = self.redundant.get(&rank)?.clone();
        let middle = median(&mut values).filter(|middle| *middle > 0.0)?;
        let quarter = values.len() / 4;
        (values.len() > 1).then(|| (values[values.len() - 1 - quarter] - values[quarter]) / middle)
    }
}
