//! Comparisons whose jobs hang, die, are wrong, or are interrupted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use collrules_record::clock::LaunchEnd;
use collrules_record::manifest::SIMULATED;
use collrules_record::plan::Schedule;
use collrules_record::rundir::ComparisonLog;
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_record::{
    ArmSubject, Bytes, Cell, Component, Condition, Layout, Placement, Plan, Ranks, RunDir, Seconds, Settings, Stage,
    Survey,
};
use collrules_rules::Collective;
use collrules_runner::backend::Report;
use collrules_runner::job_clock::JobClock;
use collrules_runner::launch::LaunchPlan;
use collrules_runner::turns::{JobFailure, Jobs, LoopTimes, Turn};
use collrules_runner::wire::CallEnd;
use collrules_runner::{Backend, RunnerError};
use collrules_tuner::comparison::{ArmDemand, Compared, Comparison, Looks, compare};

use super::{ArmJobs, JobLauncher};
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
enum JobFault {
    None,
    /// The job is silent from the call of this size on.
    Hangs(u64),
    /// The job dies before any call.
    Dies,
    /// The job does not start while another one lives.
    DiesBeside,
    /// The memory does not suffice for the calls of this size in two jobs.
    EndsBeside(u64),
    /// Something else ends the job in the call of this size.
    Ended(u64),
    /// The data of this size is wrong.
    Wrong(u64),
    /// A rank uses a processor while the job sleeps.
    Polls,
}

/// Jobs in which the arm is 1.25 times as fast as the default, and what goes wrong with them.
struct Scripted<'a> {
    /// The fault of a job, by its settings and how many jobs with these were before it.
    script: &'a dyn Fn(&Settings, usize) -> JobFault,
    /// The job in which the user interrupts.
    interrupted: Option<usize>,
    stop: Arc<AtomicBool>,
    jobs: Vec<Settings>,
    patience: Duration,
    silences: Vec<Duration>,
    clock: JobClock,
}

fn died(outside: bool) -> RunnerError {
    RunnerError::JobDied {
        status: "a rank was ended".to_owned(),
        doing: "testing".to_owned(),
        output: String::new(),
        outside,
    }
}

impl Backend for Scripted<'_> {
    fn name(&self) -> &'static str {
        SIMULATED
    }

    fn clock(&self) -> JobClock {
        self.clock.clone()
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        unreachable!("nothing is surveyed")
    }

    fn launcher(&self, _: &Plan) -> Vec<String> {
        Vec::new()
    }

    fn probe_without(&mut self, _: &Path, _: &[Cell], _: &[Vec<Component>]) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        Ok(Vec::new())
    }

    fn patience(&mut self) -> Option<&mut Duration> {
        Some(&mut self.patience)
    }

    fn measure(&mut self, _: &LaunchPlan, _: Report<'_>) -> Result<(), RunnerError> {
        unreachable!("all jobs take turns")
    }

    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure> {
        let mut faults = Vec::new();
        for (job, plan) in plans.iter().enumerate() {
            let settings = plan.deployment.as_ref().map(|it| it.settings.clone()).unwrap_or_default();
            let before = self.jobs.iter().filter(|job| **job == settings).count();
            if self.interrupted == Some(self.jobs.len()) {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.jobs.push(settings.clone());
            self.silences.push(self.patience);
            let fault = (self.script)(&settings, before);
            if fault == JobFault::Dies || fault == JobFault::DiesBeside && plans.len() > 1 {
                return Err(JobFailure { job, subject: None, error: died(false) });
            }
            faults.push(fault);
        }
        let clock = self.clock.clone();
        Ok(Box::new(ScriptedJobs { plans: plans.to_vec(), faults, patience: self.patience, clock }))
    }
}

/// Jobs that have started.
struct ScriptedJobs {
    plans: Vec<LaunchPlan>,
    faults: Vec<JobFault>,
    patience: Duration,
    clock: JobClock,
}

impl ScriptedJobs {
    fn bytes(&self, subject: usize) -> u64 {
        self.plans[0].cells[subject].cell.bytes.0
    }
}

impl Jobs for ScriptedJobs {
    fn check(&mut self, job: usize, subject: usize) -> Result<Vec<(usize, String)>, RunnerError> {
        let is_wrong = self.faults[job] == JobFault::Wrong(self.bytes(subject));
        Ok(if is_wrong { vec![(0, "byte 3 is wrong".to_owned())] } else { Vec::new() })
    }

