//! What a tuning decides, and leaves behind.

use collrules_record::options::Request;
use collrules_record::remark::Remark;
use collrules_record::rundir;

use crate::stage::{Stage, tuning};

#[test]
fn tuning_leaves_proven_and_compared_rules_and_its_options() {
    let (stage, published) = Stage::tuned("--simulate=stale");
    assert!(!published.findings.table.is_empty(), "an outdated builtin can be beaten");
    assert!(published.validation.as_ref().is_some_and(|validation| !validation.loses()));
    assert_eq!((stage.concluded, stage.compared), (1, 2), "once more at the end");
    for name in [rundir::RULES, rundir::MCA_PARAMS, rundir::REPORT, rundir::PAGE, rundir::PROOF] {
        assert!(published.run.file(name).is_file(), "{name}");
    }
    assert!(!published.run.file(rundir::UNPROVEN).exists());
    assert_eq!(stage.run().manifest().unwrap().request, Request::Tune(Box::new(tuning("--simulate=stale"))));
}

#[test]
fn the_fastest_builtin_keeps_its_calls() {
    let (_, published) = Stage::tuned("--simulate=fastest");
    assert!(published.findings.table.is_empty());
    assert!(published.validation.is_none(), "there is nothing to compare");
    assert_eq!(published.context().switch_on, Vec::<String>::new());
}

#[test]
fn rules_that_do_not_hold_in_fresh_launches_are_reverted() {
    let (_stage, published) = Stage::tuned("--simulate=deceptive");
    let validation = published.validation.unwrap();
    assert!(!validation.reverted.is_empty() && !validation.loses());
    assert!(published.findings.remarks.contains(&Remark::Reverted(validation.reverted)));
    let pinned = std::fs::read_dir(published.run.file(rundir::TUNINGS)).unwrap();
    assert_eq!(pinned.count(), 2, "the compared rules, and those that are left");
}
