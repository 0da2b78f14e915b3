//! Known machines, played and fitted.

use std::collections::BTreeMap;

use collrules_program::{Platform, play};
use collrules_record::Pattern;
use collrules_record::criteria::Criteria;
use collrules_record::pattern::Shape;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use crate::model::Model;
use crate::unknown::LogGpParameter::Latency;
use crate::unknown::Unknown;
use crate::{Probe, ProbeTiming, Probes, fit};

fn terms() -> Criteria {
    Criteria { min_gain: 0.2, error_rate: 0.05, level: 0.95, ..Criteria::default() }
}

/// All probes of all ranks at a size, played with relative noise.
fn timings(platform: &Platform, sizes: &[u64], launches: u32, noise: f64, rng: &mut ChaCha8Rng) -> Vec<ProbeTiming> {
    let ranks = platform.ranks() as u32;
    let mut probes = Vec::new();
    for i in 0..ranks {
        for j in (0..ranks).filter(|j| *j != i) {
            for size in sizes.iter().copied() {
                if i < j {
                    probes.push(Probe { shape: Shape::PingPong, ranks: vec![i, j], bytes: size });
                }
                if size > 0 {
                    probes.push(Probe { shape: Shape::Ping, ranks: vec![i, j], bytes: size });
                }
            }
            for k in (0..ranks).filter(|k| *k != i && *k != j) {
                for bytes in [0, sizes[sizes.len() - 1]] {
                    probes.push(Probe { shape: Shape::OneToTwo, ranks: vec![i, j, k], bytes });
                }
            }
        }
    }
    let normal = Normal::new(1.0, noise).expect("a spread");
    let mut timings = Vec::new();
    for probe in probes {
        let programs = probe.programs(ranks as usize).expect("as many ranks");
        let time = play(programs.as_slice(), platform).expect("it ends")[probe.ranks[0] as usize];
        for launch in 0..launches {
            timings.push(ProbeTiming { probe: probe.clone(), launch, seconds: time * normal.sample(rng) });
        }
    }
    timings
}

/// A machine that follows the formulas exactly: nothing is shared.
fn random(rng: &mut ChaCha8Rng, ranks: usize) -> Platform {
    let mut platform = Platform::shared_links(ranks, f64::INFINITY);
    platform.fixed = (0..ranks).map(|_| rng.random_range(1e-6..9e-6)).collect();
    platform.per_byte = (0..ranks).map(|_| rng.random_range(0.2e-9..2e-9)).collect();
    for i in 0..ranks {
        for j in 0..i {
            let (latency, cap) = (rng.random_range(5e-6..30e-6), rng.random_range(0.1e9..1e9));
            (platform.latency[i][j], platform.latency[j][i]) = (latency, latency);
            (platform.cap[i][j], platform.cap[j][i]) = (cap, cap);
        }
    }
    platform
}

fn fitted(timings: Vec<ProbeTiming>) -> Model {
    fit(&Probes::from_timings(timings, BTreeMap::new()), &[], terms()).expect("a model")
}

/// The model of a random machine whose probes show no noise.
pub(crate) fn fitted_machine(ranks: usize, rng: &mut ChaCha8Rng) -> Model {
    let platform = random(rng, ranks);
    fitted(timings(&platform, &[0, 1 << 10, 64 << 10], 3, 1e-6, rng))
}

#[test]
fn every_parameter_of_a_played_machine_comes_back() {
    for seed in 0..12 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let ranks = 3 + seed as usize % 6;
        let platform = random(&mut rng, ranks);
        let lmo = fitted(timings(&platform, &[0, 65536], 2, 0.0, &mut rng)).nodes.expect("nodes");
        assert!(!lmo.shared_links, "seed {seed}");
        let close =
            |found: Option<f64>, true_one: f64| found.is_some_and(|found| (found / true_one - 1.0).abs() < 1e-6);
        for (rank, node) in lmo.nodes.iter().enumerate() {
            assert!(close(node.fixed.map(|it| it.point), platform.fixed[rank]), "seed {seed}: {node:?}");
            assert!(close(node.per_byte.map(|it| it.point), platform.per_byte[rank]), "seed {seed}: {node:?}");
            assert!(node.disagreement.is_some_and(|apart| apart < 1e-6));
        }
        for pair in &lmo.pairs {
            let (i, j) = (pair.ranks.0 as usize, pair.ranks.1 as usize);
            assert!(close(pair.latency.map(|it| it.point), platform.latency[i][j]), "seed {seed}: {pair:?}");
            assert!(close(pair.rate.map(|it| it.point), platform.cap[i][j]), "seed {seed}: {pair:?}");
        }
    }
}

