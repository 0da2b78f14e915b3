//! `tune` and `validate` from options to files, on the simulated cluster and on one where jobs die.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collrules_record::comparison::ArmLaunch;
use collrules_record::criteria::Criteria;
use collrules_record::grid::Grid;
use collrules_record::options::{
    Jobs, RefinementOptions, Request, Scenario, SettingsOptions, Simulated, SystemOptions, TuneOptions, Validating,
};
use collrules_record::rundir::{self, ComparisonLog, RunDir};
use collrules_record::tuning::revert_table;
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::validation::{Outcome, RevertedRange, ValidatedCell};
use collrules_record::{Cell, Component, HanRule, HanRules, Plan, Policy, Survey, Validation};
use collrules_report::remarks::remarks;
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::hazard::RankRange;
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::{Behaviour, Collective, Load, Release, han};
use collrules_runner::launch::LaunchPlan;
use collrules_runner::wire::{CallEnd, WorkerEvent};
use collrules_runner::{Backend, RunnerError};
use collrules_workflow::analyze::Source;
use collrules_workflow::campaign::{Begin, RunPlace};
use collrules_workflow::publish::{self, Published};
use collrules_workflow::start::{Started, start};
use collrules_workflow::validate::Validated;
use collrules_workflow::{Event, Session, WorkflowError, tune, validate};

/// A cluster whose measuring jobs die after so many events, as long as there are lives to lose.
struct Mortal {
    cluster: Box<dyn Backend>,
    lives: Rc<Counter<u32>>,
    events: u32,
    /// Time that a launch takes to start.
    pause: Duration,
    launches: Rc<Counter<u32>>,
}

impl Backend for Mortal {
    fn name(&self) -> &'static str {
        self.cluster.name()
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        self.cluster.survey()
    }

    fn launcher(&self, plan: &Plan) -> Vec<String> {
        self.cluster.launcher(plan)
    }

    fn measure(
        &mut self,
        plan: &LaunchPlan,
        report: &mut dyn FnMut(WorkerEvent) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        if plan.is_trial {
            return self.cluster.measure(plan, report);
        }
        self.launches.set(self.launches.get() + 1);
        std::thread::sleep(self.pause);
        let mut left = (self.lives.get() > 0).then_some(self.events);
        self.cluster.measure(plan, &mut |event| {
            if let Some(left) = &mut left {
                if *left == 0 {
                    self.lives.set(self.lives.get() - 1);
                    return Err(RunnerError::JobDied {
                        status: "a rank was ended".to_owned(),
                        doing: "testing".to_owned(),
                        output: String::new(),
                        outside: true,
                    });
                }
                *left -= 1;
            }
            report(event)
        })
    }

    fn parameters(&self) -> Result<Parameters, RunnerError> {
        self.cluster.parameters()
    }

    fn serving(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        self.cluster.serving(rules, calls, without)
    }

    fn pins(&mut self) -> Option<&mut BTreeMap<String, String>> {
        self.cluster.pins()
    }
}

/// Directory of a test, and what happened in it.
struct Stage {
    directory: tempfile::TempDir,
    notes: Vec<String>,
    concluded: usize,
    compared: usize,
    pause: Duration,
    launches: Rc<Counter<u32>>,
    /// Launches of comparisons in a session, before it is interrupted.
    patience: usize,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (pause, launches) = (Duration::ZERO, Rc::default());
        Self { directory, notes: Vec::new(), concluded: 0, compared: 0, pause, launches, patience: usize::MAX }
    }

    fn run(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    /// Runs a workflow on a cluster whose first so many measuring jobs die; more failures than that are too many.
    fn play<T>(&mut self, deaths: u32, failures: u32, workflow: impl FnOnce(&mut Session<'_>) -> T) -> T {
        let lives = Rc::new(Counter::new(deaths));
        let (pause, launches) = (self.pause, Rc::clone(&self.launches));
        let mortal = move |system: &SystemOptions, stop: &Arc<AtomicBool>| {
            let started = start(system, stop)?;
            let (lives, launches) = (Rc::clone(&lives), Rc::clone(&launches));
            let backend = Box::new(Mortal { cluster: started.backend, lives, events: 60, pause, launches });
            Ok(Started { backend: backend as Box<dyn Backend>, ..started })
        };
        let (notes, concluded, compared) = (&mut self.notes, &mut self.concluded, &mut self.compared);
        let (mut patience, stop) = (self.patience, Arc::<AtomicBool>::default());
        let stopped = Arc::clone(&stop);
        let mut watch = |event: Event<'_>| match event {
            Event::Note(note) => notes.push(note.to_owned()),
            Event::Concluded { .. } => *concluded += 1,
            Event::Compared { .. } => *compared += 1,
            Event::ArmLaunch { .. } => match patience.checked_sub(1) {
                Some(left) => patience = left,
                None => stopped.store(true, Ordering::Relaxed),
            },
            _ => {}
        };
        workflow(&mut Session {
            stop,
            failures,
            command: vec!["collrules".to_owned()],
            start: &mortal,
            watch: &mut watch,
        })
    }
}

