//! Mock-ups: what is planted is found, noise is not, rules do not see them.

use collrules_lab::guidelines::check::{GuidelineTerms, changes, check};
use collrules_lab::guidelines::found::{Change, Cure, Withheld};
use collrules_record::criteria::Criteria;
use collrules_record::findings::Statistic;
use collrules_record::policy::Assumptions;
use collrules_record::sample::TableTiming;
use collrules_record::{Candidate, Placement, Seconds};
use collrules_rules::{Collective, Release};
use collrules_tuner::{Observations, TunerError, analyze};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};

use campaign::{Campaign, cell, plain};

#[allow(dead_code)]
#[path = "../../../tuner/tests/tuner/campaign.rs"]
mod campaign;

fn mockup(name: &str) -> Candidate {
    name.parse().expect("is a mock-up")
}

fn terms(placement: &Placement) -> GuidelineTerms<'_> {
    GuidelineTerms {
        release: Release::V5_0,
        criteria: Criteria { min_gain: 0.05, ..Criteria::default() },
        assumptions: Assumptions::default(),
        placement,
        source: "test",
    }
}

/// Bcast of this many sizes where the builtin takes so many times as long as the best of three mock-ups.
fn planted(seed: u64, sizes: u32, severity: f64) -> Campaign {
    let mut campaign = Campaign::new(seed, 0.05);
    for power in 0..sizes {
        let times = [
            (Candidate::Builtin, 10.0 * (1.0 + severity)),
            (mockup("mockup:allgatherv"), 12.0 * (1.0 + severity)),
            (mockup("mockup:scatter+allgather"), 10.0),
            (mockup("split:4"), 10.3),
        ];
        campaign.time(cell(Collective::Bcast, 8, 1 << power), &times);
    }
    campaign
}

#[test]
fn what_is_planted_is_found_and_its_severity_covered() {
    let placement = Placement::default();
    let (mut covered, mut all, mut sum) = (0, 0, 0.0);
    for seed in 0..40 {
        let checked = check(&planted(seed, 10, 0.5).observations(), &terms(&placement)).expect("has mock-ups");
        assert_eq!(checked.violations().len(), 10, "seed {seed}");
        for cell in &checked.cells {
            let severity = cell.severity.expect("was timed");
            let (low, high) = (severity.low.expect("enough visits"), severity.high.expect("enough visits"));
            covered += u32::from(low <= 0.5 && 0.5 <= high);
            all += 1;
            sum += severity.point;
        }
    }
    // At least the level, but for chance.
    assert!(f64::from(covered) >= 0.93 * f64::from(all), "{covered} of {all}");
    // Three hundred picks of the largest gain, and no bias.
    let mean = sum / f64::from(all);
    assert!((mean - 0.5).abs() < 0.01, "{mean}");
}

/// A thousand cells of six mock-ups that are all alike: six thousand comparisons in twenty checks.
#[test]
#[ignore = "part of `make test-all`"]
fn noise_violates_no_more_than_the_error_rate() {
    let placement = Placement::default();
    let (mut checks_wrong, checks) = (0u32, 20);
    let names =
        ["mockup:allgatherv", "mockup:scatter+allgather", "mockup:scatterv+allgatherv", "split:4", "split:4+barrier"];
    for seed in 0..checks {
        let mut campaign = Campaign::new(seed, 0.2);
        campaign.visit_noise = 0.1;
        for ranks in [2, 4, 8, 16, 32] {
            for power in 0..10 {
                let mut times = vec![(Candidate::Builtin, 10.0)];
                times.extend(names.iter().map(|name| (mockup(name), 10.0)));
                times.push((mockup("pad:1MiB"), 10.0));
                campaign.time(cell(Collective::Bcast, ranks, 1 << power), &times);
            }
        }
        let checked = check(&campaign.observations(), &terms(&placement)).expect("has mock-ups");
        assert_eq!(checked.cells.len(), 50);
        checks_wrong += u32::from(!checked.violations().is_empty());
    }
    // Where nothing is violated, the share of wrong ones is that of checks that claim any: 5 % and three sigmas of it.
    assert!(checks_wrong <= 3, "{checks_wrong} of {checks}");
}

#[test]
fn rules_are_those_of_the_same_run_without_mockups() {
    let run = |with: bool| {
        let mut campaign = Campaign::new(7, 0.0);
        for power in 0..8 {
            let mut times = vec![(Candidate::Builtin, 10.0), (plain(6), 8.0)];
            if with {
                times.push((mockup("mockup:scatter+allgather"), 2.0));
                times.push((mockup("split:4"), 3.0));
            }
            campaign.time(cell(Collective::Bcast, 8, 1 << power), &times);
        }
        if with {
            campaign.end(cell(Collective::Bcast, 8, 1), mockup("pad:2B"), "disqualified: wrong result");
        }
        campaign.observations()
    };
    let find = |with| {
        analyze(&run(with), Release::V5_0, Criteria::default(), Default::default(), "test").expect("has timings")
    };
    let (with, without) = (find(true), find(false));
    assert_eq!(with, without);
    assert!(!with.table.is_empty(), "there is something to keep apart");
}