/// Intervals of 95 % over more than 900 parameters of 3 to 8 nodes.
#[test]
fn intervals_hold_what_they_promise() {
    let (mut inside, mut all) = (0_usize, 0_u32);
    for seed in 0..24 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let platform = random(&mut rng, 3 + seed as usize % 6);
        let lmo = fitted(timings(&platform, &[0, 65536], 6, 0.005, &mut rng)).nodes.expect("nodes");
        let mut count = |found: Option<collrules_record::Estimate>, true_one: f64| {
            let Some((low, high)) = found.and_then(|it| it.low.zip(it.high)) else { return };
            all += 1;
            inside += usize::from((low..=high).contains(&true_one));
        };
        for (rank, node) in lmo.nodes.iter().enumerate() {
            count(node.fixed, platform.fixed[rank]);
            count(node.per_byte, platform.per_byte[rank]);
        }
        for pair in &lmo.pairs {
            count(pair.latency, platform.latency[pair.ranks.0 as usize][pair.ranks.1 as usize]);
            count(pair.rate, platform.cap[pair.ranks.0 as usize][pair.ranks.1 as usize]);
        }
    }
    let share = inside as f64 / f64::from(all);
    assert!(all > 900 && share > 0.92 && share < 0.985, "{inside} of {all}");
}

#[test]
fn links_that_messages_share_are_not_taken_for_nodes() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut platform = Platform::shared_links(4, 25e6);
    platform.link = vec![25e6, 25e6, 12.5e6, 6.25e6];
    platform.fixed = vec![5e-6; 4];
    platform.latency = vec![vec![20e-6; 4]; 4];
    let model = fitted(timings(&platform, &[0, 65536], 3, 0.01, &mut rng));
    let lmo = model.nodes.expect("nodes");
    assert!(lmo.shared_links && lmo.nodes.iter().all(|node| node.per_byte.is_none()));
    assert!(model.unknown.contains(&Unknown::SharedLinks), "{:?}", model.unknown);
    for (node, link) in lmo.nodes.iter().zip(&platform.link) {
        assert!((node.link.expect("a rate").point / link - 1.0).abs() < 0.1, "{node:?}");
    }
    for pair in &lmo.pairs {
        let slower = platform.link[pair.ranks.0 as usize].min(platform.link[pair.ranks.1 as usize]);
        let rate = pair.rate.expect("a rate").point;
        assert!((rate / slower - 1.0).abs() < 0.1, "{pair:?}");
    }
    let slow: Vec<(u32, f64)> =
        model.slow.nodes.iter().filter(|node| node.bytes.0 > 0).map(|node| (node.rank, node.factor.point)).collect();
    assert!(matches!(slow[..], [(2, a), (3, b)] if (a - 2.0).abs() < 0.1 && (b - 4.0).abs() < 0.2), "{slow:?}");
    assert_eq!(model.slow.pairs, []);
}

#[test]
fn nothing_is_named_slow_where_all_are_alike() {
    let platform = Platform { latency: vec![vec![20e-6; 6]; 6], ..Platform::shared_links(6, 25e6) };
    let wrong = (0..200)
        .filter(|seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(*seed);
            let model = fitted(timings(&platform, &[0, 65536], 3, 0.05, &mut rng));
            model.names_slow()
        })
        .count();
    assert!(wrong <= 10, "{wrong} of 200 at 5 %");
}

#[test]
fn a_slow_pair_is_named_and_no_node() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut platform = Platform { latency: vec![vec![20e-6; 5]; 5], ..Platform::shared_links(5, 25e6) };
    (platform.cap[1][3], platform.cap[3][1]) = (8e6, 8e6);
    let slow = fitted(timings(&platform, &[0, 65536], 3, 0.02, &mut rng)).slow;
    assert!(slow.nodes.is_empty(), "{:?}", slow.nodes);
    assert!(matches!(&slow.pairs[..], [pair] if pair.ranks == (1, 3)), "{:?}", slow.pairs);
}

/// A network without a time per byte: its rate is not printed.
#[test]
fn what_cannot_be_told_is_not_printed() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut platform = random(&mut rng, 4);
    platform.cap = vec![vec![f64::INFINITY; 4]; 4];
    let model = fitted(timings(&platform, &[0, 65536], 4, 0.01, &mut rng));
    let lmo = model.nodes.expect("nodes");
    let printed = lmo.pairs.iter().filter(|pair| pair.rate.is_some()).count();
    assert!(printed <= 1, "{printed} of 6 at 95 %");
    assert!(model.unknown.iter().any(|why| matches!(why, Unknown::PairRate { .. })), "{:?}", model.unknown);
}

