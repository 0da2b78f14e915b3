//! The measuring loop, the same for MPI and simulation; and trials, which call cells one after the other to find the
//! one that ends a job.

use crate::launch::LaunchPlan;
use crate::schedule::{ScheduleStep, Scheduler, Visit};
use crate::wire::{RankTimes, WorkerEvent};

/// Interface for checking and timing the cells of a plan.
pub trait Executor {
    /// Error that ends the loop.
    type Error;

    /// Calls every candidate of a cell once on real data. `checking` is called before each candidate.
    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<CheckResult, Self::Error>;

    /// Times a visit: per round, one timing per candidate of the visit. Rounds without a valid timing are left out.
    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, Self::Error>;

    /// Seconds since the start.
    fn elapsed(&self) -> f64;
}

/// Result of checking a cell's candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckResult {
    /// Candidates that failed, by index, with the reason.
    pub failed: Vec<(usize, String)>,
    /// Seconds of each candidate's call, including filling and comparing its data.
    pub checks: Vec<f64>,
    /// Seconds of all calls together, an estimate for a round.
    pub round_cost: f64,
}

/// Measures a plan, or tries its cells, and reports everything as events, up to and including [`WorkerEvent::Measured`].
pub fn run<X: Executor>(
    plan: &LaunchPlan,
    executor: &mut X,
    report: &mut dyn FnMut(WorkerEvent),
) -> Result<(), X::Error> {
    if plan.is_trial {
        return try_cells(plan, executor, report);
    }
    let mut scheduler = Scheduler::new(plan);
    loop {
        match scheduler.next(executor.elapsed()) {
            ScheduleStep::Open(cell) => {
                let start = executor.elapsed();
                let opened = executor.open(cell, &mut |candidate| report(WorkerEvent::Checking { cell, candidate }))?;
                let failed: Vec<usize> = opened.failed.iter().map(|(candidate, _)| *candidate).collect();
                for (candidate, why) in opened.failed {
                    report(WorkerEvent::Disqualified { cell, candidate, why });
                }
                let at = executor.elapsed();
                let dropped = scheduler.opened(cell, &failed, &opened.checks, opened.round_cost, at);
                report(WorkerEvent::Opened { cell, seconds: at - start, at });
                for (candidate, why) in dropped {
                    report(WorkerEvent::Dropped { cell, candidate, why });
                }
            }
            ScheduleStep::Visit(visit) => {
                report(WorkerEvent::Visiting { cell: visit.cell });
                let start = executor.elapsed();
                let rounds = executor.visit(&visit)?;
                let at = executor.elapsed();
                let seconds = at - start;
                let dropped = scheduler.visited(&visit, &rounds, seconds);
                let Visit { cell, visit, candidates, .. } = visit;
                report(WorkerEvent::Visited { cell, visit, candidates, rounds, seconds, at });
                for (candidate, why) in dropped {
                    report(WorkerEvent::Dropped { cell, candidate, why });
                }
                if scheduler.is_finished(cell) {
                    report(WorkerEvent::Finished { cell });
                }
            }
            ScheduleStep::Stop(why) => {
                report(WorkerEvent::Measured { why });
                return Ok(());
            }
        }
    }
}

/// Rounds in which every candidate of a cell is called.
const TRIAL_ROUNDS: u32 = 8;

/// Opens and visits the cells of a plan in order, each after an event that names it. Times are not reported.
fn try_cells<X: Executor>(
    plan: &LaunchPlan,
    executor: &mut X,
    report: &mut dyn FnMut(WorkerEvent),
) -> Result<(), X::Error> {
    for cell in 0..plan.subjects() {
        let opened = executor.open(cell, &mut |candidate| report(WorkerEvent::Checking { cell, candidate }))?;
        let failed = |candidate: &usize| opened.failed.iter().any(|(failed, _)| failed == candidate);
        let candidates: Vec<usize> = (0..plan.turns(cell)).filter(|candidate| !failed(candidate)).collect();
        report(WorkerEvent::Visiting { cell });
        if !candidates.is_empty() {
            executor.visit(&Visit { cell, visit: 0, warmup: 0, rounds: TRIAL_ROUNDS, candidates })?;
        }
    }
    report(WorkerEvent::Measured { why: "every algorithm was called".to_owned() });
    Ok(())
}
