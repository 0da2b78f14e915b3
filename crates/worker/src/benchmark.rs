//! Calls one after the other, as benchmarks make them.

use std::rc::Rc;
use std::time::Instant;

use collrules_record::benchmark::{Benchmark, Length, Line};
use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;
use collrules_runner::wire::Event;
use mpi::topology::SimpleCommunicator;

use crate::asking::Asking;
use crate::communicators;
use crate::control::Control;
use crate::error::WorkerError;
use crate::ffi::{self, Tools};
use crate::nodes::Parts;
use crate::operation::Operation;
use crate::report::{emit, report};
use crate::switch::Switch;

/// Times every length and reports a line for each.
pub(crate) fn run(control: &Control, tools: &Tools, benchmark: &Benchmark) -> Result<(), WorkerError> {
    // Ranks beyond the communicator are asleep until the job ends: they wait for nothing.
    let Some(base) = communicators::first(control, benchmark.ranks)? else { return Ok(()) };
    let make = || communicators::duplicate_for(&base, benchmark.candidate, &benchmark.without);
    let comm = match benchmark.candidate {
        Candidate::Tuned(_) => Switch::new(tools, benchmark.collective)?.with(benchmark.candidate, make)??,
        // Untouched: this is what a program gets.
        _ => make()?,
    };
    ffi::return_errors(&comm);
    let asking = Asking::of(Some(tools), benchmark.collective, &[benchmark.candidate])?;
    asking.as_ref().map_or(Ok(()), |asking| asking.before(0))?;
    let parts = benchmark.even.map(|even| Parts::of(&comm, even).map(Rc::new)).transpose()?;
    for length in &benchmark.lengths {
        report(control, &Event::Benchmarking(*length));
        let cell = benchmark.cell(*length);
        let failed = |class| WorkerError::TimedCallFailed {
            candidate: benchmark.candidate.to_string(),
            cell: cell.to_string(),
            class,
        };
        let (valid, times) = time((&comm, parts.as_ref()), cell, benchmark.candidate, *length, benchmark.validate)
            .map_err(|error| match error {
                Trouble::Call(class) => failed(class),
                Trouble::Worker(error) => error,
            })?;
        let all = control.gather(benchmark.ranks.0, (valid, times));
        if control.is_root() {
            let valid = all.iter().map(|(valid, _)| *valid).reduce(|a, b| Some(a? && b?)).flatten();
            let times: Vec<Vec<f64>> = all.into_iter().map(|(_, times)| times).collect();
            emit(&Event::Benchmarked(Line::of(*length, &times, &benchmark.percentiles, valid)));
        }
    }
    Ok(())
}

enum Trouble {
    Call(ffi::ErrorClass),
    Worker(WorkerError),
}

/// Whether this rank's data was right, if that was asked for, and the seconds of each timed call on this rank.
fn time(
    (comm, parts): (&SimpleCommunicator, Option<&Rc<Parts>>),
    cell: Cell,
    candidate: Candidate,
    length: Length,
    validate: bool,
) -> Result<(Option<bool>, Vec<f64>), Trouble> {
    let mut operation =
        Operation::new(cell, comm, &[candidate], parts).map_err(|error| Trouble::Worker(error.into()))?;
    let means = operation.means(candidate);
    let valid =
        if validate { Some(operation.checked_call(comm, means, 1, None).map_err(Trouble::Call)?) } else { None };
    let mut times = Vec::with_capacity(length.iterations as usize);
    for call in 0..u64::from(length.warmup) + u64::from(length.iterations) {
        // A barrier is what separates the calls of the others; one between barriers would separate nothing.
        if cell.collective != Collective::Barrier {
            ffi::calls::barrier(comm).map_err(Trouble::Call)?;
        }
        let start = Instant::now();
        operation.call(comm, means).map_err(Trouble::Call)?;
        let seconds = start.elapsed().as_secs_f64();
        if call >= u64::from(length.warmup) {
            times.push(seconds);
        }
    }
    Ok((valid, times))
}