// If a sender waits until its message has arrived, its time for a message is all of it, and none is left for the
// latency.
#[test]
fn no_latency_is_printed_where_senders_wait_for_messages() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (alpha, ranks) = (10e-6, 4);
    let normal = Normal::new(1.0, 0.005).expect("a spread");
    let mut timings = Vec::new();
    for launch in 0..4 {
        for (i, j) in (0..ranks).flat_map(|i| (0..ranks).filter(move |j| *j != i).map(move |j| (i, j))) {
            let mut add = |shape: Shape, ranks: Vec<u32>, seconds: f64| {
                let probe = Probe { shape, ranks, bytes: 0 };
                timings.push(ProbeTiming { probe, launch, seconds: seconds * normal.sample(&mut rng) });
            };
            add(Shape::PingPong, vec![i, j], 2.0 * alpha);
            for k in (0..ranks).filter(|k| *k != i && *k != j) {
                add(Shape::OneToTwo, vec![i, j, k], 3.0 * alpha);
            }
        }
    }
    let model = fitted(timings);
    assert!(model.unknown.contains(&Unknown::PairLatency { overlapping: 6, timed: 6 }), "{:?}", model.unknown);
    let made = crate::platform(&model, 4, crate::IntervalEnd::Middle);
    assert!(made.is_err() || made.is_ok_and(|made| made.latency[0][1] < 1e-6));
}

#[test]
fn two_ranks_are_a_pair_and_no_more() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let platform = random(&mut rng, 2);
    let model = fitted(timings(&platform, &[0, 1024, 65536], 3, 0.01, &mut rng));
    assert_eq!(model.nodes, None);
    assert_eq!(model.ways.len(), 1);
    assert!(model.unknown.iter().any(|why| matches!(why, Unknown::FewRanks(_))), "{:?}", model.unknown);
    assert!(fit(&Probes::default(), &[], terms()).is_err());
}

/// Links behind a token bucket: short messages pass at once, but a train of them does not.
#[test]
fn what_passes_idle_links_comes_back() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let normal = Normal::new(1.0, 0.005).expect("a spread");
    for (burst, found) in [(16e3, true), (0.0, false)] {
        let platform =
            Platform { burst: vec![burst; 3], latency: vec![vec![30e-6; 3]; 3], ..Platform::shared_links(3, 25e6) };
        let mut timings = timings(&platform, &[0, 1024, 8192, 32768, 131_072, 524_288], 3, 0.005, &mut rng);
        for bytes in [0, 1024, 8192, 32768] {
            let probe = Probe { shape: Shape::Train, ranks: vec![0, 1], bytes };
            let ends = play(probe.programs(3).expect("two ranks").as_slice(), &platform).expect("it ends");
            for launch in 0..3 {
                timings.push(ProbeTiming { probe: probe.clone(), launch, seconds: ends[0] * normal.sample(&mut rng) });
            }
        }
        let way = fitted(timings).ways.remove(0);
        assert_eq!(way.burst.is_some(), found, "{way:?}");
        assert!(way.burst.is_none_or(|it| (it.point / burst - 1.0).abs() < 0.1), "{:?}", way.burst);
        let gap = way.loggp.and_then(|found| found.gap_per_byte).expect("trains").point;
        assert!((gap * 25e6 - 1.0).abs() < 0.05, "{gap}");
    }
}

// Sending, latency and receiving are separated by ranks that are busy between messages, or before they receive.
#[test]
fn what_ranks_take_is_told_from_the_way() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let normal = Normal::new(1.0, 0.002).expect("a spread");
    let shapes = [Shape::PingPong, Shape::BusyTrain, Shape::LateReceive];
    for (fixed, latency) in [(6e-6, 30e-6), (20e-6, 0.0)] {
        let platform =
            Platform { fixed: vec![fixed; 2], latency: vec![vec![latency; 2]; 2], ..Platform::shared_links(2, 100e6) };
        let mut timings = Vec::new();
        for (launch, shape) in (0..4).flat_map(|launch| shapes.map(|shape| (launch, shape))) {
            let probe = Probe { shape, ranks: vec![0, 1], bytes: 0 };
            let ends = play(probe.programs(2).expect("two ranks").as_slice(), &platform).expect("it ends");
            // The delay itself is exact; a receive is timed after it.
            let delays = match shape {
                Shape::BusyTrain => Pattern::TRAIN - 1,
                Shape::LateReceive => 1,
                _ => 0,
            };
            let busy = f64::from(delays) * Pattern::BUSY as f64 * 1e-9;
            let left = if shape == Shape::LateReceive { 0.0 } else { busy };
            timings.push(ProbeTiming { probe, launch, seconds: left + (ends[0] - busy) * normal.sample(&mut rng) });
        }
        let model = fitted(timings);
        let is_latency = |why: &Unknown| {
            use Unknown::{Large, Small};
            matches!(why, Small { parameter: Latency, .. } | Large { parameter: Latency, .. })
        };
        let found = model.ways[0].loggp.clone().expect("trains");
        let is = |value: Option<collrules_record::Estimate>, planted: f64| {
            value.is_some_and(|it| (it.point / planted - 1.0).abs() < 0.1)
        };
        assert!(is(found.send, fixed) && is(found.receive, fixed), "{found:?}");
        // Nothing is left for the way where sending and receiving are all of it.
        assert_eq!(is(found.latency, latency), latency > 0.0, "{found:?}");
        assert_eq!(model.unknown.iter().any(is_latency), latency == 0.0, "{:?}", model.unknown);
    }
}
