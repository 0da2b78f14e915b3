//! Cells one after the other, to find the one that a job does not survive.

use crate::engine::Executor;
use crate::launch::LaunchPlan;
use crate::schedule::Visit;
use crate::wire::Event;

/// Rounds in which every candidate of a cell is called.
const ROUNDS: u32 = 8;

/// Opens and visits the cells of a plan in the order in which they stand there, each after an event has named it. What
/// the calls take is not reported.
pub fn run<X: Executor>(plan: &LaunchPlan, executor: &mut X, report: &mut dyn FnMut(Event)) -> Result<(), X::Error> {
    for cell in 0..plan.subjects() {
        let opened = executor.open(cell, &mut |candidate| report(Event::Checking { cell, candidate }))?;
        let failed = |candidate: &usize| opened.failed.iter().any(|(failed, _)| failed == candidate);
        let candidates: Vec<usize> = (0..plan.turns(cell)).filter(|candidate| !failed(candidate)).collect();
        report(Event::Visiting { cell });
        if !candidates.is_empty() {
            executor.visit(&Visit { cell, visit: 0, warmup: 0, rounds: ROUNDS, candidates })?;
        }
    }
    report(Event::Measured { why: "every candidate was called".to_owned() });
    Ok(())
}
