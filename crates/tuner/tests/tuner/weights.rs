//! Tests of times of programs as weights: choices that cells have to share, and expected savings.

use collrules_record::findings::{Findings, Statistic};

use collrules_record::criteria::Criteria;
use collrules_record::profile::weight::{Weight, kept_to, weights};
use collrules_record::profile::{Activity, Calls, Communicator, FORMAT, Mode, Profile, Spread};
use collrules_record::sample::TableTiming;
use collrules_record::{Bytes, Candidate, Cell, Nodes, Ranks, Seconds};
use collrules_rules::{Choice, Collective, Operation, Release};
use collrules_tuner::prospects::{prospects, saved_of};
use collrules_tuner::results::prospect::{Prospects, UnknownGain};
use collrules_tuner::{Observations, analyze};

use crate::campaign::{Campaign, plain};

const SHORT: u64 = 1 << 10;
const LONG: u64 = 1 << 20;

/// Two algorithms of scatter: one is twice as fast at short messages, one at long ones, each a quarter faster elsewhere.
fn observations() -> Observations {
    timed([(0, [1.0, 1.0]), (2, [0.5, 0.8]), (3, [0.8, 0.5])])
}

/// Algorithms of scatter with their times at short and long messages.
fn timed(times: [(u32, [f64; 2]); 3]) -> Observations {
    let mut timings = Vec::new();
    for launch in 0..3 {
        for (algorithm, times) in times {
            for (bytes, time) in [SHORT, LONG].into_iter().zip(times) {
                timings.push(TableTiming {
                    cell: cell(bytes),
                    candidate: Candidate::from_choice(Choice::plain(algorithm)),
                    launch,
                    time: Seconds(time),
                });
            }
        }
    }
    Observations::from_timings(&timings, Statistic::RankAverage).unwrap()
}

fn cell(bytes: u64) -> Cell {
    Cell { collective: Collective::Scatter, ranks: Ranks(4), bytes: Bytes(bytes) }
}

fn analyzed(times: &[(u64, f64)]) -> Findings {
    let times = times.iter().map(|(bytes, time)| (cell(*bytes), Seconds(*time)));
    analyze(&observations().weighing(times), Release::V5_0, Criteria::default(), Default::default(), "a table").unwrap()
}

/// The algorithm that the rules give at both sizes.
fn algorithm(findings: &Findings) -> u32 {
    let at = |bytes: u64| findings.table.lookup(Collective::Scatter, 4, 4 * bytes);
    assert_eq!(at(SHORT), at(LONG), "scatter shares one choice");
    at(SHORT).algorithm
}

#[test]
fn the_choice_for_all_sizes_is_the_one_that_saves_programs_the_most() {
    assert_eq!(algorithm(&analyzed(&[(SHORT, 30.0), (LONG, 1.0)])), 2);
    assert_eq!(algorithm(&analyzed(&[(SHORT, 1.0), (LONG, 30.0)])), 3);
    // A cell in which programs spend no time counts for next to nothing.
    assert_eq!(algorithm(&analyzed(&[(LONG, 1.0)])), 3);
    assert_eq!(algorithm(&analyzed(&[(SHORT, 1.0)])), 2);
}

