//! Tests of errors for samples that cannot be read.

use collrules_record::criteria::Criteria;
use collrules_record::{Candidate, Cell};
use collrules_rules::{Collective, Release};
use collrules_tuner::{Observations, TunerError, analyze};

use crate::campaign::{Campaign, cell, plain, remarked, replacement, why_kept};

const AT: fn() -> Cell = || cell(Collective::Bcast, 4, 8);

fn good() -> Campaign {
    let mut campaign = Campaign::new(1, 0.01);
    campaign.time(AT(), &[(Candidate::Builtin, 10.0), (plain(6), 5.0)]);
    campaign
}

fn error(text: &str) -> String {
    Observations::from_samples(text).expect_err(text).to_string()
}

#[test]
fn other_formats_are_refused() {
    let text = good().text().to_owned();
    let none = "it lacks the line with the format";
    for (first, why) in [
        ("# collrules samples 2.0", "has format 2.0"),
        ("launch,visit", none),
        ("", none),
        ("# collrules samples 10.1", "has format 10.1"),
    ] {
        let other = text.replace("# collrules samples 1.0", first);
        assert!(error(&other).contains(why), "{first}");
    }
    let newer =
        text.replace("samples 1.0", "samples 1.7").replace(",ended\n", ",ended,extra\n").replace(",,,\n", ",,,,\n");
    assert_eq!(Observations::from_samples(&newer).unwrap().len(), 96);
}

#[test]
fn what_is_wrong_is_named() {
    let text = good().text().to_owned();
    for (name, garbled, why) in [
        ("bcast", "bcasd", "unknown collective `bcasd`"),
        ("tuned:6/0", "tuned:x/0", "`tuned:x/0/0/0` is not a candidate"),
    ] {
        let garbled = error(&text.replace(name, garbled));
        assert!(garbled.contains(why), "{garbled}");
    }
    assert!(error(&text.replace(",4,8,", ",four,8,")).contains("four"));
    assert!(error(&text.replace("max_s", "maximum")).contains("max_s"));
    assert!(error(&format!("{text}0,0,0,bcast,4,8,builtin,,,,\n")).contains("seconds"));
    assert!(error(&format!("{text}0,,,bcast,4,8,builtin,,,,gone\n")).contains("`gone`"));
}

#[test]
fn a_run_without_samples_is_an_error() {
    let mut campaign = Campaign::new(1, 0.0);
    let refused = |campaign: &Campaign| {
        let observations = Observations::from_samples(campaign.text()).unwrap();
        analyze(&observations, Release::V4_1, Criteria::default(), Default::default(), "x").expect_err("no samples")
    };
    assert!(matches!(refused(&campaign), TunerError::NoSamples { left_out: 0 }));
    assert_eq!(refused(&campaign).to_string(), "there are no timings to decide on");
    campaign.sample(AT(), Candidate::Builtin, (0, 0, 0), 0.0);
    assert!(refused(&campaign).to_string().contains(": the only one was left out because it is zero"));
    campaign.sample(AT(), plain(6), (0, 0, 0), 0.0);
    assert!(refused(&campaign).to_string().contains(": all 2 were left out because they are zero"));
    // That everything failed is a result.
    campaign.end(AT(), Candidate::Builtin, "disqualified: wrong data");
    assert!(remarked(&campaign.analyze(), "failed on 4 ranks at 8 B"));
}

#[test]
fn a_last_line_without_its_end_is_a_line() {
    let text = good().text().to_owned();
    assert_eq!(Observations::from_samples(text.trim_end()).unwrap().len(), 96);
}

#[test]
fn launches_without_timings_are_remarked() {
    let expecting = |campaign: &Campaign, launches| {
        let observations = Observations::from_samples(campaign.text()).unwrap().expecting(launches);
        analyze(&observations, Release::V4_1, Criteria::default(), Default::default(), "x").unwrap()
    };
    let mut campaign = good();
    assert!(!remarked(&expecting(&campaign, 2), "launch"));
    assert!(remarked(&expecting(&campaign, 3), "Launches with timings: only 2 of 3."));
    // Where nothing is left to measure there are no further launches.
    campaign.end(AT(), plain(6), "dropped: beaten");
    assert!(!remarked(&expecting(&campaign, 3), "launch"));
}

