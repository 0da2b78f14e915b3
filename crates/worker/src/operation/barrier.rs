//! Whether a barrier keeps ranks waiting for each other.

use std::thread;
use std::time::{Duration, Instant};

use mpi::topology::{Communicator, SimpleCommunicator};

use crate::ffi::ErrorClass;
use crate::sync::{all_agree, dissemination_barrier};

/// How long one rank keeps a barrier under test waiting, in turn: longer where a shorter time proved nothing.
const DELAYS: [Duration; 4] =
    [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(80), Duration::from_millis(320)];

/// Calls a barrier while one rank is late: no other may leave before it comes. Tried with the first, the middle and
/// the last rank being late. A rank that the operating system kept from entering in time sees a short wait, so that
/// only a wait that is short with every delay counts.
pub(super) fn checked(
    comm: &SimpleCommunicator,
    barrier: &mut dyn FnMut() -> Result<(), ErrorClass>,
) -> Result<bool, ErrorClass> {
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
