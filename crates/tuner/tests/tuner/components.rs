//! Rules for calls that are handled by a component that can only be displaced as a whole.

use std::collections::BTreeSet;

use collrules_record::Policy;
use collrules_record::criteria::Criteria;
use collrules_record::findings::{Findings, Verdict};
use collrules_record::reason::KeepReason;
use collrules_record::{Candidate, Component, Placement, Ranks, RunningComponent};
use collrules_rules::{Choice, Collective, Release};
use collrules_tuner::{Laid, Observations, analyze_among};

use crate::campaign::{Campaign, cell, finding, plain, remarked, rules};

const OWN: Candidate = Candidate::Component(Component::TUNED);

fn running(ranks: u32, by: Component) -> RunningComponent {
    let without = if by == Component::TUNED { Vec::new() } else { vec![by] };
    RunningComponent { collective: Collective::Bcast, ranks: Ranks(ranks), by, without }
}

/// Analyses bcast, which `tuned` handles on 2 ranks and `hcoll` on 4.
fn analyze(campaign: &Campaign) -> (Findings, BTreeSet<Collective>) {
    let placement = Placement {
        running: vec![running(2, Component::TUNED), running(4, "hcoll".parse().unwrap())],
        ..Placement::default()
    };
    analyze_in(campaign, &placement)
}

fn analyze_in(campaign: &Campaign, placement: &Placement) -> (Findings, BTreeSet<Collective>) {
    let observations = Observations::from_samples(campaign.text()).unwrap();
    analyze_among(
        Laid { observations: &observations, placement, run: "a synthetic campaign" },
        &[],
        Release::V5_0,
        Criteria::default(),
        Policy::default(),
        &[],
    )
    .unwrap()
}

/// On 2 ranks algorithm 6 is better than the builtin. On 4 ranks, at 1 KiB, what `tuned` does by itself is as good as
/// `hcoll`; at 64 KiB the times are given: `hcoll`, `tuned` by itself, its algorithm 3.
fn campaign(han: f64, own: f64, pipeline: f64) -> Campaign {
    let mut campaign = Campaign::new(1, 0.002);
    campaign.time(cell(Collective::Bcast, 2, 1024), &[(Candidate::Builtin, 10.0), (plain(6), 5.0)]);
    campaign.time(
        cell(Collective::Bcast, 4, 1024),
        &[(Candidate::Builtin, 10.0), (plain(3), 15.0), (plain(6), 14.0), (OWN, 10.0)],
    );
    campaign.time(
        cell(Collective::Bcast, 4, 65536),
        &[(Candidate::Builtin, han), (plain(3), pipeline), (plain(6), 2.0 * han), (OWN, own)],
    );
    campaign
}

#[test]
fn rules_that_pay_displace_the_component_and_gains_are_over_it() {
    let (findings, freed) = analyze(&campaign(100.0, 300.0, 50.0));
    assert_eq!(freed, BTreeSet::from([Collective::Bcast]));
    let large = finding(&findings, cell(Collective::Bcast, 4, 65536));
    assert_eq!(large.in_use, Choice::plain(3));
    let gain = large.gain_in_use().unwrap().point;
    assert!((1.9..2.1).contains(&gain), "{gain}: over hcoll, not over what tuned does by itself");
    let small = finding(&findings, cell(Collective::Bcast, 4, 1024));
    assert_eq!(small.candidate_in_use(), OWN, "no rule means tuned's own decision once hcoll is out of the way");
    assert!((0.98..1.02).contains(&small.gain_in_use().unwrap().point));
    assert_eq!(finding(&findings, cell(Collective::Bcast, 2, 1024)).unruled, Candidate::Builtin);
    assert!(remarked(&findings, "component hcoll runs"));
}

