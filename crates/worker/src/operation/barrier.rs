//! Check that a barrier keeps ranks waiting for each other.

use std::thread;
use std::time::{Duration, Instant};

use mpi::topology::{Communicator, SimpleCommunicator};

use crate::ffi::MpiErrorClass;
use crate::sync::{all_agree, dissemination_barrier};

/// Delays of the late rank in the check of a barrier, tried in turn: longer ones if a shorter one is inconclusive.
const DELAYS: [Duration; 4] =
    [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(80), Duration::from_millis(320)];

/// Checks that no rank leaves a barrier before a late rank enters it. The first, the middle and the last rank are late
/// in turn. A rank that the operating system delays sees a short wait, so only a wait that is short with every delay
/// counts.
pub(super) fn checked(
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
