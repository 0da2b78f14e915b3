//! Choices that all message sizes share have to convince over all of them.

use collrules_record::criteria::Criteria;
use collrules_record::{Candidate, Cell, Seconds};
use collrules_rules::{Choice, Collective, Release};

use crate::campaign::{Campaign, cell, plain, remarked, replacement, rules};

fn at(place: usize) -> Cell {
    cell(Collective::Scatter, 4, 1 << place)
}

/// Times scatter on 4 ranks, at one size for each gain of algorithm 1 over a builtin of 10 us.
fn time(campaign: &mut Campaign, gains: &[f64]) {
    for (place, gain) in gains.iter().enumerate() {
        campaign.time(at(place), &[(Candidate::Builtin, 10.0), (plain(1), 10.0 / gain)]);
    }
}

fn chosen(campaign: &Campaign) -> Choice {
    rules(&campaign.analyze(), Collective::Scatter, 4)[0].1
}

fn with_gains(seed: u64, noise: f64, gains: &[f64]) -> Campaign {
    let mut campaign = Campaign::new(seed, noise);
    time(&mut campaign, gains);
    campaign
}

#[test]
fn a_large_gain_at_one_size_does_not_pay_for_losses_at_the_others() {
    let mut gains = [0.98; 21];
    gains[10] = 4.0;
    let campaign = with_gains(1, 0.01, &gains);
    let findings = campaign.analyze();
    assert_eq!(replacement(&findings, at(10)), Some(plain(1)), "in that cell it is better");
    assert!(findings.table.is_empty());
    assert!(remarked(&findings, "On 4 ranks, scatter keeps the default although other algorithms are faster at some"));
    // So noisy that no loss is shown by itself.
    for seed in 0..20 {
        assert_eq!(chosen(&with_gains(seed, 0.1, &gains)), Choice::BUILTIN, "seed {seed}");
    }
}

/// Four times as fast at one size of nine, and as fast as the builtin at the others: nothing is lost by it, and the mean
/// gains, but eight sizes of nine say nothing. Three campaigns of ten choose it (58 of the first 200 seeds).
#[test]
fn a_gain_at_one_size_alone_is_seldom_enough_for_all() {
    let mut gains = [1.0; 9];
    gains[4] = 4.0;
    let kept = (0..100).filter(|seed| chosen(&with_gains(*seed, 0.01, &gains)).is_builtin()).count();
    assert!((60..80).contains(&kept), "{kept} of 100");
    assert!((0..20).all(|seed| chosen(&with_gains(seed, 0.01, &[1.0; 9])).is_builtin()), "where nothing gains");
}

/// Five per cent at each size, where the noise leaves no size significant by itself.
#[test]
fn what_all_sizes_show_together_is_enough() {
    let found = (0..20).filter(|seed| {
        let mut campaign = Campaign::new(*seed, 0.04);
        campaign.visits = 8;
        time(&mut campaign, &[1.05; 12]);
        let findings = campaign.analyze_with(Release::V4_1, Criteria { error_rate: 0.001, ..Criteria::default() });
        (0..12).all(|place| replacement(&findings, at(place)).is_none()) && !findings.table.is_empty()
    });
    assert!(found.count() >= 12);
}

#[test]
fn every_launch_has_to_show_the_mean_gain() {
    for (second, expected) in [(0.99, Choice::BUILTIN), (1.01, Choice::plain(1))] {
        let mut campaign = Campaign::new(1, 0.0);
        for place in 0..4 {
            for visit in 0..16 {
                let (launch, gain) = if visit < 12 { (0, 1.5) } else { (1, second) };
                campaign.sample(at(place), Candidate::Builtin, (launch, visit, 0), 1e-5);
                campaign.sample(at(place), plain(1), (launch, visit, 0), 1e-5 / gain);
            }
        }
        assert_eq!(chosen(&campaign), expected, "{second} in the second launch");
    }
}

/// Dropped at one size in the first of two launches, although it was fast there.
#[test]
fn a_candidate_that_a_launch_left_out_at_one_size_is_not_chosen() {
    let mut campaign = with_gains(1, 0.01, &[1.5, 1.5, 1.5]);
    campaign.time(at(3), &[(Candidate::Builtin, 10.0)]);
    for visit in 0..8 {
        campaign.sample(at(3), plain(1), (0, visit, 0), 5e-6);
    }
    assert_eq!(chosen(&campaign), Choice::BUILTIN);
    for visit in 0..8 {
        campaign.sample(at(3), plain(1), (1, visit, 0), 5e-6);
    }
    assert_eq!(chosen(&campaign), Choice::plain(1));
}

#[test]
fn a_cell_with_too_few_visits_leaves_the_builtin() {
    let mut campaign = with_gains(1, 0.01, &[1.5, 1.5, 1.5]);
    campaign.visits = 5;
    campaign.time(at(3), &[(Candidate::Builtin, 10.0), (plain(1), 5.0)]);
    assert_eq!(chosen(&campaign), Choice::BUILTIN);
}

#[test]
fn a_candidate_that_failed_at_one_size_is_not_chosen() {
    let mut campaign = with_gains(1, 0.01, &[1.5, 1.5, 1.5]);
    campaign.end(at(1), plain(1), "disqualified: wrong data");
    assert_eq!(chosen(&campaign), Choice::BUILTIN);
}

/// 40 nanoseconds on a clock that steps by 25.
#[test]
fn gains_that_the_clock_cannot_tell_count_as_none() {
    let mut campaign = Campaign::new(1, 0.0);
    for place in 0..4 {
        campaign.time(at(place), &[(Candidate::Builtin, 0.24), (plain(1), 0.20)]);
    }
    assert_eq!(chosen(&campaign), Choice::plain(1));
    let criteria = Criteria { clock_step: Seconds(25e-9), ..Criteria::default() };
    assert!(campaign.analyze_with(Release::V4_1, criteria).table.is_empty());
}

#[test]
fn a_single_size_decides_for_all_and_it_is_said() {
    let single = "On 4 ranks, a single measured message size decided for scatter calls of every size.";
    let mut campaign = with_gains(1, 0.01, &[1.5]);
    assert_eq!(chosen(&campaign), Choice::plain(1));
    assert!(remarked(&campaign.analyze(), single));
    campaign.time(cell(Collective::Scatter, 8, 1), &[(Candidate::Builtin, 10.0), (plain(1), 5.0)]);
    assert!(remarked(&campaign.analyze(), "On 4, 8 ranks, a single measured message size decided"));
    assert!(!remarked(&with_gains(1, 0.01, &[1.5, 1.5]).analyze(), "single measured"));
    assert!(!remarked(&with_gains(1, 0.01, &[0.9]).analyze(), "single measured"));
}
