//! What a call sends, counted: proof that two ways to ask for an algorithm come to the same.
//!
//! Open MPI's monitoring layer reports every message (see `ffi::counter`). Persistent requests, which the first algorithms
//! of alltoall and alltoallv use, pass by the layer uncounted.

use std::collections::BTreeMap;

use collrules_rules::Collective;
use collrules_runner::launch::LaunchPlan;
use collrules_runner::wire::{Event, Sent};

use crate::asking::Asking;
use crate::communicators::Communicators;
use crate::control::Control;
use crate::error::WorkerError;
use crate::ffi::{Tools, counter};
use crate::operation::Operation;
use crate::report::report;
use crate::sync::dissemination_barrier;

/// Calls each point of the plan once, with checked data, and reports what every rank sent meanwhile.
pub(crate) fn run(control: &Control, tools: &Tools, plan: &LaunchPlan) -> Result<(), WorkerError> {
    // The messages that brought the plan here went through the layer, if there is one.
    let fed = control.gather(control.ranks(), counter::is_fed());
    if control.is_root() && fed.contains(&false) {
        return Err(WorkerError::NotMonitored);
    }
    if control.ranks() as usize > counter::PEERS {
        return Err(WorkerError::TooManyToCount { ranks: control.ranks(), most: counter::PEERS });
    }
    let mut communicators = Communicators::new(control, Some(tools), plan);
    for (place, planned) in plan.cells.iter().enumerate() {
        let cell = planned.cell;
        if control.rank() >= cell.ranks.0 {
            continue;
        }
        // What Open MPI cannot be asked for by MPI_T is found out by all members alike.
        if let Err(error) = communicators.prepare(cell, &planned.candidates) {
            report(control, &Event::Uncounted { cell: place, why: error.to_string() });
            continue;
        }
        let base = communicators.base(cell);
        let mut operation = Operation::new(cell, base, &planned.candidates, communicators.parts(cell))?;
        let asking = Asking::of(Some(tools), cell.collective, &planned.candidates)?;
        for (index, candidate) in planned.candidates.iter().enumerate() {
            asking.as_ref().map_or(Ok(()), |asking| asking.before(index))?;
            let comm = communicators.candidate(cell, *candidate);
            let means = operation.means(*candidate);
            dissemination_barrier(base);
            // Only this rank's own sends are counted here, so that nobody has to wait for anybody.
            let before = counter::sent(control.ranks());
            // The check of a barrier calls it as often as it takes.
            let result = if cell.collective == Collective::Barrier {
                operation.call(comm, means).map(|()| true)
            } else {
                operation.checked_call(comm, means, (place as u64) << 32 | index as u64, None)
            };
            let after = counter::sent(control.ranks());
            let sent = match result {
                Ok(true) => Ok(difference(&before, &after)),
                Ok(false) => Err(format!("{candidate} gave wrong data")),
                Err(class) => Err(format!("{candidate} failed with MPI error class {class}")),
            };
            let all: Result<Vec<_>, String> = control.gather(cell.ranks.0, sent).into_iter().collect();
            report(
                control,
                &match all {
                    Ok(ranks) => Event::Sent { cell: place, candidate: index, ranks },
                    Err(why) => Event::Uncounted { cell: place, why },
                },
            );
        }
    }
    Ok(())
}

fn difference(before: &[Sent], after: &[Sent]) -> BTreeMap<u32, Sent> {
    let sent = (0..).zip(before.iter().zip(after)).map(|(peer, (before, after))| {
        (peer, Sent { messages: after.messages - before.messages, bytes: after.bytes - before.bytes })
    });
    sent.filter(|(_, sent)| sent.messages > 0).collect()
}