/// One algorithm is four times as fast at short messages alone, the other 1.7 times everywhere: the first has the better
/// geometric mean, and the second saves more of as many seconds in both.
#[test]
fn seconds_are_saved_and_not_ratios() {
    let observations = timed([(0, [1.0, 1.0]), (2, [0.25, 1.0]), (3, [1.0 / 1.7, 1.0 / 1.7])]);
    let found = |times: &[(u64, f64)]| {
        let times = times.iter().map(|(bytes, time)| (cell(*bytes), Seconds(*time)));
        analyze(
            &observations.clone().weighing(times),
            Release::V5_0,
            Criteria::default(),
            Default::default(),
            "a table",
        )
        .unwrap()
    };
    let alike = found(&[]);
    assert_eq!((algorithm(&alike), alike.tree.by_time), (2, false));
    assert!((alike.tree.gain - 2.0).abs() < 1e-12);
    let by_time = found(&[(SHORT, 10.0), (LONG, 10.0)]);
    assert_eq!((algorithm(&by_time), by_time.tree.by_time), (3, true));
    assert!((by_time.tree.gain - 1.7).abs() < 1e-12, "{}", by_time.tree.gain);
    // Of 12 s, 9 s in short messages: 5.25 s against 7.06 s.
    let short = found(&[(SHORT, 9.0), (LONG, 3.0)]);
    assert_eq!(algorithm(&short), 2);
    assert!((short.tree.gain - 12.0 / 5.25).abs() < 1e-12);
    let leaf =
        short.tree.collectives[0].ranges.iter().flat_map(|range| &range.leaves).find_map(|it| it.evidence.as_ref());
    let leaf = leaf.unwrap();
    assert!((leaf.gain.mean - 12.0 / 5.25).abs() < 1e-12 && leaf.regret.abs() < 1e-9, "{leaf:?}");
}

/// Sizes of a program that differ by less than an eighth are measured as one, so they share its rule. Other measured sizes
/// answer for themselves, and for those between them.
#[test]
fn a_programs_size_answers_for_those_that_are_measured_as_one_with_it() {
    let at = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) };
    let rule = |times: &[(u64, f64)], is_of_program: bool| {
        let timing = |(launch, candidate, (bytes, time)): (u32, Candidate, (u64, f64))| TableTiming {
            cell: at(bytes),
            candidate,
            launch,
            time: Seconds(time),
        };
        let with = |launch| {
            let own = times.iter().map(move |time| (launch, plain(6), *time));
            own.chain(times.iter().map(move |(bytes, _)| (launch, Candidate::Builtin, (*bytes, 1.0))))
        };
        let timings: Vec<TableTiming> = (0..3).flat_map(with).map(timing).collect();
        let weights = times.iter().filter(|_| is_of_program).map(|(bytes, _)| (at(*bytes), Seconds(1.0)));
        let table = Observations::from_timings(&timings, Statistic::RankAverage).unwrap().weighing(weights);
        let found = analyze(&table, Release::V5_0, Criteria::default(), Default::default(), "a table").unwrap();
        let steps = found.table.get(Collective::Bcast).expect("a rule").get(4).clone();
        steps.iter().filter(|(.., choice)| !choice.is_builtin()).map(|(start, end, _)| (start, end)).collect::<Vec<_>>()
    };
    assert_eq!(rule(&[(5000, 0.5)], true), [(4608, Some(5120))]);
    assert_eq!(rule(&[(5000, 0.5)], false), [(5000, Some(5001))]);
    // The times cross at 4667 B, which is measured as one with 5000 B.
    let crossing = [(4000, 2.0), (5000, 0.5), (10_000, 0.5)];
    assert_eq!(rule(&crossing, true), [(4608, Some(10_240))]);
    assert_eq!(rule(&crossing, false), [(4667, Some(10_001))]);
}

fn calls(bytes: u64, each: f64) -> Calls {
    let mut time = Spread::default();
    (0..4).for_each(|_| time.add(Seconds(each)));
    Calls {
        sum: 40 * bytes,
        rank_calls: 40,
        same_root: Some(true),
        time,
        longest: Seconds(each),
        ..Calls::none(0, Operation::Scatter, Mode::Blocking, Bytes(bytes))
    }
}

fn profile(calls: Vec<Calls>) -> Profile {
    let mut wall = Spread::default();
    (0..4).for_each(|_| wall.add(Seconds(100.0)));
    Profile {
        format: FORMAT,
        command: Vec::new(),
        program: "app".to_owned(),
        library: String::new(),
        started: String::new(),
        ranks: Ranks(4),
        nodes: Nodes(vec![4]),
        wall,
        missing: Vec::new(),
        spawned: Vec::new(),
        started_processes: 0,
        unfinished: Vec::new(),
        exit_code: Some(0),
        imbalance: None,
        communicators: vec![Communicator {
            ranks: Ranks(4),
            nodes: Nodes(vec![4]),
            between_groups: false,
            groups: Vec::new(),
            agree: vec![Operation::Scatter],
            disagree: Vec::new(),
        }],
        calls,
        messages: Activity::default(),
        waiting: Activity::default(),
    }
}