#[test]
fn a_cure_is_a_rule_where_one_comes_near_enough() {
    let placement = Placement::default();
    let cured_by = |tuned: f64, id: u32| {
        let mut campaign = Campaign::new(3, 0.0);
        let times = [(Candidate::Builtin, 20.0), (plain(id), tuned), (mockup("mockup:scatter+allgather"), 10.0)];
        campaign.time(cell(Collective::Bcast, 8, 1 << 20), &times);
        let checked = check(&campaign.observations(), &terms(&placement)).expect("has mock-ups");
        checked.cells[0].violation.clone().expect("twice as slow").cure
    };
    assert!(matches!(cured_by(10.4, 6), Cure::Rule { choice, .. } if choice.algorithm == 6));
    assert_eq!(cured_by(12.0, 6), Cure::Nothing);
    // Scatter takes one choice for all sizes: what cures one size and loses at another is no rule.
    let mut campaign = Campaign::new(3, 0.0);
    for (bytes, tuned) in [(64, 10.4), (1 << 20, 40.0)] {
        let times = [(Candidate::Builtin, 20.0), (plain(2), tuned), (mockup("mockup:bcast"), 10.0)];
        campaign.time(cell(Collective::Scatter, 8, bytes), &times);
    }
    let checked = check(&campaign.observations(), &terms(&placement)).expect("has mock-ups");
    let cures: Vec<&Cure> = checked.violations().iter().map(|(_, violation)| &violation.cure).collect();
    let shared = |cure: &&Cure| matches!(cure, Cure::Rule { withheld: Some(Withheld::OneChoice), .. });
    assert_eq!((cures.len(), cures.iter().filter(|cure| shared(cure)).count()), (2, 1), "{cures:?}");
    let mut campaign = planted(1, 1, 0.5);
    assert!(matches!(
        check(&campaign.observations(), &terms(&placement)).expect("has mock-ups").cells[0].violation,
        Some(ref violation) if violation.cure == Cure::Unmeasured
    ));
    campaign.time(cell(Collective::Scatter, 8, 4), &[(Candidate::Builtin, 1.0), (plain(1), 1.0)]);
    let checked = check(&campaign.observations(), &terms(&placement)).expect("has mock-ups");
    assert_eq!(checked.cells.len(), 1, "what has no mock-up is no part of it");
}

#[test]
fn changes_are_what_came_went_or_left_its_interval() {
    let placement = Placement::default();
    let of = |severity: f64, seed| {
        check(&planted(seed, 1, severity).observations(), &terms(&placement)).expect("has mock-ups")
    };
    let (none, half, again, double) = (of(-0.1, 1), of(0.5, 2), of(0.5, 3), of(1.0, 4));
    let how = |before, now| changes(before, now).first().map(|changed| changed.how);
    assert_eq!(how(&none, &half), Some(Change::New));
    assert_eq!(how(&half, &none), Some(Change::Gone));
    assert_eq!(how(&half, &again), None);
    assert_eq!(how(&half, &double), Some(Change::Worse));
    assert_eq!(how(&double, &half), Some(Change::Better));
}

#[test]
fn what_cannot_be_judged_is_said() {
    let placement = Placement::default();
    let mut campaign = Campaign::new(1, 0.0);
    campaign.time(cell(Collective::Bcast, 8, 4), &[(Candidate::Builtin, 10.0), (plain(6), 8.0)]);
    assert!(matches!(check(&campaign.observations(), &terms(&placement)), Err(TunerError::NoMockups)));
    let mut campaign = Campaign::new(1, 0.0);
    campaign.time(cell(Collective::Bcast, 8, 4), &[(mockup("split:2"), 10.0)]);
    assert!(matches!(check(&campaign.observations(), &terms(&placement)), Err(TunerError::NoBuiltin)));
}