    fn time(&mut self, job: usize, turns: &[Turn]) -> Result<Vec<Option<LoopTimes>>, RunnerError> {
        let bytes = self.bytes(turns[0].subject);
        match self.faults[job] {
            JobFault::Ended(size) if size == bytes => return Err(died(true)),
            JobFault::EndsBeside(size) if size == bytes && self.plans.len() > 1 => return Err(died(false)),
            JobFault::Hangs(size) if size == bytes => {
                self.clock.pass(self.patience.as_secs_f64());
                let (seconds, doing) = (self.patience.as_secs(), "calling".to_owned());
                return Err(RunnerError::JobHung { seconds, doing, output: String::new() });
            }
            _ => {}
        }
        let plan = &self.plans[job];
        let settings = plan.deployment.as_ref().map(|it| it.settings.clone()).unwrap_or_default();
        let noise = 1.0 + 0.01 * (plan.seed % 17) as f64 / 17.0;
        let time = 1e-3 * noise / if settings.is_empty() { 1.0 } else { 1.25 };
        Ok(vec![Some(LoopTimes { mean: time, usual: time, lap: time }); turns.len()])
    }

    fn end(&mut self) -> Result<Vec<LaunchEnd>, JobFailure> {
        self.clock.pass(CALLING * self.plans.len() as f64);
        let asleep = |fault: &JobFault| if *fault == JobFault::Polls { 0.9 } else { 0.001 };
        Ok(self.faults.iter().map(|it| LaunchEnd { asleep: Some(asleep(it)), ..LaunchEnd::default() }).collect())
    }

    fn elapsed(&self) -> f64 {
        0.0
    }
}

/// Jobs so far, and the result.
struct Played {
    jobs: Vec<Settings>,
    silences: Vec<Duration>,
    /// Seconds that they took, without starts.
    seconds: f64,
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
    script: &dyn Fn(&Settings, usize) -> JobFault,
    interrupted: Option<usize>,
) -> Played {
    play_after(None, home, (stage, limit), script, interrupted)
}

/// Like [`play`], after an earlier step of the stage that ended at this time.
fn play_after(
    ended: Option<&str>,
    home: &Path,
    (stage, limit): (Stage, (Option<f64>, u32)),
    script: &dyn Fn(&Settings, usize) -> JobFault,
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
        clock: JobClock::of_model(),
    };
    let mut session = Session { stop, failures: 3, command: Vec::new(), start: &start, watch: &mut |_| {} };
    let cell = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(bytes) };
    let jobs = ArmJobs {
        subjects: SIZES.map(|bytes| ArmSubject::Call(cell(bytes), Condition::default())).to_vec(),
        ranks: Ranks(2),
        placement: Placement::new(Layout::Block, &["a".to_owned(), "a".to_owned()], [Ranks(2)]),
        schedule: Schedule { startup: Seconds(STARTUP), ..Schedule::default() },
        seed: 1,
        limit: limit.0.map(Seconds),
        least: limit.1,
        ended: ended.map(str::to_owned),
        ..ArmJobs::default()
    };
    let mut launcher = JobLauncher::new(jobs, &mut backend, &mut log, &mut session);
    let comparison = Comparison {
        stage,
        base: &Settings::new(),
        arms: &[arm()],
        demand: &|_, _| ArmDemand::Gain,
        weight: &|_, _| 1.0,
        criteria: ValidationCriteria::default(),
        max_loss: 0.05,
        looks: Looks::between(4, 16),
        chooses: false,
    };
    let compared = compare(&comparison, &mut launcher);
    Played { jobs: backend.jobs, silences: backend.silences, seconds: backend.clock.now(), compared }
}

fn play_once(stage: Stage, script: &dyn Fn(&Settings, usize) -> JobFault) -> Played {
    let home = tempfile::tempdir().expect("a directory");
    play(home.path(), (stage, (None, 0)), script, None)
}

