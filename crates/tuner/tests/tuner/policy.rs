//! Tests of the way from verdicts to rules: sharing, assumptions, and communicator sizes that were not measured.

use collrules_record::findings::{Findings, Verdict};

use collrules_record::criteria::Criteria;
use collrules_record::policy::{Assumption, Assumptions, Between};
use collrules_record::reason::KeepReason;
use collrules_record::validation::RevertedRange;
use collrules_record::{Candidate, Placement, Policy};
use collrules_rules::bits::Keep;
use collrules_rules::hazard::RankRange;
use collrules_rules::{Choice, Collective, Release, hazard};
use collrules_tuner::{Laid, Observations, analyze_among};

use crate::campaign::{Campaign, cell, finding, plain, remarked, rules};

fn analyze(campaign: &Campaign, policy: Policy) -> Findings {
    analyze_on(Release::V5_0, campaign, policy)
}

fn analyze_on(release: Release, campaign: &Campaign, policy: Policy) -> Findings {
    let observations = Observations::from_samples(campaign.text()).unwrap();
    collrules_tuner::analyze(&observations, release, Criteria::default(), policy, "a synthetic campaign").unwrap()
}

/// Bcast on so many ranks: gains of algorithms 1 and 6 at 8 B, 64 B, 512 B and 4 KiB.
fn bcast(campaign: &mut Campaign, ranks: u32, gains: [(f64, f64); 4]) {
    for (place, (one, six)) in gains.into_iter().enumerate() {
        let times = [(Candidate::Builtin, 10.0), (plain(1), 10.0 / one), (plain(6), 10.0 / six)];
        campaign.time(cell(Collective::Bcast, ranks, 8 << (3 * place)), &times);
    }
}

fn bounded(max_regret: f64) -> Policy {
    Policy { max_regret, ..Policy::default() }
}

fn in_use(findings: &Findings, ranks: u32) -> Vec<u32> {
    let cells = findings.cells.iter().filter(|cell| cell.cell.ranks.0 == ranks);
    cells.map(|cell| cell.in_use.algorithm).collect()
}

/// Algorithm 6 is 5 % better than 1 at one size in the middle.
#[test]
fn a_rule_is_shared_where_that_costs_less_than_the_bound() {
    let mut campaign = Campaign::new(1, 0.0);
    bcast(&mut campaign, 4, [(1.5, 1.2), (1.5, 1.2), (1.5, 1.575), (1.5, 1.2)]);
    for (bound, expected) in [(0.03, [1, 1, 6, 1]), (0.06, [1, 1, 1, 1])] {
        let findings = analyze(&campaign, bounded(bound));
        assert_eq!(in_use(&findings, 4), expected, "{bound}");
        assert!(findings.tree.worst_regret <= bound + 1e-9);
    }
    let findings = analyze(&campaign, bounded(0.06));
    assert!((findings.tree.worst_regret - 0.05).abs() < 1e-9);
    assert!((findings.tree.regret - (1.05f64.powf(0.25) - 1.0)).abs() < 1e-9, "{}", findings.tree.regret);
}

/// However few rules are asked for, no cell loses against the builtin for it.
#[test]
fn a_choice_that_loses_against_the_builtin_is_no_way_to_save_rules() {
    let mut campaign = Campaign::new(2, 0.0);
    bcast(&mut campaign, 4, [(1.5, 1.0), (0.9, 1.0), (1.5, 1.0), (1.01, 1.0)]);
    for policy in [bounded(0.03), bounded(0.08)] {
        let findings = analyze(&campaign, policy);
        assert_eq!(in_use(&findings, 4)[1], 0, "{policy:?}");
    }
    // What is no faster is harmless, but spares no rule at the end.
    assert_eq!(in_use(&analyze(&campaign, bounded(0.03)), 4), [1, 0, 1, 0]);
    // Beside a size that it wins on either side it does.
    let mut campaign = Campaign::new(2, 0.0);
    bcast(&mut campaign, 4, [(1.5, 1.0), (1.01, 1.0), (1.5, 1.0), (1.5, 1.0)]);
    let findings = analyze(&campaign, bounded(0.03));
    assert_eq!((in_use(&findings, 4), findings.table.rules()), (vec![1, 1, 1, 1], 1));
}

