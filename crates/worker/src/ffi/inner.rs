//! The calls that mock-ups are made of. Buffers are bytes; where there is an operation, they are bytes of `MPI_INT`, but
//! for the one that puts blocks together.

use std::ffi::{c_int, c_void};

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::{Counts, ErrorClass, c_count, classify, ranks};

/// What is done with contributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reducing {
    /// `MPI_SUM` of `MPI_INT`.
    Sum,
    /// `MPI_BOR` of `MPI_UINT8_T`.
    Or,
}

/// `MPI_IN_PLACE`, which is a macro that bindings lack: `((void *) 1)` in `mpi.h` of every Open MPI so far.
const IN_PLACE: *mut c_void = std::ptr::without_provenance_mut(1);

impl Reducing {
    /// The number of elements, their type, and the operation.
    fn terms(self, bytes: usize) -> (c_int, ffi::MPI_Datatype, ffi::MPI_Op) {
        match self {
            // SAFETY: predefined constants.
            Self::Sum => unsafe { (c_count(bytes / 4), ffi::RSMPI_INT32_T, ffi::RSMPI_SUM) },
            // SAFETY: predefined constants.
            Self::Or => unsafe { (c_count(bytes), byte(), ffi::RSMPI_BOR) },
        }
    }
}

/// `MPI_UINT8_T`: operations of bits take it, unlike `MPI_CHAR`.
fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a predefined constant.
    unsafe { ffi::RSMPI_UINT8_T }
}

fn is_root(comm: &SimpleCommunicator) -> bool {
    comm.rank() == 0
}

/// `MPI_Bcast` from rank 0, which sends the first, into the second on other ranks.
pub(crate) fn bcast(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    // MPI does not write to the buffer of the root.
    let (buffer, len) =
        if is_root(comm) { (send.as_ptr().cast_mut(), send.len()) } else { (receive.as_mut_ptr(), receive.len()) };
    // SAFETY: the buffer holds `len` bytes and outlives the blocking call; the root's is only read.
    classify(unsafe { ffi::MPI_Bcast(buffer.cast(), c_count(len), byte(), 0, comm.as_raw()) })
}

/// `MPI_Allreduce`.
pub(crate) fn allreduce(
    comm: &SimpleCommunicator,
    how: Reducing,
    send: &[u8],
    receive: &mut [u8],
) -> Result<(), ErrorClass> {
    assert!(send.len() == receive.len(), "the result is as long as the vectors");
    let (count, kind, operation) = how.terms(send.len());
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Allreduce(send.as_ptr().cast(), receive.as_mut_ptr().cast(), count, kind, operation, comm.as_raw())
    })
}

/// `MPI_Reduce` to rank 0.
pub(crate) fn reduce(
    comm: &SimpleCommunicator,
    how: Reducing,
    send: &[u8],
    receive: &mut [u8],
) -> Result<(), ErrorClass> {
    assert!(!is_root(comm) || send.len() == receive.len(), "the result is as long as the vectors");
    let (count, kind, operation) = how.terms(send.len());
    // SAFETY: `send` holds `count` elements, and so does `receive` on rank 0, as asserted; elsewhere MPI does not look
    // at it. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Reduce(send.as_ptr().cast(), receive.as_mut_ptr().cast(), count, kind, operation, 0, comm.as_raw())
    })
}

/// `MPI_Reduce_scatter` of sums; the counts are in bytes.
pub(crate) fn reduce_scatter(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, send.len()), "the send buffer holds all blocks");
    assert!(receive.len() == counts.counts[comm.rank() as usize] as usize, "the receive buffer is this rank's block");
    let (from, to) = (send.as_ptr().cast(), receive.as_mut_ptr().cast());
    let blocks = counts.in_elements();
    let kind = Reducing::Sum.terms(0);
    // SAFETY: there is a count per rank, `send` holds as many elements as they sum up to, and `receive` this rank's, as
    // asserted. All of them outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce_scatter(from, to, blocks.counts.as_ptr(), kind.1, kind.2, comm.as_raw()) })
}

/// `MPI_Reduce_scatter_block` of sums.
pub(crate) fn reduce_scatter_block(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
) -> Result<(), ErrorClass> {
    assert!(send.len() == receive.len() * ranks(comm), "one block per rank");
    let (count, kind, operation) = Reducing::Sum.terms(receive.len());
    // SAFETY: `send` holds a block of `count` elements per rank, as asserted, and `receive` one. Both outlive the
    // blocking call.
    classify(unsafe {
        ffi::MPI_Reduce_scatter_block(
            send.as_ptr().cast(),
            receive.as_mut_ptr().cast(),
            count,
            kind,
            operation,
            comm.as_raw(),
        )
    })
}

/// `MPI_Scan`, or `MPI_Exscan`, of sums.
pub(crate) fn scan(
    comm: &SimpleCommunicator,
    exclusive: bool,
    send: &[u8],
    receive: &mut [u8],
) -> Result<(), ErrorClass> {
    assert!(send.len() == receive.len(), "the sum is as long as the vectors");
    let (count, kind, operation) = Reducing::Sum.terms(send.len());
    let (from, to) = (send.as_ptr().cast(), receive.as_mut_ptr().cast());
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe {
        if exclusive {
            ffi::MPI_Exscan(from, to, count, kind, operation, comm.as_raw())
        } else {
            ffi::MPI_Scan(from, to, count, kind, operation, comm.as_raw())
        }
    })
}