#[test]
fn a_call_that_hangs_is_left_out_and_patience_does_not_grow() {
    let hangs = |settings: &Settings, _| if settings.is_empty() { JobFault::None } else { JobFault::Hangs(1024) };
    let played = play_once(Stage::Rules, &hangs);
    assert_eq!(played.barred(), [1024]);
    let others: Vec<_> = played.verdicts().into_iter().filter(|(bytes, _)| *bytes != 1024).collect();
    assert_eq!(others, [(8, Outcome::Faster), (65536, Outcome::Faster)]);
    let blocks = played.compared().blocks.len();
    assert_eq!(played.of_arm(), 2 + blocks, "next to the default and alone, then without the call");
    assert_eq!(played.silences[0], USUAL);
    assert_eq!(played.silences.last(), Some(&(USUAL / 8)));
    assert!(played.silences.is_sorted_by(|before, after| before >= after), "{:?}", played.silences);
}

#[test]
fn an_arm_whose_jobs_die_is_given_up() {
    let dies = |settings: &Settings, _| if settings.is_empty() { JobFault::None } else { JobFault::Dies };
    // Every second one alone.
    for (stage, jobs) in [(Stage::Rules, 4), (Stage::Tuning, 2), (Stage::Alone, 2)] {
        let played = play_once(stage, &dies);
        assert_eq!((played.of_arm(), played.compared().failed.contains_key(&arm())), (jobs, true), "{stage:?}");
        assert!(played.verdicts().is_empty());
    }
}

#[test]
fn what_ends_a_job_from_outside_blames_no_call() {
    // Two jobs of three, so that one next to another is ended, and one alone.
    let ended = |settings: &Settings, before: usize| match settings.is_empty() || before % 3 == 2 {
        true => JobFault::None,
        false => JobFault::Ended(1024),
    };
    let played = play_once(Stage::Rules, &ended);
    assert_eq!(played.barred(), [0; 0]);
    assert_eq!(played.verdicts(), SIZES.map(|bytes| (bytes, Outcome::Faster)));
    assert_eq!(played.of_arm(), 3 * played.compared().blocks.len());
}

#[test]
fn wrong_data_loses_a_rule_and_keeps_settings_out() {
    let wrong = |settings: &Settings, _| if settings.is_empty() { JobFault::None } else { JobFault::Wrong(8) };
    let rules = play_once(Stage::Rules, &wrong);
    assert_eq!(rules.barred(), [8]);
    assert_eq!(rules.verdicts(), [(1024, Outcome::Faster), (65536, Outcome::Faster)]);
    let settings = play_once(Stage::Tuning, &wrong);
    let failure = settings.compared().failed.get(&arm()).cloned().expect("it fails");
    assert_eq!(failure.subject.and_then(|subject| subject.cell()).map(|cell| cell.bytes.0), Some(8));
    assert_eq!(settings.of_arm(), 1);
}

/// Whether the jobs of each block lived at the same time.
fn side_by_side(script: &dyn Fn(&Settings, usize) -> JobFault) -> Vec<bool> {
    let home = tempfile::tempdir().expect("a directory");
    let played = play(home.path(), (Stage::Rules, (None, 0)), script, None);
    assert_eq!(played.verdicts(), SIZES.map(|bytes| (bytes, Outcome::Faster)));
    let logged = ComparisonLog::open(&RunDir::derived(home.path()).expect("is there")).expect("reads");
    let of_arm = logged.launches().iter().filter(|launch| !launch.arm.is_empty() && launch.outcome.is_ok());
    of_arm.map(|launch| launch.apart.is_none()).collect()
}

#[test]
fn jobs_that_cannot_live_at_the_same_time_run_one_after_the_other() {
    let of_arm =
        |fault: JobFault| move |settings: &Settings, _: usize| if settings.is_empty() { JobFault::None } else { fault };
    assert!(side_by_side(&of_arm(JobFault::None)).iter().all(|together| *together));
    assert!(side_by_side(&of_arm(JobFault::DiesBeside)).iter().all(|together| !together), "found in the first block");
    assert!(side_by_side(&of_arm(JobFault::EndsBeside(65536))).iter().all(|together| !together));
    assert!(side_by_side(&of_arm(JobFault::Polls)).iter().all(|together| !together));
    // One failure next to others may be chance.
    let once = |settings: &Settings, before: usize| match (settings.is_empty(), before) {
        (false, 2) => JobFault::EndsBeside(8),
        _ => JobFault::None,
    };
    assert!(side_by_side(&once).iter().all(|together| *together));
}