/// Three cells of reduce in which algorithm 5, which reorders operands, is the best.
#[test]
fn what_an_assumption_would_gain_is_said_without_measuring_again() {
    let mut campaign = Campaign::new(4, 0.01);
    for bytes in [8, 64, 512] {
        let times = [(Candidate::Builtin, 10.0), (plain(5), 5.0), (plain(6), 8.0)];
        campaign.time(cell(Collective::Reduce, 4, bytes), &times);
    }
    let safe = analyze(&campaign, Policy::default());
    assert_eq!(in_use(&safe, 4), [6, 6, 6]);
    let [said] = safe.tree.alternatives.as_slice() else { panic!("{:?}", safe.tree.alternatives) };
    assert_eq!((said.assumption, said.cells), (Assumption::CommutativeOps, 3));
    assert!(remarked(&safe, "--assume commutative-ops: another choice for 3 sizes"));
    let assumptions = Assumptions::default().with(Assumption::CommutativeOps);
    let free = analyze(&campaign, Policy { assumptions, ..Policy::default() });
    assert_eq!(in_use(&free, 4), [5, 5, 5]);
    assert_eq!((said.gain, said.rules), (free.tree.gain, free.tree.rules));
    assert!(free.tree.alternatives.is_empty());
    assert!(hazard::check(&free.table).iter().all(|hazard| assumptions.accept(hazard)));
}

/// Scatter by 1 at small sizes and 2 at large ones; 1 and 3 put the same messages on the wire.
#[test]
fn scatter_changes_its_algorithm_only_among_those_that_interoperate() {
    let mut campaign = Campaign::new(5, 0.0);
    for (bytes, [one, two, three]) in [(8, [2.0, 1.5, 1.1]), (64, [1.1, 1.5, 2.0]), (512, [1.1, 1.5, 2.0])] {
        let gains = [(1, one), (2, two), (3, three)];
        let mut times = vec![(Candidate::Builtin, 10.0)];
        times.extend(gains.map(|(id, gain)| (plain(id), 10.0 / gain)));
        campaign.time(cell(Collective::Scatter, 4, bytes), &times);
    }
    let findings = analyze(&campaign, Policy::default());
    assert_eq!(in_use(&findings, 4), [1, 3, 3]);
    assert_eq!(hazard::check(&findings.table), []);
    let steps = rules(&findings, Collective::Scatter, 4);
    assert_eq!((steps[0], steps.len(), steps[1].1), ((0, Choice::plain(1)), 2, Choice::plain(3)), "no gap, no end");
}

/// Allreduce on 8 ranks: one that reduces by other rules is the fastest, then ring, then recursive doubling, which adds up as the
/// default does at all sizes.
#[test]
fn rules_change_only_the_bits_that_they_may_change() {
    let mut campaign = Campaign::new(8, 0.0);
    for bytes in [65_536, 131_072, 262_144] {
        let times = [(Candidate::Builtin, 10.0), (plain(2), 3.0), (plain(4), 4.0), (plain(3), 6.0), (plain(1), 8.0)];
        campaign.time(cell(Collective::Allreduce, 8, bytes), &times);
    }
    let free = Assumptions::default().with(Assumption::CommutativeOps);
    let keeping =
        |keep_bits| analyze(&campaign, Policy { assumptions: Assumptions { keep_bits, ..free }, ..Policy::default() });
    assert_eq!(in_use(&keeping(None), 8), [2, 2, 2]);
    assert_eq!(in_use(&keeping(Some(Keep::Ranks)), 8), [4, 4, 4], "of the fastest nothing is known");
    assert_eq!(in_use(&keeping(Some(Keep::Sizes)), 8), [3, 3, 3]);
    let kept = keeping(Some(Keep::Default));
    assert_eq!(in_use(&kept, 8), [3, 3, 3]);
    assert!(remarked(&kept, "Without --keep-bits: another choice for 3 sizes"), "what it costs is said");
    assert_eq!(
        rules(&keeping(Some(Keep::Sizes)), Collective::Allreduce, 8),
        [(0, Choice::plain(3))],
        "one for all sizes"
    );
    let unknown = "The order in which Open MPI 4.0 adds up is not known";
    assert!(!remarked(&kept, unknown));
    let keep_bits = Some(Keep::Ranks);
    let policy = Policy { assumptions: Assumptions { keep_bits, ..free }, ..Policy::default() };
    let older = analyze_on(Release::V4_0, &campaign, policy);
    assert_eq!(in_use(&older, 8), [0, 0, 0]);
    assert!(remarked(&older, unknown));
}

