//! The definitions of collectives: blocking, non-blocking (`MPI_I...`), and persistent, which are `MPIX_..._init` up to Open MPI
//! 4.1 and `MPI_..._init` from 5.0 on. Each has its name with and without the P of the profiling interface.

use std::ffi::{c_int, c_void};
use std::mem;

use collrules_record::profile::Mode;
use collrules_rules::Operation;

use super::hook::collective;
use super::mpi::Mpi;
use super::next::NextFunction;
use super::passed::{Passed, is_in_place};
use super::{Comm, Counts, Op, Ptr, Type, Types};
use crate::communicators::LiveCommunicator;

/// `MPI_ERR_OTHER`, for functions that the MPI in this process does not have.
const UNKNOWN: c_int = 16;

/// Defines one function.
macro_rules! define {
    ($operation:ident $mode:ident $name:ident, ($($argument:ident: $type:ty),*), ($($more:ident: $more_type:ty),*), $comm:ident, $passed:expr) => {
        /// Counts the call and passes it on.
        ///
        /// # Safety
        ///
        /// The arguments are as MPI requires.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type,)* $($more: $more_type),*) -> c_int {
            static NEXT: NextFunction = NextFunction::new(concat!(stringify!($name), "\0"));
            let next = NEXT.get();
            if next.is_null() {
                return UNKNOWN;
            }
            // SAFETY: a function of this name has this type.
            let next = unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($type,)* $($more_type),*) -> c_int>(next) };
            // SAFETY: the caller's own arguments, handed on as they are.
            let call = || unsafe { next($($argument,)* $($more),*) };
            // SAFETY: arguments are looked at where MPI itself looks at them.
            #[allow(unused_unsafe, clippy::redundant_closure_call)]
            collective(Operation::$operation, Mode::$mode, $comm, |mpi, known| unsafe { ($passed)(mpi, known) }, call)
        }
    };
}

/// Defines all functions of an operation.
macro_rules! operation {
    ($operation:ident on $comm:ident $arguments:tt $passed:expr; $($blocking:ident)+; $($started:ident)+; $($prepared:ident)+) => {
        $(define! { $operation Blocking $blocking, $arguments, (), $comm, $passed })+
        $(define! { $operation NonBlocking $started, $arguments, (request: Ptr), $comm, $passed })+
        $(define! { $operation Persistent $prepared, $arguments, (info: Ptr, request: Ptr), $comm, $passed })+
    };
}

operation! {
    Barrier on comm (comm: Comm)
    |_: &Mpi, _: &LiveCommunicator| Passed::NOTHING;
    MPI_Barrier PMPI_Barrier;
    MPI_Ibarrier PMPI_Ibarrier;
    MPI_Barrier_init PMPI_Barrier_init MPIX_Barrier_init PMPIX_Barrier_init
}

operation! {
    Bcast on comm (buffer: Ptr, count: c_int, datatype: Type, root: c_int, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).root(root);
    MPI_Bcast PMPI_Bcast;
    MPI_Ibcast PMPI_Ibcast;
    MPI_Bcast_init PMPI_Bcast_init MPIX_Bcast_init PMPIX_Bcast_init
}

operation! {
    Gather on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, root: c_int, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| Passed::gathered(mpi, known, root, (sent, (send_count, send_type)), (receive_count, receive_type));
    MPI_Gather PMPI_Gather;
    MPI_Igather PMPI_Igather;
    MPI_Gather_init PMPI_Gather_init MPIX_Gather_init PMPIX_Gather_init
}

operation! {
    Gatherv on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_counts: Counts, places: Counts, receive_type: Type, root: c_int, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| if root == known.rank() { Passed::blocks(mpi, known.size(), receive_counts, receive_type).root(root).in_place(sent) } else { Passed::block(mpi, send_count, send_type).root(root) };
    MPI_Gatherv PMPI_Gatherv;
    MPI_Igatherv PMPI_Igatherv;
    MPI_Gatherv_init PMPI_Gatherv_init MPIX_Gatherv_init PMPIX_Gatherv_init
}

operation! {
    Scatter on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, root: c_int, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| Passed::scattered(mpi, known, root, (send_count, send_type), (received, (receive_count, receive_type)));
    MPI_Scatter PMPI_Scatter;
    MPI_Iscatter PMPI_Iscatter;
    MPI_Scatter_init PMPI_Scatter_init MPIX_Scatter_init PMPIX_Scatter_init
}

operation! {
    Scatterv on comm (sent: Ptr, send_counts: Counts, places: Counts, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, root: c_int, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| if root == known.rank() { Passed::blocks(mpi, known.size(), send_counts, send_type).root(root).in_place(received) } else { Passed::block(mpi, receive_count, receive_type).root(root) };
    MPI_Scatterv PMPI_Scatterv;
    MPI_Iscatterv PMPI_Iscatterv;
    MPI_Scatterv_init PMPI_Scatterv_init MPIX_Scatterv_init PMPIX_Scatterv_init
}

operation! {
    Allgather on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, receive_count, receive_type).in_place(sent);
    MPI_Allgather PMPI_Allgather;
    MPI_Iallgather PMPI_Iallgather;
    MPI_Allgather_init PMPI_Allgather_init MPIX_Allgather_init PMPIX_Allgather_init
}

operation! {
    Allgatherv on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_counts: Counts, places: Counts, receive_type: Type, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| Passed::blocks(mpi, known.size(), receive_counts, receive_type).in_place(sent);
    MPI_Allgatherv PMPI_Allgatherv;
    MPI_Iallgatherv PMPI_Iallgatherv;
    MPI_Allgatherv_init PMPI_Allgatherv_init MPIX_Allgatherv_init PMPIX_Allgatherv_init
}

