//! Workflows on the simulated cluster, with options in the words of the command line, and on one where jobs die.

use std::cell::{Cell as Counter, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Command};
use collrules_record::allocation::{Allocation, BatchSystem};
use collrules_record::clock::LaunchEnd;
use collrules_record::criteria::Criteria;
use collrules_record::options::{SystemOptions, TuneOptions, Validating};
use collrules_record::rundir::{RULES, RunDir};
use collrules_record::validation::{Outcome, Round};
use collrules_record::{Bytes, Candidate, Cell, Component, Plan, Policy, Ranks, Seconds, Survey, Tuning};
use collrules_rules::deploy::RULES_FILE;
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::{Behaviour, Choice, Collective, Release, RuleTable, load};
use collrules_runner::campaign::Notice;
use collrules_runner::job_clock::JobClock;
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::turns::{JobFailure, Jobs, LoopTimes, Turn};
use collrules_runner::wire::{CallEnd, WorkerEvent};
use collrules_runner::{Backend, RunnerError};
use collrules_workflow::analyze::Source;
use collrules_workflow::campaign::Begin;
use collrules_workflow::publish::{self, Published};
use collrules_workflow::start::{Started, start};
use collrules_workflow::validate::{Validated, as_measured, validate};
use collrules_workflow::{Event, Session, WorkflowError, tune};

/// A cluster whose measuring jobs die after so many events, as long as there are lives to lose.
struct Mortal {
    cluster: Box<dyn Backend>,
    lives: Rc<Counter<u32>>,
    /// Time that a launch takes to start.
    pause: Duration,
    launches: Rc<Counter<u32>>,
    /// Starts of jobs with rules before each of them dies.
    healthy: Option<u32>,
    hang: Option<Hang>,
    /// Silence after which a job is ended.
    patience: Duration,
}

/// Calls of a collective that hang.
#[derive(Clone, Copy)]
pub(crate) enum Hang {
    /// In measurements, with this candidate, or with all.
    Measured(Collective, Option<Candidate>),
    /// In fresh launches, with rules or without.
    Compared(Collective, bool),
    /// When its component is looked for.
    Looked(Collective),
}

/// Lets the time pass after which a silent job is ended.
fn hang(clock: &JobClock, patience: Duration) -> RunnerError {
    clock.pass(patience.as_secs_f64());
    RunnerError::JobHung { seconds: patience.as_secs(), doing: "calling".to_owned(), output: String::new() }
}

/// Jobs of which some hang in some calls.
struct HangingJobs<'a> {
    jobs: Box<dyn Jobs + 'a>,
    /// For each job, whether it hangs with a cell.
    hangs: Vec<Vec<bool>>,
    clock: JobClock,
    patience: Duration,
}

impl HangingJobs<'_> {
    fn hangs(&self, job: usize, subject: usize) -> bool {
        self.hangs[job].get(subject).is_some_and(|hangs| *hangs)
    }
}

impl Jobs for HangingJobs<'_> {
    fn check(&mut self, job: usize, subject: usize) -> Result<Vec<(usize, String)>, RunnerError> {
        if self.hangs(job, subject) { Err(hang(&self.clock, self.patience)) } else { self.jobs.check(job, subject) }
    }

    fn time(&mut self, job: usize, turns: &[Turn]) -> Result<Vec<Option<LoopTimes>>, RunnerError> {
        match turns.iter().any(|turn| self.hangs(job, turn.subject)) {
            true => Err(hang(&self.clock, self.patience)),
            false => self.jobs.time(job, turns),
        }
    }

    fn end(&mut self) -> Result<Vec<LaunchEnd>, JobFailure> {
        self.jobs.end()
    }

    fn elapsed(&self) -> f64 {
        self.jobs.elapsed()
    }
}

fn died(outside: bool) -> RunnerError {
    RunnerError::JobDied {
        status: "a rank was ended".to_owned(),
        doing: "testing".to_owned(),
        output: String::new(),
        outside,
    }
}

