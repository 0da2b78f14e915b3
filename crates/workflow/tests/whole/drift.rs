//! Checks of a run for drift.

use collrules_workflow::drift::{Drifting, drift};
use collrules_workflow::publish::Published;

use crate::stage::{TuningFixture, options};

/// The error of a check with these options.
fn refused(stage: &mut TuningFixture, words: &str) -> String {
    let (run, drifting): (_, Drifting) = (stage.path(), options(&format!("--simulate=stale {words}")));
    stage.play(|session| drift(&run, &drifting, None, session)).map(drop).unwrap_err().to_string()
}

#[test]
fn another_layout_is_no_drift() {
    let (mut stage, _) = TuningFixture::tuned("--simulate=stale");
    let error = refused(&mut stage, "--layout spread");
    assert!(error.contains("leave out --layout"), "{error}");
}

#[test]
fn the_rest_of_a_job_needs_a_job() {
    let (mut stage, _) = TuningFixture::tuned("--simulate=stale");
    let error = refused(&mut stage, "--budget rest");
    assert!(error.starts_with("--budget rest is the time that a job"), "{error}");
}

/// A validation in another layout neither changes what is shown of the run, nor the times that drift compares with.
#[test]
fn a_validation_in_another_layout_stays_apart() {
    const CLUSTER: &str = "--simulate=arranged --simulated-slots 8 --simulated-ppn 2 --np 4 --sizes 1K,64K --refine 0";
    let (mut stage, published) = TuningFixture::tuned(CLUSTER);
    let drifting: Drifting = options("--simulate=arranged --simulated-slots 8 --simulated-ppn 2 --cells 2");
    let run = stage.path();
    let then = |stage: &mut TuningFixture| -> Vec<_> {
        let found = stage.play(|session| drift(&run, &drifting, None, session)).unwrap().drift;
        found.points.iter().map(|point| (point.cell, point.then)).collect()
    };
    let before = then(&mut stage);
    let apart = stage.validate("--budget none --layout one-per-node").unwrap();
    assert!(apart.validation.is_some_and(|found| !found.round.cells.is_empty()));
    assert_eq!(then(&mut stage), before);
    assert!(Published::open(&stage.path()).unwrap().validation == published.validation);
}
