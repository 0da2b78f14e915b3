//! Truth that is known: how often an unchanged machine is said to have changed, and how surely a slower one is found.

use collrules_record::findings::{CellFinding, PointFinding, Statistic, Verdict};
use collrules_record::reason::KeepReason;
use collrules_record::sample::TableTiming;
use collrules_record::{Bytes, Ranks, Seconds};
use collrules_rules::{Choice, Collective, Release};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use collrules_record::Estimate;

use super::*;
use crate::compare::{Run, compare};

const CRITERIA: DriftCriteria = DriftCriteria { min_change: 0.1, min_difference: 0.03, error_rate: 0.01, level: 0.95 };

/// Ten cells with a rule that halves the time.
fn all() -> Vec<Anchor> {
    let cell = |place: u32| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(1 << (10 + place)) };
    (0..10).map(|place| Anchor { cell: cell(place), beside: Candidate::Tuned(Choice::plain(6)), ruled: true }).collect()
}

fn findings() -> Findings {
    let estimate = Estimate { point: 1.0, low: None, high: None, level: 0.95, samples: 3 };
    let point = |candidate| PointFinding {
        candidate,
        time: estimate,
        gain: None,
        expected: None,
        p_value: None,
        q_value: None,
        stalls: None,
    };
    let mut findings = Findings::empty("a test", Release::V5_0);
    findings.cells = all()
        .iter()
        .map(|anchor| CellFinding {
            cell: anchor.cell,
            points: anchor.points().map(|(_, candidate)| point(candidate)).collect(),
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: KeepReason::NothingTimed },
            served: Choice::plain(6),
            unruled: Candidate::Builtin,
        })
        .collect();
    findings
}

/// Noise of times, as standard deviations of logarithms.
#[derive(Clone, Copy)]
struct DayNoise {
    /// Noise that a day adds to all calls.
    day: f64,
    /// Noise that all calls of a launch share.
    launch: f64,
    /// Noise of a single point in a launch.
    own: f64,
}

/// A day's three launches, where a candidate's times are so many times as long.
fn day(seed: u64, noise: DayNoise, slower: impl Fn(Cell, Candidate) -> f64) -> Observations {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { rng.sample(StandardNormal) };
    let today = noise.day * normal();
    let mut timings = Vec::new();
    for launch in 0..3 {
        let shared = noise.launch * normal();
        for (cell, candidate) in all().iter().flat_map(Anchor::points) {
            let truth = cell.bytes.0 as f64 * 1e-9 * if candidate == Candidate::Builtin { 2.0 } else { 1.0 };
            let log = today + shared + noise.own * normal();
            let time = Seconds(truth * slower(cell, candidate) * log.exp());
            timings.push(TableTiming { cell, candidate, launch, time });
        }
    }
    Observations::from_timings(&timings, Statistic::RankAverage).expect("timings")
}

fn drifts(seed: u64, noise: DayNoise, slower: impl Fn(Cell, Candidate) -> f64) -> (bool, bool) {
    let (then, now) = (day(2 * seed, noise, |_, _| 1.0), day(2 * seed + 1, noise, slower));
    let found = drift(&findings(), &then, &now, &all(), CRITERIA).expect("compares");
    let changed = found.points.iter().map(|point| point.shift).chain(found.together);
    let loses = found.rules.cells.iter().any(|cell| cell.verdict == Outcome::Slower);
    (changed.into_iter().any(|shift| shift.change != Outcome::Same), loses)
}

const QUIET: [DayNoise; 3] = [
    DayNoise { day: 0.02, launch: 0.01, own: 0.02 },
    // What a launch shares is most of it: its cells are no independent witnesses.
    DayNoise { day: 0.02, launch: 0.04, own: 0.01 },
    DayNoise { day: 0.0, launch: 0.0, own: 0.1 },
];

