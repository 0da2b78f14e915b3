//! Error rate and power, over many seeded campaigns.

use collrules_record::Candidate;
use collrules_record::Seconds;
use collrules_record::criteria::Criteria;
use collrules_rules::{Choice, Collective, Release};

use crate::campaign::{Campaign, cell, plain, replacement, why_kept};

/// Nothing is better than anything else, and the noise of 20 % makes differences of several per cent common, so that
/// the threshold alone would let many through.
#[test]
#[ignore = "part of `make test-all`"]
fn pure_noise_makes_no_more_rules_than_the_error_rate() {
    let campaigns = 100;
    let criteria = Criteria::default();
    let mut wrong = 0;
    for seed in 0..campaigns {
        let mut campaign = Campaign::new(seed, 0.2);
        campaign.round_noise = 0.3;
        // As large as the rest, and the same in all rounds of a visit.
        campaign.visit_noise = 0.1;
        for power in 0..20 {
            let times: Vec<_> = (0..6).map(|id| (Candidate::from_choice(Choice::plain(id)), 10.0)).collect();
            campaign.time(cell(Collective::Bcast, 8, 1 << power), &times);
        }
        wrong += u32::from(!campaign.analyze_with(Release::V4_1, criteria).table.is_empty());
    }
    let share = f64::from(wrong) / campaigns as f64;
    let sigma = (criteria.error_rate * (1.0 - criteria.error_rate) / campaigns as f64).sqrt();
    assert!(share <= criteria.error_rate + 3.0 * sigma, "{wrong} of {campaigns} campaigns made rules");
}

/// Two sizes at each communicator size: few enough that the means of some candidates gain by chance more than the
/// threshold, and lose nowhere, so that the test over both sizes is all that is in the way.
#[test]
#[ignore = "part of `make test-all`"]
fn pure_noise_makes_no_more_common_choices_than_the_error_rate() {
    let campaigns = 100;
    let criteria = Criteria::default();
    let mut wrong = 0;
    let mut tempting = 0;
    for seed in 0..campaigns {
        let mut campaign = Campaign::new(seed, 0.2);
        campaign.round_noise = 0.3;
        campaign.visit_noise = 0.1;
        for ranks in 2..12 {
            for bytes in [8, 4096] {
                let times: Vec<_> = (0..4).map(|id| (Candidate::from_choice(Choice::plain(id)), 10.0)).collect();
                campaign.time(cell(Collective::Scatter, ranks, bytes), &times);
            }
        }
        wrong += u32::from(!campaign.analyze_with(Release::V4_1, criteria).table.is_empty());
        let credulous = Criteria { error_rate: 1.0, ..criteria };
        tempting += u32::from(!campaign.analyze_with(Release::V4_1, credulous).table.is_empty());
    }
    let share = f64::from(wrong) / campaigns as f64;
    let sigma = (criteria.error_rate * (1.0 - criteria.error_rate) / campaigns as f64).sqrt();
    assert!(share <= criteria.error_rate + 3.0 * sigma, "{wrong} of {campaigns} campaigns made rules");
    // Gains corrected for luck withstand most of the temptation by themselves.
    assert!(f64::from(tempting) > 0.15 * campaigns as f64, "{tempting} of {campaigns} would have without a test");
}

#[test]
fn a_winner_by_ten_per_cent_is_found() {
    let campaigns = 50;
    let cells = 4;
    let mut found = 0;
    for seed in 0..campaigns {
        let mut campaign = Campaign::new(seed, 0.03);
        for power in 0..cells {
            let mut times = vec![(Candidate::Builtin, 11.0), (plain(6), 10.0)];
            times.extend((1..5).map(|id| (plain(id), 12.0)));
            campaign.time(cell(Collective::Bcast, 8, 1024 << power), &times);
        }
        let findings = campaign.analyze();
        let won = |power: &u64| replacement(&findings, cell(Collective::Bcast, 8, 1024 << power)) == Some(plain(6));
        found += (0..cells).filter(won).count() as u64;
    }
    let power = found as f64 / (campaigns * cells) as f64;
    assert!(power > 0.9, "power {power}");
}

#[test]
fn where_nothing_beats_the_builtin_there_are_no_rules() {
    let mut campaign = Campaign::new(7, 0.02);
    for collective in [Collective::Bcast, Collective::Scatter, Collective::Barrier] {
        for ranks in [2, 4] {
            let times = [(Candidate::Builtin, 10.0), (plain(1), 12.0), (plain(2), 10.0), (plain(3), 9.95)];
            campaign.time(cell(collective, ranks, 0), &times);
        }
    }
    let findings = campaign.analyze();
    assert!(findings.table.is_empty() && findings.crossovers.is_empty());
    assert!(findings.cells.iter().all(|cell| cell.in_use.is_builtin()));
}

#[test]
fn the_reasons_for_keeping_the_builtin_are_told_apart() {
    let at = |bytes| cell(Collective::Bcast, 4, bytes);
    let mut campaign = Campaign::new(8, 0.0);
    campaign.time(at(1), &[(Candidate::Builtin, 10.0), (plain(1), 10.0), (plain(2), 11.0)]);
    campaign.time(at(2), &[(Candidate::Builtin, 10.2), (plain(1), 10.0)]);
    campaign.time(at(4), &[(plain(1), 10.0)]);
    campaign.time(at(8), &[(Candidate::Builtin, 10.0)]);
    // Eight visits that contradict each other: faster in five, slower in three.
    for visit in 0..8 {
        campaign.sample(at(32), Candidate::Builtin, (0, visit, 0), 1e-5);
        campaign.sample(at(32), plain(1), (0, visit, 0), if visit < 5 { 0.9e-5 } else { 1.2e-5 });
    }
    // Two launches: twice as fast in the first, a little slower in the second.
    for visit in 0..30 {
        let launch = u32::from(visit >= 24);
        campaign.sample(at(64), Candidate::Builtin, (launch, visit, 0), 1e-5);
        campaign.sample(at(64), plain(1), (launch, visit, 0), if launch == 0 { 0.5e-5 } else { 1.01e-5 });
    }
    // Faster by 40 nanoseconds, on a clock that steps by 25.
    campaign.time(at(128), &[(Candidate::Builtin, 0.24), (plain(1), 0.20)]);
    // Five visits of many rounds, the candidate twice as fast in each.
    campaign.visits = 5;
    campaign.rounds_per_visit = 20;
    campaign.time(at(16), &[(Candidate::Builtin, 20.0), (plain(1), 10.0)]);
    let criteria = Criteria { clock_step: Seconds(25e-9), ..Criteria::default() };
    let findings = campaign.analyze_with(Release::V4_1, criteria);
    for (bytes, why) in [
        (1, "no algorithm is faster"),
        (2, "faster by less than 3 %"),
        (4, "the default was not timed"),
        (8, "no algorithm was timed"),
        (16, "timed in fewer than 6 visits"),
        (32, "not significant"),
        (64, "not faster in every launch"),
        (128, "faster by less than the clock resolves"),
    ] {
        assert_eq!(why_kept(&findings, at(bytes)), why, "{bytes} bytes");
    }
    assert!(findings.table.is_empty());
}
