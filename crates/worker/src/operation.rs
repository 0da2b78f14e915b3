//! A collective call with its buffers, its known data and its check.

use std::thread;
use std::time::{Duration, Instant};

use collrules_record::Cell;
use collrules_rules::Collective;
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::ffi::{self, ErrorClass};
use crate::sync::{all_agree, dissemination_barrier};

/// A collective that cannot be called yet.
#[derive(Debug, thiserror::Error)]
#[error("the worker cannot call {0} yet; it can call barrier, bcast and scatter")]
pub(crate) struct Unsupported(Collective);

/// How long one rank keeps a barrier under test waiting, in turn: longer where a shorter time proved nothing.
const DELAYS: [Duration; 4] =
    [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(80), Duration::from_millis(320)];

/// The buffers of one rank for the calls of a cell. Rooted collectives have rank 0 for their root.
pub(crate) struct Operation {
    collective: Collective,
    send: Vec<u8>,
    receive: Vec<u8>,
    rank: usize,
}

impl Operation {
    /// Buffers of a member of the communicator, touched once so that no page is missing later.
    pub(crate) fn new(cell: Cell, comm: &SimpleCommunicator) -> Result<Self, Unsupported> {
        let (rank, ranks) = (comm.rank() as usize, comm.size() as usize);
        let bytes = cell.bytes.0 as usize;
        let (send, receive) = match cell.collective {
            Collective::Barrier => (0, 0),
            Collective::Bcast => (0, bytes),
            Collective::Scatter => (if rank == 0 { bytes * ranks } else { 0 }, bytes),
            other => return Err(Unsupported(other)),
        };
        Ok(Self { collective: cell.collective, send: vec![1; send], receive: vec![1; receive], rank })
    }

    /// One call.
    pub(crate) fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
        match self.collective {
            Collective::Bcast => ffi::bcast(comm, &mut self.receive),
            Collective::Scatter => ffi::scatter(comm, &self.send, &mut self.receive),
            _ => ffi::barrier(comm),
        }
    }

    /// Calls on known data, and says whether this rank has what it should have afterwards. `salt` makes the data
    /// differ from call to call, so that what an earlier call left behind is not taken for a result.
    pub(crate) fn checked_call(&mut self, comm: &SimpleCommunicator, salt: u64) -> Result<bool, ErrorClass> {
        if self.collective == Collective::Barrier {
            return checked_barrier(comm);
        }
        let is_root = self.rank == 0;
        let first = if self.collective == Collective::Scatter { self.rank * self.receive.len() } else { 0 };
        let expected = |place: usize| known(salt, first + place);
        self.send.iter_mut().enumerate().for_each(|(place, byte)| *byte = known(salt, place));
        let has_data_already = is_root && self.collective == Collective::Bcast;
        self.receive.iter_mut().enumerate().for_each(|(place, byte)| {
            *byte = if has_data_already { expected(place) } else { !expected(place) };
        });
        self.call(comm)?;
        Ok(self.receive.iter().enumerate().all(|(place, byte)| *byte == expected(place)))
    }
}

/// Calls a barrier while one rank is late: no other may leave before it comes. Tried with the first, the middle and
/// the last rank being late. A rank that the operating system kept from entering in time sees a short wait, so that
/// only a wait that is short with every delay counts.
fn checked_barrier(comm: &SimpleCommunicator) -> Result<bool, ErrorClass> {
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
            ffi::barrier(comm)?;
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

/// The byte at a place of the known data.
fn known(salt: u64, place: usize) -> u8 {
    let mixed = (place as u64 ^ salt.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}