#[test]
fn one_block_in_four_has_a_control() {
    let played = play_once(Stage::Rules, &|_, _| JobFault::None);
    let compared = played.compared();
    let controls = compared.blocks.iter().map(|block| block.launches[&Settings::new()].len());
    assert!(controls.enumerate().all(|(block, launches)| launches == if block % 4 == 0 { 2 } else { 1 }));
    assert!(compared.control.is_some_and(|control| (control.point - 1.0).abs() < 0.02), "{:?}", compared.control);
}

#[test]
fn nothing_is_compared_with_a_default_that_fails() {
    let fails = |settings: &Settings, _| if settings.is_empty() { JobFault::Dies } else { JobFault::None };
    let rules = play_once(Stage::Rules, &fails);
    assert!(matches!(rules.compared, Err(WorkflowError::DefaultFails(_))), "{:?}", rules.compared);
    assert_eq!(rules.jobs.len() - rules.of_arm(), 4, "twice, each time alone as well");
    let search = play_once(Stage::Alone, &fails);
    assert!(search.compared().blocks.is_empty(), "a search ends, and the rest of a tuning goes on");
}

#[test]
fn an_interrupted_comparison_measures_and_decides_nothing_twice() {
    let script =
        |settings: &Settings, _: usize| if settings.is_empty() { JobFault::None } else { JobFault::Hangs(65536) };
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
        let resumed = play(home.path(), all, &script, None);
        assert_eq!(resumed.compared(), expected, "interrupted in job {interrupted}");
        let again = begun.jobs.len() + resumed.jobs.len() - whole.jobs.len();
        assert!(again <= 4, "only the block is made again: {again} jobs, interrupted in job {interrupted}");
        assert_eq!(play(home.path(), all, &script, None).jobs.len(), 0, "all is in the log");
    }
}

#[test]
fn no_block_begins_without_time_for_it_but_the_least() {
    let none = |_: &Settings, _: usize| JobFault::None;
    let block = 2.0 * (STARTUP + CALLING);
    let blocks = |seconds: f64, least: u32| {
        let home = tempfile::tempdir().expect("a directory");
        let played = play(home.path(), (Stage::Rules, (Some(seconds), least)), &none, None);
        played.compared().blocks.len()
    };
    // The first block has a control.
    assert_eq!(blocks(3.9 * block, 2), 3);
    assert_eq!(blocks(0.1 * block, 2), 2, "fewer say nothing");
    assert_eq!(blocks(0.1 * block, 0), 0);
}

/// Launches of an interrupted step take of its time, those of a step that ended do not.
#[test]
fn a_comparison_that_goes_on_has_its_own_time() {
    let none = |_: &Settings, _: usize| JobFault::None;
    let block = 2.0 * (STARTUP + CALLING);
    let added = |ended: Option<&str>| {
        let home = tempfile::tempdir().expect("a directory");
        let blocks = |ended, seconds: f64| {
            let limit = (Stage::Rules, (Some(seconds), 0));
            play_after(ended, home.path(), limit, &none, None).compared().blocks.len()
        };
        let first = blocks(None, 3.9 * block);
        blocks(ended, 3.9 * block) - first
    };
    assert_eq!(added(None), 0);
    assert_eq!(added(Some("9999-01-01T00:00:00Z")), 1, "the look after four blocks decides");
}

/// A call that hangs takes the time of a comparison, and that of eight starts more at most; the others have the rest.
#[test]
fn calls_that_hang_end_with_the_time() {
    for (of_default, limit) in [(false, 30.0), (true, 30.0), (false, 500.0), (true, 500.0)] {
        let hangs = |settings: &Settings, _| match settings.is_empty() == of_default {
            true => JobFault::Hangs(1024),
            false => JobFault::None,
        };
        let home = tempfile::tempdir().expect("a directory");
        let played = play(home.path(), (Stage::Rules, (Some(limit), 2)), &hangs, None);
        assert!(played.seconds <= limit + 8.0 * STARTUP, "{} s of {limit} s", played.seconds);
        let is_enough = limit > 2.0 * USUAL.as_secs_f64();
        assert_eq!(played.barred(), if is_enough { vec![1024] } else { Vec::new() });
        let others = played.verdicts().into_iter().filter(|(bytes, _)| *bytes != 1024);
        let expected = [(8, Outcome::Faster), (65536, Outcome::Faster)];
        assert_eq!(others.collect::<Vec<_>>(), if is_enough { expected.to_vec() } else { Vec::new() });
    }
}
