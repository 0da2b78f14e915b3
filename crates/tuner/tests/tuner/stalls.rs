//! Candidates whose rare slow calls medians do not show.

use collrules_record::criteria::{Criteria, Middle};
use collrules_record::{Candidate, Cell};
use collrules_rules::{Collective, Release};

use crate::campaign::{Campaign, cell, finding, plain, remarked, replacement, why_kept};

/// Two launches of eight visits of six rounds; the slow calls take 200 ms more, as after a lost packet.
fn campaign(place: Cell, times: [(Candidate, f64, f64); 2]) -> Campaign {
    let mut campaign = Campaign::new(7, 0.0);
    let mut call: [f64; 2] = [0.0; 2];
    for (launch, visit, round) in (0..2).flat_map(|l| (0..8).flat_map(move |v| (0..6).map(move |r| (l, v, r)))) {
        for (at, (candidate, micros, share)) in times.iter().enumerate() {
            call[at] += share;
            let stall = if call[at] >= 1.0 { 0.2 } else { 0.0 };
            call[at] %= 1.0;
            let seconds = micros * 1e-6 * (0.01 * campaign.normal()).exp() + stall;
            campaign.sample(place, *candidate, (launch, visit, round), seconds);
        }
    }
    campaign
}

fn by(campaign: &Campaign, criteria: Criteria) -> collrules_record::findings::Findings {
    campaign.analyze_with(Release::V4_1, criteria)
}

#[test]
fn what_stalls_does_not_replace_a_builtin_that_does_not() {
    for collective in [Collective::Bcast, Collective::Gather] {
        let place = cell(collective, 8, 32 << 10);
        let campaign = campaign(place, [(Candidate::Builtin, 900.0, 0.0), (plain(1), 600.0, 0.1)]);
        let findings = by(&campaign, Criteria::default());
        assert_eq!(replacement(&findings, place), None, "{collective}");
        assert!(why_kept(&findings, place).contains("stalls: 9 of 96 calls take more than 3.5"), "{findings:?}");
        assert!(remarked(&findings, "it is not chosen there (--accept-stalls)"), "{:?}", findings.remarks);
        assert!(findings.table.is_empty(), "{collective}");
        let point = finding(&findings, place).point(plain(1)).expect("was timed");
        assert!(
            point.stalls.is_some_and(|stalls| stalls.mean_ratio > 10.0) && point.gain.is_some_and(|g| g.point > 1.4)
        );

        let asked = by(&campaign, Criteria { accept_stalls: true, ..Criteria::default() });
        assert_eq!(replacement(&asked, place), Some(plain(1)), "{collective}");
        assert!(remarked(&asked, "it is accepted (--accept-stalls)") && !asked.table.is_empty());

        let means = by(&campaign, Criteria { middle: Middle::Mean, ..Criteria::default() });
        assert_eq!((replacement(&means, place), why_kept(&means, place)), (None, "no algorithm is faster".to_owned()));
    }
}

#[test]
fn means_replace_a_builtin_that_stalls() {
    let place = cell(Collective::Gather, 8, 32 << 10);
    let campaign = campaign(place, [(Candidate::Builtin, 600.0, 0.25), (plain(3), 900.0, 0.0)]);
    assert_eq!(why_kept(&campaign.analyze(), place), "no algorithm is faster");
    let means = by(&campaign, Criteria { middle: Middle::Mean, ..Criteria::default() });
    assert_eq!(replacement(&means, place), Some(plain(3)));
    let gain = finding(&means, place).point(plain(3)).and_then(|point| point.gain).expect("a gain");
    assert!(gain.low.is_some_and(|low| low > 10.0) && gain.point < 100.0, "{gain:?}");
}

/// Both stall as often: medians decide, as ever.
#[test]
fn what_stalls_as_the_builtin_does_replaces_it() {
    let place = cell(Collective::Gather, 8, 32 << 10);
    let campaign = campaign(place, [(Candidate::Builtin, 900.0, 0.1), (plain(1), 600.0, 0.1)]);
    assert_eq!(replacement(&campaign.analyze(), place), Some(plain(1)));
}
