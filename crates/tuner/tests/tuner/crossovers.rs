//! Affine cost models, whose crossovers are solved on paper, are recovered.

use collrules_record::{Bytes, Candidate, Ranks};
use collrules_rules::{Choice, Collective};

use crate::campaign::{Campaign, cell, plain, rules};

const SIZES: std::ops::RangeInclusive<u32> = 0..=20;

/// Times bcast on 4 ranks at 1 B to 1 MiB by powers of two, with these costs in microseconds and nanoseconds per byte.
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
    [(Candidate::Builtin, 20.0, 4.0), (plain(6), 5.0, 2.0), (Candidate::of(pipeline()), 35.0, 0.5)]
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
