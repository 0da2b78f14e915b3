//! Checks of a run for drift.

use collrules_workflow::drift::{Drifting, drift};

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