#[test]
fn strict_safety_avoids_what_mixed_datatypes_break() {
    let mut campaign = Campaign::new(6, 0.01);
    let times = [(Candidate::Builtin, 10.0), (plain(8), 5.0), (plain(6), 8.0)];
    campaign.time(cell(Collective::Bcast, 4, 64), &times);
    assert_eq!(in_use(&analyze(&campaign, Policy::default()), 4), [8]);
    let assumptions = Assumptions { uniform_datatypes: false, ..Assumptions::default() };
    let strict = analyze(&campaign, Policy { assumptions, ..Policy::default() });
    assert_eq!(in_use(&strict, 4), [6]);
    assert_eq!(strict.tree.alternatives[0].assumption, Assumption::UniformDatatypes);
}

/// Barrier on 2, 4, 8 and 16 ranks: two_proc, recursive doubling twice, tree.
#[test]
fn communicator_sizes_in_between_are_decided_on_purpose() {
    let mut campaign = Campaign::new(7, 0.01);
    for (ranks, best) in [(2, 5), (4, 3), (8, 3), (16, 6)] {
        campaign.time(cell(Collective::Barrier, ranks, 0), &[(Candidate::Builtin, 10.0), (plain(best), 5.0)]);
    }
    let on = |between: Between| {
        let findings = analyze(&campaign, Policy { between, ..Policy::default() });
        assert_eq!(hazard::check(&findings.table), [], "{between:?}");
        (1..=18).map(|ranks| rules(&findings, Collective::Barrier, ranks)[0].1.algorithm).collect::<Vec<_>>()
    };
    //                             1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18
    assert_eq!(on(Between::Keep), [0, 5, 0, 3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0]);
    assert_eq!(on(Between::Agree), [0, 5, 0, 3, 3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0]);
    assert_eq!(on(Between::Lower), [0, 5, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 6, 0, 0]);
}

/// Allgather recursive doubling runs bruck where the number of ranks is no power of two.
#[test]
fn neighbours_do_not_speak_for_sizes_at_which_something_else_runs() {
    let mut campaign = Campaign::new(8, 0.01);
    for ranks in [4, 8] {
        for bytes in [8, 64, 512] {
            let times = [(Candidate::Builtin, 10.0), (plain(3), 5.0)];
            campaign.time(cell(Collective::Allgather, ranks, bytes), &times);
        }
    }
    let findings = analyze(&campaign, Policy { between: Between::Agree, ..Policy::default() });
    for (ranks, algorithm) in [(4, 3), (5, 0), (6, 0), (8, 3)] {
        assert_eq!(findings.table.lookup(Collective::Allgather, ranks, 64 * ranks).algorithm, algorithm, "{ranks}");
    }
}

