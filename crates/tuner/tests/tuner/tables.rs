//! Foreign tables: single values, averaged over ranks.

use std::fs;
use std::path::Path;

use collrules_import::Options;
use collrules_record::Candidate;
use collrules_record::findings::{Findings, Statistic};
use collrules_record::remark::Remark;
use collrules_record::sample::TableTiming;
use collrules_record::{Cell, Seconds};
use collrules_rules::{Choice, Collective, Release, hazard};
use collrules_tuner::{Observations, TunerError, analyze};

use crate::campaign::{cell, finding, plain, remarked, replacement, rules, why_kept};

fn timings(cell: Cell, candidate: Candidate, micros: &[f64]) -> Vec<TableTiming> {
    let timing = |(launch, micros): (usize, &f64)| TableTiming {
        cell,
        candidate,
        launch: launch as u32,
        time: Seconds(micros * 1e-6),
    };
    micros.iter().enumerate().map(timing).collect()
}

fn findings(timings: &[TableTiming]) -> Findings {
    let observations = Observations::from_timings(timings, Statistic::RankAverage).unwrap();
    analyze(&observations, Release::V4_1, Default::default(), Default::default(), "a table").unwrap()
}

/// Launches usually differ by a few per cent, sometimes by more: a single value has to gain more than that.
#[test]
fn a_single_value_has_to_gain_more_than_launches_differ() {
    let (large, small) = (cell(Collective::Bcast, 4, 8), cell(Collective::Bcast, 4, 16));
    let mut table = timings(large, Candidate::Builtin, &[1.40]);
    table.extend(timings(large, plain(6), &[1.0]));
    table.extend(timings(small, Candidate::Builtin, &[1.05]));
    table.extend(timings(small, plain(6), &[1.0]));
    let findings = findings(&table);
    assert_eq!(findings.statistic, Statistic::RankAverage);
    assert_eq!(replacement(&findings, large), Some(plain(6)));
    assert_eq!(why_kept(&findings, small), "faster by less than 15 % together with neighbouring sizes");
    let point = finding(&findings, large).point(plain(6)).unwrap();
    let gain = point.gain.unwrap();
    assert!((gain.point - 1.40).abs() < 1e-12);
    assert_eq!((gain.low, gain.high, point.p_value, point.q_value), (None, None, None, None));
    let untested = Remark::Untested { untested: 2, all: 2 };
    assert!(findings.remarks.contains(&untested), "{:?}", findings.remarks);
    assert!(remarked(&findings, "averages over ranks"));
}

// One value among neighbours that agree, and among neighbours that contradict it.
#[test]
fn neighbouring_communicator_sizes_have_a_say() {
    let at = cell(Collective::Bcast, 16, 8);
    let decide = |others: f64| {
        let mut table = Vec::new();
        for ranks in [2, 4, 8, 16, 32, 64, 128] {
            for power in 0..12 {
                let at = cell(Collective::Bcast, ranks, 1 << power);
                table.extend(timings(at, Candidate::Builtin, &[1.0]));
                let gain = if ranks == 16 { 1.25 } else { others };
                table.extend(timings(at, plain(6), &[1.0 / gain]));
                (1..6).for_each(|id| table.extend(timings(at, plain(id), &[1.1])));
            }
        }
        let findings = findings(&table);
        let expected = finding(&findings, at).point(plain(6)).unwrap().expected.unwrap();
        (replacement(&findings, at), expected)
    };
    // Half of the log gain is 0.1116, half of that of the others -0.0101 and 0.1312.
    let (alone, supported) = (decide(0.98), decide(1.3));
    assert_eq!((alone.0, supported.0), (None, Some(plain(6))));
    assert!((alone.1 - (1.25 * 0.98f64).sqrt().max(1.25 * (-0.14f64).exp())).abs() < 1e-9, "{alone:?}");
    assert!((supported.1 - 1.25).abs() < 1e-9, "neighbours do not persuade: {supported:?}");
}

#[test]
fn every_launch_has_to_show_a_gain() {
    let at = cell(Collective::Bcast, 4, 8);
    let mut table = timings(at, Candidate::Builtin, &[2.0, 2.0, 0.99]);
    table.extend(timings(at, plain(6), &[1.0, 1.0, 1.0]));
    assert_eq!(why_kept(&findings(&table), at), "not faster in every launch");
    table[2].time = Seconds(1.3e-6);
    assert_eq!(replacement(&findings(&table), at), Some(plain(6)));
}

