//! The definitions of collectives: blocking, non-blocking (`MPI_I...`), and persistent, which are `MPIX_..._init` up to Open MPI
//! 4.1 and `MPI_..._init` from 5.0 on. Each has its name with and without the P of the profiling interface.

use std::ffi::{c_int, c_void};
use std::mem;

use collrules_record::profile::Mode;
use collrules_rules::Operation;

use super::hook::collective;
use super::mpi::Mpi;
use super::next::{NextFunction, UNKNOWN, define, define_both};
use super::passed::{Passed, is_in_place};
use super::{Comm, Counts, Op, Ptr, Type, Types};
use crate::communicators::LiveCommunicator;

/// Defines all functions of operations, given their names as they are and in small letters; each counts the call and passes
/// it on.
macro_rules! operations {
    ($($operation:ident $name:literal $small:literal on $comm:ident $arguments:tt $passed:expr;)+) => {$(
        operations! { @ $operation Blocking $comm $passed, $arguments (): concat!("MPI_", $name) }
        operations! { @ $operation NonBlocking $comm $passed, $arguments (request: Ptr): concat!("MPI_I", $small) }
        operations! {
            @ $operation Persistent $comm $passed, $arguments (info: Ptr, request: Ptr):
            concat!("MPI_", $name, "_init"), concat!("MPIX_", $name, "_init")
        }
    )+};
    (
        @ $operation:ident $mode:ident $comm:ident $passed:expr,
        ($($argument:ident: $type:ty),*) ($($more:ident: $more_type:ty),*): $($name:expr),+
    ) => {
        define_both! { $($name),+; ($($argument: $type,)* $($more: $more_type),*), |call| {
            // SAFETY: arguments are looked at where MPI itself looks at them.
            #[allow(unused_unsafe, clippy::redundant_closure_call)]
            collective(Operation::$operation, Mode::$mode, $comm, |mpi, known| unsafe { ($passed)(mpi, known) }, call)
        } }
    };
}

operations! {
    Barrier "Barrier" "barrier" on comm (comm: Comm)
        |_: &Mpi, _: &LiveCommunicator| Passed::NOTHING;

    Bcast "Bcast" "bcast" on comm (buffer: Ptr, count: c_int, datatype: Type, root: c_int, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).root(root);

    Gather "Gather" "gather" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, root: c_int, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| Passed::rooted(mpi, known, root, (receive_count, receive_type), (sent, (send_count, send_type)));

    Gatherv "Gatherv" "gatherv" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_counts: Counts, places: Counts, receive_type: Type, root: c_int, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| if root == known.rank() { Passed::blocks(mpi, known.size(), receive_counts, receive_type).root(root).in_place(sent) } else { Passed::block(mpi, send_count, send_type).root(root) };

    Scatter "Scatter" "scatter" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, root: c_int, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| Passed::rooted(mpi, known, root, (send_count, send_type), (received, (receive_count, receive_type)));

    Scatterv "Scatterv" "scatterv" on comm (sent: Ptr, send_counts: Counts, places: Counts, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, root: c_int, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| if root == known.rank() { Passed::blocks(mpi, known.size(), send_counts, send_type).root(root).in_place(received) } else { Passed::block(mpi, receive_count, receive_type).root(root) };

    Allgather "Allgather" "allgather" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, receive_count, receive_type).in_place(sent);

    Allgatherv "Allgatherv" "allgatherv" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_counts: Counts, places: Counts, receive_type: Type, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| Passed::blocks(mpi, known.size(), receive_counts, receive_type).in_place(sent);

    Alltoall "Alltoall" "alltoall" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, receive_count, receive_type).in_place(sent);

    Alltoallv "Alltoallv" "alltoallv" on comm (sent: Ptr, send_counts: Counts, send_places: Counts, send_type: Type, received: Ptr, receive_counts: Counts, receive_places: Counts, receive_type: Type, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| if is_in_place(sent) { Passed::blocks(mpi, known.size(), receive_counts, receive_type).in_place(sent) } else { Passed::blocks(mpi, known.size(), send_counts, send_type) };

    Alltoallw "Alltoallw" "alltoallw" on comm (sent: Ptr, send_counts: Counts, send_places: Counts, send_types: Types, received: Ptr, receive_counts: Counts, receive_places: Counts, receive_types: Types, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| if is_in_place(sent) { Passed::typed_blocks(mpi, known.size(), receive_counts, receive_types).in_place(sent) } else { Passed::typed_blocks(mpi, known.size(), send_counts, send_types) };

    Reduce "Reduce" "reduce" on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, root: c_int, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).root(root).in_place(sent);

    Allreduce "Allreduce" "allreduce" on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);

    ReduceScatter "Reduce_scatter" "reduce_scatter" on comm (sent: Ptr, received: Ptr, counts: Counts, datatype: Type, op: Op, comm: Comm)
        |mpi: &Mpi, known: &LiveCommunicator| Passed::parts(mpi, known.size(), counts, datatype).op(mpi, op).in_place(sent);

    ReduceScatterBlock "Reduce_scatter_block" "reduce_scatter_block" on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);

    Scan "Scan" "scan" on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);

    Exscan "Exscan" "exscan" on comm (sent: Ptr, received: Ptr, count: c_int, datatype: Type, op: Op, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, count, datatype).op(mpi, op).in_place(sent);

    NeighborAllgather "Neighbor_allgather" "neighbor_allgather" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, send_count, send_type);

    NeighborAllgatherv "Neighbor_allgatherv" "neighbor_allgatherv" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_counts: Counts, places: Counts, receive_type: Type, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, send_count, send_type);

    NeighborAlltoall "Neighbor_alltoall" "neighbor_alltoall" on comm (sent: Ptr, send_count: c_int, send_type: Type, received: Ptr, receive_count: c_int, receive_type: Type, comm: Comm)
        |mpi: &Mpi, _: &LiveCommunicator| Passed::block(mpi, send_count, send_type);

    NeighborAlltoallv "Neighbor_alltoallv" "neighbor_alltoallv" on comm (sent: Ptr, send_counts: Counts, send_places: Counts, send_type: Type, received: Ptr, receive_counts: Counts, receive_places: Counts, receive_type: Type, comm: Comm)
        |_: &Mpi, _: &LiveCommunicator| Passed::NOTHING;

    NeighborAlltoallw "Neighbor_alltoallw" "neighbor_alltoallw" on comm (sent: Ptr, send_counts: Counts, send_places: Ptr, send_types: Types, received: Ptr, receive_counts: Counts, receive_places: Ptr, receive_types: Types, comm: Comm)
        |_: &Mpi, _: &LiveCommunicator| Passed::NOTHING;
}
