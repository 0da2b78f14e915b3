//! Jobs that die, and tunings that are interrupted.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::comparison::ArmLaunch;
use collrules_record::options::Request;
use collrules_record::remark::Remark;
use collrules_record::rundir::{self, ComparisonLog, RunDir};
use collrules_record::units::Seconds;
use collrules_record::validation::Outcome;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::{Begin, RunPlace, prepare};
use collrules_workflow::tune::tune;

use crate::stage::{TuningFixture, job_ending_in, tuning};

#[test]
fn jobs_that_die_cost_no_result() {
    let (_, expected) = TuningFixture::tuned("--simulate=stale");
    let mut stage = TuningFixture::new();
    stage.deaths = 4;
    let published = stage.tune("--simulate=stale").expect("tunes all the same");
    assert_eq!(published.findings.table.collectives().count(), expected.findings.table.collectives().count());
    assert_eq!(published.findings.cells.len(), expected.findings.cells.len());
}

#[test]
fn a_run_that_was_given_up_is_resumed_with_its_own_options() {
    let mut stage = TuningFixture::new();
    (stage.deaths, stage.failures) = (u32::MAX, 0);
    let error = stage.tune("--simulate=stale").map(drop).unwrap_err();
    let WorkflowError::Incomplete { samples, .. } = error else { panic!("{error}") };
    assert!(samples > 0, "what was measured is kept");
    let Begin { experiment, request, place } = Begin::recorded(&stage.path()).unwrap();
    let options = tuning("--simulate=stale");
    assert_eq!(experiment, options.experiment(Vec::new()));
    assert_eq!(request, Request::Tune(Box::new(options)));
    assert!(matches!(place, RunPlace::Resumed(_)));
    (stage.deaths, stage.failures) = (0, 20);
    let published = stage.resume().unwrap();
    assert!(!published.findings.table.is_empty());
    let is_missing = |remark: &Remark| matches!(remark, Remark::NotMeasured { .. });
    assert!(!published.findings.remarks.iter().any(is_missing), "{:?}", published.findings.remarks);
}

#[test]
fn the_rest_of_a_job_is_recorded_as_a_time() {
    let mut stage = TuningFixture::new();
    stage.allocation = Some(job_ending_in(125.0));
    let begin = Begin::tuning(tuning("--simulate=stale --budget rest"), stage.path());
    stage.play(|session| prepare(&begin, session)).map(drop).unwrap();
    let Begin { experiment, request, .. } = Begin::recorded(&stage.path()).unwrap();
    let Request::Tune(options) = request else { panic!("is a tuning") };
    assert_eq!((options.budget, experiment.budget), (Some(Seconds(100.0)), Some(Seconds(100.0))));
}

#[test]
fn what_is_undecided_is_compared_again_if_there_is_time() {
    const WORDS: &str = "--simulate=stale --refine 0 --no-settings --calls 20 --launches 2";
    let begin = |stage: &TuningFixture, budget: &str| {
        Begin::tuning(tuning(&format!("{WORDS} --budget {budget}")), stage.path())
    };
    let mut stage = TuningFixture::new();
    stage.allocation = Some(job_ending_in(125.0));
    let first = begin(&stage, "300s");
    stage.play(|session| tune(&first, session)).unwrap();
    let mut is_compared = |budget, is_undecided| {
        let mut state = stage.run().state().unwrap().unwrap();
        let rounds = state.steps.iter_mut().filter_map(|it| Some(&mut it.evidence.as_mut()?.found.round));
        let cells = rounds.flat_map(|round| &mut round.cells).filter(|_| is_undecided);
        cells.for_each(|cell| cell.verdict = Outcome::Undecided);
        stage.run().write_state(&state).unwrap();
        let again = Begin { place: RunPlace::Resumed(stage.path()), ..begin(&stage, budget) };
        stage.compared = 0;
        stage.play(|session| tune(&again, session)).unwrap();
        stage.compared > 0
    };
    assert!(!is_compared("300s", false) && is_compared("300s", true), "the rest of the budget");
    assert!(!is_compared("200s", false) && is_compared("100s", true), "another budget");
}

/// The launches of a comparison, without their time of day, and all results.
fn left_behind(run: &Path) -> (Vec<ArmLaunch>, Vec<(&'static str, String)>) {
    let log = ComparisonLog::open(&RunDir::open(run).unwrap()).unwrap();
    let timeless = |launch: &ArmLaunch| ArmLaunch { at: String::new(), seconds: Seconds(0.0), ..launch.clone() };
    let launches = log.launches().iter().map(timeless).collect();
    let text = |name| (name, std::fs::read_to_string(run.join(name)).unwrap_or_default());
    (launches, [rundir::RULES, rundir::VALIDATION, rundir::MCA_PARAMS].map(text).to_vec())
}

/// A tuning that is interrupted in every block of its comparisons ends like one that was not.
fn interrupt_in_each_block(words: &str) -> TuningFixture {
    let (mut stage, _) = TuningFixture::tuned(words);
    let (launches, results) = left_behind(&stage.path());
    // In the same place, since files name it: arms are told by their digests.
    std::fs::rename(stage.path(), stage.directory.path().join("first")).unwrap();
    stage.patience = 1;
    let mut ended = stage.tune(words);
    let mut sessions = 1;
    while let Err(error) = ended {
        assert!(sessions <= launches.len(), "{error}");
        ended = stage.resume();
        sessions += 1;
    }
    let blocks: BTreeSet<_> = launches.iter().map(|launch| (launch.stage, launch.block)).collect();
    assert!(blocks.len() >= 4 && sessions >= blocks.len(), "{sessions} of {}", blocks.len());
    let found = left_behind(&stage.path());
    let is_same = found.0.iter().zip(&launches).map(|(one, other)| one == other);
    assert_eq!((found.0.len(), is_same.filter(|same| !same).count()), (launches.len(), 0));
    for ((name, text), (_, other)) in found.1.iter().zip(&results) {
        assert!(text == other, "{name} differs");
    }
    // Once more, nothing is launched.
    stage.patience = 0;
    stage.resume().expect("nothing is left to do");
    assert!(left_behind(&stage.path()) == found, "something was decided again");
    stage
}

#[test]
fn a_tuning_whose_rules_do_not_all_hold_may_be_interrupted_in_each_block() {
    let stage = interrupt_in_each_block("--simulate=deceptive --sizes 8K,128K,1M --refine 0 --calls 20");
    let validation = stage.run().validation().unwrap().unwrap();
    assert!(!validation.reverted.is_empty() && validation.is_confirmed());
}

#[test]
fn a_tuning_with_settings_may_be_interrupted_in_each_block() {
    let settings = "--only-settings --setting smsc=^cma --setting btl_sm_eager_limit=16384";
    let host = "--simulate=settings --simulated-slots 4 --simulated-ppn 4 --np 4";
    let calls = "--sizes 8,1M --refine 0 --calls 5 --launches 2";
    let stage = interrupt_in_each_block(&format!("{host} {settings} {calls}"));
    assert!(stage.run().settings().unwrap().unwrap().chosen.is_some());
}
