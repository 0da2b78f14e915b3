//! Affine cost models, whose crossovers are solved on paper, are recovered.

use collrules_record::criteria::Criteria;
use collrules_record::policy::Between;
use collrules_record::{Bytes, Candidate, Cell, Policy, Ranks};
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::analyze;

use crate::campaign::{Campaign, cell, plain, rules};

const SIZES: std::ops::RangeInclusive<u32> = 0..=20;

/// Times bcast of 1 B to 1 MiB on 4 ranks by powers of two, with these costs in microseconds and nanoseconds per byte.
fn time_bcast(campaign: &mut Campaign, costs: &[(Candidate, f64, f64)]) {
    for power in SIZES {
        let bytes = 1u64 << power;
        let times: Vec<_> = costs
            .iter()
            .map(|(candidate, micros, nanos_per_byte)| (*candidate, micros + nanos_per_byte * bytes as f64 / 1e3))
            .collect();
        campaign.time(cell(Collective::Bcast, 4, bytes), &times);
    }
}

fn pipeline() -> Choice {
    Choice::plain(3).with_segsize(8192)
}

/// Binomial takes 5 us + 2 ns m, the pipeline 35 us + 0.5 ns m, the builtin always longer than either of them:
/// 5000 + 2 m = 35000 + 0.5 m has the solution m = 20000, between 16 KiB and 32 KiB.
const SOLUTION: u64 = 20_000;

fn two_regimes() -> [(Candidate, f64, f64); 3] {
    [(Candidate::Builtin, 20.0, 4.0), (plain(6), 5.0, 2.0), (Candidate::from_choice(pipeline()), 35.0, 0.5)]
}

#[test]
fn a_crossover_without_noise_is_exact() {
    let mut campaign = Campaign::new(1, 0.0);
    time_bcast(&mut campaign, &two_regimes());
    let findings = campaign.analyze();
    let binomial = Choice::plain(6);
    let expected = vec![(0, Choice::BUILTIN), (1, binomial), (SOLUTION, pipeline()), ((1 << 20) + 1, Choice::BUILTIN)];
    assert_eq!(rules(&findings, Collective::Bcast, 4), expected);
    let [crossover] = findings.crossovers.as_slice() else { panic!("{:?}", findings.crossovers) };
    assert_eq!((crossover.collective, crossover.ranks), (Collective::Bcast, Ranks(4)));
    assert_eq!((crossover.below, crossover.above, crossover.at), (binomial, pipeline(), Bytes(SOLUTION)));
    assert_eq!(crossover.bracket, (Bytes(16384), Bytes(32768)));
}

#[test]
fn a_crossover_is_recovered_from_noise() {
    for seed in 0..20 {
        let mut campaign = Campaign::new(seed, 0.02);
        time_bcast(&mut campaign, &two_regimes());
        let findings = campaign.analyze();
        let [crossover] = findings.crossovers.as_slice() else { panic!("seed {seed}: {:?}", findings.crossovers) };
        let error = crossover.at.0 as f64 / SOLUTION as f64 - 1.0;
        assert!(error.abs() < 0.05, "seed {seed}: {}", crossover.at.0);
    }
}

/// Binomial takes 5 us + 2 ns m, the builtin 10 us + 1 ns m: they meet at m = 5000, and beyond it the builtin stays.
/// Open MPI looks up the total of an allgather, 4 times as much on 4 ranks.
#[test]
fn a_crossover_back_to_the_builtin_is_exact_in_lookup_bytes() {
    let mut campaign = Campaign::new(2, 0.0);
    for power in SIZES {
        let bytes = 1u64 << power;
        let micros = |fixed: f64, nanos: f64| fixed + nanos * bytes as f64 / 1e3;
        let times = [(Candidate::Builtin, micros(10.0, 1.0)), (plain(4), micros(5.0, 2.0))];
        campaign.time(cell(Collective::Allgather, 4, bytes), &times);
    }
    let findings = campaign.analyze();
    let expected = vec![(0, Choice::BUILTIN), (4, Choice::plain(4)), (20_000, Choice::BUILTIN)];
    assert_eq!(rules(&findings, Collective::Allgather, 4), expected);
    assert_eq!(findings.crossovers.len(), 1);
    assert_eq!(findings.crossovers[0].at, Bytes(5000));
    assert!(findings.crossovers[0].above.is_builtin());
}

