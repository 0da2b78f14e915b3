//! Comparisons whose jobs hang, die, are wrong, or are interrupted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collrules_record::comparison::{ArmSubject, Stage};
use collrules_record::condition::Condition;
use collrules_record::manifest::SIMULATED;
use collrules_record::plan::Schedule;
use collrules_record::rundir::{ComparisonLog, RunDir};
use collrules_record::settings::Settings;
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{Bytes, Cell, Component, Layout, Placement, Plan, Ranks, Seconds, Survey};
use collrules_rules::Collective;
use collrules_runner::backend::Report;
use collrules_runner::launch::LaunchPlan;
use collrules_runner::wire::{CallEnd, WorkerEvent};
use collrules_runner::{Backend, RunnerError};
use collrules_tuner::comparison::{ArmDemand, Compared, Comparison, Looks, compare};

use super::JobLauncher;
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::start;

/// Seconds of a launch: its start, and the calls in it.
const STARTUP: f64 = 1.0;
const CALLING: f64 = 0.5;

/// Patience with silent jobs where nothing shortens it.
const USUAL: Duration = Duration::from_secs(120);

/// Sizes that are compared.
const SIZES: [u64; 3] = [8, 1024, 65536];

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The job is silent from the call of this size on.
    Hangs(u64),
    /// The job dies before any call.
    Dies,
    /// Something else ends the job in the call of this size.
    Ended(u64),
    /// The data of this size is wrong.
    Wrong(u64),
}

/// Jobs in which the arm is 1.25 times as fast as the default, and what goes wrong with them.
struct Scripted<'a> {
    /// The fault of a job, by its settings and how many jobs with these were before it.
    script: &'a dyn Fn(&Settings, usize) -> Fault,
    /// The job in which the user interrupts.
    interrupted: Option<usize>,
    stop: Arc<AtomicBool>,
    jobs: Vec<Settings>,
    patience: Duration,
    silences: Vec<Duration>,
}

