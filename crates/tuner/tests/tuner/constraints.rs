//! Tests of choices that rules must not contain, however fast they are.

use collrules_record::Candidate;
use collrules_report::remarks::remarks;
use collrules_rules::{Choice, Collective, Release};

use crate::campaign::{Campaign, cell, finding, plain, remarked, replacement, rules, why_kept};

/// Times a collective of 8 B on 4 ranks, 64 B and 512 B. Each candidate comes with its gains at the three sizes.
fn time_gains(campaign: &mut Campaign, collective: Collective, candidates: &[(u32, [f64; 3])]) {
    for (place, bytes) in [8, 64, 512].into_iter().enumerate() {
        let mut times = vec![(Candidate::Builtin, 10.0)];
        times.extend(candidates.iter().map(|(id, gains)| (plain(*id), 10.0 / gains[place])));
        campaign.time(cell(collective, 4, bytes), &times);
    }
}

fn only(choice: Choice) -> Vec<(u64, Choice)> {
    vec![(0, choice)]
}

#[test]
fn scatter_has_one_choice_that_is_nowhere_slower() {
    let mut campaign = Campaign::new(1, 0.01);
    // The largest gain is that of 1, but it is slower at 512 B; of the others 3 has the larger mean.
    time_gains(&mut campaign, Collective::Scatter, &[(1, [3.0, 3.0, 0.9]), (2, [1.2, 1.2, 1.0]), (3, [1.3, 1.3, 1.0])]);
    let findings = campaign.analyze();
    assert_eq!(rules(&findings, Collective::Scatter, 4), only(Choice::plain(3)));
    assert_eq!(replacement(&findings, cell(Collective::Scatter, 4, 8)), Some(plain(1)), "the verdict stands");
    assert!(findings.cells.iter().all(|cell| cell.in_use == Choice::plain(3)), "and is overruled");
    assert!(findings.crossovers.is_empty());
    assert!(remarked(&findings, "Rules for scatter also apply to message sizes outside the measured ones"));
}

#[test]
fn scatter_keeps_the_builtin_where_every_candidate_is_slower_somewhere() {
    let mut campaign = Campaign::new(2, 0.01);
    time_gains(&mut campaign, Collective::Scatter, &[(1, [3.0, 3.0, 0.9]), (2, [0.9, 2.0, 2.0])]);
    let findings = campaign.analyze();
    assert!(findings.table.is_empty());
    assert!(remarked(&findings, "On 4 ranks, scatter keeps the default although other algorithms are faster at some"));
}

#[test]
fn scatter_needs_the_candidate_timed_at_every_size() {
    let mut campaign = Campaign::new(3, 0.01);
    time_gains(&mut campaign, Collective::Scatter, &[(1, [2.0, 2.0, 2.0])]);
    campaign.time(cell(Collective::Scatter, 4, 4096), &[(Candidate::Builtin, 10.0), (plain(2), 11.0)]);
    assert!(campaign.analyze().table.is_empty());
}

#[test]
fn a_collective_whose_lookup_is_blind_to_the_size_has_one_choice() {
    for (collective, release) in
        [(Collective::Gather, Release::V4_0), (Collective::Alltoallv, Release::V5_0), (Collective::Scan, Release::V4_1)]
    {
        let mut campaign = Campaign::new(4, 0.01);
        time_gains(&mut campaign, collective, &[(1, [1.5, 1.0, 1.5]), (2, [1.6, 1.6, 0.8])]);
        let findings = campaign.analyze_with(release, Default::default());
        assert_eq!(rules(&findings, collective, 4), only(Choice::plain(1)), "{collective} {release}");
        assert!(remarked(&findings, "also apply to message sizes outside"));
    }
}

#[test]
fn a_barrier_has_one_rule_per_communicator_size() {
    let mut campaign = Campaign::new(5, 0.01);
    campaign.time(cell(Collective::Barrier, 4, 0), &[(Candidate::Builtin, 10.0), (plain(3), 8.0), (plain(4), 9.0)]);
    campaign.time(cell(Collective::Barrier, 8, 0), &[(Candidate::Builtin, 10.0), (plain(3), 9.0), (plain(4), 8.0)]);
    let findings = campaign.analyze();
    assert_eq!(rules(&findings, Collective::Barrier, 4), only(Choice::plain(3)));
    assert_eq!(rules(&findings, Collective::Barrier, 8), only(Choice::plain(4)));
    for ranks in [0, 3, 5, 7, 9, 1000] {
        assert_eq!(rules(&findings, Collective::Barrier, ranks), only(Choice::BUILTIN), "{ranks} ranks");
    }
    assert!(!remarked(&findings, "message sizes outside"));
}

#[test]
fn message_sizes_outside_the_measured_ones_keep_the_builtin() {
    let mut campaign = Campaign::new(6, 0.01);
    time_gains(&mut campaign, Collective::Bcast, &[(6, [1.5, 1.5, 1.5])]);
    let expected = vec![(0, Choice::BUILTIN), (8, Choice::plain(6)), (513, Choice::BUILTIN)];
    assert_eq!(rules(&campaign.analyze(), Collective::Bcast, 4), expected);
    let mut campaign = Campaign::new(6, 0.01);
    time_gains(&mut campaign, Collective::Alltoall, &[(2, [1.5, 1.5, 1.5])]);
    let expected = vec![(0, Choice::BUILTIN), (32, Choice::plain(2)), (2049, Choice::BUILTIN)];
    assert_eq!(rules(&campaign.analyze(), Collective::Alltoall, 4), expected);
}