#[test]
fn launches_enough_for_a_test_are_tested() {
    let at = cell(Collective::Bcast, 4, 8);
    let mut table = timings(at, Candidate::Builtin, &[1.10, 1.11, 1.12, 1.13, 1.14, 1.15]);
    table.extend(timings(at, plain(6), &[1.0, 1.01, 1.02, 1.03, 1.04, 1.05]));
    let findings = findings(&table);
    assert_eq!(replacement(&findings, at), Some(plain(6)));
    // Student's t of the logarithms is 9.235617 with 10 degrees of freedom.
    assert!((finding(&findings, at).point(plain(6)).unwrap().p_value.unwrap() - 1.63906e-6).abs() < 1e-10);
}

#[test]
fn no_timings_are_an_error() {
    let observations = Observations::from_timings(&[], Statistic::RankAverage).unwrap();
    let refused = analyze(&observations, Release::V4_1, Default::default(), Default::default(), "a table");
    assert!(matches!(refused, Err(TunerError::NoSamples { left_out: 0 })));
}

/// Scatter of 8 B on 4 ranks and 16 B: builtin times over one candidate's, which is timed at 1 us in each launch.
fn scatter(gains: [&[f64]; 2]) -> Choice {
    let mut table = Vec::new();
    for (bytes, gains) in [8, 16].into_iter().zip(gains) {
        let at = cell(Collective::Scatter, 4, bytes);
        table.extend(timings(at, Candidate::Builtin, gains));
        table.extend(timings(at, plain(1), &vec![1.0; gains.len()]));
    }
    rules(&findings(&table), Collective::Scatter, 4)[0].1
}

#[test]
fn without_a_test_the_mean_over_sizes_has_to_gain_fifteen_per_cent_in_every_launch() {
    let (first, builtin) = (Choice::plain(1), Choice::BUILTIN);
    assert_eq!(scatter([&[1.5], &[1.0]]), first, "1.22 in the mean");
    assert_eq!(scatter([&[1.3], &[1.0]]), builtin, "1.14 in the mean, although one size alone would do");
    assert_eq!(scatter([&[1.9], &[0.95]]), builtin, "slower at one size");
    assert_eq!(scatter([&[1.5, 1.5], &[1.0, 1.0]]), first);
    assert_eq!(scatter([&[1.9, 1.3], &[1.2, 1.0]]), builtin, "1.14 in the second launch");
}

#[test]
fn with_launches_enough_the_sizes_are_tested_together() {
    let better = [1.10, 1.11, 1.12, 1.13, 1.14, 1.15];
    assert_eq!(scatter([&better, &[1.001; 6]]), Choice::plain(1));
    let mixed = [1.30, 0.80, 1.31, 0.81, 1.29, 1.31];
    assert_eq!(scatter([&mixed, &[1.001, 0.999, 1.0, 1.001, 0.999, 1.0]]), Choice::BUILTIN);
}

/// The tables of the repository, or none where this crate was taken out of it.
fn table(name: &str) -> Option<Findings> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    let table = collrules_import::table(name, &fs::read(path).ok()?, Options::new(Release::V4_1)).unwrap();
    let timings: Vec<_> = table.timings.iter().filter_map(|timing| timing.in_table(table.statistic)).collect();
    assert!(!timings.is_empty());
    Some(findings(&timings))
}

/// Bcast and scatter on two EPYC nodes, one launch.
#[test]
fn the_epyc_table_gives_safe_rules() {
    let Some(findings) = table("epyc-two-nodes-osu.csv") else { return };
    assert!(hazard::check(&findings.table).is_empty());
    assert!(findings.table.collectives().any(|(collective, _)| collective == Collective::Bcast));
    for ranks in [2, 4, 8, 16, 32, 64, 128, 256] {
        assert_eq!(rules(&findings, Collective::Scatter, ranks).len(), 1, "scatter on {ranks} ranks");
    }
    assert!(findings.cells.iter().flat_map(|cell| &cell.points).all(|point| point.p_value.is_none()));
}