fn simulated(scenario: &str) -> SystemOptions {
    let scenario = Scenario::ALL.into_iter().find(|known| known.name() == scenario).expect("a scenario");
    let jobs = Jobs::Simulation(Simulated { scenario, ..Simulated::default() });
    SystemOptions { jobs, ..SystemOptions::default() }
}

fn tuning(scenario: &str) -> TuneOptions {
    let grid = Grid {
        collectives: vec![Collective::Bcast],
        ranks: vec![Ranks(8)].into(),
        sizes: [8, 8192, 1 << 20].map(Bytes).to_vec(),
        segments: vec![Bytes(8192)],
        fanouts: vec![4],
        ..Grid::default()
    };
    let refinement = RefinementOptions { rounds: 1, width: 2.0, ranks: false };
    let settings = SettingsOptions { none: true, ..SettingsOptions::default() };
    TuneOptions { grid, budget: None, refinement, settings, system: simulated(scenario), ..TuneOptions::default() }
}

fn begin(stage: &Stage, scenario: &str) -> Begin {
    Begin::tuning(tuning(scenario), stage.run())
}

#[test]
fn tuning_leaves_proven_and_compared_rules_and_its_options() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "stale");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    assert!(!published.findings.table.is_empty(), "an outdated builtin can be beaten");
    assert!(published.validation.as_ref().is_some_and(|validation| !validation.loses()));
    assert_eq!((stage.concluded, stage.compared), (1, 2), "once more at the end");
    for name in [rundir::RULES, rundir::MCA_PARAMS, rundir::REPORT, rundir::PAGE, rundir::PROOF] {
        assert!(published.run.file(name).is_file(), "{name}");
    }
    assert!(!published.run.file(rundir::UNPROVEN).exists());
    let run = RunDir::open(stage.run()).expect("a run");
    let request = run.manifest().expect("a manifest").request;
    assert_eq!(request, Request::Tune(Box::new(tuning("stale"))));
}

#[test]
fn the_fastest_builtin_keeps_its_calls() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "fastest");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    assert!(published.findings.table.is_empty());
    assert!(published.validation.is_none(), "there is nothing to compare");
    assert_eq!(published.context().switch_on, Vec::<String>::new());
}

#[test]
fn rules_that_do_not_hold_in_fresh_launches_are_reverted() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "deceptive");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let validation = published.validation.expect("was compared");
    assert!(!validation.reverted.is_empty() && !validation.loses());
    assert!(stage.notes.iter().any(|note| note.contains("that fresh launches did not confirm")), "{:?}", stage.notes);
    let pinned = std::fs::read_dir(published.run.file(rundir::TUNINGS)).expect("files that never change");
    assert_eq!(pinned.count(), 2, "the compared rules, and those that are left");
    let written = std::fs::read_to_string(published.run.file(rundir::REPORT)).expect("a report");
    assert!(written.contains("Rules removed, because"), "the report says what was repaired");
}

/// Analyzes a run again, in its directory.
fn analyze_again(stage: &mut Stage, min_gain: f64) -> Published {
    let run = stage.run();
    stage.play(0, 20, |session| {
        let (source, run) = Source::of_run(&run, session).expect("a run");
        let criteria = Criteria { min_gain, ..Criteria::default() };
        let findings = source.decide(criteria, Policy::default()).expect("decides");
        publish::unproven(run, findings, source.manifest().cloned(), session).expect("is written")
    })
}

