//! A collective call with its buffers, its known data and its check.
//!
//! | module | calls |
//! |---|---|
//! | here | barrier, and what all calls share |
//! | `data` | all that move or sum data |
//! | `program` | mock-ups and reference algorithms, on the same buffers |
//! | `scene` | (patterns, on buffers of their own) |
//! | `slots` | (the buffers of successive calls) |

mod data;
mod memory;
mod pattern;
mod program;
mod slots;

use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use collrules_program::Program;
use collrules_record::{Arguments, Candidate, Cell, DataType};
use mpi::topology::{Communicator, SimpleCommunicator};

use self::data::{Buffers, Data};
use self::program::{Extra, PreparedProgram};
use crate::communicators::Parts;
use crate::error::WorkerError;
use crate::ffi::{CallResult, MpiErrorClass};
use crate::sync::{all_agree, dissemination_barrier};
pub(crate) use pattern::PatternBuffers;
pub(crate) use slots::{BufferPool, BufferSource};

/// The buffers of one rank for the calls of a cell. The v-collectives have the same count for every rank, as in OSU's benchmarks.
pub(crate) struct CellOperation {
    is_barrier: bool,
    data: Box<dyn Buffers>,
    programs: Vec<(Candidate, PreparedProgram, Extra)>,
}

impl CellOperation {
    /// Buffers of a member of the communicator, for calls and for the programs of mock-ups and reference algorithms among these
    /// candidates, touched once so that no page is missing later. Some mock-ups need the communicators of nodes.
    pub(crate) fn new(
        cell: Cell,
        comm: &SimpleCommunicator,
        candidates: &[Candidate],
        parts: Option<&Rc<Parts>>,
        (arguments, supply): (Arguments, &BufferSource),
    ) -> Result<Self, WorkerError> {
        let size = arguments.type_size(cell.collective);
        if !cell.bytes.0.is_multiple_of(size) {
            return Err(WorkerError::PartOfElement { cell, size });
        }
        let too_large = |cause| WorkerError::TooLarge { call: cell.to_string(), cause };
        let rank = comm.rank();
        let seat = cell.seat_with(rank as usize, parts.map(|parts| parts.even), arguments);
        let data: Box<dyn Buffers> = match arguments.data {
            _ if !cell.collective.reduces() => Box::new(Data::<u8>::supplied(seat, supply).map_err(too_large)?),
            DataType::Int => Box::new(Data::<i32>::supplied(seat, supply).map_err(too_large)?),
            DataType::Float => Box::new(Data::<f32>::supplied(seat, supply).map_err(too_large)?),
            DataType::Double => Box::new(Data::<f64>::supplied(seat, supply).map_err(too_large)?),
        };
        let mut programs = Vec::new();
        for candidate in candidates.iter().copied() {
            let program = match candidate {
                // These have buffers for input and result.
                Candidate::Reference(_) | Candidate::Mockup(_) if matches!(supply, BufferSource::InPlace) => None,
                Candidate::Reference(reference) => {
                    cell.reference_with(reference, arguments).map(|algorithm| algorithm.program(rank as u32))
                }
                // Mock-ups use rank 0 as the root, and integers.
                Candidate::Mockup(_) if !arguments.are_usual() => None,
                Candidate::Mockup(mockup) => mockup.program(seat),
                _ => continue,
            };
            let Program { extra, steps } = program.ok_or(WorkerError::NoProgram { cell, candidate })?;
            let extra = Extra::new(&extra).map_err(too_large)?;
            programs.push((candidate, PreparedProgram::of_call(steps, seat, parts.cloned()), extra));
        }
        Ok(Self { is_barrier: !cell.collective.has_sizes(), data, programs })
    }

    /// Returns the number of the program in place of a candidate's calls, looked up before they are timed; none if it calls
    /// the collective itself.
    pub(crate) fn program(&self, candidate: Candidate) -> Option<usize> {
        self.programs.iter().position(|(known, ..)| *known == candidate)
    }

    /// A call, or the program in its place, with the buffers of the next call.
    pub(crate) fn call(&mut self, comm: &SimpleCommunicator, program: Option<usize>) -> CallResult {
        self.data.advance();
        self.call_without(comm, program, None)
    }

    /// A call, without the named call of a program, if there is one.
    fn call_without(
        &mut self,
        comm: &SimpleCommunicator,
        program: Option<usize>,
        skipped: Option<usize>,
    ) -> CallResult {
        match program {
            None => self.data.call(comm),
            Some(at) => {
                let (_, steps, extra) = &mut self.programs[at];
                steps.run(comm, self.data.as_bytes(), extra, skipped)
            }
        }
    }

    /// Calls on known data; returns true if this rank has the right result. `salt` makes the data differ between calls,
    /// so that remains of an earlier call are not taken for a result.
    pub(crate) fn checked_call(
        &mut self,
        comm: &SimpleCommunicator,
        program: Option<usize>,
        salt: u64,
        skipped: Option<usize>,
    ) -> Result<bool, MpiErrorClass> {
        if self.is_barrier {
            return checked_barrier(comm, &mut || self.call_without(comm, program, skipped));
        }
        self.data.fill(salt);
        self.call_without(comm, program, skipped)?;
        Ok(self.data.is_right(salt))
    }

    /// Calls the collective in place on known data; returns true if this rank has the right result, none if it has no
    /// such calls. Later calls are not in place.
    pub(crate) fn checked_call_in_place(
        &mut self,
        comm: &SimpleCommunicator,
        salt: u64,
    ) -> Result<Option<bool>, MpiErrorClass> {
        let data = &mut self.data;
        if !data.call_in_place(true) {
            return Ok(None);
        }
        data.fill(salt);
        let called = data.call(comm);
        let is_right = data.is_right(salt);
        data.call_in_place(false);
        called.map(|()| Some(is_right))
    }
}

/// Delays of the late rank in the check of a barrier, tried in turn: longer ones if a shorter one is inconclusive.
const DELAYS: [Duration; 4] =
    [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(80), Duration::from_millis(320)];

/// Checks that no rank leaves a barrier before a late rank enters it. The first, the middle and the last rank are late
/// in turn. A rank that the operating system delays sees a short wait, so only a wait that is short with every delay
/// counts.
fn checked_barrier(
    comm: &SimpleCommunicator,
    barrier: &mut dyn FnMut() -> Result<(), MpiErrorClass>,
) -> Result<bool, MpiErrorClass> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut right = true;
    for late in [0, size / 2, size - 1] {
        let mut waited = false;
        for delay in DELAYS {
            dissemination_barrier(comm);
            if rank == late {
                thread::sleep(delay);
            }
            let start = Instant::now();
            barrier()?;
            let mine = rank == late || start.elapsed() >= delay / 2;
            waited = all_agree(comm, mine);
            if waited {
                break;
            }
        }
        right &= waited;
    }
    Ok(right)
}

#[cfg(test)]
mod tests;