operation! {
    Alltoall on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, receive_count, receive_type).in_place(sent);
    MPI_Alltoall PMPI_Alltoall;
    MPI_Ialltoall PMPI_Ialltoall;
    MPI_Alltoall_init PMPI_Alltoall_init MPIX_Alltoall_init PMPIX_Alltoall_init
}

operation! {
    Alltoallv on comm (sent: Ptr, send_counts: Counts, send_places: Counts, send_type: Type, received: Ptr, receive_counts: Counts, receive_places: Counts, receive_type: Type, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| if is_in_place(sent) { Passed::blocks(mpi, known.size(), receive_counts, receive_type).in_place(sent) } else { Passed::blocks(mpi, known.size(), send_counts, send_type) };
    MPI_Alltoallv PMPI_Alltoallv;
    MPI_Ialltoallv PMPI_Ialltoallv;
    MPI_Alltoallv_init PMPI_Alltoallv_init MPIX_Alltoallv_init PMPIX_Alltoallv_init
}

operation! {
    Alltoallw on comm (sent: Ptr, send_counts: Counts, send_places: Counts, send_types: Types, received: Ptr, receive_counts: Counts, receive_places: Counts, receive_types: Types, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| if is_in_place(sent) { Passed::typed_blocks(mpi, known.size(), receive_counts, receive_types).in_place(sent) } else { Passed::typed_blocks(mpi, known.size(), send_counts, send_types) };
    MPI_Alltoallw PMPI_Alltoallw;
    MPI_Ialltoallw PMPI_Ialltoallw;
    MPI_Alltoallw_init PMPI_Alltoallw_init MPIX_Alltoallw_init PMPIX_Alltoallw_init
}

operation! {
    Reduce on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, root: c_int, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).root(root).in_place(sent);
    MPI_Reduce PMPI_Reduce;
    MPI_Ireduce PMPI_Ireduce;
    MPI_Reduce_init PMPI_Reduce_init MPIX_Reduce_init PMPIX_Reduce_init
}

operation! {
    Allreduce on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);
    MPI_Allreduce PMPI_Allreduce;
    MPI_Iallreduce PMPI_Iallreduce;
    MPI_Allreduce_init PMPI_Allreduce_init MPIX_Allreduce_init PMPIX_Allreduce_init
}

operation! {
    ReduceScatter on comm (sent: Ptr, received: Ptr, counts: Counts, datatype: Type, op: Op, comm: Comm)
    |mpi: &Mpi, known: &LiveCommunicator| Passed::parts(mpi, known.size(), counts, datatype).op(mpi, op).in_place(sent);
    MPI_Reduce_scatter PMPI_Reduce_scatter;
    MPI_Ireduce_scatter PMPI_Ireduce_scatter;
    MPI_Reduce_scatter_init PMPI_Reduce_scatter_init MPIX_Reduce_scatter_init PMPIX_Reduce_scatter_init
}

operation! {
    ReduceScatterBlock on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);
    MPI_Reduce_scatter_block PMPI_Reduce_scatter_block;
    MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block;
    MPI_Reduce_scatter_block_init PMPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init PMPIX_Reduce_scatter_block_init
}

operation! {
    Scan on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);
    MPI_Scan PMPI_Scan;
    MPI_Iscan PMPI_Iscan;
    MPI_Scan_init PMPI_Scan_init MPIX_Scan_init PMPIX_Scan_init
}

operation! {
    Exscan on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);
    MPI_Exscan PMPI_Exscan;
    MPI_Iexscan PMPI_Iexscan;
    MPI_Exscan_init PMPI_Exscan_init MPIX_Exscan_init PMPIX_Exscan_init
}

operation! {
    NeighborAllgather on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, send_count, send_type);
    MPI_Neighbor_allgather PMPI_Neighbor_allgather;
    MPI_Ineighbor_allgather PMPI_Ineighbor_allgather;
    MPI_Neighbor_allgather_init PMPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init PMPIX_Neighbor_allgather_init
}

operation! {
    NeighborAllgatherv on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_counts: Counts, places: Counts, receive_type: Type, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, send_count, send_type);
    MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv;
    MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv;
    MPI_Neighbor_allgatherv_init PMPI_Neighbor_allgatherv_init MPIX_Neighbor_allgatherv_init PMPIX_Neighbor_allgatherv_init
}

operation! {
    NeighborAlltoall on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
    |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, send_count, send_type);
    MPI_Neighbor_alltoall PMPI_Neighbor_alltoall;
    MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall;
    MPI_Neighbor_alltoall_init PMPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init PMPIX_Neighbor_alltoall_init
}

operation! {
    NeighborAlltoallv on comm (sent: Ptr, send_counts: Counts, send_places: Counts, send_type: Type, received: Ptr, receive_counts: Counts, receive_places: Counts, receive_type: Type, comm: Comm)
    |_: &Mpi, _: &LiveCommunicator| Passed::NOTHING;
    MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv;
    MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv;
    MPI_Neighbor_alltoallv_init PMPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init PMPIX_Neighbor_alltoallv_init
}

operation! {
    NeighborAlltoallw on comm (sent: Ptr, send_counts: Counts, send_places: Ptr, send_types: Types, received: Ptr, receive_counts: Counts, receive_places: Ptr, receive_types: Types, comm: Comm)
    |_: &Mpi, _: &LiveCommunicator| Passed::NOTHING;
    MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw;
    MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw;
    MPI_Neighbor_alltoallw_init PMPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init PMPIX_Neighbor_alltoallw_init
}
