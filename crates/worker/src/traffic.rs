//! Count of the messages that a call sends: proof that two requests for an algorithm have one effect.
//!
//! Open MPI's monitoring layer reports every message (see `ffi::counter`). Persistent requests, which the first
//! algorithms of alltoall and alltoallv use, bypass the layer and are not counted.

use std::collections::BTreeMap;

use collrules_runner::launch::LaunchPlan;
use collrules_runner::wire::{Sent, WorkerEvent};

use crate::communicators::Communicators;
use crate::control::{Control, report};
use crate::error::WorkerError;
use crate::ffi::{Tools, counter};
use crate::operation::{BufferSource, CellOperation};
use crate::switch::HanSwitch;
use crate::sync::dissemination_barrier;

/// Calls each point of the plan once with checked data, and reports the messages that every rank sent.
pub(crate) fn run(control: &Control, tools: &Tools, plan: &LaunchPlan) -> Result<(), WorkerError> {
    // The messages that carried the plan went through the layer, if there is one.
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
        let participants: Vec<u32> = (0..cell.ranks.0).collect();
        if !participants.contains(&control.rank()) {
            continue;
        }
        communicators.prepare_base(&participants)?;
        // A choice that MPI_T cannot set fails on all members.
        if let Err(error) = communicators.prepare((&participants, cell), &planned.candidates) {
            report(control, &WorkerEvent::Uncounted { cell: place, why: error.to_string() });
            continue;
        }
        let base = communicators.base(&participants);
        let (parts, supply) = (communicators.parts(cell), (plan.arguments, &BufferSource::Reused));
        let mut operation = CellOperation::new(cell, base, &planned.candidates, parts, supply)?;
        let han_switch = HanSwitch::new(Some(tools), cell.collective, &planned.candidates)?;
        for (index, candidate) in planned.candidates.iter().enumerate() {
            han_switch.before(index)?;
            let comm = communicators.candidate(cell, *candidate);
            let program = operation.program(*candidate);
            dissemination_barrier(base);
            // Counts only the sends of this rank, so no rank has to wait for another.
            let before = counter::sent(control.ranks());
            // The check of a barrier calls it as often as needed.
            let result = if !cell.collective.has_sizes() {
                operation.call(comm, program).map(|()| true)
            } else {
                operation.checked_call(comm, program, (place as u64) << 32 | index as u64, None)
            };
            let after = counter::sent(control.ranks());
            let sent = match result {
                Ok(true) => Ok(difference(&before, &after)),
                Ok(false) => Err(format!("{candidate} gave wrong data")),
                Err(class) => Err(format!("{candidate} failed with MPI error class {class}")),
            };
            let all: Result<Vec<_>, String> = control.gather(cell.ranks.0, sent).into_iter().collect();
            let event = match all {
                Ok(ranks) => WorkerEvent::Sent { cell: place, candidate: index, ranks },
                Err(why) => WorkerEvent::Uncounted { cell: place, why },
            };
            report(control, &event);
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