#[test]
fn expected_seconds_are_time_less_time_over_gain_to_the_last_digit() {
    let findings = analyzed(&[(SHORT, 30.0), (LONG, 1.0)]);
    let profile = profile(vec![calls(SHORT, 8.0), calls(LONG, 2.0), calls(4 * LONG, 1.0)]);
    let found = prospects(&profile, Some(&findings));
    let saved: Vec<Option<f64>> = found.entries.iter().map(|entry| entry.saved.map(|saved| saved.point)).collect();
    // 8 s become 4 s, 2 s become 1.6 s, and four times as much was not measured.
    assert_eq!(saved[0], Some(4.0));
    assert!((saved[1].unwrap() - 0.4).abs() < 1e-12);
    assert_eq!((saved[2], found.unknown()), (None, Seconds(1.0)));
    assert!(matches!(found.entries[2].unknown, Some(UnknownGain::OutsideSizes(_))));
    let all = Prospects::saved(found.entries.iter()).unwrap();
    assert!((all.point - 4.4).abs() < 1e-12);
    assert_eq!(
        (found.bound(), found.shares.tunable, found.shares.rest()),
        (Seconds(11.0), Seconds(11.0), Seconds(89.0))
    );
    // The same by weights.
    let (saved, of) = saved_of(&weights(&[(profile, 1.0)]), &findings).unwrap();
    assert!((saved.point - 4.4).abs() < 1e-12 && of == Seconds(10.0));
}

/// One visit of calls that take seconds: the rules change nothing, and that is no sign that the builtin is good.
#[test]
fn what_was_timed_too_seldom_is_not_known_rather_than_nothing() {
    let found = |visits: u32| {
        let mut campaign = Campaign::new(1, 0.0);
        (campaign.visits, campaign.rounds_per_visit) = (visits, 1);
        campaign.time(cell(SHORT), &[(Candidate::Builtin, 10.0), (plain(2), 5.0)]);
        prospects(&profile(vec![calls(SHORT, 8.0)]), Some(&campaign.analyze())).entries.remove(0)
    };
    let seldom = found(1);
    assert_eq!(seldom.saved, None);
    assert_eq!(seldom.unknown, Some(UnknownGain::TooSeldom));
    assert!(found(12).saved.is_some_and(|saved| (saved.point - 4.0).abs() < 1e-9));
}

#[test]
fn weights_are_the_time_in_near_sizes_times_the_factor_of_the_program() {
    let one = profile(vec![calls(1000, 1.0), calls(1010, 3.0), calls(2000, 2.0), calls(0, 50.0)]);
    let other = profile(vec![calls(2000, 5.0)]);
    let found = weights(&[(one, 1.0), (other, 2.0)]);
    let all: Vec<(u64, f64)> = found.iter().map(|Weight { cell, time, .. }| (cell.bytes.0, time.0)).collect();
    assert_eq!(all, [(2000, 12.0), (1010, 4.0)]);
}

#[test]
fn what_programs_keep_to_is_shown_by_all_of_them() {
    let keeps = || (profile(vec![calls(8, 1.0)]), 1.0);
    assert_eq!(kept_to(&[keeps()]).iter().map(|one| one.name()).collect::<Vec<_>>(), ["consistent-arguments"]);
    let mut breaks = keeps();
    breaks.0.calls[0].ignored_differ = 1;
    assert!(kept_to(&[keeps(), breaks]).is_empty());
    let mut cut = keeps();
    cut.0.unfinished = vec![3];
    assert!(kept_to(&[cut]).is_empty());
    assert!(kept_to(&[(profile(Vec::new()), 1.0)]).is_empty(), "what is never called shows nothing");
}
