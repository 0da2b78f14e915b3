//! Tests of campaigns whose launches fail, on the simulated cluster.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;

use collrules_record::grid::Grid;
use collrules_record::manifest::{self, Manifest};
use collrules_record::pattern::Shape;
use collrules_record::plan::Schedule;
use collrules_record::rundir::RunDir;
use collrules_record::sample::{EndReason, Row};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Component, Layout, Pattern, Subject, Survey};
use collrules_rules::{Choice, Collective, Release};

use super::*;
use crate::backend::Report;
use crate::grid::Planner;
use crate::launch::LaunchPlan;
use crate::simulate::{BYTE_TIME, LATENCY, Scenario, Simulation};
use crate::turns::{JobFailure, Jobs};
use crate::wire::CallEnd;

/// A cluster with faults.
struct Faulty {
    cluster: Simulation,
    /// Jobs die when they visit a cell with one of these candidates, if the size matches.
    deadly: Vec<(Candidate, Option<Bytes>)>,
    /// Jobs die when they visit this pattern.
    deadly_pattern: Option<Pattern>,
    /// Jobs die by no fault of their own after this many events, counted down over all jobs.
    after: Vec<usize>,
    /// Number of measuring jobs started.
    jobs: u32,
}

impl Faulty {
    fn run(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError> {
        let died = |outside| RunnerError::JobDied {
            status: "a rank was ended".to_owned(),
            doing: "testing".to_owned(),
            output: "words of the job".to_owned(),
            outside,
        };
        let mut left = if plan.is_trial { None } else { self.after.pop() };
        let deadly = self.deadly.clone();
        let mut take = |event: WorkerEvent| {
            if let WorkerEvent::Visiting { cell } = &event
                && self.deadly_pattern.is_some_and(|pattern| plan.subject(*cell) == Subject::Pattern(pattern))
            {
                report(event)?;
                return Err(died(false));
            }
            if let WorkerEvent::Visiting { cell } = &event
                && let Some(planned) = plan.cells.get(*cell)
            {
                let is_deadly = |(candidate, bytes): &(Candidate, Option<Bytes>)| {
                    planned.candidates.contains(candidate) && bytes.is_none_or(|bytes| bytes == planned.cell.bytes)
                };
                if deadly.iter().any(is_deadly) {
                    report(event)?;
                    return Err(died(false));
                }
            }
            match &mut left {
                Some(0) => return Err(died(true)),
                Some(left) => *left -= 1,
                None => {}
            }
            report(event)
        };
        self.cluster.measure(plan, &mut take)
    }
}

impl Backend for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        self.cluster.survey()
    }

    fn launcher(&self, _: &Plan) -> Vec<String> {
        Vec::new()
    }

    fn measure(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError> {
        self.jobs += u32::from(!plan.is_trial);
        self.run(plan, report)
    }

    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure> {
        self.cluster.start_jobs(plans)
    }

    fn probe_without(
        &mut self,
        _: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        Ok(vec![vec![CallEnd::Right; without.len().max(1)]; calls.len()])
    }
}

fn faulty() -> Faulty {
    Faulty {
        cluster: Simulation::new(Scenario::Stale, Release::V5_0, 4),
        deadly: Vec::new(),
        deadly_pattern: None,
        after: Vec::new(),
        jobs: 0,
    }
}

fn begin(scratch: &Path, backend: &mut Faulty) -> (RunDir, Plan) {
    begin_with(scratch, backend, false)
}

fn begin_with(scratch: &Path, backend: &mut Faulty, patterns: bool) -> (RunDir, Plan) {
    let survey = backend.survey().expect("there is one");
    let grid = Grid {
        collectives: vec![Collective::Bcast],
        ranks: vec![Ranks(4)].into(),
        sizes: vec![Bytes(8), Bytes(1024), Bytes(65536)],
        segments: Vec::new(),
        fanouts: Vec::new(),
        patterns,
        ..Grid::default()
    };
    let schedule = Schedule { min_rounds: 12, max_rounds: 30, ..Schedule::default() };
    let planner = Planner { grid: &grid, layout: Layout::Block, oversubscribe: false, survey: &survey };
    let plan = planner.plan(2, schedule, 5).expect("plans");
    let manifest = Manifest {
        merged: Vec::new(),
        format: manifest::FORMAT,
        collrules: String::new(),
        started: String::new(),
        backend: manifest::SIMULATED.to_owned(),
        command: Vec::new(),
        request: collrules_record::options::Request::Lab("study".to_owned()),
        experiment: collrules_record::options::TuneOptions::default().experiment(Vec::new()),
        launcher: Vec::new(),
        environment: Default::default(),
        host: Default::default(),
        allocations: Vec::new(),
        pins: Default::default(),
        survey,
        plan: plan.clone(),
    };
    (RunDir::create(scratch.join("run"), &manifest).expect("creates"), plan)
}

