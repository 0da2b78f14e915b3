//! `tune` and `validate` from options to files, on the simulated cluster and on one where jobs die.

use std::cell::Cell as Counter;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use collrules_record::options::{self, Request, System, Tuning, Validating};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::{Bytes, Ranks, Seconds};
use collrules_record::validation::Outcome;
use collrules_record::{Cell, Component, HanAlgorithm, Handed, Handover, Plan, Survey};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::{Behaviour, Collective, Release, han};
use collrules_runner::launch::LaunchPlan;
use collrules_runner::wire::{CallEnd, Event as Reported};
use collrules_runner::{Backend, RunnerError};
use collrules_workflow::campaign::{Begin, options_of};
use collrules_workflow::start::{Started, start};
use collrules_workflow::validate::Validated;
use collrules_workflow::{Event, Session, WorkflowError, tune, validate};

/// A cluster whose measuring jobs die after so many events, as long as there are lives to lose.
struct Mortal {
    cluster: Box<dyn Backend>,
    lives: Rc<Counter<u32>>,
    events: u32,
    /// What a launch takes to start.
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
        report: &mut dyn FnMut(Reported) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
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

    fn trial(
        &mut self,
        plan: &LaunchPlan,
        report: &mut dyn FnMut(Reported) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        self.cluster.trial(plan, report)
    }

    fn probe(&mut self, rules: &Path, calls: &[Cell]) -> Result<Vec<CallEnd>, RunnerError> {
        self.cluster.probe(rules, calls)
    }

    fn serving(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        self.cluster.serving(rules, calls, without)
    }

    fn pin(&mut self, pins: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        self.cluster.pin(pins)
    }

    fn set_pins(&mut self, pins: BTreeMap<String, String>) {
        self.cluster.set_pins(pins);
    }
}

/// Where a test works, and what happened there.
struct Stage {
    directory: tempfile::TempDir,
    notes: Vec<String>,
    concluded: usize,
    compared: usize,
    pause: Duration,
    launches: Rc<Counter<u32>>,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (pause, launches) = (Duration::ZERO, Rc::default());
        Self { directory, notes: Vec::new(), concluded: 0, compared: 0, pause, launches }
    }

    fn run(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    /// Runs a workflow on a cluster whose first so many measuring jobs die; more failures than that are too many.
    fn play<T>(&mut self, deaths: u32, failures: u32, workflow: impl FnOnce(&mut Session<'_>) -> T) -> T {
        let lives = Rc::new(Counter::new(deaths));
        let (pause, launches) = (self.pause, Rc::clone(&self.launches));
        let mortal = move |system: &System, stop: &Arc<AtomicBool>| {
            let started = start(system, stop)?;
            let (lives, launches) = (Rc::clone(&lives), Rc::clone(&launches));
            let backend = Box::new(Mortal { cluster: started.backend, lives, events: 60, pause, launches });
            Ok(Started { backend: backend as Box<dyn Backend>, ..started })
        };
        let (notes, concluded, compared) = (&mut self.notes, &mut self.concluded, &mut self.compared);
        let mut watch = |event: Event<'_>| match event {
            Event::Note(note) => notes.push(note.to_owned()),
            Event::Concluded { .. } => *concluded += 1,
            Event::Compared { .. } => *compared += 1,
            _ => {}
        };
        workflow(&mut Session {
            stop: Arc::default(),
            failures,
            command: vec!["collrules".to_owned()],
            start: &mortal,
            watch: &mut watch,
        })
    }
}

fn tuning(scenario: &str) -> Tuning {
    let words =
        "--ops bcast --np 8 --sizes 8,8192,1M --segments 8K --fanouts 4 --budget none --refine 1 --refine-width 2";
    options::read(words.split(' ').chain([format!("--simulate={scenario}").as_str()])).expect("reads")
}

fn begin(stage: &Stage, scenario: &str) -> Begin {
    Begin::New { tuning: tuning(scenario), out: stage.run() }
}

