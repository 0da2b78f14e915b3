//! A collective call with its buffers, its known data and its check.
//!
//! | module | calls |
//! |---|---|
//! | `data` | (what they have in common: known data and where a rank stands) |
//! | `barrier` | barrier |
//! | `rooted` | bcast, gather, scatter |
//! | `exchange` | allgather, allgatherv, alltoall, alltoallv |
//! | `mockup` | other calls that do the same, on the same buffers |
//! | `reduction` | allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan |
//! | `scripted` | the same by reference algorithms, with messages |

mod barrier;
mod data;
mod exchange;
mod memory;
mod mockup;
mod reduction;
mod rooted;
mod scripted;

use collrules_record::cell::type_size;
use collrules_record::{Candidate, Cell, Mockup};
use collrules_reference::Reference;
use collrules_rules::Collective;
use mpi::topology::{Communicator, SimpleCommunicator};

use self::data::{Data, Seat};
use self::mockup::Prepared;
use crate::ffi::ErrorClass;
pub(crate) use memory::TooLarge;

/// Why a call cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsupported {
    #[error("{cell}: the message is no multiple of the {size} B of the datatype that reductions are called with")]
    PartOfElement { cell: Cell, size: u64 },
    #[error("{mockup} is no mock-up of {cell}")]
    NoMockup { cell: Cell, mockup: Mockup },
    #[error("{cell}: {cause}")]
    TooLarge { cell: Cell, cause: TooLarge },
}

/// The buffers of one rank for the calls of a cell. Rooted collectives have rank 0 for their root; nothing is called
/// in place, and the v-collectives have the same count for every rank, as OSU's benchmarks do.
pub(crate) struct Operation {
    family: Family,
    mockups: Vec<(Mockup, Prepared)>,
}

/// How a call is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// By the collective itself.
    Itself,
    /// By the mock-up with this number.
    Mockup(usize),
    /// By the messages of a reference algorithm.
    Messages(Reference),
}

enum Family {
    Barrier,
    Data(Box<dyn Data>),
}

impl Operation {
    /// Buffers of a member of the communicator, for calls and for the mock-ups and reference algorithms among these
    /// candidates, touched once so that no page is missing later.
    pub(crate) fn new(cell: Cell, comm: &SimpleCommunicator, candidates: &[Candidate]) -> Result<Self, Unsupported> {
        let mut operation = Self::of_itself(cell, comm)?;
        let seat = collrules_guidelines::Seat::of(cell, comm.rank() as usize);
        let mut references = Vec::new();
        for candidate in candidates {
            match *candidate {
                Candidate::Reference(reference) => references.push(reference),
                Candidate::Mockup(mockup) => {
                    let program = collrules_guidelines::program(mockup, seat);
                    let program = program.ok_or(Unsupported::NoMockup { cell, mockup })?;
                    let prepared = Prepared::new(program, seat.ranks);
                    let prepared = prepared.map_err(|cause| Unsupported::TooLarge { cell, cause })?;
                    operation.mockups.push((mockup, prepared));
                }
                _ => {}
            }
        }
        if let Family::Data(data) = &mut operation.family {
            data.rehearse(cell, &references).map_err(|cause| Unsupported::TooLarge { cell, cause })?;
        }
        Ok(operation)
    }

    fn of_itself(cell: Cell, comm: &SimpleCommunicator) -> Result<Self, Unsupported> {
        let mockups = Vec::new();
        let place = Seat { rank: comm.rank() as usize, ranks: comm.size() as usize };
        let size = type_size(cell.collective);
        if !cell.bytes.0.is_multiple_of(size) {
            return Err(Unsupported::PartOfElement { cell, size });
        }
        let (collective, bytes) = (cell.collective, cell.bytes.0 as usize);
        let data: Result<Box<dyn Data>, TooLarge> = match collective {
            Collective::Barrier => return Ok(Self { family: Family::Barrier, mockups }),
            Collective::Bcast | Collective::Gather | Collective::Scatter => {
                rooted::Rooted::new(collective, place, bytes).map(|data| Box::new(data) as _)
            }
            Collective::Allgather | Collective::Allgatherv | Collective::Alltoall | Collective::Alltoallv => {
                exchange::Exchange::new(collective, place, bytes).map(|data| Box::new(data) as _)
            }
            Collective::Allreduce
            | Collective::Exscan
            | Collective::Reduce
            | Collective::ReduceScatter
            | Collective::ReduceScatterBlock
            | Collective::Scan => {
                reduction::Reduction::new(collective, place, bytes / size as usize).map(|data| Box::new(data) as _)
            }
        };
        match data {
            Ok(data) => Ok(Self { family: Family::Data(data), mockups }),
            Err(cause) => Err(Unsupported::TooLarge { cell, cause }),
        }
    }

    /// How a candidate's calls are carried out: looked up before they are timed.
    pub(crate) fn means(&self, candidate: Candidate) -> Means {
        if let Candidate::Reference(reference) = candidate {
            return Means::Messages(reference);
        }
        let place = self.mockups.iter().position(|(mockup, _)| candidate == Candidate::Mockup(*mockup));
        place.map_or(Means::Itself, Means::Mockup)
    }

    /// One call, or what stands for it.
    pub(crate) fn call(&mut self, comm: &SimpleCommunicator, means: Means) -> Result<(), ErrorClass> {
        self.call_without(comm, means, None)
    }

    /// The same, leaving out a step of a mock-up, if one is named.
    fn call_without(
        &mut self,
        comm: &SimpleCommunicator,
        means: Means,
        skipped: Option<usize>,
    ) -> Result<(), ErrorClass> {
        match (means, &mut self.family) {
            // No reference algorithm is one of barrier.
            (Means::Itself | Means::Messages(_), Family::Barrier) => crate::ffi::barrier(comm),
            (Means::Itself, Family::Data(data)) => data.call(comm),
            (Means::Messages(reference), Family::Data(data)) => data.carry_out(reference, comm),
            (Means::Mockup(at), Family::Barrier) => self.mockups[at].1.run(comm, (&[], &mut []), skipped),
            (Means::Mockup(at), Family::Data(data)) => self.mockups[at].1.run(comm, data.buffers(), skipped),
        }
    }

    /// Calls on known data, and says whether this rank has what it should have afterwards. `salt` makes the data
    /// differ from call to call, so that what an earlier call left behind is not taken for a result.
    pub(crate) fn checked_call(
        &mut self,
        comm: &SimpleCommunicator,
        means: Means,
        salt: u64,
        skipped: Option<usize>,
    ) -> Result<bool, ErrorClass> {
        match &mut self.family {
            Family::Barrier => return barrier::checked(comm, &mut || self.call_without(comm, means, skipped)),
            Family::Data(data) => data.fill(salt),
        }
        self.call_without(comm, means, skipped)?;
        match &self.family {
            Family::Barrier => Ok(true),
            Family::Data(data) => Ok(data.is_right(salt)),
        }
    }
}

#[cfg(test)]
mod tests;