/// Allgather is looked up by totals: on 6 ranks 100 bytes lie between what was measured on 4 and on 8.
#[test]
fn neighbours_agree_on_messages_and_not_on_totals_alone() {
    let mut campaign = Campaign::new(9, 0.0);
    for ranks in [4, 8] {
        for (bytes, gain) in [(8, 1.0), (64, 2.0), (512, 2.0), (4096, 1.0)] {
            let times = [(Candidate::Builtin, 10.0), (plain(4), 10.0 / gain)];
            campaign.time(cell(Collective::Allgather, ranks, bytes), &times);
        }
    }
    // Merging ranges by lookup bytes is kept out of it: 4 and 8 ranks differ there.
    let findings = analyze(&campaign, Policy { between: Between::Agree, ..Policy::default() });
    let looked_up =
        |ranks: u64, bytes: u64| findings.table.lookup(Collective::Allgather, ranks, bytes * ranks).algorithm;
    for bytes in [64, 128, 512] {
        assert_eq!((looked_up(4, bytes), looked_up(6, bytes), looked_up(8, bytes)), (4, 4, 4), "{bytes}");
    }
    for bytes in [8, 4096] {
        assert_eq!((looked_up(4, bytes), looked_up(6, bytes), looked_up(8, bytes)), (0, 0, 0), "{bytes}");
    }
}

#[test]
fn every_cell_is_in_one_leaf() {
    let mut campaign = Campaign::new(10, 0.02);
    bcast(&mut campaign, 4, [(1.5, 1.0), (0.9, 1.0), (1.5, 2.0), (1.01, 1.0)]);
    bcast(&mut campaign, 8, [(1.5, 1.0), (1.9, 1.0), (1.5, 1.0), (1.01, 2.0)]);
    for between in Between::ALL {
        let findings = analyze(&campaign, Policy { between, ..Policy::default() });
        let leaves = || findings.tree.collectives[0].ranges.iter().flat_map(|range| &range.leaves);
        assert_eq!(leaves().filter_map(|leaf| leaf.evidence.as_ref()).map(|rests| rests.cells).sum::<usize>(), 8);
        assert!(
            leaves()
                .filter(|leaf| leaf.by == Candidate::Builtin)
                .all(|leaf| leaf.evidence.is_none() || !leaf.kept.is_empty())
        );
    }
}

/// The reverted ranges lie around 64 B: measured there, and up to 100 B, between measured sizes.
#[test]
fn what_is_reverted_is_left_to_the_builtin_and_no_more() {
    let mut campaign = Campaign::new(11, 0.0);
    bcast(&mut campaign, 4, [(1.5, 1.0); 4]);
    let observations = Observations::from_samples(campaign.text()).unwrap();
    let analyze = |lookup| {
        let ranks = RankRange { first: 4, end: Some(5) };
        let reverted = [RevertedRange { collective: Collective::Bcast, ranks, lookup }];
        let (placement, policy) = (Placement::default(), Policy::default());
        let criteria = Criteria::default();
        analyze_among(
            Laid { observations: &observations, placement: &placement, run: "a test" },
            &[],
            Release::V5_0,
            criteria,
            policy,
            &reverted,
        )
        .unwrap()
        .0
    };
    for (lookup, expected) in [
        ((20, Some(101)), vec![(0, 0), (8, 1), (20, 0), (101, 1), (4097, 0)]),
        ((100, Some(200)), vec![(0, 0), (8, 1), (100, 0), (200, 1), (4097, 0)]),
        ((0, Some(65)), vec![(0, 0), (65, 1), (4097, 0)]),
        ((512, None), vec![(0, 0), (8, 1), (512, 0)]),
    ] {
        let findings = analyze(lookup);
        let found: Vec<(u64, u32)> = rules(&findings, Collective::Bcast, 4)
            .into_iter()
            .map(|(start, choice)| (start, choice.algorithm))
            .collect();
        assert_eq!(found, expected, "{lookup:?}");
        assert_eq!(findings.tree.worst_regret, 0.0, "what its timings promised is not to be had");
    }
    let cell = |bytes| finding(&analyze((20, Some(101))), cell(Collective::Bcast, 4, bytes)).verdict.clone();
    assert_eq!(cell(64), Verdict::Keep { why: KeepReason::NotConfirmed });
    assert!(matches!(cell(512), Verdict::Replace { .. }));
}
