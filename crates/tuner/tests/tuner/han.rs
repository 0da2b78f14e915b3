//! Rules of coll/tuned and of HAN, found together if HAN handles the calls by default.

use collrules_record::findings::Findings;

use collrules_record::criteria::Criteria;
use collrules_record::validation::RevertedRange;
use collrules_record::{Candidate, Cell, Component, HanAlgorithm, HanRule, Placement, Policy, Ranks, RunningComponent};
use collrules_rules::hazard::RankRange;
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::{Laid, Observations, analyze_among};

use crate::campaign::{Campaign, cell, finding, plain, remarked, rules};

const HAN: Candidate = Candidate::Builtin;
const OWN: Candidate = Candidate::Component(Component::TUNED);

/// Analyses a campaign in which HAN handles everything on 8 ranks.
fn analyze(campaign: &Campaign, reverted: &[RevertedRange]) -> Findings {
    let running = |collective| RunningComponent {
        collective,
        ranks: Ranks(8),
        by: Component::HAN,
        without: vec![Component::HAN],
    };
    let running = [Collective::Bcast, Collective::Allgather, Collective::Scatter].map(running).to_vec();
    let placement = Placement { running, ..Placement::default() };
    let observations = Observations::from_samples(campaign.text()).unwrap();
    let (criteria, policy) = (Criteria::default(), Policy::default());
    let analyzed = analyze_among(
        Laid { observations: &observations, placement: &placement, run: "a synthetic campaign" },
        &[],
        Release::V5_0,
        criteria,
        policy,
        reverted,
    );
    let (findings, freed) = analyzed.unwrap();
    assert!(freed.is_empty(), "HAN has a file, and needs no setting");
    findings
}

/// Microseconds of HAN, of coll/tuned by its own decision, and of its algorithms 3 and 6.
fn campaign(collective: Collective, times: &[(u64, [f64; 4])]) -> Campaign {
    let mut campaign = Campaign::new(1, 0.002);
    for (bytes, [han, own, pipeline, binomial]) in times {
        let candidates = [(HAN, *han), (plain(3), *pipeline), (plain(6), *binomial), (OWN, *own)];
        campaign.time(cell(collective, 8, *bytes), &candidates);
    }
    campaign
}

/// HAN is best at 64 B, coll/tuned by its own decision at 1 and 4 KiB, its pipeline at 64 KiB.
fn bcast() -> Campaign {
    let times = [
        (64, [10.0, 12.0, 15.0, 14.0]),
        (1024, [20.0, 10.0, 15.0, 14.0]),
        (4096, [40.0, 20.0, 30.0, 30.0]),
        (65536, [100.0, 200.0, 30.0, 90.0]),
    ];
    campaign(Collective::Bcast, &times)
}

fn in_use(findings: &Findings, collective: Collective, bytes: u64) -> Candidate {
    finding(findings, cell(collective, 8, bytes)).candidate_in_use()
}

#[test]
fn each_size_gets_the_best_of_both() {
    let findings = analyze(&bcast(), &[]);
    let sizes = [64, 1024, 4096, 65536];
    assert_eq!(sizes.map(|bytes| in_use(&findings, Collective::Bcast, bytes)), [HAN, OWN, OWN, plain(3)]);
    assert_eq!(sizes.map(|bytes| findings.han.delegates(cell(Collective::Bcast, 8, bytes))), [false, true, true, true]);
    // What was not measured stays with HAN: beyond the largest size, and on other communicators.
    let elsewhere = [(8, 65537), (8, 63), (7, 4096), (9, 4096)];
    assert!(elsewhere.iter().all(|(ranks, bytes)| !findings.han.delegates(cell(Collective::Bcast, *ranks, *bytes))));
    // Rules say nothing where HAN runs or coll/tuned decides by itself.
    let rules = rules(&findings, Collective::Bcast, 8);
    assert_eq!(rules.iter().map(|(_, choice)| choice.algorithm).collect::<Vec<_>>(), [0, 3, 0]);
    // Both files change at the same sizes.
    let at = rules[1].0;
    assert!((4097..=65536).contains(&at), "{rules:?}");
    assert!(remarked(&findings, "moves 3 of 4 sizes to coll/tuned"));
    assert!(remarked(&findings, "on a single node as well"));
}

