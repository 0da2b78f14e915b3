//! Proposals of what to measure next, on a truth that is known.

use collrules_record::profile::weight::Weight;
use collrules_record::{Bytes, Candidate, Nodes, Ranks, Seconds};
use collrules_rules::Collective;
use collrules_tuner::refine::{Gap, Refinement, refine};

use crate::campaign::{Campaign, cell, plain};

/// Binomial takes 5 us + 2 ns m, the pipeline-like 6 takes 35 us + 0.5 ns m: equal at m = 20000.
fn time(campaign: &mut Campaign, ranks: u32, bytes: u64, candidates: &[Candidate]) {
    let micros = |candidate: &Candidate| {
        let m = bytes as f64;
        match candidate.choice().expect("is a choice").algorithm {
            0 => 40.0 + 4e-3 * m,
            1 => 5.0 + 2e-3 * m,
            _ => 35.0 + 0.5e-3 * m,
        }
    };
    let times: Vec<_> = candidates.iter().map(|candidate| (*candidate, micros(candidate))).collect();
    campaign.time(cell(Collective::Bcast, ranks, bytes), &times);
}

#[test]
fn rounds_close_in_on_the_crossover_and_end() {
    for noise in [0.0, 0.02] {
        let mut campaign = Campaign::new(1, noise);
        let all = [Candidate::Builtin, plain(1), plain(6)];
        for bytes in [16, 256, 4096, 65536, 1 << 20] {
            time(&mut campaign, 4, bytes, &all);
        }
        let mut rounds = 0;
        loop {
            let findings = campaign.analyze();
            let proposals = refine(&findings, &[], Refinement { worth: 0.0, ..Refinement::default() });
            if proposals.is_empty() {
                let [crossover] = findings.crossovers.as_slice() else { panic!("{:?}", findings.crossovers) };
                let (low, high) = crossover.bracket;
                assert!(low.0 < 20_000 && 20_000 <= high.0 && high.0 as f64 <= 1.25 * low.0 as f64, "{crossover:?}");
                assert!(crossover.at.0.abs_diff(20_000) < 400, "{crossover:?}");
                break;
            }
            for proposal in proposals {
                let Gap::Messages(low, high) = proposal.gap else { panic!("{proposal:?}") };
                let bytes = proposal.plan.cell.bytes;
                assert!(low < bytes && bytes < high);
                assert_eq!(proposal.plan.candidates, all, "the default and both choices");
                time(&mut campaign, 4, bytes.0, &proposal.plan.candidates);
            }
            rounds += 1;
            assert!(rounds < 12, "gaps halve: 4096 to 65536 is at 1.25 after 4 or 5 rounds");
        }
        assert!(rounds >= 3, "{rounds}");
    }
}

// The stake falls with the gap and with the differences at its ends.
#[test]
fn what_is_not_worth_the_time_is_not_proposed() {
    let mut campaign = Campaign::new(2, 0.0);
    for bytes in [1, 4096, 65536, 1 << 20] {
        time(&mut campaign, 4, bytes, &[Candidate::Builtin, plain(1), plain(6)]);
    }
    let findings = campaign.analyze();
    let [proposal] = &refine(&findings, &[], Refinement::default())[..] else { panic!("one crossover") };
    assert_eq!((proposal.plan.cell.bytes, proposal.gap), (Bytes(16384), Gap::Messages(Bytes(4096), Bytes(65536))));
    // Logarithms of 37.048/13.192 and of 136.072/67.768, four doublings.
    let stake = (37.048f64 / 13.192).ln() + (136.072f64 / 67.768).ln();
    assert!((proposal.worth - stake / 24.0 * 4.0).abs() < 1e-3, "{}", proposal.worth);
    let dear = Refinement { worth: proposal.worth * 1.01, ..Refinement::default() };
    assert_eq!(refine(&findings, &[], dear), []);
    assert_eq!(refine(&findings, &[], Refinement { width: 17.0, ..Refinement::default() }), [], "narrow enough");
    assert_eq!(refine(&findings, &[], Refinement { most: 0, ..Refinement::default() }), []);
}

/// A gap counts for the time that programs spend in it, and is cut where they spend the most.
#[test]
fn programs_say_which_gaps_count_and_where_they_are_cut() {
    let mut campaign = Campaign::new(2, 0.0);
    for bytes in [1, 4096, 65536, 1 << 20] {
        time(&mut campaign, 4, bytes, &[Candidate::Builtin, plain(1), plain(6)]);
    }
    let findings = campaign.analyze();
    let weight = |bytes: u64, ranks: u32, time: f64| Weight {
        cell: cell(Collective::Bcast, ranks, bytes),
        nodes: Nodes::default(),
        time: Seconds(time),
    };
    let elsewhere = [weight(1 << 20, 4, 9.0), weight(8192, 8, 5.0), weight(4096, 4, 4.0)];
    assert_eq!(refine(&findings, &elsewhere, Refinement { worth: 1e-9, ..Refinement::default() }), []);
    // 2 of 4 s per cell in the gap, most of it at 5000 bytes.
    let programs = [weight(1 << 20, 4, 10.0), weight(5000, 4, 1.5), weight(60_000, 4, 0.5)];
    let [proposal] = &refine(&findings, &programs, Refinement::default())[..] else { panic!("one crossover") };
    assert_eq!((proposal.plan.cell.bytes, proposal.gap), (Bytes(5000), Gap::Messages(Bytes(4096), Bytes(65536))));
    let stake = (37.048f64 / 13.192).ln() + (136.072f64 / 67.768).ln();
    assert!((proposal.worth - stake / 24.0 * 0.5).abs() < 1e-3, "{}", proposal.worth);
}

/// On 4 ranks 1 is better, on 16 ranks 6.
#[test]
fn communicator_sizes_are_cut_when_asked_for() {
    let mut campaign = Campaign::new(3, 0.0);
    for (ranks, one, six) in [(4, 5.0, 8.0), (16, 8.0, 5.0)] {
        for bytes in [8, 64] {
            let times = [(Candidate::Builtin, 10.0), (plain(1), one), (plain(6), six)];
            campaign.time(cell(Collective::Bcast, ranks, bytes), &times);
        }
    }
    let findings = campaign.analyze();
    assert_eq!(refine(&findings, &[], Refinement::default()), []);
    let proposals = refine(&findings, &[], Refinement { ranks: true, ..Refinement::default() });
    let cells: Vec<_> = proposals.iter().map(|proposal| proposal.plan.cell).collect();
    assert_eq!(cells, [cell(Collective::Bcast, 8, 8), cell(Collective::Bcast, 8, 64)]);
    assert!(proposals.iter().all(|proposal| proposal.gap == Gap::Ranks(Ranks(4), Ranks(16))));
}

/// A barrier has no sizes to cut, and scatter keeps to one choice.
#[test]
fn what_does_not_depend_on_the_size_is_left_alone() {
    let mut campaign = Campaign::new(4, 0.01);
    campaign.time(cell(Collective::Barrier, 4, 0), &[(Candidate::Builtin, 10.0), (plain(3), 5.0)]);
    for bytes in [8, 4096] {
        campaign.time(cell(Collective::Scatter, 4, bytes), &[(Candidate::Builtin, 10.0), (plain(2), 5.0)]);
    }
    assert_eq!(refine(&campaign.analyze(), &[], Refinement { worth: 0.0, ..Refinement::default() }), []);
}