/// The gain of 2 % at 4 KiB is below the threshold although the candidate is the faster one there too: the rule starts
/// at the measured size that shows a gain, 8 KiB.
#[test]
fn a_change_by_threshold_alone_is_made_at_the_measured_size() {
    let mut campaign = Campaign::new(3, 0.0);
    campaign.time(cell(Collective::Bcast, 4, 4096), &[(Candidate::Builtin, 10.2), (plain(6), 10.0)]);
    campaign.time(cell(Collective::Bcast, 4, 8192), &[(Candidate::Builtin, 22.0), (plain(6), 20.0)]);
    let findings = campaign.analyze();
    let expected = vec![(0, Choice::BUILTIN), (8192, Choice::plain(6)), (8193, Choice::BUILTIN)];
    assert_eq!(rules(&findings, Collective::Bcast, 4), expected);
}

/// A candidate that was not timed at the lower size has no time to interpolate from.
#[test]
fn without_a_time_at_both_ends_the_change_is_made_at_the_measured_size() {
    let mut campaign = Campaign::new(4, 0.0);
    campaign.time(cell(Collective::Bcast, 4, 1000), &[(Candidate::Builtin, 20.0), (plain(6), 10.0)]);
    campaign.time(cell(Collective::Bcast, 4, 2000), &[(Candidate::Builtin, 30.0), (plain(6), 25.0), (plain(3), 10.0)]);
    let findings = campaign.analyze();
    assert_eq!(findings.crossovers[0].at, Bytes(2000));
}

/// Times bcast on 6 ranks at powers of two up to 64 KiB, where binomial takes half the default's time, and at a larger size
/// what is given.
fn with_gap(larger: u64, times: &[(Candidate, f64)]) -> collrules_record::findings::Findings {
    let mut campaign = Campaign::new(5, 0.0);
    for power in 10..=16 {
        campaign.time(cell(Collective::Bcast, 6, 1 << power), &[(Candidate::Builtin, 20.0), (plain(6), 10.0)]);
    }
    campaign.time(cell(Collective::Bcast, 6, larger), times);
    campaign.analyze()
}

#[test]
fn a_size_whose_default_was_not_timed_does_not_stretch_the_rule_below_it() {
    let expected = vec![(0, Choice::BUILTIN), (1024, Choice::plain(6)), (65537, Choice::BUILTIN)];
    for larger in [1 << 24, 1 << 32] {
        let findings = with_gap(larger, &[(plain(6), 90_000.0)]);
        assert_eq!(rules(&findings, Collective::Bcast, 6), expected);
        let [crossover] = findings.crossovers.as_slice() else { panic!("{:?}", findings.crossovers) };
        assert_eq!((crossover.at, crossover.bracket), (Bytes(65537), (Bytes(65536), Bytes(larger))));
    }
    let findings = with_gap(1 << 24, &[(Candidate::Builtin, 90_000.0)]);
    assert_eq!(rules(&findings, Collective::Bcast, 6), expected, "the algorithm was not timed");
}

#[test]
fn a_size_at_which_the_default_failed_does_not_stretch_the_rule_below_it() {
    let mut campaign = Campaign::new(5, 0.0);
    for bytes in [1024, 65536] {
        campaign.time(cell(Collective::Bcast, 6, bytes), &[(Candidate::Builtin, 20.0), (plain(6), 10.0)]);
    }
    campaign.end(cell(Collective::Bcast, 6, 1 << 24), Candidate::Builtin, "disqualified: wrong data");
    let expected = vec![(0, Choice::BUILTIN), (1024, Choice::plain(6)), (65537, Choice::BUILTIN)];
    assert_eq!(rules(&campaign.analyze(), Collective::Bcast, 6), expected);
}

#[test]
fn between_two_algorithms_the_default_holds_where_the_lower_one_was_not_timed_above() {
    let findings = with_gap(1 << 20, &[(Candidate::Builtin, 90.0), (plain(3), 30.0)]);
    let expected = vec![
        (0, Choice::BUILTIN),
        (1024, Choice::plain(6)),
        (65537, Choice::BUILTIN),
        (1 << 20, Choice::plain(3)),
        ((1 << 20) + 1, Choice::BUILTIN),
    ];
    assert_eq!(rules(&findings, Collective::Bcast, 6), expected);
    let at: Vec<Bytes> = findings.crossovers.iter().map(|crossover| crossover.at).collect();
    assert_eq!(at, [Bytes(65537), Bytes(1 << 20)]);
}