#[test]
fn tuning_leaves_proven_and_compared_rules_and_its_options() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "stale");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    assert!(!published.findings.table.is_empty(), "an outdated builtin can be beaten");
    assert!(published.validation.as_ref().is_some_and(|validation| !validation.loses()));
    assert_eq!((stage.concluded, stage.compared), (1, 1));
    for name in [rundir::RULES, rundir::MCA_PARAMS, rundir::REPORT, rundir::PAGE, rundir::TREE_SVG, rundir::PROOF] {
        assert!(published.run.file(name).is_file(), "{name}");
    }
    assert!(!published.run.file(rundir::UNPROVEN).exists());
    let run = RunDir::open(stage.run()).expect("a run");
    let request = run.manifest().expect("a manifest").request;
    assert_eq!(request, Some(Request::Tune(Box::new(tuning("stale")))));
}

#[test]
fn a_perfect_builtin_keeps_its_calls() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "perfect");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    assert!(published.findings.table.is_empty());
    assert!(published.validation.is_none(), "there is nothing to compare");
    assert_eq!(published.context().switch_on, Vec::<String>::new());
}

#[test]
fn rules_that_do_not_hold_in_fresh_launches_are_given_back() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "deceptive");
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let validation = published.validation.expect("was compared");
    assert!(!validation.given_back.is_empty() && !validation.loses());
    assert!(stage.notes.iter().any(|note| note.contains("given back to the builtin")), "{:?}", stage.notes);
    let kept = published.run.file("rules.conf.before-repair");
    assert!(kept.is_file(), "what the file was is kept");
    let written = std::fs::read_to_string(published.run.file(rundir::REPORT)).expect("a report");
    assert!(written.contains("Given back to the builtin"), "the report says what was repaired");
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
    let cells = |published: &collrules_workflow::publish::Published| published.findings.cells.len();
    assert_eq!(cells(&published), cells(&expected));
}

#[test]
fn a_run_that_was_given_up_is_resumed_with_its_own_options() {
    let mut stage = Stage::new();
    let begin = begin(&stage, "stale");
    let error = stage.play(u32::MAX, 0, |session| tune::tune(&begin, session)).map(drop).expect_err("is given up");
    let WorkflowError::Incomplete { samples, .. } = error else { panic!("{error}") };
    assert!(samples > 0, "what was measured is kept");
    let resumed = options_of(&stage.run()).expect("options");
    assert_eq!(resumed, tuning("stale"));
    let resume = Begin::Resume { run: stage.run(), tuning: resumed };
    let published = stage.play(0, 20, |session| tune::tune(&resume, session)).expect("is resumed");
    assert!(!published.findings.table.is_empty());
    assert_eq!(
        published.findings.remarks.iter().filter(|remark| remark.contains("planned cells were measured")).count(),
        0
    );
}

fn validating(scenario: &str) -> Validating {
    options::read(["--budget=none", "--repair", &format!("--simulate={scenario}")]).expect("reads")
}

#[test]
fn a_comparison_that_was_given_up_is_resumed_and_repairs_a_run() {
    let mut stage = Stage::new();
    let begin = Begin::New { tuning: Tuning { validate: false, ..tuning("deceptive") }, out: stage.run() };
    stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let opened = || validate::open(&stage.run(), None).expect("a run");
    let first = opened();
    let (second, third) = (opened(), opened());
    assert_eq!(
        validate::as_measured(&first).expect("reads"),
        Some((tuning("deceptive").system, tuning("deceptive").timing))
    );
    let interrupted = stage
        .play(u32::MAX, 0, |session| validate::validate(first, &validating("deceptive"), None, session))
        .map(drop)
        .expect_err("is given up");
    assert!(matches!(interrupted, WorkflowError::Unvalidated { .. }), "{interrupted}");
    let validated = stage
        .play(0, 20, |session| validate::validate(second, &validating("deceptive"), None, session))
        .expect("is resumed");
    assert!(stage.notes.iter().any(|note| note.starts_with("resuming the comparison")), "{:?}", stage.notes);
    assert!(!validated.validation.given_back.is_empty() && !validated.validation.loses());
    // The file is another one by now than the one that was opened first.
    let again = stage.play(0, 20, |session| {
        validate::validate(third, &Validating { repair: false, ..validating("deceptive") }, None, session)
    });
    assert!(again.is_ok_and(|again| !again.validation.loses()));
}