/// Events of a job that dies.
const EVENTS: u32 = 60;

impl Backend for Mortal {
    fn name(&self) -> &'static str {
        self.cluster.name()
    }

    fn clock(&self) -> JobClock {
        self.cluster.clock()
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
        if let Some(Hang::Measured(collective, hanging)) = self.hang {
            let hangs = |cell: usize, candidate: Candidate| {
                let is_of_collective = plan.cells.get(cell).is_some_and(|it| it.cell.collective == collective);
                is_of_collective && hanging.is_none_or(|hanging| hanging == candidate)
            };
            let mut is_silent = false;
            let outcome = self.cluster.measure(plan, &mut |event| {
                is_silent = match &event {
                    WorkerEvent::Checking { cell, candidate } => hangs(*cell, plan.cells[*cell].candidates[*candidate]),
                    WorkerEvent::Visiting { cell } => {
                        plan.cells.get(*cell).is_some_and(|it| it.candidates.iter().any(|one| hangs(*cell, *one)))
                    }
                    _ => false,
                };
                report(event)?;
                if is_silent { Err(died(false)) } else { Ok(()) }
            });
            return if is_silent { Err(hang(&self.clock(), self.patience)) } else { outcome };
        }
        if plan.is_trial {
            return self.cluster.measure(plan, report);
        }
        self.launches.set(self.launches.get() + 1);
        std::thread::sleep(self.pause);
        let mut left = (self.lives.get() > 0).then_some(EVENTS);
        self.cluster.measure(plan, &mut |event| {
            if let Some(left) = &mut left {
                if *left == 0 {
                    self.lives.set(self.lives.get() - 1);
                    return Err(died(true));
                }
                *left -= 1;
            }
            report(event)
        })
    }

    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure> {
        self.launches.set(self.launches.get() + plans.len() as u32);
        if let Some(left) = self.lives.get().checked_sub(1) {
            self.lives.set(left);
            return Err(JobFailure { job: 0, subject: None, error: died(true) });
        }
        let is_ruled = |plan: &LaunchPlan| {
            plan.deployment.as_ref().is_some_and(|deployment| deployment.settings.contains_key(RULES_FILE))
        };
        if let (Some(job), Some(healthy)) = (plans.iter().position(is_ruled), &mut self.healthy) {
            let Some(left) = healthy.checked_sub(1) else {
                return Err(JobFailure { job, subject: None, error: died(false) });
            };
            *healthy = left;
        }
        let hangs = |plan: &LaunchPlan| {
            let hangs = |cell: &LaunchCell| match self.hang {
                Some(Hang::Compared(collective, with_rules)) => {
                    cell.cell.collective == collective && is_ruled(plan) == with_rules
                }
                _ => false,
            };
            plan.cells.iter().map(hangs).collect()
        };
        let (hangs, clock, patience) = (plans.iter().map(hangs).collect(), self.clock(), self.patience);
        Ok(Box::new(HangingJobs { jobs: self.cluster.start_jobs(plans)?, hangs, clock, patience }))
    }

    fn patience(&mut self) -> Option<&mut Duration> {
        Some(&mut self.patience)
    }

    fn parameters(&self) -> Result<Parameters, RunnerError> {
        self.cluster.parameters()
    }

    fn probe_without(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        if let Some(Hang::Looked(collective)) = self.hang
            && calls.iter().any(|call| call.collective == collective)
        {
            return Err(hang(&self.clock(), self.patience));
        }
        self.cluster.probe_without(rules, calls, without)
    }

    fn pins(&mut self) -> Option<&mut BTreeMap<String, String>> {
        self.cluster.pins()
    }
}