impl Backend for Scripted<'_> {
    fn name(&self) -> &'static str {
        SIMULATED
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        unreachable!("nothing is surveyed")
    }

    fn launcher(&self, _: &Plan) -> Vec<String> {
        Vec::new()
    }

    fn serving(&mut self, _: &Path, _: &[Cell], _: &[Vec<Component>]) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        Ok(Vec::new())
    }

    fn patience(&mut self) -> Option<&mut Duration> {
        Some(&mut self.patience)
    }

    fn measure(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError> {
        let settings = plan.deployment.as_ref().map(|it| it.settings.clone()).unwrap_or_default();
        let before = self.jobs.iter().filter(|job| **job == settings).count();
        if self.interrupted == Some(self.jobs.len()) {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.jobs.push(settings.clone());
        self.silences.push(self.patience);
        let fault = (self.script)(&settings, before);
        let died = |outside| RunnerError::JobDied {
            status: "a rank was ended".to_owned(),
            doing: "testing".to_owned(),
            output: String::new(),
            outside,
        };
        if fault == Fault::Dies {
            return Err(died(false));
        }
        let noise = 1.0 + 0.01 * (plan.seed % 17) as f64 / 17.0;
        for (cell, planned) in plan.cells.iter().enumerate() {
            let bytes = planned.cell.bytes.0;
            report(WorkerEvent::Checking { cell, candidate: 0 })?;
            if fault == Fault::Wrong(bytes) {
                report(WorkerEvent::Disqualified { cell, candidate: 0, why: "byte 3 is wrong".to_owned() })?;
                continue;
            }
            if fault == Fault::Ended(bytes) {
                return Err(died(true));
            }
            if fault == Fault::Hangs(bytes) {
                let (seconds, doing) = (self.patience.as_secs(), "calling".to_owned());
                return Err(RunnerError::JobHung { seconds, doing, output: String::new() });
            }
            let time = 1e-3 * noise / if settings.is_empty() { 1.0 } else { 1.25 };
            let rounds = vec![vec![[time, time, time]]; 20];
            report(WorkerEvent::Visited { cell, visit: 0, candidates: vec![0], rounds, seconds: 0.01, at: CALLING })?;
        }
        Ok(())
    }
}

/// Jobs so far, and the result.
struct Played {
    jobs: Vec<Settings>,
    silences: Vec<Duration>,
    compared: Result<Compared, WorkflowError>,
}

impl Played {
    /// The number of jobs with the arm.
    fn of_arm(&self) -> usize {
        self.jobs.iter().filter(|job| !job.is_empty()).count()
    }

    fn compared(&self) -> &Compared {
        self.compared.as_ref().expect("has a result")
    }

    /// The verdicts of the arm by size.
    fn verdicts(&self) -> Vec<(u64, Outcome)> {
        let subjects = self.compared().arms.iter().flat_map(|result| &result.subjects);
        subjects.filter_map(|it| Some((it.subject.cell()?.bytes.0, it.verdict))).collect()
    }

    /// The sizes that are no longer called with the arm.
    fn barred(&self) -> Vec<u64> {
        self.compared().barred.iter().filter_map(|(_, subject, _)| Some(subject.cell()?.bytes.0)).collect()
    }
}

fn arm() -> Settings {
    Settings::from([("smsc".to_owned(), "^cma".to_owned())])
}

/// Compares an arm with the default, with the log in this directory.
fn play(
    home: &Path,
    (stage, limit): (Stage, (Option<f64>, u32)),
    script: &dyn Fn(&Settings, usize) -> Fault,
    interrupted: Option<usize>,
) -> Played {
    let home = RunDir::derived(home).expect("is there");
    let mut log = ComparisonLog::open(&home).expect("reads");
    let stop = Arc::<AtomicBool>::default();
    let mut backend = Scripted {
        script,
        interrupted,
        stop: Arc::clone(&stop),
        jobs: Vec::new(),
        patience: USUAL,
        silences: Vec::new(),
    };
    let mut session = Session { stop, failures: 3, command: Vec::new(), start: &start, watch: &mut |_| {} };
    let placement = Placement::new(Layout::Block, &["a".to_owned(), "a".to_owned()], [Ranks(2)]);
    let schedule = Schedule { startup: Seconds(STARTUP), ..Schedule::default() };
    let mut launcher = JobLauncher::new(&mut backend, Ranks(2), &placement, schedule, 1, &mut log, &mut session);
    let cell = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(bytes) };
    launcher.subjects = SIZES.map(|bytes| ArmSubject::Call(cell(bytes), Condition::default())).to_vec();
    launcher.limit_to(limit.0, limit.1);
    let comparison = Comparison {
        stage,
        base: &Settings::new(),
        arms: &[arm()],
        demand: &|_, _| ArmDemand::Gain,
        weight: &|_, _| 1.0,
        always: &Default::default(),
        criteria: ValidationCriteria::default(),
        max_loss: 0.05,
        looks: Looks::between(4, 16),
        cost: &|_| 0.0,
        chooses: false,
    };
    let compared = compare(&comparison, &mut launcher);
    Played { jobs: backend.jobs, silences: backend.silences, compared }
}

fn play_once(stage: Stage, script: &dyn Fn(&Settings, usize) -> Fault) -> Played {
    let home = tempfile::tempdir().expect("a directory");
    play(home.path(), (stage, (None, 0)), script, None)
}

#[test]
fn a_call_that_hangs_is_left_out_and_patience_does_not_grow() {
    let hangs = |settings: &Settings, _| if settings.is_empty() { Fault::None } else { Fault::Hangs(1024) };
    let played = play_once(Stage::Rules, &hangs);
    assert_eq!(played.barred(), [1024]);
    let others: Vec<_> = played.verdicts().into_iter().filter(|(bytes, _)| *bytes != 1024).collect();
    assert_eq!(others, [(8, Outcome::Faster), (65536, Outcome::Faster)]);
    let blocks = played.compared().blocks.len();
    assert_eq!(played.of_arm(), 2 + blocks, "two tries, then without the call");
    assert_eq!(played.silences[0], USUAL);
    assert_eq!(played.silences.last(), Some(&(USUAL / 8)));
    assert!(played.silences.is_sorted_by(|before, after| before >= after), "{:?}", played.silences);
}

#[test]
fn an_arm_whose_jobs_die_is_given_up() {
    let dies = |settings: &Settings, _| if settings.is_empty() { Fault::None } else { Fault::Dies };
    for (stage, tries) in [(Stage::Rules, 3), (Stage::Tuning, 1), (Stage::Alone, 1)] {
        let played = play_once(stage, &dies);
        assert_eq!((played.of_arm(), played.compared().failed.contains_key(&arm())), (tries, true), "{stage:?}");
        assert!(played.verdicts().is_empty());
    }
}

