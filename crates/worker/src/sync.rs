//! The dissemination barrier before every timed call.

use mpi::point_to_point::send_receive_into;
use mpi::topology::{Communicator, SimpleCommunicator};

/// Returns on no rank before every rank has entered: in round k each rank tells the one 2^k after it and hears from
/// the one 2^k before it (Hensgen, Finkel, Manber 1988). One barrier for all candidates, made of point-to-point
/// messages, so that none is favoured and the barrier under test never synchronises itself.
pub(crate) fn dissemination_barrier(comm: &SimpleCommunicator) {
    all_agree(comm, true);
}

/// Whether all ranks say yes. The same exchange: what a rank hears in the end covers every rank at least once. Under a
/// rules file, collectives of the communicator may be the ones that fail.
pub(crate) fn all_agree(comm: &SimpleCommunicator, mine: bool) -> bool {
    let (rank, size) = (comm.rank(), comm.size());
    let mut agreed = u8::from(mine);
    let mut distance = 1;
    while distance < size {
        let to = comm.process_at_rank((rank + distance) % size);
        let from = comm.process_at_rank((rank + size - distance) % size);
        let mut heard = 0u8;
        send_receive_into(&agreed, &to, &mut heard, &from);
        agreed &= heard;
        distance *= 2;
    }
    agreed == 1
}