/// Twice as fast at one size, but 20 % slower at another, where the rules leave it to `tuned`.
#[test]
fn a_component_stays_where_a_size_would_lose() {
    let mut campaign = campaign(100.0, 300.0, 50.0);
    campaign.time(
        cell(Collective::Bcast, 4, 256),
        &[(Candidate::Builtin, 10.0), (plain(3), 15.0), (plain(6), 14.0), (OWN, 12.0)],
    );
    let (findings, freed) = analyze(&campaign);
    assert!(freed.is_empty());
    assert_eq!(rules(&findings, Collective::Bcast, 4), [(0, Choice::BUILTIN)]);
    let large = finding(&findings, cell(Collective::Bcast, 4, 65536));
    assert_eq!((large.in_use, large.unruled), (Choice::BUILTIN, Candidate::Builtin));
    assert!(matches!(&large.verdict, Verdict::Keep { why: KeepReason::OtherComponent(_) }));
    assert!(remarked(&findings, "slower for 1 of 3 sizes, by up to 1.20x"));
    // Rules for communicators that tuned handles anyway are not touched.
    assert!(rules(&findings, Collective::Bcast, 2).iter().any(|(_, choice)| *choice == Choice::plain(6)));
}

/// Better than what `tuned` does by itself is not better than what users have.
#[test]
fn what_only_beats_tuned_displaces_nothing() {
    let (findings, freed) = analyze(&campaign(100.0, 300.0, 150.0));
    assert!(freed.is_empty());
    assert_eq!(rules(&findings, Collective::Bcast, 4), [(0, Choice::BUILTIN)]);
}

// A component may have no file with rules: then a setting alone can bring the gain.
#[test]
fn a_setting_alone_is_a_tuning() {
    let mut campaign = Campaign::new(1, 0.002);
    for bytes in [1024, 65536] {
        let times = [(Candidate::Builtin, 20.0), (plain(3), 15.0), (OWN, 10.0)];
        campaign.time(cell(Collective::Bcast, 4, bytes), &times);
    }
    let (findings, freed) = analyze(&campaign);
    assert_eq!(freed, BTreeSet::from([Collective::Bcast]));
    assert!(findings.table.is_empty());
    assert!(findings.cells.iter().all(|cell| cell.candidate_in_use() == OWN));
}

/// Bcast gains without the component, reduce would lose. Where one setting takes both, neither is taken.
#[test]
fn what_one_setting_takes_has_to_gain_together() {
    let mut campaign = Campaign::new(1, 0.002);
    for (collective, own) in [(Collective::Bcast, 10.0), (Collective::Reduce, 30.0)] {
        let times = [(Candidate::Builtin, 20.0), (plain(3), 35.0), (OWN, own)];
        for bytes in [1024, 65536] {
            campaign.time(cell(collective, 4, bytes), &times);
        }
    }
    for (component, expected) in [("ucc", vec![Collective::Bcast]), ("hcoll", Vec::new())] {
        let by: Component = component.parse().unwrap();
        let of = |collective| RunningComponent { collective, ..running(4, by) };
        let placement =
            Placement { running: vec![of(Collective::Bcast), of(Collective::Reduce)], ..Placement::default() };
        let (findings, freed) = analyze_in(&campaign, &placement);
        assert_eq!(freed, expected.into_iter().collect(), "{component}");
        assert!(remarked(&findings, "On 4 ranks, Open MPI's component"), "{component}");
        let reason = "hcoll can only be switched off for all its collectives together, and reduce";
        assert_eq!(remarked(&findings, reason), component == "hcoll");
    }
}

#[test]
fn without_other_components_nothing_is_different() {
    let campaign = campaign(100.0, 300.0, 50.0);
    let observations = Observations::from_samples(campaign.text()).unwrap();
    let placement = Placement::default();
    let (among, freed) = analyze_among(
        Laid { observations: &observations, placement: &placement, run: "a synthetic campaign" },
        &[],
        Release::V4_1,
        Criteria::default(),
        Policy::default(),
        &[],
    )
    .unwrap();
    assert!(freed.is_empty());
    assert_eq!(among, campaign.analyze());
}