/// One in a hundred is allowed. 16 alarms among 1000 would be seen in 1 of 40 tries at that rate, and fewer are the rule.
#[test]
fn an_unchanged_machine_raises_no_more_alarms_than_stated() {
    for (place, noise) in QUIET.into_iter().enumerate() {
        let alarms = (0..1000).filter(|seed| drifts(*seed, noise, |_, _| 1.0) != (false, false)).count();
        assert!(alarms <= 16, "noise {place}: {alarms} alarms in 1000 checks");
    }
}

/// The worst that counts as no change: everything is 10 % slower, so that each test is at its limit.
#[test]
fn what_counts_as_the_same_raises_no_more_alarms_than_stated_either() {
    let noise = DayNoise { day: 0.0, ..QUIET[0] };
    let alarms = (0..1000).filter(|seed| drifts(*seed, noise, |_, _| 1.1).0).count();
    assert!(alarms <= 16, "{alarms} alarms in 1000 checks");
}

/// Comparisons of two runs test for any change: of an unchanged machine, one in 20 may find one.
#[test]
fn an_unchanged_default_is_called_changed_as_seldom_as_stated() {
    let mut findings = findings();
    findings.criteria.min_gain = 0.0;
    for (place, noise) in QUIET.into_iter().enumerate() {
        let noise = DayNoise { day: 0.0, ..noise };
        let compared = |seed: u64, factor: f64| {
            let (then, now) = (day(2 * seed, noise, |_, _| 1.0), day(2 * seed + 1, noise, |_, _| factor));
            let run = |observations| Run { findings: &findings, observations: Some(observations), manifest: None };
            compare(run(&then), run(&now)).expect("compares")
        };
        let wrong = (0..400).filter(|seed| compared(*seed, 1.0).count(Outcome::Same) < 10).count();
        assert!(wrong <= 30, "noise {place}: {wrong} of 400 comparisons");
        let found: usize = (0..20).map(|seed| compared(seed, 1.4).count(Outcome::Slower)).sum();
        assert!(found >= 190, "noise {place}: {found} of 200 slower times");
    }
}

#[test]
fn a_machine_slowed_by_a_fifth_is_found() {
    // A rate that is a fifth lower: times are 25 % longer.
    let noise = QUIET[0];
    let found = (0..200).filter(|seed| drifts(*seed, noise, |_, _| 1.25) == (true, false)).count();
    assert!(found >= 190, "{found} of 200");
    // Long messages alone, as where a link is slower.
    let long = |cell: Cell, _| if cell.bytes.0 >= 64 << 10 { 1.25 } else { 1.0 };
    let found = (0..200).filter(|seed| drifts(*seed, noise, long) == (true, false)).count();
    assert!(found >= 180, "{found} of 200 with a slower link");
}

#[test]
fn rules_that_lose_by_now_are_found() {
    let lost = |_, candidate| if candidate == Candidate::Builtin { 0.4 } else { 1.0 };
    let found = (0..50).filter(|seed| drifts(*seed, QUIET[0], lost).1).count();
    assert!(found >= 48, "{found} of 50");
}

#[test]
fn anchors_are_spread_and_ruled_cells_come_first() {
    let then = day(0, QUIET[0], |_, _| 1.0);
    let mut findings = findings();
    for cell in &mut findings.cells[..5] {
        cell.served = Choice::BUILTIN;
    }
    let chosen = anchors(&findings, &then, 4, |_, candidate| Some(candidate)).expect("chooses");
    let sizes: Vec<u64> = chosen.iter().map(|anchor| anchor.cell.bytes.0 >> 10).collect();
    assert_eq!(sizes, [1, 32, 128, 512], "{chosen:?}");
    assert_eq!(chosen.iter().filter(|anchor| anchor.ruled).count(), 3);
    assert_eq!(anchors(&findings, &then, 99, |_, candidate| Some(candidate)).expect("chooses").len(), 10);
    assert!(anchors(&findings, &then, 4, |_, _| None).expect("chooses").is_empty());
}
