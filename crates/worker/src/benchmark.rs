//! Consecutive calls, as benchmarks make them.

use std::rc::Rc;
use std::time::Instant;

use collrules_record::benchmark::{Benchmark, BenchmarkLine, Length};
use collrules_record::{Arguments, Candidate};
use collrules_runner::wire::WorkerEvent;
use mpi::topology::SimpleCommunicator;

use crate::communicators::{self, Parts};
use crate::control::{Control, emit, report};
use crate::error::WorkerError;
use crate::ffi::{self, Tools};
use crate::operation::{BufferSource, CellOperation};
use crate::switch::{HanSwitch, Switch};

/// Times every length and reports a line for each.
pub(crate) fn run(control: &Control, tools: &Tools, benchmark: &Benchmark) -> Result<(), WorkerError> {
    // Ranks outside of the communicator sleep until the job ends.
    let members: Vec<u32> = (0..benchmark.ranks.0).collect();
    let Some(base) = communicators::among(control, &members)? else { return Ok(()) };
    let make = || communicators::duplicate_for(&base, benchmark.candidate, &benchmark.without);
    let comm = match benchmark.candidate {
        Candidate::Tuned(_) => Switch::new(tools, benchmark.collective)?.with(benchmark.candidate, make)??,
        // Unchanged, as for a program.
        _ => make()?,
    };
    ffi::return_errors(&comm);
    let han_switch = HanSwitch::new(Some(tools), benchmark.collective, &[benchmark.candidate])?;
    han_switch.before(0)?;
    let parts = benchmark.even.map(|even| Parts::split(&comm, even).map(Rc::new)).transpose()?;
    for length in &benchmark.lengths {
        report(control, &WorkerEvent::Benchmarking(*length));
        let (valid, times) = time((&comm, parts.as_ref()), benchmark, *length)?;
        let all = control.gather(benchmark.ranks.0, (valid, times));
        if control.is_root() {
            let valid = all.iter().map(|(valid, _)| *valid).reduce(|a, b| Some(a? && b?)).flatten();
            let times: Vec<Vec<f64>> = all.into_iter().map(|(_, times)| times).collect();
            emit(&WorkerEvent::Benchmarked(BenchmarkLine::summarize(*length, &times, &benchmark.percentiles, valid)));
        }
    }
    Ok(())
}

/// Returns the result of the data check (none unless asked for) and the seconds of each timed call, both on this rank.
fn time(
    (comm, parts): (&SimpleCommunicator, Option<&Rc<Parts>>),
    benchmark: &Benchmark,
    length: Length,
) -> Result<(Option<bool>, Vec<f64>), WorkerError> {
    let (cell, candidate) = (benchmark.cell(length), benchmark.candidate);
    let failed =
        |class| WorkerError::TimedCallFailed { candidate: candidate.to_string(), cell: cell.to_string(), class };
    let mut operation =
        CellOperation::new(cell, comm, &[candidate], parts, (Arguments::default(), &BufferSource::Reused))?;
    let program = operation.program(candidate);
    let valid =
        if benchmark.validate { Some(operation.checked_call(comm, program, 1, None).map_err(failed)?) } else { None };
    let mut times = Vec::with_capacity(length.iterations as usize);
    for call in 0..u64::from(length.warmup) + u64::from(length.iterations) {
        // A barrier separates the calls of other collectives; barriers need none.
        if cell.collective.has_sizes() {
            ffi::calls::barrier(comm).map_err(failed)?;
        }
        let start = Instant::now();
        operation.call(comm, program).map_err(failed)?;
        let seconds = start.elapsed().as_secs_f64();
        if call >= u64::from(length.warmup) {
            times.push(seconds);
        }
    }
    Ok((valid, times))
}
