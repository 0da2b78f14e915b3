//! Truth that is known: how often an unchanged machine is said to have changed, and how surely a slower one is found.

use std::collections::BTreeSet;

use collrules_record::comparison::{LaunchFailure, Stage, SubjectTime};
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::Settings;
use collrules_record::{Bytes, Ranks, Seconds};
use collrules_rules::Collective;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::*;

const CRITERIA: DriftCriteria = DriftCriteria { min_change: 0.1, min_difference: 0.03, error_rate: 0.01, level: 0.95 };

/// Ten sizes.
fn all() -> BTreeSet<Cell> {
    let cell = |place: u32| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(1 << (10 + place)) };
    (0..10).map(cell).collect()
}

/// Noise of times, as standard deviations of logarithms.
#[derive(Clone, Copy)]
struct DayNoise {
    /// Noise that a day adds to all calls.
    day: f64,
    /// Noise that all calls of a launch share.
    launch: f64,
    /// Noise of a single size in a launch.
    own: f64,
}

/// A day's launches of the default, where times are so many times as long.
fn day(seed: u64, launches: u32, noise: DayNoise, slower: impl Fn(Cell) -> f64) -> DefaultTimes {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { rng.sample(StandardNormal) };
    let today = noise.day * normal();
    let mut times = DefaultTimes::new();
    for launch in 0..launches {
        let shared = noise.launch * normal();
        for cell in all() {
            let log = (cell.bytes.0 as f64 * 2e-9 * slower(cell)).ln() + today + shared + noise.own * normal();
            times.entry(cell).or_default().insert(launch, log);
        }
    }
    times
}

fn has_changed(seed: u64, noise: DayNoise, slower: impl Fn(Cell) -> f64) -> bool {
    let (then, now) = (day(2 * seed, 8, noise, |_| 1.0), day(2 * seed + 1, 3, noise, slower));
    let (points, together) = changes(&then, &now, CRITERIA);
    let is_change = |shift: Shift| matches!(shift.change, Outcome::Slower | Outcome::Faster);
    points.iter().map(|point| point.shift).chain(together).any(is_change)
}

/// Times that are far apart in launches show neither a change nor its absence.
#[test]
fn noise_beyond_the_tolerance_leaves_changes_undecided() {
    let outcome = |noise| {
        let (points, together) = changes(&day(0, 8, noise, |_| 1.0), &day(1, 3, noise, |_| 1.0), CRITERIA);
        (together.map(|shift| shift.change), points.iter().filter(|point| point.shift.change == Outcome::Same).count())
    };
    assert_eq!(outcome(DayNoise { day: 0.0, launch: 0.001, own: 0.001 }), (Some(Outcome::Same), 10));
    assert_eq!(outcome(DayNoise { day: 0.0, launch: 0.5, own: 0.5 }), (Some(Outcome::Undecided), 0));
}

const QUIET: [DayNoise; 3] = [
    DayNoise { day: 0.02, launch: 0.01, own: 0.02 },
    // What a launch shares is most of it: its cells are no independent witnesses.
    DayNoise { day: 0.02, launch: 0.04, own: 0.01 },
    DayNoise { day: 0.0, launch: 0.0, own: 0.1 },
];

/// One in two hundred is allowed. 11 alarms among 1000 would be seen in 1 of 70 tries at that rate, and fewer are the rule.
#[test]
fn an_unchanged_machine_raises_no_more_alarms_than_stated() {
    for (place, noise) in QUIET.into_iter().enumerate() {
        let alarms = (0..1000).filter(|seed| has_changed(*seed, noise, |_| 1.0)).count();
        assert!(alarms <= 11, "noise {place}: {alarms} alarms in 1000 checks");
    }
}

/// The worst that counts as no change: everything is 10 % slower, so that each test is at its limit.
#[test]
fn what_counts_as_the_same_raises_no_more_alarms_than_stated_either() {
    let noise = DayNoise { day: 0.0, ..QUIET[0] };
    let alarms = (0..1000).filter(|seed| has_changed(*seed, noise, |_| 1.1)).count();
    assert!(alarms <= 11, "{alarms} alarms in 1000 checks");
}

#[test]
fn a_machine_slowed_by_a_fifth_is_found() {
    // A rate that is a fifth lower: times are 25 % longer.
    let noise = QUIET[0];
    let found = (0..200).filter(|seed| has_changed(*seed, noise, |_| 1.25)).count();
    assert!(found >= 190, "{found} of 200");
    // Long messages alone, as where a link is slower.
    let long = |cell: Cell| if cell.bytes.0 >= 64 << 10 { 1.25 } else { 1.0 };
    let found = (0..200).filter(|seed| has_changed(*seed, noise, long)).count();
    assert!(found >= 180, "{found} of 200 with a slower link");
}

#[test]
fn only_launches_of_the_default_that_chose_nothing_are_read() {
    let cell = all().into_iter().next().expect("a size");
    let condition = Condition::default();
    let time = |seconds| SubjectTime {
        subject: ArmSubject::Call(cell, condition),
        time: Seconds(seconds),
        calls: 3,
        turns: 2,
        deviation: 0.0,
    };
    let launch = |stage, arm: Settings, outcome| ArmLaunch {
        stage,
        block: 0,
        arm,
        at: String::new(),
        seconds: Seconds(1.0),
        resident: None,
        apart: None,
        asleep: None,
        outcome,
        wrong: Vec::new(),
    };
    let (base, other) = (Settings::new(), Settings::from([("a".to_owned(), "1".to_owned())]));
    let launches = [
        launch(Stage::Rules, base.clone(), Ok(vec![time(1.0)])),
        launch(Stage::Rules, other, Ok(vec![time(2.0)])),
        launch(Stage::Alone, base.clone(), Ok(vec![time(3.0)])),
        launch(Stage::Rules, base.clone(), Err(LaunchFailure { why: "it died".to_owned(), subject: None })),
        launch(Stage::Validation(0), base, Ok(vec![time(4.0)])),
    ];
    let times = default_times(&launches, condition);
    assert_eq!(times, DefaultTimes::from([(cell, LaunchLogs::from([(0, 0.0), (2, 4.0_f64.ln())]))]));
    assert!(default_times(&launches, Condition::UNALIGNED).is_empty());
}

#[test]
fn anchors_are_spread_and_ruled_cells_come_first() {
    let is_ruled = |cell: Cell| cell.bytes.0 >= 32 << 10;
    let sizes =
        |count| choose_anchors(all(), count, is_ruled).iter().map(|cell| cell.bytes.0 >> 10).collect::<Vec<_>>();
    assert_eq!(sizes(4), [1, 32, 128, 512]);
    assert_eq!(sizes(99).len(), 10);
    assert!(choose_anchors(BTreeSet::new(), 4, is_ruled).is_empty());
}
