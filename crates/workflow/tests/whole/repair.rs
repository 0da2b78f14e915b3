//! Comparing a tuning in fresh launches, and repairing it.

use std::time::Duration;

use collrules_record::rundir;
use collrules_workflow::validate::as_measured;
use collrules_workflow::{WorkflowError, publish};

use crate::stage::{Stage, tuning};

#[test]
fn a_comparison_that_was_given_up_is_resumed_and_repairs_a_run() {
    let (mut stage, _) = Stage::tuned("--simulate=deceptive --no-validate");
    let [first, second, third] = [(); 3].map(|()| publish::open(&stage.path(), None).unwrap());
    let options = tuning("--simulate=deceptive");
    assert_eq!(
        as_measured(&first).unwrap().map(|it| (it.system, it.timing, it.condition)),
        Some((options.system, options.timing, options.condition))
    );
    (stage.deaths, stage.failures) = (u32::MAX, 0);
    let interrupted = stage.compare(&first, false, "--budget none --repair", None).map(drop);
    assert!(matches!(interrupted, Err(WorkflowError::Unvalidated { .. })), "{interrupted:?}");
    (stage.deaths, stage.failures) = (0, 20);
    let validated = stage.compare(&second, false, "--budget none --repair", None).expect("is resumed");
    assert!(stage.notes.iter().any(|note| note.starts_with("resuming the comparison")), "{:?}", stage.notes);
    assert!(!validated.loses() && !validated.validation.unwrap().reverted.is_empty());
    // The file is another one by now than the one that was opened first.
    assert!(!stage.compare(&third, false, "--budget none", None).unwrap().loses());
}

#[test]
fn a_validation_keeps_to_its_time_and_leaves_nothing_unconfirmed() {
    let (mut stage, _) = Stage::tuned("--simulate=deceptive --no-validate");
    stage.launches.set(0);
    stage.pause = Duration::from_millis(200);
    let validated = stage.validate("--budget 2s --repair").unwrap();
    assert!(stage.launches.get() <= 11, "{} launches of 0.2 seconds", stage.launches.get());
    let validation = validated.validation.unwrap();
    assert!(validation.unconfirmed().is_empty() && !validation.reverted.is_empty() && !validation.loses());
    assert_eq!(validated.home.validation().unwrap(), Some(validation));
}

#[test]
fn a_foreign_file_that_is_slower_is_told_and_rewritten() {
    let mut stage = Stage::new();
    let file = stage.directory.path().join("site.conf");
    std::fs::write(&file, "1\n7\n1\n2\n1\n0 1 0 0\n").unwrap();
    let out = stage.directory.path().join("out");
    let opened = publish::open(&file, None).unwrap();
    assert_eq!(as_measured(&opened).unwrap(), None);
    let words = "--simulate=fastest --budget none --repair --np 8 --sizes 1M";
    let validated = stage.compare(&opened, false, words, Some(&out)).unwrap();
    assert_eq!(validated.validation.unwrap().round.unwrap().repaired.len(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "1\n7\n1\n2\n1\n0 1 0 0\n");
    assert!(out.join(rundir::RULES).is_file(), "what is left of it");
}