/// A table of allreduces on this many sizes, where the builtin takes so many times as long as each mock-up, with noise between launches.
fn table(seed: u64, sizes: u32, mockups: &[&str], launches: u32, noise: f64, severity: f64) -> Observations {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let normal = Normal::new(0.0, noise).unwrap();
    let mut timings = Vec::new();
    for place in 0..sizes {
        let cell = cell(Collective::Allreduce, 2 + place / 20, 4 << (place % 20));
        for launch in 0..launches {
            let mut time = |candidate, micros: f64| {
                let time = Seconds(1e-6 * micros * f64::exp(normal.sample(&mut rng)));
                timings.push(TableTiming { cell, candidate, launch, time });
            };
            time(Candidate::Builtin, 100.0 * (1.0 + severity));
            mockups.iter().for_each(|name| time(mockup(name), 100.0));
        }
    }
    Observations::from_timings(&timings, Statistic::RankAverage).unwrap()
}

const MOCKUPS: [&str; 3] = ["mockup:reduce+bcast", "split:4", "pad:1GiB"];

/// Ten to forty of forty such tables once had violations, by a large gain without a test.
#[test]
fn tables_without_a_test_have_suspects_only() {
    let placement = Placement::default();
    for launches in 1..=5 {
        for noise in [0.1, 0.2] {
            let checked = check(&table(1, 100, &MOCKUPS, launches, noise, 0.0), &terms(&placement)).unwrap();
            assert_eq!(checked.violations().len(), 0, "{launches} launches");
            let few = checked.few_launches.unwrap();
            assert!(few.needed == 6 && checked.suspects().len() > 10);
        }
    }
    let planted = check(&table(1, 100, &MOCKUPS, 3, 0.05, 0.5), &terms(&placement)).unwrap();
    assert_eq!((planted.violations().len(), planted.suspects().len()), (0, 100));
}

/// A table in which nothing is violated has violations with the probability of the error rate, at any noise.
#[test]
fn tables_with_a_test_keep_the_error_rate() {
    let placement = Placement::default();
    let mut wrong = 0;
    for (launches, noise) in [(6, 0.1), (6, 0.2), (10, 0.1), (10, 0.2)] {
        let is_wrong = |seed: &u64| {
            let checked = check(&table(*seed, 100, &MOCKUPS[..1], launches, noise, 0.0), &terms(&placement)).unwrap();
            !checked.violations().is_empty()
        };
        wrong += (0..10).filter(is_wrong).count();
    }
    assert!(wrong <= 6, "{wrong} of 40");
}

/// The best of three once had 35 %, as the luckiest; the one of which most is shown has 32 %. Each has the ratio of the
/// printed times, and an interval that holds for all three.
#[test]
fn severities_of_tables_are_ratios_of_the_printed_times() {
    let placement = Placement::default();
    let (mut severities, mut violations, mut covered) = (Vec::new(), 0, 0);
    for seed in 0..4 {
        let checked = check(&table(seed, 100, &MOCKUPS, 10, 0.1, 0.3), &terms(&placement)).unwrap();
        violations += checked.violations().len();
        for cell in &checked.cells {
            let (severity, ratio) =
                (cell.severity.unwrap(), cell.builtin.unwrap().point / cell.compared().unwrap().time.point);
            assert!((severity.point - (ratio - 1.0)).abs() < 1e-12, "{ratio}");
            covered += u32::from(severity.low.unwrap() <= 0.3 && 0.3 <= severity.high.unwrap());
            severities.push(severity.point);
        }
    }
    let mean = severities.iter().sum::<f64>() / severities.len() as f64;
    assert!(violations > 350 && (mean - 0.3).abs() < 0.025, "{mean} of {violations}");
    assert!(covered >= 380, "{covered} of 400");
}

/// Times of these calls in a table of bcast on 8 ranks, in microseconds by size, and in launches below a number.
fn table_of(seed: u64, sizes: u64, launches: u32, calls: &[(&str, f64, f64, u32)]) -> Observations {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut timings = Vec::new();
    for (name, micros, noise, own) in calls {
        let normal = Normal::new(0.0, *noise).unwrap();
        let candidate = if *name == "builtin" { Candidate::Builtin } else { mockup(name) };
        for (power, launch) in (0..sizes).flat_map(|power| (0..launches.min(*own)).map(move |launch| (power, launch))) {
            let time = Seconds(1e-6 * micros * f64::exp(normal.sample(&mut rng)));
            timings.push(TableTiming { cell: cell(Collective::Bcast, 8, 1 << power), candidate, launch, time });
        }
    }
    Observations::from_timings(&timings, Statistic::RankAverage).unwrap()
}