#[test]
fn cells_with_fewer_launches_than_others_are_remarked() {
    let mut campaign = good();
    let short = |bytes| cell(Collective::Bcast, 4, bytes);
    let time = |campaign: &mut Campaign, at| {
        for visit in 0..8 {
            campaign.sample(at, Candidate::Builtin, (0, visit, 0), 1e-5);
            campaign.sample(at, plain(6), (0, visit, 0), 1.1e-5);
        }
    };
    time(&mut campaign, short(64));
    assert!(remarked(&campaign.analyze(), "Sizes measured in fewer launches than others: 1."));
    time(&mut campaign, short(128));
    assert!(remarked(&campaign.analyze(), "Sizes measured in fewer launches than others: 2."));
    for bytes in [64, 128] {
        campaign.end(short(bytes), plain(6), "dropped: beaten");
    }
    assert!(!remarked(&campaign.analyze(), "in fewer launches than others"), "what was beaten is not measured again");
}

/// Clearly faster than the builtin in the launch before it was dropped, and then never timed again.
#[test]
fn a_candidate_that_later_launches_left_out_does_not_win() {
    let mut campaign = good();
    for visit in 0..8 {
        campaign.sample(AT(), plain(3), (0, 100 + visit, 0), 2e-6);
        campaign.sample(AT(), Candidate::Builtin, (0, 100 + visit, 0), 1e-5);
    }
    let findings = campaign.analyze();
    assert_eq!(replacement(&findings, AT()), Some(plain(6)));
    let mut campaign = Campaign::new(1, 0.01);
    campaign.time(AT(), &[(Candidate::Builtin, 10.0)]);
    for visit in 0..8 {
        campaign.sample(AT(), plain(3), (0, visit, 0), 2e-6);
    }
    campaign.end(AT(), plain(3), "dropped: beaten");
    assert_eq!(why_kept(&campaign.analyze(), AT()), "not timed in every launch");
}

#[test]
fn remarks_count_gains_without_a_test() {
    let mut campaign = good();
    let few = |campaign: &mut Campaign, bytes| {
        for visit in 0..4 {
            campaign.sample(cell(Collective::Bcast, 4, bytes), Candidate::Builtin, (visit % 2, visit, 0), 1e-5);
            campaign.sample(cell(Collective::Bcast, 4, bytes), plain(6), (visit % 2, visit, 0), 0.5e-5);
        }
    };
    few(&mut campaign, 64);
    let one = "1 of 2 algorithms that looked 3 % or more faster were timed in fewer than 6 visits;";
    assert!(remarked(&campaign.analyze(), one));
    few(&mut campaign, 128);
    let two = "2 of 3 algorithms that looked 3 % or more faster were timed in fewer than 6 visits;";
    assert!(remarked(&campaign.analyze(), two));
    campaign.sample(AT(), plain(6), (0, 0, 0), 0.0);
    assert!(remarked(&campaign.analyze(), "zero by the clock: 1."));
}

#[test]
fn times_that_a_clock_does_not_resolve_are_left_out_and_counted() {
    let mut campaign = good();
    for round in 0..4 {
        campaign.sample(AT(), plain(6), (9, 0, round), 0.0);
    }
    let findings = campaign.analyze();
    assert_eq!(replacement(&findings, AT()), Some(plain(6)));
    assert!(remarked(&findings, "zero by the clock: 4."), "{:?}", findings.remarks);
}

#[test]
fn times_that_no_call_can_take_are_named_by_their_line() {
    for (seconds, why) in [
        (-1e-6, "negative"),
        (f64::NAN, "not a finite number"),
        (f64::INFINITY, "not a finite number"),
        (1e-300, "no call"),
        (1e300, "no call takes 1e300 s"),
    ] {
        let mut campaign = good();
        let line = campaign.text().lines().count() + 1;
        campaign.sample(AT(), plain(6), (9, 0, 0), seconds);
        let error = error(campaign.text());
        assert!(error.contains(&format!("line {line}: ")) && error.contains(why), "{error}");
    }
}

#[test]
fn criteria_out_of_range_are_refused() {
    let observations = Observations::from_samples(good().text()).unwrap();
    let usual = Criteria::default();
    for criteria in [
        Criteria { min_gain: -0.1, ..usual },
        Criteria { min_gain: f64::NAN, ..usual },
        Criteria { error_rate: 1.5, ..usual },
        Criteria { level: 1.0, ..usual },
        Criteria { untested_gain: f64::INFINITY, ..usual },
    ] {
        let refused = analyze(&observations, Release::V4_1, criteria, Default::default(), "x");
        assert!(matches!(refused, Err(TunerError::Criteria { .. })), "{criteria:?}");
    }
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let campaign = good();
    let mut lines: Vec<&str> = campaign.text().lines().collect();
    lines[2..].reverse();
    let turned = Observations::from_samples(&(lines.join("\n") + "\n")).unwrap();
    let turned =
        analyze(&turned, Release::V4_1, Criteria::default(), Default::default(), "a synthetic campaign").unwrap();
    assert_eq!(turned, campaign.analyze());
}
