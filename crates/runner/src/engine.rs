//! The measuring loop, the same for MPI and simulation; and trials, cells one after the other, to find the one that a job does
//! not survive.

use crate::launch::LaunchPlan;
use crate::schedule::{Scheduler, Step, Visit};
use crate::wire::{Event, RankTimes};

/// What can check and time the cells of a plan.
pub trait Executor {
    /// What may go wrong; it ends the loop.
    type Error;

    /// Calls every candidate of a cell once on real data. `checking` is told of each candidate before its call.
    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<Opened, Self::Error>;

    /// Times a visit: per round, one timing per candidate of the visit. Rounds that gave no valid timing are left out.
    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, Self::Error>;

    /// Seconds since the start.
    fn elapsed(&self) -> f64;
}

/// What came of checking a cell's candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Opened {
    /// Candidates that failed, by index, with the reason.
    pub failed: Vec<(usize, String)>,
    /// Seconds that each candidate's call took, with filling and comparing its data.
    pub checks: Vec<f64>,
    /// Seconds that the calls took together: about what a round will take.
    pub round_cost: f64,
}

/// Measures a plan and reports everything as events, up to and including [`Event::Measured`].
pub fn run<X: Executor>(plan: &LaunchPlan, executor: &mut X, report: &mut dyn FnMut(Event)) -> Result<(), X::Error> {
    let mut scheduler = Scheduler::new(plan);
    loop {
        match scheduler.next(executor.elapsed()) {
            Step::Open(cell) => {
                let start = executor.elapsed();
                let opened = executor.open(cell, &mut |candidate| report(Event::Checking { cell, candidate }))?;
                let failed: Vec<usize> = opened.failed.iter().map(|(candidate, _)| *candidate).collect();
                for (candidate, why) in opened.failed {
                    report(Event::Disqualified { cell, candidate, why });
                }
                let at = executor.elapsed();
                let dropped = scheduler.opened(cell, &failed, &opened.checks, opened.round_cost, at);
                report(Event::Opened { cell, seconds: at - start, at });
                for (candidate, why) in dropped {
                    report(Event::Dropped { cell, candidate, why });
                }
            }
            Step::Visit(visit) => {
                report(Event::Visiting { cell: visit.cell });
                let start = executor.elapsed();
                let rounds = executor.visit(&visit)?;
                let at = executor.elapsed();
                let seconds = at - start;
                let dropped = scheduler.visited(&visit, &rounds, seconds);
                let Visit { cell, visit, candidates, .. } = visit;
                report(Event::Visited { cell, visit, candidates, rounds, seconds, at });
                for (candidate, why) in dropped {
                    report(Event::Dropped { cell, candidate, why });
                }
                if scheduler.is_finished(cell) {
                    report(Event::Finished { cell });
                }
            }
            Step::Stop(why) => {
                report(Event::Measured { why });
                return Ok(());
            }
        }
    }
}

/// Rounds in which every candidate of a cell is called.
const TRIAL_ROUNDS: u32 = 8;

/// Opens and visits the cells of a plan in the order in which they stand there, each after an event has named it. What
/// the calls take is not reported.
pub fn trial<X: Executor>(plan: &LaunchPlan, executor: &mut X, report: &mut dyn FnMut(Event)) -> Result<(), X::Error> {
    for cell in 0..plan.subjects() {
        let opened = executor.open(cell, &mut |candidate| report(Event::Checking { cell, candidate }))?;
        let failed = |candidate: &usize| opened.failed.iter().any(|(failed, _)| failed == candidate);
        let candidates: Vec<usize> = (0..plan.turns(cell)).filter(|candidate| !failed(candidate)).collect();
        report(Event::Visiting { cell });
        if !candidates.is_empty() {
            executor.visit(&Visit { cell, visit: 0, warmup: 0, rounds: TRIAL_ROUNDS, candidates })?;
        }
    }
    report(Event::Measured { why: "every candidate was called".to_owned() });
    Ok(())
}