/// Runs a session and returns its outcome and its notices.
fn session(
    backend: &mut Faulty,
    run: &RunDir,
    plan: &Plan,
    policy: &StopConditions,
) -> (Result<(), RunnerError>, Vec<String>) {
    let mut told = Vec::new();
    let mut log = run.log().expect("opens");
    let outcome = measure(0, backend, plan, &mut log, policy, &mut Tally::default(), &mut |_, notice| match notice {
        Notice::Failed(_) => told.push("failed".to_owned()),
        Notice::Trying(_) => told.push("trying".to_owned()),
        Notice::Acquitted(_) => told.push("acquitted".to_owned()),
        Notice::LeftOut(Row::EndedCast(ended)) => told.push(format!("out: {} by {}", ended.pattern, ended.cast)),
        Notice::LeftOut(Row::Ended(point)) => told.push(format!("out: {} {}", point.candidate, point.cell)),
        _ => {}
    });
    (outcome, told)
}

/// Fails if a timing is repeated; returns the rows.
fn rows(run: &RunDir) -> Vec<Row> {
    let (_, rows) = run.log().expect("opens").past().expect("reads");
    let mut seen = BTreeSet::new();
    for row in &rows {
        if let Row::Sample(sample) = row {
            let key = (sample.launch, sample.visit, sample.round, sample.cell, sample.candidate);
            assert!(seen.insert(key), "{key:?} is there twice");
        }
    }
    rows
}

fn third() -> Candidate {
    Candidate::Tuned(Choice::plain(3))
}

#[test]
fn a_deadly_candidate_is_found_and_left_out_and_the_rest_is_measured() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut backend = faulty();
    let (run, plan) = begin(scratch.path(), &mut backend);
    backend.deadly = vec![(third(), None)];
    let (outcome, told) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!((told[0].as_str(), told[1].as_str(), told.len()), ("failed", "trying", 3), "{told:?}");
    assert_eq!(backend.jobs, 3, "one failed, two planned");
    let rows = rows(&run);
    let ended: Vec<_> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Ended(point) if matches!(point.ended, EndReason::Disqualified(_)) => Some(point),
            _ => None,
        })
        .collect();
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!((ended[0].candidate, ended[0].launch), (third(), 0));
    let why = ended[0].ended.to_string();
    assert!(why.contains("its calls end the job") && !why.contains("words of the job"), "{why}");
    for planned in &plan.cells {
        for candidate in planned.candidates.iter().filter(|candidate| **candidate != third()) {
            assert!(
                rows.iter()
                    .any(|row| matches!(row, Row::Sample(s) if (s.cell, s.candidate) == (planned.cell, *candidate))),
                "{candidate} was not timed in {}",
                planned.cell
            );
        }
    }
}

/// If the builtin fails, every comparison in that cell fails, and only there.
#[test]
fn a_deadly_builtin_costs_its_cell() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut backend = faulty();
    let (run, plan) = begin(scratch.path(), &mut backend);
    backend.deadly = vec![(Candidate::Builtin, Some(Bytes(1024)))];
    let (outcome, told) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(told.last().expect("something"), "out: builtin bcast of 1 KiB on 4 ranks");
    let timed: BTreeSet<u64> = rows(&run)
        .iter()
        .filter_map(|row| match row {
            Row::Sample(sample) => Some(sample.cell.bytes.0),
            _ => None,
        })
        .collect();
    assert_eq!(timed, BTreeSet::from([8, 65536]));
}

#[test]
fn what_comes_from_outside_is_nobodys_fault() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut backend = faulty();
    let (run, plan) = begin(scratch.path(), &mut backend);
    backend.after = vec![40, 60, 30];
    let (outcome, told) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(told, ["failed"; 3]);
    assert!(
        !rows(&run)
            .iter()
            .any(|row| matches!(row, Row::Ended(point) if matches!(point.ended, EndReason::Disqualified(_))))
    );
}

#[test]
fn a_system_on_which_nothing_runs_is_given_up() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut backend = faulty();
    let (run, plan) = begin(scratch.path(), &mut backend);
    backend.after = vec![0; 100];
    let (outcome, _) = session(&mut backend, &run, &plan, &StopConditions::default());
    let error = outcome.expect_err("nothing runs");
    assert!(matches!(error, RunnerError::GaveUp { failures: FRUITLESS, .. }), "{error}");
    // Launches that bring something each time may fail more often, but not forever.
    backend.after = vec![25; 100];
    let policy = StopConditions { failures: 2, ..StopConditions::default() };
    let (outcome, _) = session(&mut backend, &run, &plan, &policy);
    assert!(matches!(outcome, Err(RunnerError::GaveUp { failures: 3, .. })), "{outcome:?}");
}

