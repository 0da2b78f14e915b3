//! What is said about samples that do not read.

use collrules_record::findings::Criteria;
use collrules_record::{Candidate, Cell};
use collrules_rules::{Collective, Release};
use collrules_tuner::{Observations, TunerError, analyze};

use crate::campaign::{Campaign, cell, plain, remarked, replacement};

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
    for first in ["# collrules samples 2.0", "launch,visit", "", "# collrules samples 10.1"] {
        let other = text.replace("# collrules samples 1.0", first);
        assert!(error(&other).contains("# collrules samples 1.0"), "{first}");
    }
    let newer =
        text.replace("samples 1.0", "samples 1.7").replace(",ended\n", ",ended,extra\n").replace(",,,\n", ",,,,\n");
    assert_eq!(Observations::from_samples(&newer).unwrap().len(), 96);
}

#[test]
fn what_is_wrong_is_named() {
    let text = good().text().to_owned();
    assert!(error(&text.replace("bcast", "bcasd")).contains("unknown collective `bcasd`"));
    let garbled = Observations::from_samples(&text.replace("tuned:6/0", "tuned:x/0")).unwrap();
    let garbled = analyze(&garbled, Release::V4_1, Criteria::default(), "x").expect_err("a bad candidate");
    assert!(garbled.to_string().contains("`tuned:x/0/0/0` is not a candidate"), "{garbled}");
    assert!(error(&text.replace(",4,8,", ",four,8,")).contains("four"));
    assert!(error(&text.replace("max_s", "maximum")).contains("max_s"));
    assert!(error(&format!("{text}0,0,0,bcast,4,8,builtin,,,,\n")).contains("seconds"));
    assert!(error(&format!("{text}0,,,bcast,4,8,builtin,,,,gone\n")).contains("`gone`"));
}

#[test]
fn a_run_without_samples_has_no_cells() {
    let campaign = Campaign::new(1, 0.0);
    let findings = campaign.analyze();
    assert!(findings.cells.is_empty() && findings.table.is_empty());
}

#[test]
fn a_torn_last_line_is_left_out() {
    let text = good().text().to_owned();
    for keep in 1..40 {
        let torn = &text[..text.len() - keep];
        let count = Observations::from_samples(torn).unwrap().len();
        assert_eq!(count, if keep == 1 { 96 } else { 95 }, "{keep} bytes torn off");
    }
}

#[test]
fn times_that_are_not_positive_are_left_out_and_counted() {
    let mut campaign = good();
    for (round, seconds) in [0.0, -1e-6, f64::NAN, f64::INFINITY].into_iter().enumerate() {
        campaign.sample(AT(), plain(6), (9, 0, round as u32), seconds);
    }
    let findings = campaign.analyze();
    assert_eq!(replacement(&findings, AT()), Some(plain(6)));
    assert!(remarked(&findings, "4 timings were left out"), "{:?}", findings.remarks);
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
        let refused = analyze(&observations, Release::V4_1, criteria, "x");
        assert!(matches!(refused, Err(TunerError::Criteria { .. })), "{criteria:?}");
    }
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let campaign = good();
    let mut lines: Vec<&str> = campaign.text().lines().collect();
    lines[2..].reverse();
    let turned = Observations::from_samples(&(lines.join("\n") + "\n")).unwrap();
    let turned = analyze(&turned, Release::V4_1, Criteria::default(), "a synthetic campaign").unwrap();
    assert_eq!(turned, campaign.analyze());
}
