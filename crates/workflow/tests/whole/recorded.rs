//! Campaigns on machines whose times were recorded: what the order of the plan finds in a part of the time.

// Results, and reasons to skip.
#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use collrules_import::{self as import, Options};
use collrules_record::criteria::Criteria;
use collrules_record::estimate::median;
use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::rundir::SAMPLES;
use collrules_record::{Candidate, Cell, Launch, Plan, Seconds, Survey};
use collrules_rules::{Collective, Release};
use collrules_runner::backend::Report;
use collrules_runner::engine::{self, CheckResult, Executor};
use collrules_runner::launch::LaunchPlan;
use collrules_runner::schedule::Visit;
use collrules_runner::turns::{JobFailure, Jobs};
use collrules_runner::wire::{CallEnd, RankTimes};
use collrules_runner::{Backend, RunnerError};
use collrules_tuner::{Observations, analyze};
use collrules_workflow::campaign::{Begin, prepare};

use crate::stage::{TuningFixture, tuning};

/// Seconds of each launch, by cell and candidate.
type Times = BTreeMap<Cell, BTreeMap<Candidate, Vec<f64>>>;

/// Visits of a cell in all launches, after which it is decided.
const VISITS: u32 = 9;

/// A machine on which calls take as long as when they were recorded.
struct Recorded {
    times: Rc<Times>,
    /// Everything else is simulated.
    cluster: Box<dyn Backend>,
}

impl Backend for Recorded {
    fn name(&self) -> &'static str {
        self.cluster.name()
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        self.cluster.survey()
    }

    fn launcher(&self, plan: &Plan) -> Vec<String> {
        self.cluster.launcher(plan)
    }

    fn measure(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError> {
        let mut outcome = Ok(());
        let mut calls = Calls { plan, times: &self.times, clock: 0.0 };
        let Ok(()) = engine::run(plan, &mut calls, &mut |event| {
            if outcome.is_ok() {
                outcome = report(event);
            }
        });
        outcome
    }

    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure> {
        self.cluster.start_jobs(plans)
    }

    fn probe_without(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<collrules_record::Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        self.cluster.probe_without(rules, calls, without)
    }
}

/// The calls of a launch.
struct Calls<'a> {
    plan: &'a LaunchPlan,
    times: &'a Times,
    clock: f64,
}

impl Calls<'_> {
    /// The times of these candidates of a cell, which pass on the clock.
    fn pass(&mut self, cell: usize, candidates: impl Iterator<Item = usize>) -> Vec<f64> {
        let Launch::Shared { number, .. } = self.plan.launch else { panic!("{:?}", self.plan.launch) };
        let planned = &self.plan.cells[cell];
        let seconds = |place: usize| self.times[&planned.cell][&planned.candidates[place]][number as usize];
        let seconds: Vec<f64> = candidates.map(seconds).collect();
        self.clock += seconds.iter().sum::<f64>();
        seconds
    }
}

impl Executor for Calls<'_> {
    type Error = Infallible;

    fn open(&mut self, cell: usize, _checking: &mut dyn FnMut(usize)) -> Result<CheckResult, Infallible> {
        let checks = self.pass(cell, 0..self.plan.turns(cell));
        let round_cost = checks.iter().sum();
        Ok(CheckResult { failed: Vec::new(), checks, round_cost })
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, Infallible> {
        let round = |_| self.pass(visit.cell, visit.candidates.iter().copied()).into_iter().map(|time| [time; 3]);
        Ok((0..visit.rounds).map(round).map(Iterator::collect).collect())
    }

    fn elapsed(&self) -> f64 {
        self.clock
    }
}