/// However often and wherever it is interrupted, written rows stay, and in the end every planned launch has every cell.
#[test]
fn interrupted_campaigns_are_gone_on_with_until_they_are_complete() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut backend = faulty();
    let (run, plan) = begin(scratch.path(), &mut backend);
    let mut before = String::new();
    let mut sessions = 0;
    loop {
        sessions += 1;
        assert!(sessions < 200, "it never ends");
        let mut log = run.log().expect("opens");
        let policy = StopConditions::default();
        let mut events = 0;
        let outcome = measure(0, &mut backend, &plan, &mut log, &policy, &mut Tally::default(), &mut |_, notice| {
            if let Notice::Event(_) = notice {
                events += 1;
                // Long enough to get through the checks of a cell and its visit.
                policy.stop.store(events > 20 + sessions % 7, Ordering::Relaxed);
            }
        });
        drop(log);
        let text = std::fs::read_to_string(run.file("samples.csv")).expect("reads");
        assert!(text.starts_with(&before), "something was lost");
        before = text;
        match outcome {
            Ok(()) => break,
            Err(RunnerError::Interrupted) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert!(sessions > 3, "{sessions}");
    let (entries, _) = run.log().expect("opens").past().expect("reads");
    let rows = rows(&run);
    let mut ledger = Ledger::new(&plan, 0, &entries, &rows);
    assert!(ledger.next().is_none());
    for planned in 0..plan.launches {
        let launches: BTreeSet<u32> = entries
            .iter()
            .filter_map(|entry| match entry {
                JournalEntry::Begun { launch, planned: of, .. } if *of == planned => Some(*launch),
                _ => None,
            })
            .collect();
        for cell in plan.cells.iter().map(|planned| planned.cell) {
            let is_there =
                rows.iter().any(|row| matches!(row, Row::Sample(s) if s.cell == cell && launches.contains(&s.launch)));
            assert!(is_there, "planned launch {planned} has nothing of {cell}");
        }
    }
}

#[test]
fn two_at_once_are_one_too_many() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (run, _) = begin(scratch.path(), &mut faulty());
    let first = run.log().expect("opens");
    assert!(first.is_locked());
    let refused = run.log().expect_err("is in use").to_string();
    assert!(refused.contains("another collrules is measuring into"), "{refused}");
    drop(first);
    run.log().expect("is free again");
}

/// Timings of each pattern, by any cast.
fn patterns(run: &RunDir) -> BTreeSet<Pattern> {
    run.samples().expect("reads").patterns(run.path()).expect("reads").iter().map(|sample| sample.pattern).collect()
}

#[test]
fn patterns_are_timed_in_the_launches_of_the_cells() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let mut backend = faulty();
    let (run, plan) = begin_with(scratch.path(), &mut backend, true);
    let (outcome, told) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(outcome.is_ok() && told.is_empty(), "{outcome:?} {told:?}");
    assert_eq!(backend.jobs, 2, "none beside those of the cells");
    assert_eq!(patterns(&run), plan.patterns.iter().map(|planned| planned.pattern).collect());
    for row in rows(&run) {
        let Row::Pattern(sample) = row else { continue };
        if sample.pattern.shape == Shape::PingPong {
            // There and back; noise is a few per cent.
            let exact = 2.0 * (sample.pattern.bytes.0 as f64).mul_add(BYTE_TIME, LATENCY);
            assert!((sample.max.0 / exact).ln().abs() < 0.4, "{sample:?}, {exact}");
        }
    }
    let (again, _) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(again.is_ok() && backend.jobs == 2, "nothing is left to do");
}

#[test]
fn a_pattern_that_ends_jobs_is_given_up_and_the_rest_goes_on() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let deadly = Pattern { shape: Shape::Rotation, ranks: Ranks(4), bytes: Bytes(1024) };
    let mut backend = Faulty { deadly_pattern: Some(deadly), ..faulty() };
    let (run, plan) = begin_with(scratch.path(), &mut backend, true);
    let (outcome, told) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(told.iter().filter(|told| told.starts_with("out")).collect::<Vec<_>>().len(), 1, "{told:?}");
    assert!(told.contains(&"out: rotation of 1 KiB on 4 ranks by 0-3".to_owned()), "{told:?}");
    let timed = patterns(&run);
    assert!(!timed.contains(&deadly) && timed.len() == plan.patterns.len() - 1, "{timed:?}");
    let (again, told) = session(&mut backend, &run, &plan, &StopConditions::default());
    assert!(again.is_ok() && told.is_empty(), "{told:?}");
}