/// A fast mock-up without some launches, or a noisy one as fast as another, once lent the other one its severity.
#[test]
fn name_time_and_severity_are_those_of_one_mockup() {
    let placement = Placement::default();
    for (few, noisy) in [(4, 0.02), (10, 0.25), (3, 0.3)] {
        let (mut lucky, mut covered) = (0, 0);
        for seed in 0..20 {
            let calls = [
                ("builtin", 140.0, 0.02, 10),
                ("mockup:allgatherv", if few < 10 { 70.0 } else { 120.0 }, noisy, few),
                ("mockup:scatter+allgather", 120.0, 0.02, 10),
            ];
            let checked = check(&table_of(seed, 4, 10, &calls), &terms(&placement)).unwrap();
            assert_eq!(checked.violations().len(), 4, "{few} launches, {seed}");
            for found in &checked.cells {
                let (compared, severity) = (found.compared().unwrap(), found.severity.unwrap());
                assert_eq!(Some(compared.mockup), found.violation.as_ref().map(|violation| violation.best));
                let ratio = found.builtin.unwrap().point / compared.time.point;
                let is_near = (ratio - 7.0 / 6.0).abs() < 0.08;
                let is_steady = compared.mockup == "mockup:scatter+allgather".parse().unwrap();
                lucky += u32::from(!is_steady);
                assert!((severity.point - (ratio - 1.0)).abs() < 1e-9 && (is_near || !is_steady), "{ratio}");
                assert!(severity.low.unwrap() <= severity.point && severity.point <= severity.high.unwrap());
                covered += u32::from(severity.low.unwrap() < 1.0 / 6.0 && severity.high.unwrap() > 1.0 / 6.0);
                assert!(compared.violated);
            }
        }
        assert!(lucky <= if few < 10 { 0 } else { 4 } && covered >= 74, "{lucky} by luck, {covered} covered, of 80");
    }
}

/// What is violated by exactly the tolerance is a rounding error.
#[test]
fn the_tolerance_itself_is_tolerated() {
    let placement = Placement::default();
    for (tolerance, shown) in [(0.049_999, 9), (0.05, 0), (0.11, 0)] {
        let terms =
            GuidelineTerms { criteria: Criteria { min_gain: tolerance, ..Criteria::default() }, ..terms(&placement) };
        let mut violated = 0;
        for place in 0..9 {
            let micros = 10.0 + 1.7 * f64::from(place);
            let calls = [("builtin", 1.05 * micros, 0.0, 8), ("split:4", micros, 0.0, 8)];
            let checked = check(&table_of(0, 1, 8, &calls), &terms).unwrap();
            violated += checked.violations().len();
            assert_eq!(checked.violations().is_empty(), !checked.cells[0].mockups[0].violated);
        }
        assert_eq!(violated, shown, "{tolerance}");
    }
}

/// Among 600 cases, 20 of which are planted, the share of wrong ones once was 6 to 14 %: a planted case brought as many
/// discoveries as it had mock-ups.
#[test]
#[ignore = "part of `make test-all`"]
fn few_of_the_cases_that_are_shown_are_wrong() {
    let placement = Placement::default();
    let names =
        ["mockup:reduce+bcast", "split:4", "split:8", "split:16", "split:32", "pad:1GiB", "split:2", "split:64"];
    for (count, launches) in [(1, 6), (3, 6), (3, 8), (3, 12), (8, 8)] {
        let (mut shown, mut wrong) = (0, 0);
        for seed in 0..8 {
            let mut rng = ChaCha8Rng::seed_from_u64(100 * u64::from(launches) + seed);
            let normal = Normal::new(0.0, 0.1).unwrap();
            let mut timings = Vec::new();
            for place in 0..600 {
                let cell = cell(Collective::Allreduce, 2 + place / 20, 4 << (place % 20));
                let planted = if place % 30 == 0 { 1.6 } else { 1.0 };
                for launch in 0..launches {
                    let mut time = |candidate, micros: f64| {
                        let time = Seconds(1e-6 * micros * f64::exp(normal.sample(&mut rng)));
                        timings.push(TableTiming { cell, candidate, launch, time });
                    };
                    time(Candidate::Builtin, 100.0 * planted);
                    names[..count].iter().for_each(|name| time(mockup(name), 100.0));
                }
            }
            let observations = Observations::from_timings(&timings, Statistic::RankAverage).unwrap();
            let checked = check(&observations, &terms(&placement)).unwrap();
            shown += checked.violations().len();
            let is_planted = |bytes: u64, ranks: u32| (20 * (ranks - 2) + bytes.ilog2() - 2).is_multiple_of(30);
            let cells = checked.violations().into_iter().map(|(found, _)| found.cell);
            wrong += cells.filter(|cell| !is_planted(cell.bytes.0, cell.ranks.0)).count();
        }
        // With six launches of a single mock-up, nothing can be shown among 600 cases.
        assert!(shown >= if count == 1 { 0 } else { 120 }, "{count} mock-ups, {launches} launches: {shown}");
        assert!(wrong as f64 <= 0.05 * shown as f64 + 4.0, "{count} mock-ups, {launches} launches: {wrong} of {shown}");
    }
}