#[test]
fn what_ends_a_job_from_outside_blames_no_call() {
    // Every other job.
    let ended = |settings: &Settings, before: usize| match settings.is_empty() || before % 2 == 1 {
        true => Fault::None,
        false => Fault::Ended(1024),
    };
    let played = play_once(Stage::Rules, &ended);
    assert_eq!(played.barred(), [0; 0]);
    assert_eq!(played.verdicts(), SIZES.map(|bytes| (bytes, Outcome::Faster)));
    assert_eq!(played.of_arm(), 2 * played.compared().blocks.len());
}

#[test]
fn wrong_data_loses_a_rule_and_keeps_settings_out() {
    let wrong = |settings: &Settings, _| if settings.is_empty() { Fault::None } else { Fault::Wrong(8) };
    let rules = play_once(Stage::Rules, &wrong);
    assert_eq!(rules.barred(), [8]);
    assert_eq!(rules.verdicts(), [(1024, Outcome::Faster), (65536, Outcome::Faster)]);
    let settings = play_once(Stage::Tuning, &wrong);
    let failure = settings.compared().failed.get(&arm()).cloned().expect("it fails");
    assert_eq!(failure.subject.and_then(|subject| subject.cell()).map(|cell| cell.bytes.0), Some(8));
    assert_eq!(settings.of_arm(), 1);
}

#[test]
fn nothing_is_compared_with_a_default_that_fails() {
    let fails = |settings: &Settings, _| if settings.is_empty() { Fault::Dies } else { Fault::None };
    let rules = play_once(Stage::Rules, &fails);
    assert!(matches!(rules.compared, Err(WorkflowError::DefaultFails(_))), "{:?}", rules.compared);
    assert_eq!(rules.jobs.len() - rules.of_arm(), 3);
    let search = play_once(Stage::Alone, &fails);
    assert!(search.compared().blocks.is_empty(), "a search ends, and the rest of a tuning goes on");
}

#[test]
fn an_interrupted_comparison_measures_and_decides_nothing_twice() {
    // A call hangs, and a job of each dies.
    let script = |settings: &Settings, before: usize| match (settings.is_empty(), before) {
        (true, 1) | (false, 4) => Fault::Dies,
        (false, _) => Fault::Hangs(65536),
        _ => Fault::None,
    };
    let home = tempfile::tempdir().expect("a directory");
    let all = (Stage::Rules, (None, 0));
    let whole = play(home.path(), all, &script, None);
    let expected = whole.compared();
    assert_eq!(whole.barred(), [65536]);
    for interrupted in 0..whole.jobs.len() {
        let home = tempfile::tempdir().expect("a directory");
        let begun = play(home.path(), all, &script, Some(interrupted));
        let is_interrupted =
            matches!(begun.compared, Err(WorkflowError::Runner(RunnerError::Interrupted))) || begun.compared.is_ok();
        assert!(is_interrupted, "{:?}", begun.compared);
        let logged = ComparisonLog::open(&RunDir::derived(home.path()).expect("is there")).expect("reads");
        let before = |settings: &Settings| logged.launches().iter().filter(|it| it.arm == *settings).count();
        let counted = [before(&Settings::new()), before(&arm())];
        let go_on =
            |settings: &Settings, now: usize| script(settings, counted[usize::from(!settings.is_empty())] + now);
        let resumed = play(home.path(), all, &go_on, None);
        assert_eq!(resumed.compared(), expected, "interrupted in job {interrupted}");
        assert_eq!(logged.launches().len() + resumed.jobs.len(), whole.jobs.len(), "interrupted in job {interrupted}");
        assert_eq!(play(home.path(), all, &go_on, None).jobs.len(), 0, "all is in the log");
    }
}

#[test]
fn no_block_begins_without_time_for_it_but_the_least() {
    let none = |_: &Settings, _: usize| Fault::None;
    let block = 2.0 * (STARTUP + CALLING);
    let blocks = |seconds: f64, least: u32| {
        let home = tempfile::tempdir().expect("a directory");
        let played = play(home.path(), (Stage::Rules, (Some(seconds), least)), &none, None);
        played.compared().blocks.len()
    };
    assert_eq!(blocks(3.4 * block, 2), 3);
    assert_eq!(blocks(0.1 * block, 2), 2, "fewer say nothing");
    assert_eq!(blocks(0.1 * block, 0), 0);
}