/// Directory of a test, and what happened in it.
pub(crate) struct TuningFixture {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) notes: Vec<String>,
    pub(crate) concluded: usize,
    pub(crate) compared: usize,
    pub(crate) pause: Duration,
    /// Time that a job takes to start, by the first one.
    pub(crate) startup: Option<Seconds>,
    pub(crate) launches: Rc<Counter<u32>>,
    /// Measuring jobs of a session that die.
    pub(crate) deaths: u32,
    /// Failures of a session before it ends.
    pub(crate) failures: u32,
    /// Blocks of comparisons in a session, before it is interrupted.
    pub(crate) patience: usize,
    /// Starts of jobs with rules before each of them dies; none if they live.
    pub(crate) healthy: Option<u32>,
    pub(crate) hang: Option<Hang>,
    /// Collectives that were left out, since their calls fail.
    pub(crate) left_out: Vec<Collective>,
    /// The batch job of a session.
    pub(crate) allocation: Option<Allocation>,
    /// The clock of the last session.
    pub(crate) clock: Rc<RefCell<JobClock>>,
}

impl TuningFixture {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            notes: Vec::new(),
            concluded: 0,
            compared: 0,
            pause: Duration::ZERO,
            startup: None,
            launches: Rc::default(),
            deaths: 0,
            failures: 20,
            patience: usize::MAX,
            healthy: None,
            hang: None,
            left_out: Vec::new(),
            allocation: None,
            clock: Rc::default(),
        }
    }

    /// A tuned run, with options in words.
    pub(crate) fn tuned(words: &str) -> (Self, Published) {
        let mut stage = Self::new();
        let published = stage.tune(words).unwrap();
        (stage, published)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    pub(crate) fn run(&self) -> RunDir {
        RunDir::open(self.path()).unwrap()
    }

    /// A file of the run.
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The choice of the rules file, which says what the findings say.
    pub(crate) fn in_use(&self, bytes: u64) -> Choice {
        let table = means(&self.path().join(RULES), Release::V5_0);
        assert_eq!(table, self.run().findings().unwrap().table);
        table.lookup(Collective::Bcast, 8, bytes)
    }

    pub(crate) fn tune(&mut self, words: &str) -> Result<Published, WorkflowError> {
        let begin = Begin::tuning(tuning(words), self.path());
        self.play(|session| tune::tune(&begin, session))
    }

    /// Resumes the run with its own options.
    pub(crate) fn resume(&mut self) -> Result<Published, WorkflowError> {
        let begin = Begin::recorded(&self.path())?;
        self.play(|session| tune::tune(&begin, session))
    }

    /// Decides anew on the samples of the run.
    pub(crate) fn analyze(&mut self, out: Option<&str>, words: &str) -> Published {
        let Decision { criteria, policy } = options(words);
        let (path, out) = (self.path(), out.map(|out| self.directory.path().join(out)));
        self.play(|session| {
            let (source, run) = Source::of_run(&path, session)?;
            let findings = source.decide(criteria, policy)?;
            let target = out.map_or(Ok(run), RunDir::prepare_derived)?;
            publish::unproven(target, findings, source.manifest().cloned(), session)
        })
        .unwrap()
    }

    /// Compares the whole run with the default, or repairs it.
    pub(crate) fn validate(&mut self, words: &str) -> Result<Validated, WorkflowError> {
        let tuning = publish::open(&self.path(), None)?;
        self.compare(&tuning, true, words, None)
    }

    /// Compares a tuning with the default; one of a run on the system of the run, in a layout that is named.
    pub(crate) fn compare(
        &mut self,
        tuning: &Tuning,
        is_whole: bool,
        words: &str,
        out: Option<&Path>,
    ) -> Result<Validated, WorkflowError> {
        let mut wanted: Validating = options(words);
        if let Some(mut measured) = as_measured(tuning)? {
            if words.contains("--layout") {
                measured.system.layout = wanted.system.layout;
            }
            (wanted.system, wanted.timing) = (measured.system, measured.timing);
            wanted.condition = measured.condition;
        }
        self.play(|session| validate(tuning, is_whole, &wanted, Vec::new(), out, session))
    }

    /// Runs a workflow.
    pub(crate) fn play<T>(&mut self, workflow: impl FnOnce(&mut Session<'_>) -> T) -> T {
        let lives = Rc::new(Counter::new(self.deaths));
        let (pause, launches, allocation) = (self.pause, Rc::clone(&self.launches), self.allocation.clone());
        let (healthy, hang, startup, clock) = (self.healthy, self.hang, self.startup, Rc::clone(&self.clock));
        let mortal = move |system: &SystemOptions, stop: &Arc<AtomicBool>| {
            let started = start(system, stop)?;
            clock.replace(started.backend.clock());
            let (lives, launches) = (Rc::clone(&lives), Rc::clone(&launches));
            let patience = Duration::from_secs(120);
            let backend = Mortal { cluster: started.backend, lives, pause, launches, healthy, hang, patience };
            let startup = startup.unwrap_or(started.startup);
            Ok(Started {
                backend: Box::new(backend) as Box<dyn Backend>,
                allocation: allocation.clone(),
                startup,
                ..started
            })
        };
        let (notes, concluded, compared) = (&mut self.notes, &mut self.concluded, &mut self.compared);
        let left_out = &mut self.left_out;
        let (mut patience, stop) = (self.patience, Arc::<AtomicBool>::default());
        let stopped = Arc::clone(&stop);
        let mut watch = |event: Event<'_>| match event {
            Event::Note(note) => notes.push(note.to_owned()),
            Event::Launch(_, Notice::TooManyFailures(collective)) => left_out.push(*collective),
            Event::Concluded { .. } => *concluded += 1,
            Event::Compared { .. } => *compared += 1,
            Event::ArmBlock { .. } => match patience.checked_sub(1) {
                Some(left) => patience = left,
                None => stopped.store(true, Ordering::Relaxed),
            },
            _ => {}
        };
        workflow(&mut Session {
            stop,
            failures: self.failures,
            command: vec!["collrules".to_owned()],
            start: &mortal,
            watch: &mut watch,
        })
    }
}