/// The times of a table in which every launch has the default and another candidate.
fn read(table: &Path) -> (Times, usize) {
    let bytes = import::read_file(table).unwrap();
    let read = import::table(&table.display().to_string(), &bytes, Options::new(Release::V5_0)).unwrap();
    let timings: Vec<_> = read.timings.iter().filter_map(|timing| timing.in_table(read.statistic)).collect();
    let launches = 1 + timings.iter().map(|timing| timing.launch).max().unwrap() as usize;
    let mut times = Times::new();
    for timing in timings.iter().filter(|timing| timing.cell.collective != Collective::Gather) {
        times.entry(timing.cell).or_default().entry(timing.candidate).or_default().push(timing.time.0);
    }
    times.values_mut().for_each(|cell| cell.retain(|_, times| times.len() == launches));
    times.retain(|_, cell| cell.len() > 1 && cell.contains_key(&Candidate::Builtin));
    (times, launches)
}

/// The log gain of the rules that a campaign makes in this share of the time for all calls, and the share of cells that it
/// begins.
fn gain_within(share: f64, (times, launches): &(Rc<Times>, usize)) -> (f64, f64) {
    let visits = VISITS.div_ceil(*launches as u32);
    let seconds: f64 = times.values().flat_map(BTreeMap::values).flatten().sum();
    let budget = share * f64::from(1 + visits) * seconds / *launches as f64;
    let schedule = Schedule {
        warmup_rounds: 0,
        rounds_per_visit: 1,
        min_rounds: visits - 1,
        max_rounds: visits,
        budget: Some(Seconds(budget)),
        ..Schedule::default()
    };
    let cells = times.iter().map(|(cell, candidates)| {
        // The default is the first.
        let others = candidates.keys().copied().filter(|candidate| *candidate != Candidate::Builtin);
        CellPlan::new(*cell, std::iter::once(Candidate::Builtin).chain(others).collect())
    });
    let plan = Plan::new(cells.collect(), *launches as u32, schedule, 1);
    let mut stage = TuningFixture::new();
    let begin = Begin::tuning(tuning("--simulate --np 2 --sizes 8"), stage.path());
    stage.play(|session| {
        let mut measured = prepare(&begin, session).unwrap();
        let cluster = measured.started.backend;
        measured.started.backend = Box::new(Recorded { times: Rc::clone(times), cluster });
        measured.manifest.plan = plan;
        measured.grid(session).unwrap();
    });
    let observations = Observations::from_samples(&stage.read(SAMPLES)).unwrap();
    let findings = analyze(&observations, Release::V5_0, Criteria::default(), Default::default(), "recorded").unwrap();
    let gain = |(cell, candidates): (&Cell, &BTreeMap<Candidate, Vec<f64>>)| {
        let lookup = cell.lookup_bytes(Release::V5_0);
        let choice = Candidate::from_choice(findings.table.lookup(cell.collective, cell.ranks.0.into(), lookup));
        let time = |candidate: Candidate| median(&mut candidates.get(&candidate)?.clone());
        (time(Candidate::Builtin)? / time(choice)?).ln().into()
    };
    let gains = times.iter().filter_map(|cell| -> Option<f64> { gain(cell) });
    (gains.sum(), findings.cells.len() as f64 / times.len() as f64)
}

/// Rules of 40 % of the time have 95 % of the gain of rules of all rows.
fn most_is_found_early(table: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(table);
    if !path.exists() {
        return eprintln!("skipped: {} is not there", path.display());
    }
    let (times, launches) = read(&path);
    let recorded = (Rc::new(times), launches);
    let (all, cells) = gain_within(2.0, &recorded);
    assert!(cells > 0.99, "{table}: {cells}");
    let (early, cells) = gain_within(0.4, &recorded);
    eprintln!("{table}: {:.1} % of the gain, {:.0} % of the sizes", 100.0 * early / all, 100.0 * cells);
    assert!(early >= 0.95 * all, "{table}: {early} of {all}, {cells}");
}

#[test]
fn two_fifths_of_the_time_of_a_recorded_machine_find_its_gain() {
    most_is_found_early("tests/data/epyc-two-nodes-osu.csv");
}

/// Tables that may not be copied here.
#[test]
#[ignore = "a minute, with tables next to the repository"]
fn two_fifths_of_the_time_of_larger_machines_find_their_gain() {
    most_is_found_early("../shared/data/summit-osu.csv.gz");
    most_is_found_early("../shared/data/peak-osu.csv.gz");
}