/// Binomial is timed at both ends and slower than the default at the upper one: 10 + (m - 64 Ki) (90 / 64 Ki) us meets the
/// default's 20 + (m - 64 Ki) (30 / 64 Ki) us at m = 64 Ki + 64 Ki / 6 = 76459.
#[test]
fn an_algorithm_ends_where_the_default_catches_up_if_the_next_one_was_not_timed_below() {
    let findings = with_gap(1 << 17, &[(Candidate::Builtin, 50.0), (plain(6), 100.0), (plain(3), 10.0)]);
    let rules = rules(&findings, Collective::Bcast, 6);
    assert_eq!(rules[2..4], [(76459, Choice::BUILTIN), (1 << 17, Choice::plain(3))]);
}

#[test]
fn scatter_keeps_the_default_at_all_sizes_if_it_was_not_timed_at_some() {
    let mut campaign = Campaign::new(6, 0.0);
    for bytes in [1024, 65536] {
        campaign.time(cell(Collective::Scatter, 6, bytes), &[(Candidate::Builtin, 20.0), (plain(2), 10.0)]);
    }
    assert!(!campaign.analyze().table.is_empty());
    campaign.time(cell(Collective::Scatter, 6, 1 << 24), &[(plain(2), 90_000.0)]);
    assert!(campaign.analyze().table.is_empty());
}

/// Communicator sizes that share their rules reach as far as each of them was measured.
#[test]
fn a_communicator_size_does_not_borrow_sizes_that_only_another_was_measured_at() {
    let mut campaign = Campaign::new(7, 0.0);
    for (ranks, most) in [(4, 13), (6, 20)] {
        for power in 10..=most {
            campaign.time(cell(Collective::Bcast, ranks, 1 << power), &[(Candidate::Builtin, 20.0), (plain(6), 10.0)]);
        }
    }
    for between in [Between::Keep, Between::Lower, Between::Agree] {
        let policy = Policy { between, ..Policy::default() };
        let analyzed =
            analyze(&campaign.observations(), Release::V4_1, Criteria::default(), policy, "a synthetic campaign");
        let findings = analyzed.expect("has timings");
        for (ranks, beyond) in [(4, 8193), (6, (1 << 20) + 1)] {
            let expected = vec![(0, Choice::BUILTIN), (1024, Choice::plain(6)), (beyond, Choice::BUILTIN)];
            assert_eq!(rules(&findings, Collective::Bcast, ranks), expected, "{between:?}");
        }
    }
}

#[test]
fn a_planned_size_that_was_not_measured_follows_its_neighbours() {
    let mut campaign = Campaign::new(8, 0.0);
    for collective in [Collective::Bcast, Collective::Scatter] {
        for bytes in [1024, 65536, 1 << 24] {
            campaign.time(cell(collective, 6, bytes), &[(Candidate::Builtin, 20.0), (plain(2), 10.0)]);
        }
    }
    let decide = |planned: &[Cell]| {
        let observations = campaign.observations().planning(planned.iter().copied());
        analyze(&observations, Release::V4_1, Criteria::default(), Default::default(), "a synthetic campaign")
            .expect("has timings")
    };
    let whole = decide(&[]);
    let chain = Choice::plain(2);
    let expected = vec![(0, Choice::BUILTIN), (1024, chain), ((1 << 24) + 1, Choice::BUILTIN)];
    assert_eq!(rules(&whole, Collective::Bcast, 6), expected);
    assert_eq!(rules(&whole, Collective::Scatter, 6), [(0, chain)]);
    let between = decide(&[cell(Collective::Bcast, 6, 1 << 20), cell(Collective::Scatter, 6, 1 << 20)]);
    assert_eq!(between.table, whole.table, "both neighbours have the same choice");
    let findings = decide(&[cell(Collective::Bcast, 6, 1 << 25), cell(Collective::Scatter, 6, 1 << 25)]);
    assert_eq!(rules(&findings, Collective::Bcast, 6), expected);
    assert_eq!(rules(&findings, Collective::Scatter, 6), [(0, Choice::BUILTIN)], "all sizes share one choice");
}