#[test]
fn what_was_reverted_stays_reverted_in_later_analyses() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "deceptive");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let reverted = published.validation.expect("was compared").reverted;
    assert!(!reverted.is_empty());
    // Other criteria make other rules, which have another digest.
    let mut table = published.findings.table;
    for min_gain in [0.03, 0.9, 0.03] {
        let again = analyze_again(&mut stage, min_gain);
        let kept = again.run.validation().expect("reads").expect("is there");
        assert_eq!(kept.reverted, reverted, "{min_gain}");
        assert!(kept.is_about(&again.tuning.as_ref().expect("has rules").digests()), "{min_gain}");
        assert_eq!(revert_table(&again.findings.table, &reverted), again.findings.table, "{min_gain}");
        assert_eq!(again.validation.is_some(), kept.round.is_some(), "{min_gain}");
        assert!(again.findings.table == table || kept.round.is_none(), "{min_gain}: other rules were compared");
        table = again.findings.table;
    }
}

#[test]
fn a_validation_of_other_rules_changes_no_decision() {
    let mut stage = Stage::new();
    let begin = Begin::tuning(TuneOptions { validate: false, ..tuning("stale") }, stage.run());
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    assert!(!published.findings.table.is_empty());
    let mut other = Stage::new();
    let deceptive = self::begin(&other, "deceptive");
    other.play(0, 20, |session| tune::tune(&deceptive, session)).expect("tunes");
    let foreign = RunDir::open(other.run()).expect("a run").validation().expect("reads").expect("was compared");
    let all =
        RevertedRange { collective: Collective::Bcast, ranks: RankRange { first: 0, end: None }, lookup: (0, None) };
    published.run.write_validation(&Validation { reverted: vec![all], ..foreign }).expect("is written");
    let again = analyze_again(&mut stage, 0.03);
    assert_eq!(again.findings.table, published.findings.table);
    assert!(again.validation.is_none());
    let said = |text: &String| text.contains("validation.json is left out, since it is about other rules");
    assert!(remarks(&again.findings).iter().any(said), "{:?}", again.findings.remarks);
}

#[test]
fn rules_that_were_changed_are_neither_proven_nor_compared() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "stale");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let intact = Published::open(&stage.run()).expect("opens");
    assert!(intact.validation.is_some() && intact.left_out.is_empty());
    assert_eq!(intact.proof, published.proof);
    std::fs::write(published.run.file(rundir::RULES), "0\n").expect("is emptied");
    let changed = Published::open(&stage.run()).expect("opens");
    assert!(changed.validation.is_none() && changed.proof.is_empty());
    assert_eq!(changed.left_out.len(), 2, "{:?}", changed.left_out);
    assert!(
        changed
            .context()
            .proof
            .iter()
            .any(|said| said.contains("proof.json is left out, since it is about other rules"))
    );
}

#[test]
fn jobs_that_die_cost_no_result() {
    let mut healthy = Stage::new();
    let first = begin(&healthy, "stale");
    let expected = healthy.play(0, 20, |session| tune::tune(&first, session)).expect("tunes");
    let mut stage = Stage::new();
    let begin = begin(&stage, "stale");
    let published = stage.play(4, 20, |session| tune::tune(&begin, session)).expect("tunes all the same");
    assert_eq!(published.findings.table.collectives().count(), expected.findings.table.collectives().count());
    let cells = |published: &Published| published.findings.cells.len();
    assert_eq!(cells(&published), cells(&expected));
}

#[test]
fn a_run_that_was_given_up_is_resumed_with_its_own_options() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "stale");
    let error = stage.play(u32::MAX, 0, |session| tune::tune(&begin, session)).map(drop).expect_err("is given up");
    let WorkflowError::Incomplete { samples, .. } = error else { panic!("{error}") };
    assert!(samples > 0, "what was measured is kept");
    let resume = Begin::recorded(&stage.run()).expect("a run");
    let Begin { experiment, request, place } = &resume;
    assert_eq!(*request, Request::Tune(Box::new(tuning("stale"))));
    assert_eq!(*experiment, tuning("stale").experiment(Vec::new()));
    assert!(matches!(place, RunPlace::Resumed(_)));
    let published = stage.play(0, 20, |session| tune::tune(&resume, session)).expect("is resumed");
    assert!(!published.findings.table.is_empty());
    assert_eq!(
        remarks(&published.findings).iter().filter(|remark| remark.contains("planned sizes have no timings")).count(),
        0
    );
}