#[test]
fn two_process_algorithms_serve_two_processes_only() {
    let mut campaign = Campaign::new(7, 0.01);
    let two_proc = plain(5);
    for ranks in [2, 3] {
        campaign.time(cell(Collective::Barrier, ranks, 0), &[(Candidate::Builtin, 10.0), (two_proc, 5.0)]);
    }
    let findings = campaign.analyze();
    assert_eq!(rules(&findings, Collective::Barrier, 2), only(two_proc.choice().expect("is a choice")));
    assert_eq!(rules(&findings, Collective::Barrier, 3), only(Choice::BUILTIN));
    assert_eq!(
        why_kept(&findings, cell(Collective::Barrier, 3, 0)),
        "the faster algorithm must not be chosen: it is invalid on 3 ranks"
    );
    assert!(remarked(&findings, "barrier: faster than the default for 1 size, but not chosen"));
}

#[test]
fn candidates_that_are_barred_for_one_reason_have_one_remark() {
    let mut campaign = Campaign::new(8, 0.01);
    time_gains(&mut campaign, Collective::Allreduce, &[(4, [1.5, 1.5, 1.5]), (5, [1.4, 1.2, 0.9])]);
    let findings = campaign.analyze();
    let said: Vec<String> = remarks(&findings).into_iter().filter(|remark| remark.contains("not chosen")).collect();
    let [remark] = &said[..] else { panic!("{said:?}") };
    let begin = "allreduce: faster than the default for 3 sizes, but not chosen: ring and segmented_ring (it gives";
    assert!(remark.starts_with(begin), "{remark}");
    assert!(remark.contains("(it gives wrong results for operations that do not commute"), "{remark}");
}

#[test]
fn a_failure_bars_the_candidate_for_that_communicator_size() {
    let mut campaign = Campaign::new(8, 0.01);
    time_gains(&mut campaign, Collective::Bcast, &[(6, [1.5, 1.5, 1.5]), (2, [1.2, 1.2, 1.2])]);
    campaign.time(cell(Collective::Bcast, 8, 64), &[(Candidate::Builtin, 10.0), (plain(6), 5.0)]);
    campaign.end(cell(Collective::Bcast, 4, 512), plain(6), "\"disqualified: wrong data on rank 3, expected 7\"");
    campaign.end(cell(Collective::Bcast, 8, 64), plain(6), "dropped: beaten");
    let findings = campaign.analyze();
    assert_eq!(replacement(&findings, cell(Collective::Bcast, 4, 8)), Some(plain(2)));
    assert_eq!(replacement(&findings, cell(Collective::Bcast, 8, 64)), Some(plain(6)));
    let failed = &finding(&findings, cell(Collective::Bcast, 4, 512)).disqualified;
    assert_eq!(*failed, [(plain(6), "wrong data on rank 3, expected 7".to_owned())]);
    assert!(remarked(&findings, "failed on 4 ranks at 512 B (wrong data on rank 3, expected 7)"));
}

#[test]
fn a_cell_where_the_builtin_failed_is_not_judged() {
    let mut campaign = Campaign::new(9, 0.01);
    time_gains(&mut campaign, Collective::Bcast, &[(6, [1.5, 1.5, 1.5])]);
    campaign.end(cell(Collective::Bcast, 4, 8), Candidate::Builtin, "disqualified: wrong data");
    let findings = campaign.analyze();
    assert_eq!(why_kept(&findings, cell(Collective::Bcast, 4, 8)), "the default itself failed");
    assert_eq!(replacement(&findings, cell(Collective::Bcast, 4, 64)), Some(plain(6)));
}

#[test]
fn what_breaks_operations_that_do_not_commute_is_not_chosen() {
    let mut campaign = Campaign::new(10, 0.01);
    time_gains(&mut campaign, Collective::Reduce, &[(5, [2.0, 2.0, 2.0]), (6, [1.2, 1.2, 1.0])]);
    let findings = campaign.analyze();
    assert_eq!(replacement(&findings, cell(Collective::Reduce, 4, 8)), Some(plain(6)));
    assert!(findings.cells.iter().all(|cell| cell.in_use.algorithm != 5));
    assert!(remarked(&findings, "(it gives wrong results for"));
}

#[test]
fn an_algorithm_that_the_release_lacks_is_not_chosen() {
    let mut campaign = Campaign::new(11, 0.01);
    time_gains(&mut campaign, Collective::Bcast, &[(55, [2.0, 2.0, 2.0])]);
    let findings = campaign.analyze();
    assert!(findings.table.is_empty());
    assert!(remarked(&findings, "Open MPI 4.1 has no bcast algorithm 55"));
}

/// At 64 B the two cannot be told apart; 2 is better at 8 B and 512 B, and so all three use it.
#[test]
fn among_ties_neighbouring_sizes_share_a_choice() {
    let mut campaign = Campaign::new(12, 0.03);
    time_gains(&mut campaign, Collective::Bcast, &[(2, [1.5, 1.3, 1.5]), (6, [1.0, 1.301, 1.0])]);
    let findings = campaign.analyze();
    assert_eq!(rules(&findings, Collective::Bcast, 4).len(), 3);
    assert!(findings.cells.iter().all(|cell| cell.in_use == Choice::plain(2)));
}
