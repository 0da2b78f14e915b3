//! Rules for HAN: calls that it hands over, and its files from elsewhere.

use std::path::Path;

use collrules_record::proof::ProofFact;
use collrules_record::rundir;
use collrules_record::validation::{Outcome, ValidatedCell};
use collrules_record::{Candidate, HanRule, HanRules, Ranks};
use collrules_report::gains::{Fates, SizeState};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::emit::confirmation;
use collrules_rules::{Behaviour, Collective, Release, han};
use collrules_workflow::validate::Validated;
use collrules_workflow::{WorkflowError, publish};

use crate::agreement::contradictions;
use crate::stage::{TuningFixture, bcast};

#[test]
fn calls_are_handed_over_from_han_and_compared_so() {
    let (mut stage, published) =
        TuningFixture::tuned("--simulate=han --ops bcast,reduce --np 2,8 --sizes 8,64K,4M --refine 0");
    let findings = &published.findings;
    assert_eq!(findings.han.rule(bcast(8)), HanRule::Simple, "{:?}", findings.han);
    assert_eq!(findings.han.rule(bcast(4 << 20)), HanRule::Delegate);
    assert!(!findings.han.touches(Collective::Bcast, Ranks(2)), "one host");
    assert!(!findings.table.lookup(Collective::Bcast, 8, 4 << 20).is_builtin(), "segments beat the binomial tree");
    assert!(han::is_han(stage.read(rundir::HAN).as_bytes()));
    let validation = published.validation.as_ref().unwrap();
    assert!(!validation.loses() && validation.settings.contains_key(HAN_FILE), "{validation:?}");
    let round = &validation.round;
    let long = round.cells.iter().find(|cell| cell.cell == bcast(4 << 20)).unwrap();
    assert!(long.han == HanRule::Delegate && long.verdict == Outcome::Faster, "{long:?}");
    assert_eq!(contradictions(&stage.path()), [""; 0]);
    let gains = published.gains();
    assert_eq!(gains.get(bcast(8)).state, SizeState::Faster, "with HAN's simple algorithm");
    let ruled = findings.cells.iter().filter(|found| found.candidate_in_use() != Candidate::Builtin).count();
    let Fates { confirmed, dropped, undecided } = gains.fates();
    assert!(confirmed >= ruled && (dropped, undecided) == (0, 0), "{confirmed} of {ruled}, {dropped}, {undecided}");
    assert!(published.proof.iter().any(|fact| matches!(fact, ProofFact::HanRules { .. })), "{:?}", published.proof);
    let text = stage.read(rundir::HAN);
    assert!(published.has_confirmed_rules() && confirmation::mark(&text, false, &[]) == text, "{text}");
    // The tuning is whole, or it is none.
    std::fs::write(published.run.file(rundir::HAN), "1 bcast 1 2 1 1 1 0 tuned\n").unwrap();
    let error = stage.validate("--budget none --repair").map(drop).unwrap_err();
    assert!(matches!(error, WorkflowError::Input(_)) && error.to_string().contains(rundir::HAN), "{error}");
}

/// A file of HAN's from elsewhere, with what comes of its validation on 8 ranks of 4 hosts.
fn from_elsewhere(scenario: &str, han: &str, rules: Option<&str>) -> (TuningFixture, Result<Validated, WorkflowError>) {
    let mut stage = TuningFixture::new();
    let [file, beside, out] = ["han-of-site.conf", "site.conf", "out"].map(|name| stage.directory.path().join(name));
    std::fs::write(&file, han).unwrap();
    let opened = match rules {
        Some(rules) => {
            std::fs::write(&beside, rules).unwrap();
            publish::open(&beside, Some(&file))
        }
        None => publish::open(&file, None),
    };
    let words = format!("--simulate={scenario} --np 8 --budget none --repair");
    let validated = stage.compare(&opened.unwrap(), false, &words, Some(&out));
    (stage, validated)
}

#[test]
fn a_file_of_hans_from_elsewhere_is_compared_and_repaired() {
    for rules in [None, Some("1\n7\n1\n8\n1\n0 6 0 0\n")] {
        let (stage, validated) = from_elsewhere("han", "1 bcast 1 2 1 1 1 0 tuned\n", rules);
        let validation = validated.unwrap().validation.unwrap();
        assert!(!validation.loses() && !validation.reverted.is_empty(), "{validation:?}");
        assert_eq!(validation.settings.contains_key(RULES_FILE), rules.is_some());
        let first = &validation.round;
        let is_bcast = |cell: &ValidatedCell| cell.cell.collective == Collective::Bcast;
        assert!(first.cells.iter().all(|cell| (cell.han == HanRule::Delegate) == is_bcast(cell)), "{:?}", first.cells);
        // HAN carries out other collectives with broadcasts, on which rules act as well.
        assert_eq!(first.cells.iter().any(|cell| !is_bcast(cell)), rules.is_some());
        let text =
            std::fs::read(stage.directory.path().join("out").join(rundir::HAN)).expect("what is left of the file");
        let behaviour = Behaviour::latest(Release::V5_0);
        let Ok(read) = han::load(&text, &behaviour) else { panic!("{}", String::from_utf8_lossy(&text)) };
        let says = |bytes| HanRules::of_han(&read.to_table()).rule(bcast(bytes));
        assert_eq!((says(1), says(1 << 20)), (HanRule::Delegate, HanRule::Default), "long messages are faster by HAN");
    }
}

#[test]
fn what_stands_in_the_way_of_a_file_of_hans_is_named() {
    let refused = |scenario, text: &str, rules| from_elsewhere(scenario, text, rules).1.map(drop).unwrap_err();
    let tuned = "1\n7\n1\n8\n1\n0 6 0 0\n";
    let error = refused("han", "1 bcast 1 2 1 1 1 0 xhc\n", None).to_string();
    assert!(error.contains("line 1") && error.contains("6.0"), "{error}");
    let error = refused("stale", "1 bcast 1 2 1 1 1 0 tuned\n", None);
    assert!(matches!(error, WorkflowError::Usage(_)), "one rank per host: {error}");
    let error = refused("han", tuned, Some(tuned)).to_string();
    assert!(error.contains("coll/tuned"), "{error}");
    let circle = "1 bcast 2 1 1 1 1 0 han 2 1 1 1 0 tuned\n";
    let (stage, validated) = from_elsewhere("han", circle, None);
    validated.expect("Open MPI goes on to tuned");
    assert!(stage.notes.iter().any(|note| note.contains("inter_node")), "{:?}", stage.notes);
    let rules = stage.directory.path().join("site.conf");
    std::fs::write(&rules, tuned).unwrap();
    let missing = publish::open(&rules, Some(Path::new("nowhere.conf"))).map(drop);
    assert!(missing.unwrap_err().to_string().contains("nowhere.conf"));
}