/// What a comparison left: its launches without their time of day, and all results.
fn left_behind(run: &Path) -> (Vec<ArmLaunch>, Vec<(&'static str, String)>) {
    let opened = RunDir::open(run.to_owned()).expect("a run");
    let log = ComparisonLog::open(&opened).expect("a log");
    let timeless = |launch: &ArmLaunch| ArmLaunch { at: String::new(), seconds: Seconds(0.0), ..launch.clone() };
    let launches = log.launches().iter().map(timeless).collect();
    let text = |name| (name, std::fs::read_to_string(run.join(name)).unwrap_or_default());
    (launches, [rundir::RULES, rundir::VALIDATION, rundir::MCA_PARAMS].map(text).to_vec())
}

/// A tuning of rules that do not all hold, and one with settings: interrupted in every launch of its comparisons, it ends
/// like one that was not.
#[test]
fn a_tuning_interrupted_in_each_launch_ends_like_one_that_was_not() {
    let settings = ["smsc=^cma", "btl_sm_eager_limit=16384"].map(|text| text.parse().expect("a setting"));
    let searching = SettingsOptions { requests: settings.to_vec(), only: true, ..SettingsOptions::default() };
    let mut with_settings = TuneOptions { settings: searching, ..tuning("settings") };
    let host = Simulated { scenario: Scenario::Settings, slots: Ranks(4), each: Ranks(4), ..Simulated::default() };
    with_settings.system.jobs = Jobs::Simulation(host);
    with_settings.grid.ranks = vec![Ranks(4)].into();
    for options in [tuning("deceptive"), with_settings] {
        let mut stage = Stage::new();
        let begin = Begin::tuning(options.clone(), stage.run());
        stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
        let (launches, results) = left_behind(&stage.run());
        // In the same place, since files name it: arms are told by their digests.
        std::fs::rename(stage.run(), stage.directory.path().join("first")).expect("is moved");
        stage.patience = 1;
        let mut ended = stage.play(0, 20, |session| tune::tune(&begin, session)).map(drop);
        let mut sessions = 1;
        while ended.is_err() {
            assert!(sessions <= launches.len(), "{ended:?}");
            let resume = Begin::recorded(&stage.run()).expect("a run");
            ended = stage.play(0, 20, |session| tune::tune(&resume, session)).map(drop);
            sessions += 1;
        }
        assert!(launches.len() >= 8 && sessions + 2 >= launches.len(), "{sessions} of {}", launches.len());
        let found = left_behind(&stage.run());
        let is_same = found.0.iter().zip(&launches).map(|(one, other)| one == other);
        assert_eq!((found.0.len(), is_same.filter(|same| !same).count()), (launches.len(), 0));
        for ((name, text), (_, other)) in found.1.iter().zip(&results) {
            assert!(text == other, "{name} differs");
        }
        // Once more, nothing is launched.
        stage.patience = 0;
        let resume = Begin::recorded(&stage.run()).expect("a run");
        stage.play(0, 20, |session| tune::tune(&resume, session)).expect("nothing is left to do");
        assert!(left_behind(&stage.run()) == found, "something was decided again");
    }
}

fn validating(scenario: &str) -> Validating {
    Validating { budget: None, repair: true, ..Validating::new(simulated(scenario)) }
}

#[test]
fn a_comparison_that_was_given_up_is_resumed_and_repairs_a_run() {
    let mut stage = Stage::new();
    let begin = Begin::tuning(TuneOptions { validate: false, ..tuning("deceptive") }, stage.run());
    stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let opened = || publish::open(&stage.run(), None).expect("a run");
    let first = opened();
    let (second, third) = (opened(), opened());
    assert_eq!(
        validate::as_measured(&first).expect("reads").map(|it| (it.system, it.timing, it.condition)),
        Some((tuning("deceptive").system, tuning("deceptive").timing, tuning("deceptive").condition))
    );
    let interrupted = stage
        .play(u32::MAX, 0, |session| {
            validate::validate(&first, false, &validating("deceptive"), Vec::new(), None, session)
        })
        .map(drop)
        .expect_err("is given up");
    assert!(matches!(interrupted, WorkflowError::Unvalidated { .. }), "{interrupted}");
    let validated = stage
        .play(0, 20, |session| validate::validate(&second, false, &validating("deceptive"), Vec::new(), None, session))
        .expect("is resumed");
    assert!(stage.notes.iter().any(|note| note.starts_with("resuming the comparison")), "{:?}", stage.notes);
    assert!(!validated.loses() && !validated.validation.expect("rules").reverted.is_empty());
    // The file is another one by now than the one that was opened first.
    let again = stage.play(0, 20, |session| {
        validate::validate(
            &third,
            false,
            &Validating { repair: false, ..validating("deceptive") },
            Vec::new(),
            None,
            session,
        )
    });
    assert!(again.is_ok_and(|again| !again.loses()));
}

#[test]
fn a_validation_keeps_to_its_time_and_leaves_nothing_unconfirmed() {
    let mut stage = Stage::new();
    let begin = Begin::tuning(TuneOptions { validate: false, ..tuning("deceptive") }, stage.run());
    stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let opened = publish::open(&stage.run(), None).expect("a run");
    stage.launches.set(0);
    stage.pause = Duration::from_millis(200);
    let options = Validating { budget: Some(Seconds(2.0)), ..validating("deceptive") };
    let validated = stage
        .play(0, 20, |session| validate::validate(&opened, false, &options, Vec::new(), None, session))
        .expect("compares");
    assert!(stage.launches.get() <= 11, "{} launches of 0.2 seconds", stage.launches.get());
    let validation = validated.validation.expect("rules");
    assert!(validation.unconfirmed().is_empty() && !validation.reverted.is_empty() && !validation.loses());
    assert_eq!(validated.home.validation().expect("reads").as_ref(), Some(&validation));
}

#[test]
fn a_foreign_file_that_is_slower_is_told_and_rewritten() {
    let mut stage = Stage::new();
    let file = stage.directory.path().join("site.conf");
    std::fs::write(&file, "1\n7\n1\n2\n1\n0 1 0 0\n").expect("written");
    let out = stage.directory.path().join("out");
    let options = Validating { ranks: vec![Ranks(8)], sizes: Some(vec![Bytes(1 << 20)]), ..validating("fastest") };
    let opened = publish::open(&file, None).expect("opens");
    assert_eq!(validate::as_measured(&opened).expect("reads"), None);
    let validated = stage
        .play(0, 20, |session| validate::validate(&opened, false, &options, Vec::new(), Some(&out), session))
        .expect("compares");
    assert_eq!(validated.validation.expect("rules").round.as_ref().expect("compared").repaired.len(), 1);
    assert_eq!(std::fs::read_to_string(&file).expect("stays"), "1\n7\n1\n2\n1\n0 1 0 0\n");
    assert!(out.join(rundir::RULES).is_file(), "what is left of it");
}

#[test]
fn calls_are_handed_over_from_han_and_compared_so() {
    let mut stage = Stage::new();
    let grid = Grid {
        collectives: vec![Collective::Bcast, Collective::Reduce],
        ranks: [2, 8].map(Ranks).to_vec().into(),
        sizes: [8, 64 << 10, 4 << 20].map(Bytes).to_vec(),
        ..tuning("han").grid
    };
    let (refinement, settings) = (RefinementOptions::NONE, SettingsOptions::default());
    let tuning = TuneOptions { grid, refinement, settings, ..tuning("han") };
    let begin = Begin::tuning(tuning, stage.run());
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let findings = &published.findings;
    let bcast = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
    assert_eq!(findings.han.rule(bcast(8, 8)), HanRule::Simple, "{:?}", findings.han);
    assert_eq!(findings.han.rule(bcast(8, 4 << 20)), HanRule::Delegate);
    assert!(!findings.han.touches(Collective::Bcast, Ranks(2)), "one host");
    assert!(!findings.table.lookup(Collective::Bcast, 8, 4 << 20).is_builtin(), "segments beat the binomial tree");
    let text = std::fs::read(published.run.file(rundir::HAN)).expect("HAN's file");
    assert!(han::is_han(&text));
    let validation = published.validation.as_ref().expect("was compared");
    assert!(!validation.loses() && validation.settings.contains_key(HAN_FILE), "{validation:?}");
    let round = validation.round.as_ref().expect("a comparison");
    let long = round.cells.iter().find(|cell| cell.cell == bcast(8, 4 << 20)).expect("was compared");
    assert!(long.handed && long.verdict == Outcome::Faster, "{long:?}");
    let report = std::fs::read_to_string(published.run.file(rundir::REPORT)).expect("a report");
    assert!(
        report.contains("accepts HAN's rules file") && report.contains("HAN, with its algorithm simple"),
        "{report}"
    );
    // The tuning is whole, or it is none.
    std::fs::write(published.run.file(rundir::HAN), "1 bcast 1 2 1 1 1 0 tuned\n").expect("writes");
    let opened = publish::open(&stage.run(), None).expect("a run");
    let error = stage
        .play(0, 20, |session| validate::validate(&opened, false, &validating("han"), Vec::new(), None, session))
        .map(drop);
    assert!(error.expect_err("is another").to_string().contains("and the findings next to it disagree"));
}

/// A file of HAN's from elsewhere, with what comes of its validation on 8 ranks of 4 hosts.
fn from_elsewhere(
    scenario: &str,
    han: &str,
    rules: Option<&str>,
) -> (Stage, PathBuf, Result<Validated, WorkflowError>) {
    let mut stage = Stage::new();
    let file = stage.directory.path().join("han-of-site.conf");
    std::fs::write(&file, han).expect("written");
    let options = Validating { ranks: vec![Ranks(8)], ..validating(scenario) };
    let beside = stage.directory.path().join("site.conf");
    let opened = match rules {
        Some(rules) => {
            std::fs::write(&beside, rules).expect("written");
            publish::open(&beside, Some(&file))
        }
        None => publish::open(&file, None),
    };
    let out = stage.directory.path().join("out");
    let opened = opened.expect("opens");
    let validated =
        stage.play(0, 20, |session| validate::validate(&opened, false, &options, Vec::new(), Some(&out), session));
    (stage, file, validated)
}

#[test]
fn a_file_of_hans_from_elsewhere_is_compared_and_repaired() {
    for rules in [None, Some("1\n7\n1\n8\n1\n0 6 0 0\n")] {
        let (stage, _, validated) = from_elsewhere("han", "1 bcast 1 2 1 1 1 0 tuned\n", rules);
        let validation = validated.expect("compares").validation.expect("rules");
        assert!(!validation.loses() && !validation.reverted.is_empty(), "{validation:?}");
        assert_eq!(validation.settings.contains_key(RULES_FILE), rules.is_some());
        let first = &validation.round.as_ref().expect("compared");
        let is_bcast = |cell: &ValidatedCell| cell.cell.collective == Collective::Bcast;
        assert!(first.cells.iter().all(|cell| cell.handed == is_bcast(cell)), "{:?}", first.cells);
        // HAN carries out other collectives with broadcasts, on which rules act as well.
        assert_eq!(first.cells.iter().any(|cell| !is_bcast(cell)), rules.is_some());
        let text =
            std::fs::read(stage.directory.path().join("out").join(rundir::HAN)).expect("what is left of the file");
        let behaviour = Behaviour::latest(Release::V5_0);
        let Load::Accepted(read) = han::load(&text, &behaviour) else { panic!("{}", String::from_utf8_lossy(&text)) };
        let bcast = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(bytes) };
        let says = |bytes| HanRules::of_han(&read.to_table()).rule(bcast(bytes));
        assert_eq!((says(1), says(1 << 20)), (HanRule::Delegate, HanRule::Default), "long messages are faster by HAN");
    }
}