#[test]
fn a_validation_keeps_to_its_time_and_says_what_it_did_not_compare_again() {
    let mut stage = Stage::new();
    let begin = Begin::New { tuning: Tuning { validate: false, ..tuning("deceptive") }, out: stage.run() };
    stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let opened = validate::open(&stage.run(), None).expect("a run");
    stage.launches.set(0);
    stage.pause = Duration::from_millis(200);
    let options = Validating { budget: Some(Seconds(2.0)), ..validating("deceptive") };
    let validated = stage.play(0, 20, |session| validate::validate(opened, &options, None, session)).expect("compares");
    assert!(stage.launches.get() <= 11, "{} launches of 0.2 seconds", stage.launches.get());
    let validation = validated.validation;
    let left = validation.not_again.as_ref().expect("the time is spent");
    assert!(left.cells > 0 && !validation.given_back.is_empty() && !validation.loses(), "{validation:?}");
    assert_eq!(validated.home.validation().expect("reads").as_ref(), Some(&validation));
    let page = std::fs::read_to_string(stage.run().join(rundir::REPORT)).expect("a report");
    assert!(page.contains("not compared again"), "{page}");
    // With time all of it is compared again.
    stage.pause = Duration::ZERO;
    let opened = validate::open(&stage.run(), None).expect("a run");
    let again = stage.play(0, 20, |session| validate::validate(opened, &validating("deceptive"), None, session));
    assert_eq!(again.expect("compares").validation.not_again, None);
}

#[test]
fn a_foreign_file_that_is_slower_is_told_and_rewritten() {
    let mut stage = Stage::new();
    let file = stage.directory.path().join("site.conf");
    std::fs::write(&file, "1\n7\n1\n2\n1\n0 1 0 0\n").expect("written");
    let out = stage.directory.path().join("out");
    let options = Validating { ranks: vec![Ranks(8)], sizes: Some(vec![Bytes(1 << 20)]), ..validating("perfect") };
    let opened = validate::open(&file, None).expect("opens");
    assert_eq!(validate::as_measured(&opened).expect("reads"), None);
    let validated =
        stage.play(0, 20, |session| validate::validate(opened, &options, Some(&out), session)).expect("compares");
    assert_eq!(validated.validation.rounds[0].repaired.len(), 1);
    assert!(file.with_file_name("site.conf.before-repair").is_file());
}

