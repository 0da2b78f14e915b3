//! Calls whose return codes show which rule was used.
//!
//! Under a rules file with algorithm ids that do not exist, a call fails exactly if such a rule applies to it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use collrules_record::{Arguments, Cell, Component};
use collrules_runner::wire::{CallEnd, WorkerEvent};
use mpi::topology::SimpleCommunicator;

use crate::control::{Control, report};
use crate::error::WorkerError;
use crate::ffi::Tools;
use crate::operation::{BufferSource, CellOperation};
use crate::switch::variable;
use crate::{circumstances, communicators, ffi};

/// Makes each call once and reports its results on all its ranks: on the communicator of those ranks, or on one without each
/// of these lists of components.
pub(crate) fn run(
    control: &Control,
    tools: &Tools,
    calls: &[Cell],
    without: &[Vec<Component>],
) -> Result<(), WorkerError> {
    circumstances::seen_by_all(control, tools)?;
    for collective in calls.iter().filter(|_| !without.is_empty()).map(|call| call.collective).collect::<BTreeSet<_>>()
    {
        // From 5.0 on a forced algorithm overrides the rules by which a call should fail. If it cannot be unset, the
        // correct answer is that no component is known to use rules for the collective.
        let forced = variable(collective, "algorithm");
        if tools.int(&forced)?.is_some_and(|id| id != 0) {
            let _ = tools.set_int(&forced, 0);
        }
    }
    let mut comms = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(calls.len());
    for (place, call) in calls.iter().enumerate() {
        if let Entry::Vacant(vacant) = comms.entry(call.ranks) {
            let members: Vec<u32> = (0..call.ranks.0).collect();
            vacant.insert(communicators::among(control, &members)?);
        }
        let Some(Some(base)) = comms.get(&call.ranks) else { continue };
        report(control, &WorkerEvent::Calling { call: place });
        let mut ends = Vec::with_capacity(without.len().max(1));
        if without.is_empty() {
            ffi::return_errors(base);
            ends.push(make_call(control, base, *call, place as u64)?);
        }
        for components in without {
            let comm = communicators::without(base, components)?;
            ffi::return_errors(&comm);
            ends.push(make_call(control, &comm, *call, place as u64)?);
        }
        outcomes.push(ends);
    }
    report(control, &WorkerEvent::Probed(outcomes));
    Ok(())
}

/// Makes a call with the known data of `salt` on all ranks of its communicator. Rank 0 learns how it ended.
fn make_call(control: &Control, comm: &SimpleCommunicator, call: Cell, salt: u64) -> Result<CallEnd, WorkerError> {
    let mut operation = CellOperation::new(call, comm, &[], None, (Arguments::default(), &BufferSource::Reused))?;
    let all = control.gather(call.ranks.0, operation.checked_call(comm, None, salt, None));
    let class = all.iter().filter_map(|one| one.err()).max();
    Ok(match class {
        None if all.iter().all(|one| *one == Ok(true)) => CallEnd::Right,
        None => CallEnd::Wrong,
        Some(class) if all.iter().all(Result::is_err) => CallEnd::Refused(class),
        Some(class) => CallEnd::Mixed(class),
    })
}