/// A batch job that ends soon.
pub(crate) fn job_ending_in(seconds: f64) -> Allocation {
    let left = Some(Seconds(seconds));
    Allocation { system: BatchSystem::Slurm, job: "1".to_owned(), partition: None, nodes: 1, slots: Ranks(8), left }
}

/// Options of a decision.
#[derive(Args)]
struct Decision {
    #[command(flatten)]
    criteria: Criteria,
    #[command(flatten)]
    policy: Policy,
}

/// Options in the words of the command line; later ones replace earlier ones.
pub(crate) fn options<T: Args>(words: &str) -> T {
    let command = T::augment_args(Command::new("test").no_binary_name(true).args_override_self(true));
    T::from_arg_matches(&command.get_matches_from(words.split_whitespace())).unwrap()
}

/// A short tuning, with these options.
pub(crate) fn tuning(words: &str) -> TuneOptions {
    const SHORT: &str = "--ops bcast --np 8 --sizes 8,8K,1M --segments 8K --fanouts 4 --budget none --refine 1 \
                         --refine-width 2";
    options(&format!("{SHORT} {words}"))
}

/// The meaning of a rules file for a release.
pub(crate) fn means(file: &Path, release: Release) -> RuleTable {
    load(&std::fs::read(file).unwrap(), &Behaviour::latest(release)).unwrap().to_table()
}

/// The verdict on each cell of a comparison.
pub(crate) fn verdicts(round: &Round) -> BTreeMap<Cell, Outcome> {
    round.cells.iter().map(|cell| (cell.cell, cell.verdict)).collect()
}

/// A broadcast on 8 ranks.
pub(crate) fn bcast(bytes: u64) -> Cell {
    Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(bytes) }
}