#[test]
fn what_stands_in_the_way_of_a_file_of_hans_is_named() {
    let refused = |scenario, text: &str| {
        let (_, _, validated) = from_elsewhere(scenario, text, None);
        validated.map(drop).expect_err("is refused").to_string()
    };
    let error = refused("han", "1 bcast 1 2 1 1 1 0 xhc\n");
    assert!(
        error.contains("line 1") && error.contains("it was written for another release: 6.0 would read it"),
        "{error}"
    );
    let error = refused("stale", "1 bcast 1 2 1 1 1 0 tuned\n");
    assert!(error.contains("is for HAN, which runs only on communicators over several hosts"), "{error}");
    let (_, _, confused) = from_elsewhere("han", "1\n7\n1\n8\n1\n0 6 0 0\n", Some("1\n7\n1\n8\n1\n0 6 0 0\n"));
    assert!(confused.map(drop).expect_err("is refused").to_string().contains("this is a rules file for coll/tuned"));
    let circle = "1 bcast 2 1 1 1 1 0 han 2 1 1 1 0 tuned\n";
    let (stage, _, validated) = from_elsewhere("han", circle, None);
    validated.expect("Open MPI goes on to tuned");
    assert!(stage.notes.iter().any(|note| note.contains("bcast on inter_node cannot go to han")), "{:?}", stage.notes);
    let rules = stage.directory.path().join("site.conf");
    std::fs::write(&rules, "1\n7\n1\n8\n1\n0 6 0 0\n").expect("written");
    let missing = publish::open(&rules, Some(Path::new("nowhere.conf"))).map(drop);
    assert!(missing.expect_err("is missing").to_string().contains("nowhere.conf"));
}