/// `MPI_Reduce_local` of sums: the first added to the left of the second.
pub(crate) fn reduce_local(left: &[u8], right: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(left.len() == right.len(), "the sum is as long as the vectors");
    let (count, kind, operation) = Reducing::Sum.terms(left.len());
    // SAFETY: both buffers hold `count` elements, as asserted.
    classify(unsafe { ffi::MPI_Reduce_local(left.as_ptr().cast(), right.as_mut_ptr().cast(), count, kind, operation) })
}

/// `MPI_Gatherv` to rank 0.
pub(crate) fn gatherv(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(!is_root(comm) || counts.fit(comm, receive.len()), "the root's buffer holds all blocks");
    assert!(send.len() == counts.counts[comm.rank() as usize] as usize, "the send buffer is this rank's block");
    // SAFETY: on rank 0 counts and displacements are one per rank and describe blocks within `receive`, as asserted;
    // elsewhere MPI does not look at them. All of them outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Gatherv(
            send.as_ptr().cast(),
            c_count(send.len()),
            byte(),
            receive.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            byte(),
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Scatterv` from rank 0.
pub(crate) fn scatterv(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(!is_root(comm) || counts.fit(comm, send.len()), "the root's buffer holds all blocks");
    assert!(receive.len() == counts.counts[comm.rank() as usize] as usize, "the receive buffer is this rank's block");
    // SAFETY: as for gatherv, the other way round.
    classify(unsafe {
        ffi::MPI_Scatterv(
            send.as_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            byte(),
            receive.as_mut_ptr().cast(),
            c_count(receive.len()),
            byte(),
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Scatterv` from rank 0 of what all blocks of `buffer` have there, into the own block of `buffer` elsewhere.
pub(crate) fn scatterv_in_place(
    comm: &SimpleCommunicator,
    buffer: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, buffer.len()), "the buffer holds all blocks");
    let rank = comm.rank() as usize;
    let (first, len) = (counts.first(rank), counts.counts[rank] as usize);
    let start = buffer.as_mut_ptr();
    let (send, receive) = if is_root(comm) {
        (start.cast(), IN_PLACE)
    } else {
        // SAFETY: the block lies within the buffer, as asserted.
        (start.cast(), unsafe { start.add(first) }.cast())
    };
    // SAFETY: on rank 0 counts and displacements describe blocks within the buffer, as asserted, and its own stays where
    // it is; elsewhere MPI looks at the receive buffer alone, which holds `len` bytes.
    classify(unsafe {
        ffi::MPI_Scatterv(
            send,
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            byte(),
            receive,
            c_count(len),
            byte(),
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Allgatherv` of blocks that are in their places already.
pub(crate) fn allgatherv_in_place(
    comm: &SimpleCommunicator,
    buffer: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, buffer.len()), "the buffer holds all blocks");
    // SAFETY: counts and displacements are one per rank, as asserted, and describe blocks within the buffer, which outlives
    // the blocking call.
    classify(unsafe {
        ffi::MPI_Allgatherv(
            IN_PLACE,
            0,
            byte(),
            buffer.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            byte(),
            comm.as_raw(),
        )
    })
}

/// `MPI_Alltoallw` of bytes, with the same counts for sending and receiving.
pub(crate) fn alltoallw(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
    types: &Types,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, send.len()) && counts.fit(comm, receive.len()), "both buffers hold all blocks");
    assert!(types.0.len() == ranks(comm), "a type for each rank");
    // SAFETY: counts, displacements in bytes and types are one per rank, as asserted, and describe blocks within both
    // buffers. All of them outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Alltoallw(
            send.as_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            types.0.as_ptr(),
            receive.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            types.0.as_ptr(),
            comm.as_raw(),
        )
    })
}

/// The datatype of each rank's block: bytes.
pub(crate) struct Types(Vec<ffi::MPI_Datatype>);

impl Types {
    /// For so many ranks.
    pub(crate) fn of(ranks: usize) -> Self {
        Self(vec![byte(); ranks])
    }
}

/// `MPI_Sendrecv`: to the next rank, from the one before. The first rank gets nothing, and the last sends nothing.
pub(crate) fn shift(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    const TAG: c_int = 7;
    let (rank, size) = (comm.rank(), comm.size());
    // SAFETY: a predefined constant.
    let nobody = unsafe { ffi::RSMPI_PROC_NULL };
    let next = if rank + 1 < size { rank + 1 } else { nobody };
    let before = if rank > 0 { rank - 1 } else { nobody };
    // SAFETY: both buffers hold as many bytes as is said, and outlive the blocking call; no status is asked for.
    classify(unsafe {
        ffi::MPI_Sendrecv(
            send.as_ptr().cast(),
            c_count(send.len()),
            byte(),
            next,
            TAG,
            receive.as_mut_ptr().cast(),
            c_count(receive.len()),
            byte(),
            before,
            TAG,
            comm.as_raw(),
            ffi::RSMPI_STATUS_IGNORE,
        )
    })
}