/// HAN by another of its algorithms is a choice like any other: its file asks for it, and rules say nothing.
#[test]
fn han_may_be_asked_for_another_of_its_algorithms() {
    const SIMPLE: Candidate = Candidate::Han(HanAlgorithm::Simple);
    let mut campaign = Campaign::new(1, 0.002);
    for (bytes, [han, own, simple]) in
        [(64, [10.0, 12.0, 11.0]), (1024, [20.0, 15.0, 10.0]), (4096, [40.0, 10.0, 20.0])]
    {
        campaign.time(cell(Collective::Bcast, 8, bytes), &[(HAN, han), (SIMPLE, simple), (OWN, own)]);
    }
    let findings = analyze(&campaign, &[]);
    let sizes = [64, 1024, 4096];
    assert_eq!(sizes.map(|bytes| in_use(&findings, Collective::Bcast, bytes)), [HAN, SIMPLE, OWN]);
    let said = sizes.map(|bytes| findings.han.rule(cell(Collective::Bcast, 8, bytes)));
    assert_eq!(said, [HanRule::Default, HanRule::Simple, HanRule::Delegate]);
    assert!(findings.table.is_empty());
    assert!(remarked(&findings, "moves 1 of 3 sizes to coll/tuned and 1 to another algorithm of HAN"));
}

/// A run that gains by HAN's file alone has no rules of coll/tuned.
#[test]
fn the_file_of_han_may_be_all() {
    let findings = analyze(&campaign(Collective::Bcast, &[(1024, [20.0, 10.0, 15.0, 14.0])]), &[]);
    assert!(findings.table.is_empty() && !findings.changes_nothing());
    assert!(findings.han.delegates(cell(Collective::Bcast, 8, 1024)));
    let slower = analyze(&campaign(Collective::Bcast, &[(1024, [10.0, 20.0, 15.0, 14.0])]), &[]);
    assert!(slower.changes_nothing());
    assert!(remarked(&slower, "It stays"));
}

/// HAN looks up what callers pass, coll/tuned the bytes of all ranks: the same calls have to be meant.
#[test]
fn blocks_are_counted_in_the_units_of_either_file() {
    let times = [(64, [10.0, 12.0, 15.0, 14.0]), (1024, [20.0, 15.0, 5.0, 14.0])];
    let findings = analyze(&campaign(Collective::Allgather, &times), &[]);
    let rules = rules(&findings, Collective::Allgather, 8);
    let (start, end) = (rules[1].0, rules[2].0);
    assert_eq!(end, 8 * 1024 + 1);
    let hands = |bytes| findings.han.delegates(cell(Collective::Allgather, 8, bytes));
    let first = start.div_ceil(8);
    assert_eq!((hands(first - 1), hands(first), hands(1024), hands(1025)), (false, true, true, false));
}

/// In a scatter ranks may pass other counts: all sizes turn to one component, by one choice.
#[test]
fn ranks_of_a_scatter_never_turn_to_different_components() {
    let mixed = [(64, [10.0, 30.0, 30.0, 30.0]), (1024, [40.0, 20.0, 39.0, 39.0])];
    assert!(analyze(&campaign(Collective::Scatter, &mixed), &[]).changes_nothing());
    let better = [(64, [40.0, 30.0, 30.0, 30.0]), (1024, [40.0, 20.0, 39.0, 39.0])];
    let findings = analyze(&campaign(Collective::Scatter, &better), &[]);
    for bytes in [0, 1, 100, 1 << 20] {
        assert!(findings.han.delegates(cell(Collective::Scatter, 8, bytes)), "{bytes}");
    }
    assert_eq!([64, 1024].map(|bytes| in_use(&findings, Collective::Scatter, bytes)), [OWN, OWN]);
}

#[test]
fn what_is_reverted_goes_back_to_han() {
    let reverted = [RevertedRange {
        collective: Collective::Bcast,
        ranks: RankRange { first: 8, end: Some(9) },
        lookup: (1024, Some(1025)),
    }];
    let findings = analyze(&bcast(), &reverted);
    let at = |bytes| in_use(&findings, Collective::Bcast, bytes);
    assert_eq!((at(1024), at(4096), at(65536)), (HAN, OWN, plain(3)));
    let hands =
        |bytes| findings.han.delegates(Cell { bytes: collrules_record::Bytes(bytes), ..cell(Collective::Bcast, 8, 0) });
    assert!(!hands(1024) && hands(4096));
    assert_eq!(finding(&findings, cell(Collective::Bcast, 8, 1024)).in_use, Choice::BUILTIN);
}