#[test]
fn calls_are_handed_over_from_han_and_compared_so() {
    let mut stage = Stage::new();
    let words = "--ops bcast,reduce --np 2,8 --sizes 8,64K,4M --segments 8K --fanouts 4 --budget none --refine 0 \
                 --simulate=han";
    let tuning: Tuning = options::read(words.split_whitespace()).expect("reads");
    let begin = Begin::New { tuning, out: stage.run() };
    let published = stage.play(0, 20, |session| tune::tune(&begin, session)).expect("tunes");
    let findings = &published.findings;
    let bcast = |ranks, bytes| Cell { collective: Collective::Bcast, ranks: Ranks(ranks), bytes: Bytes(bytes) };
    assert_eq!(findings.handover.says(bcast(8, 8)), Handed::By(HanAlgorithm::Simple), "{:?}", findings.handover);
    assert_eq!(findings.handover.says(bcast(8, 4 << 20)), Handed::Over);
    assert!(!findings.handover.touches(Collective::Bcast, Ranks(2)), "one host");
    assert!(!findings.table.lookup(Collective::Bcast, 8, 4 << 20).is_builtin(), "segments beat the binomial tree");
    let text = std::fs::read(published.run.file(rundir::HAN)).expect("HAN's file");
    assert!(han::is_han(&text));
    let validation = published.validation.as_ref().expect("was compared");
    assert!(!validation.loses() && validation.settings.contains_key(HAN_FILE), "{validation:?}");
    let round = validation.last().expect("a comparison");
    let long = round.cells.iter().find(|cell| cell.cell == bcast(8, 4 << 20)).expect("was compared");
    assert!(long.handed && long.verdict == Outcome::Faster, "{long:?}");
    let report = std::fs::read_to_string(published.run.file(rundir::REPORT)).expect("a report");
    assert!(report.contains("accepts HAN's rules file") && report.contains("HAN, by its algorithm simple"), "{report}");
    // The tuning is whole, or it is none.
    std::fs::write(published.run.file(rundir::HAN), "1 bcast 1 2 1 1 1 0 tuned\n").expect("writes");
    let opened = validate::open(&stage.run(), None).expect("a run");
    let error = stage.play(0, 20, |session| validate::validate(opened, &validating("han"), None, session)).map(drop);
    assert!(error.expect_err("is another").to_string().contains("does not say what the findings beside it say"));
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
            validate::open(&beside, Some(&file))
        }
        None => validate::open(&file, None),
    };
    let out = stage.directory.path().join("out");
    let opened = opened.expect("opens");
    let validated = stage.play(0, 20, |session| validate::validate(opened, &options, Some(&out), session));
    (stage, file, validated)
}

#[test]
fn a_file_of_hans_from_elsewhere_is_compared_and_repaired() {
    for rules in [None, Some("1\n7\n1\n8\n1\n0 6 0 0\n")] {
        let (_stage, file, validated) = from_elsewhere("han", "1 bcast 1 2 1 1 1 0 tuned\n", rules);
        let validation = validated.expect("compares").validation;
        assert!(!validation.loses() && !validation.given_back.is_empty(), "{validation:?}");
        assert_eq!(validation.settings.contains_key(RULES_FILE), rules.is_some());
        let first = &validation.rounds[0];
        assert!(first.cells.iter().all(|cell| cell.handed && cell.cell.collective == Collective::Bcast));
        assert!(file.with_file_name("han-of-site.conf.before-repair").is_file());
        let text = std::fs::read(&file).expect("the repaired file");
        let behaviour = Behaviour::latest(Release::V5_0);
        let han::Load::Accepted(read) = han::load(&text, &behaviour) else {
            panic!("{}", String::from_utf8_lossy(&text))
        };
        let says = |bytes| Handover::of_han(&read.to_table()).says(Cell { bytes: Bytes(bytes), ..first.cells[0].cell });
        assert_eq!((says(1), says(1 << 20)), (Handed::Over, Handed::Kept), "long messages are faster by HAN");
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
    assert!(error.contains("is for HAN, which serves communicators over several hosts"), "{error}");
    let (_, _, confused) = from_elsewhere("han", "1\n7\n1\n8\n1\n0 6 0 0\n", Some("1\n7\n1\n8\n1\n0 6 0 0\n"));
    assert!(confused.map(drop).expect_err("is refused").to_string().contains("this is a rules file for coll/tuned"));
    let circle = "1 bcast 2 1 1 1 1 0 han 2 1 1 1 0 tuned\n";
    let (stage, _, validated) = from_elsewhere("han", circle, None);
    validated.expect("Open MPI goes on to tuned");
    assert!(stage.notes.iter().any(|note| note.contains("bcast on inter_node cannot go to han")), "{:?}", stage.notes);
    let rules = stage.directory.path().join("site.conf");
    std::fs::write(&rules, "1\n7\n1\n8\n1\n0 6 0 0\n").expect("written");
    let missing = validate::open(&rules, Some(Path::new("nowhere.conf"))).map(drop);
    assert!(missing.expect_err("is missing").to_string().contains("nowhere.conf"));
}
