//! A collective call with its buffers, its known data and its check.
//!
//! | module | calls |
//! |---|---|
//! | `barrier` | barrier |
//! | `rooted` | bcast, gather, scatter |
//! | `exchange` | allgather, allgatherv, alltoall, alltoallv |
//! | `reduction` | allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan |

mod barrier;
mod exchange;
mod memory;
mod reduction;
mod rooted;

use collrules_record::Cell;
use collrules_record::cell::type_size;
use collrules_rules::Collective;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::ffi::ErrorClass;
pub(crate) use memory::TooLarge;

/// Why a call cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsupported {
    #[error("{cell}: the message is no multiple of the {size} B of the datatype that reductions are called with")]
    PartOfElement { cell: Cell, size: u64 },
    #[error("{cell}: {cause}")]
    TooLarge { cell: Cell, cause: TooLarge },
}

/// The buffers of one rank for the calls of a cell. Rooted collectives have rank 0 for their root; nothing is called
/// in place, and the v-collectives have the same count for every rank, as OSU's benchmarks do.
pub(crate) struct Operation {
    family: Family,
}

enum Family {
    Barrier,
    Data(Box<dyn Data>),
}

/// The buffers of a rank in a collective that moves data. What is known about them does without MPI, so that the check
/// itself can be tested.
trait Data {
    /// One call.
    fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass>;

    /// Puts the known data of `salt` where it is sent from, and something else where results are wanted.
    fn fill(&mut self, salt: u64);

    /// Whether the result is that of the known data of `salt`.
    fn is_right(&self, salt: u64) -> bool;
}

/// A rank and its communicator's size.
#[derive(Clone, Copy)]
struct Place {
    rank: usize,
    ranks: usize,
}

impl Place {
    fn is_root(self) -> bool {
        self.rank == 0
    }
}

impl Operation {
    /// Buffers of a member of the communicator, touched once so that no page is missing later.
    pub(crate) fn new(cell: Cell, comm: &SimpleCommunicator) -> Result<Self, Unsupported> {
        let place = Place { rank: comm.rank() as usize, ranks: comm.size() as usize };
        let size = type_size(cell.collective);
        if !cell.bytes.0.is_multiple_of(size) {
            return Err(Unsupported::PartOfElement { cell, size });
        }
        let (collective, bytes) = (cell.collective, cell.bytes.0 as usize);
        let data: Result<Box<dyn Data>, TooLarge> = match collective {
            Collective::Barrier => return Ok(Self { family: Family::Barrier }),
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
            Ok(data) => Ok(Self { family: Family::Data(data) }),
            Err(cause) => Err(Unsupported::TooLarge { cell, cause }),
        }
    }

    /// One call.
    pub(crate) fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
        match &mut self.family {
            Family::Barrier => crate::ffi::barrier(comm),
            Family::Data(data) => data.call(comm),
        }
    }

    /// Calls on known data, and says whether this rank has what it should have afterwards. `salt` makes the data
    /// differ from call to call, so that what an earlier call left behind is not taken for a result.
    pub(crate) fn checked_call(&mut self, comm: &SimpleCommunicator, salt: u64) -> Result<bool, ErrorClass> {
        match &mut self.family {
            Family::Barrier => barrier::checked(comm),
            Family::Data(data) => {
                data.fill(salt);
                data.call(comm)?;
                Ok(data.is_right(salt))
            }
        }
    }
}

/// Random-looking bits, the upper ones best, that follow from a salt, the rank whose data it is, and a place in it.
fn mixed(salt: u64, rank: usize, place: usize) -> u64 {
    (place as u64 ^ salt.rotate_left(32) ^ (rank as u64).rotate_left(44)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The byte at a place of the known data of a rank.
fn known_byte(salt: u64, rank: usize, place: usize) -> u8 {
    (mixed(salt, rank, place) >> 56) as u8
}

#[cfg(test)]
mod tests;
