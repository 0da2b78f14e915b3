//! A collective call with its buffers, its known data and its check.
//!
//! | module | calls |
//! |---|---|
//! | `data` | (what they have in common: known data and where a rank stands) |
//! | `barrier` | barrier |
//! | `rooted` | bcast, gather, scatter |
//! | `exchange` | allgather, allgatherv, alltoall, alltoallv |
//! | `reduction` | allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan |

mod barrier;
mod data;
mod exchange;
mod memory;
mod reduction;
mod rooted;

use collrules_record::Cell;
use collrules_record::cell::type_size;
use collrules_rules::Collective;
use mpi::topology::{Communicator, SimpleCommunicator};

use self::data::{Data, Seat};
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

impl Operation {
    /// Buffers of a member of the communicator, touched once so that no page is missing later.
    pub(crate) fn new(cell: Cell, comm: &SimpleCommunicator) -> Result<Self, Unsupported> {
        let place = Seat { rank: comm.rank() as usize, ranks: comm.size() as usize };
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

#[cfg(test)]
mod tests;
