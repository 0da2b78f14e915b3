//! Collective calls. Data is moved as bytes and reduced as elements, by the operation that
//! their type stands for.

use std::ffi::{c_int, c_void};

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::messages::Element;
use super::{CallResult, c_count, classify};

/// `MPI_IN_PLACE`, which is a macro that bindings lack: `((void *) 1)` in `mpi.h` of every Open MPI so far.
const IN_PLACE: *mut c_void = std::ptr::without_provenance_mut(1);

/// Number of elements of each rank, and the place of the first.
#[derive(Default)]
pub(crate) struct BlockCounts {
    counts: Vec<c_int>,
    firsts: Vec<c_int>,
    total: usize,
}

impl BlockCounts {
    /// The blocks of the ranks, in rank order, without gaps.
    pub(crate) fn from_blocks(counts: impl IntoIterator<Item = usize>) -> Self {
        let mut result = Self::default();
        for count in counts {
            result.counts.push(c_count(count));
            result.firsts.push(c_count(result.total));
            result.total += count;
        }
        result
    }

    /// Returns the place of the first element of a rank's block.
    pub(crate) fn first(&self, rank: usize) -> usize {
        self.firsts[rank] as usize
    }

    /// Returns true if there is a block for each rank, and a buffer of this length holds them all.
    fn fit(&self, comm: &SimpleCommunicator, len: usize) -> bool {
        self.counts.len() == ranks(comm) && len == self.total
    }

    /// Returns true if the block of this rank has this length.
    fn own(&self, comm: &SimpleCommunicator, len: usize) -> bool {
        self.counts[comm.rank() as usize] as usize == len
    }

    /// Returns counts and first elements as arrays of C.
    fn raw(&self) -> (*const c_int, *const c_int) {
        (self.counts.as_ptr(), self.firsts.as_ptr())
    }
}

fn ranks(comm: &SimpleCommunicator) -> usize {
    comm.size() as usize
}

fn is_root(comm: &SimpleCommunicator, root: u32) -> bool {
    comm.rank() as u32 == root
}

/// `MPI_UINT8_T`: operations of bits take it, unlike `MPI_CHAR`.
fn byte() -> ffi::MPI_Datatype {
    u8::datatype()
}

/// A buffer to read as C takes it: where, and how much; `MPI_IN_PLACE` if the input is where the result goes.
fn input<T>(send: Option<&[T]>) -> (*const c_void, c_int) {
    send.map_or((IN_PLACE.cast_const(), 0), |send| (send.as_ptr().cast(), c_count(send.len())))
}

/// Two buffers as C takes them: where to read, how much, where to write, how much.
fn raw<T>(send: &[T], receive: &mut [T]) -> (*const c_void, c_int, *mut c_void, c_int) {
    (send.as_ptr().cast(), c_count(send.len()), receive.as_mut_ptr().cast(), c_count(receive.len()))
}

/// `MPI_Barrier`.
pub(crate) fn barrier(comm: &SimpleCommunicator) -> CallResult {
    // SAFETY: the communicator is valid while borrowed.
    classify(unsafe { ffi::MPI_Barrier(comm.as_raw()) })
}

/// `MPI_Bcast` of what the root has in the first, or else in the second, into the second on other ranks.
pub(crate) fn bcast(comm: &SimpleCommunicator, root: u32, send: &[u8], receive: &mut [u8]) -> CallResult {
    let (from, sent, to, received) = raw(send, receive);
    let (buffer, count) = if sent > 0 && is_root(comm, root) { (from.cast_mut(), sent) } else { (to, received) };
    // SAFETY: the buffer holds `count` bytes and outlives the blocking call; the root's is only read.
    classify(unsafe { ffi::MPI_Bcast(buffer, count, byte(), root as c_int, comm.as_raw()) })
}

/// `MPI_Scatter` of a block to each rank from the root, which holds them all in `send`. Without a buffer to receive, the
/// root's own block stays where it is.
pub(crate) fn scatter(comm: &SimpleCommunicator, root: u32, send: &[u8], receive: Option<&mut [u8]>) -> CallResult {
    assert!(receive.is_some() || is_root(comm, root), "only the root has its block already");
    let block = receive.as_ref().map_or(send.len() / ranks(comm), |block| block.len());
    assert!(!is_root(comm, root) || send.len() == block * ranks(comm), "one block per rank");
    let to = receive.map_or(IN_PLACE, |block| block.as_mut_ptr().cast());
    let (from, block, root) = (send.as_ptr().cast(), c_count(block), root as c_int);
    // SAFETY: on the root `send` holds a block per rank, as asserted; elsewhere MPI does not look at it. `receive` has
    // room for one, if it is there. Both outlive the blocking call.
    classify(unsafe { ffi::MPI_Scatter(from, block, byte(), to, block, byte(), root, comm.as_raw()) })
}

/// `MPI_Gather` of a block from each rank to the root, which receives them all in `receive`. Without a buffer to send, the
/// root's own block is in its place already.
pub(crate) fn gather(comm: &SimpleCommunicator, root: u32, send: Option<&[u8]>, receive: &mut [u8]) -> CallResult {
    assert!(send.is_some() || is_root(comm, root), "only the root has its block already");
    let block = send.map_or(receive.len() / ranks(comm), <[u8]>::len);
    assert!(!is_root(comm, root) || receive.len() == block * ranks(comm), "one block per rank");
    let ((from, _), to) = (input(send), receive.as_mut_ptr().cast());
    let (block, root) = (c_count(block), root as c_int);
    // SAFETY: as for scatter, the other way round.
    classify(unsafe { ffi::MPI_Gather(from, block, byte(), to, block, byte(), root, comm.as_raw()) })
}

/// `MPI_Allgather` of a block from each rank to all; without a buffer to send, the blocks are in their places already.
pub(crate) fn allgather(comm: &SimpleCommunicator, send: Option<&[u8]>, receive: &mut [u8]) -> CallResult {
    let block = receive.len() / ranks(comm);
    assert!(receive.len() == block * ranks(comm) && send.is_none_or(|own| own.len() == block), "one block per rank");
    let ((from, own), to, block) = (input(send), receive.as_mut_ptr().cast(), c_count(block));
    // SAFETY: `receive` has room for a block per rank, as asserted, and both buffers outlive the blocking call.
    classify(unsafe { ffi::MPI_Allgather(from, own, byte(), to, block, byte(), comm.as_raw()) })
}

/// `MPI_Alltoall`: a block from each rank to each; without a buffer to send, of what is in the other.
pub(crate) fn alltoall(comm: &SimpleCommunicator, send: Option<&[u8]>, receive: &mut [u8]) -> CallResult {
    let all = receive.len();
    assert!(all.is_multiple_of(ranks(comm)) && send.is_none_or(|send| send.len() == all), "one block per rank");
    let ((from, sent), to) = (input(send), receive.as_mut_ptr().cast());
    let (sent, block) = (sent / comm.size(), c_count(all) / comm.size());
    // SAFETY: both buffers hold a block per rank, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Alltoall(from, sent, byte(), to, block, byte(), comm.as_raw()) })
}

/// `MPI_Allgatherv` of the block in `send` from each rank to all; without it, the blocks are in their places already.
pub(crate) fn allgatherv(
    comm: &SimpleCommunicator,
    send: Option<&[u8]>,
    receive: &mut [u8],
    counts: &BlockCounts,
) -> CallResult {
    assert!(counts.fit(comm, receive.len()), "the receive buffer holds all blocks");
    assert!(send.is_none_or(|own| counts.own(comm, own.len())), "the send buffer is this rank's block");
    let ((from, own), to, (blocks, firsts)) = (input(send), receive.as_mut_ptr().cast(), counts.raw());
    // SAFETY: counts and displacements are one per rank and describe blocks within `receive`, as asserted.
    classify(unsafe { ffi::MPI_Allgatherv(from, own, byte(), to, blocks, firsts, byte(), comm.as_raw()) })
}

/// `MPI_Gatherv` to rank 0.
pub(crate) fn gatherv(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8], counts: &BlockCounts) -> CallResult {
    assert!(!is_root(comm, 0) || counts.fit(comm, receive.len()), "the root's buffer holds all blocks");
    assert!(counts.own(comm, send.len()), "the send buffer is this rank's block");
    let ((from, own, to, _), (blocks, firsts)) = (raw(send, receive), counts.raw());
    // SAFETY: on the root counts and displacements are one per rank and describe blocks within `receive`, as asserted;
    // elsewhere MPI looks at none of them.
    classify(unsafe { ffi::MPI_Gatherv(from, own, byte(), to, blocks, firsts, byte(), 0, comm.as_raw()) })
}

/// `MPI_Scatterv` from rank 0.
pub(crate) fn scatterv(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8], counts: &BlockCounts) -> CallResult {
    assert!(!is_root(comm, 0) || counts.fit(comm, send.len()), "the root's buffer holds all blocks");
    assert!(counts.own(comm, receive.len()), "the receive buffer is this rank's block");
    let ((from, _, to, own), (blocks, firsts)) = (raw(send, receive), counts.raw());
    // SAFETY: as for gatherv, the other way round.
    classify(unsafe { ffi::MPI_Scatterv(from, blocks, firsts, byte(), to, own, byte(), 0, comm.as_raw()) })
}

/// `MPI_Scatterv` of what rank 0 has in `buffer`, each block into its place there on its rank.
pub(crate) fn scatterv_in_place(comm: &SimpleCommunicator, buffer: &mut [u8], counts: &BlockCounts) -> CallResult {
    assert!(counts.fit(comm, buffer.len()), "the buffer holds all blocks");
    let rank = comm.rank() as usize;
    let (own, (blocks, firsts)) = (counts.counts[rank], counts.raw());
    let from = buffer.as_mut_ptr();
    // SAFETY: the block lies within the buffer, as asserted.
    let to = if is_root(comm, 0) { IN_PLACE } else { unsafe { from.add(counts.first(rank)) }.cast() };
    // SAFETY: on the root counts and displacements describe blocks within the buffer, as asserted, and its own stays where
    // it is; elsewhere MPI writes to the block of this rank alone.
    classify(unsafe { ffi::MPI_Scatterv(from.cast(), blocks, firsts, byte(), to, own, byte(), 0, comm.as_raw()) })
}

/// `MPI_Alltoallv` with the same counts for sending and receiving; without a buffer to send, of what is in the other.
pub(crate) fn alltoallv(
    comm: &SimpleCommunicator,
    send: Option<&[u8]>,
    receive: &mut [u8],
    counts: &BlockCounts,
) -> CallResult {
    assert!(counts.fit(comm, receive.len()), "the receive buffer holds all blocks");
    assert!(send.is_none_or(|send| counts.fit(comm, send.len())), "the send buffer holds all blocks");
    let ((from, _), to, (n, at)) = (input(send), receive.as_mut_ptr().cast(), counts.raw());
    // SAFETY: counts and displacements are one per rank and describe blocks within both buffers, as asserted.
    classify(unsafe { ffi::MPI_Alltoallv(from, n, at, byte(), to, n, at, byte(), comm.as_raw()) })
}

/// The datatype of each rank's block: bytes.
pub(crate) struct BlockTypes(Vec<ffi::MPI_Datatype>);

impl BlockTypes {
    /// For so many ranks.
    pub(crate) fn new(ranks: usize) -> Self {
        Self(vec![byte(); ranks])
    }
}

/// `MPI_Alltoallw` of bytes, with the same counts for sending and receiving.
pub(crate) fn alltoallw(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &BlockCounts,
    types: &BlockTypes,
) -> CallResult {
    assert!(counts.fit(comm, send.len()) && counts.fit(comm, receive.len()), "both buffers hold all blocks");
    assert!(types.0.len() == ranks(comm), "a type for each rank");
    let ((from, _, to, _), (n, at), kinds) = (raw(send, receive), counts.raw(), types.0.as_ptr());
    // SAFETY: counts, displacements in bytes and types are one per rank, as asserted, and describe blocks within both
    // buffers.
    classify(unsafe { ffi::MPI_Alltoallw(from, n, at, kinds, to, n, at, kinds, comm.as_raw()) })
}

/// `MPI_Allreduce`; without a buffer to send, of what is in the other, which takes the result.
pub(crate) fn allreduce<T: Element>(comm: &SimpleCommunicator, send: Option<&[T]>, receive: &mut [T]) -> CallResult {
    let (from, to, count) = vectors(send, receive);
    // SAFETY: both buffers hold `count` elements of this type, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Allreduce(from, to, count, T::datatype(), T::operation(), comm.as_raw()) })
}

/// `MPI_Reduce` to the root; there without a buffer to send, of what is in the other, which takes the result.
pub(crate) fn reduce<T: Element>(
    comm: &SimpleCommunicator,
    root: u32,
    send: Option<&[T]>,
    receive: &mut [T],
) -> CallResult {
    let is_root = is_root(comm, root);
    assert!(send.is_some() || is_root, "other ranks send from a buffer of their own");
    let count = send.map_or(receive.len(), <[T]>::len);
    assert!(!is_root || receive.len() == count, "the result is as long as the vectors");
    let ((from, _), to, count) = (input(send), receive.as_mut_ptr().cast(), c_count(count));
    let root = root as c_int;
    // SAFETY: `send` holds `count` elements, and so does `receive` on the root, as asserted; elsewhere MPI does not look
    // at it. Both outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce(from, to, count, T::datatype(), T::operation(), root, comm.as_raw()) })
}

/// `MPI_Reduce_scatter`: of the result, each rank gets its block. Without a buffer to send, the vector is in the other, and
/// this rank's block of the result takes its beginning.
pub(crate) fn reduce_scatter<T: Element>(
    comm: &SimpleCommunicator,
    send: Option<&[T]>,
    receive: &mut [T],
    counts: &BlockCounts,
) -> CallResult {
    assert!(counts.fit(comm, send.map_or(receive.len(), <[T]>::len)), "there is a block for each rank");
    assert!(send.is_none() || counts.own(comm, receive.len()), "the receive buffer is this rank's block");
    let ((from, _), to, (blocks, _)) = (input(send), receive.as_mut_ptr().cast(), counts.raw());
    // SAFETY: there is a count per rank, the vector has as many elements as they sum up to, and `receive` room for this
    // rank's, as asserted. Both outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce_scatter(from, to, blocks, T::datatype(), T::operation(), comm.as_raw()) })
}

/// `MPI_Reduce_scatter_block`: of the result, each rank gets a block as long as `receive`. Without a buffer to send, the
/// vector is in the other, and this rank's block of the result takes its beginning.
pub(crate) fn reduce_scatter_block<T: Element>(
    comm: &SimpleCommunicator,
    send: Option<&[T]>,
    receive: &mut [T],
) -> CallResult {
    let block = send.map_or(receive.len() / ranks(comm), |_| receive.len());
    assert!(send.map_or(receive.len(), <[T]>::len) == block * ranks(comm), "one block per rank");
    let ((from, _), to, block) = (input(send), receive.as_mut_ptr().cast(), c_count(block));
    // SAFETY: the vector holds a block per rank, as asserted, and `receive` at least one. Both outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce_scatter_block(from, to, block, T::datatype(), T::operation(), comm.as_raw()) })
}

/// `MPI_Scan`: on each rank the result for the vectors up to its own; in place as for `allreduce`.
pub(crate) fn scan<T: Element>(comm: &SimpleCommunicator, send: Option<&[T]>, receive: &mut [T]) -> CallResult {
    let (from, to, count) = vectors(send, receive);
    // SAFETY: both buffers hold `count` elements of this type, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Scan(from, to, count, T::datatype(), T::operation(), comm.as_raw()) })
}

/// `MPI_Exscan`: on each rank the result for the vectors before its own, undefined on rank 0; in place as for `allreduce`.
pub(crate) fn exscan<T: Element>(comm: &SimpleCommunicator, send: Option<&[T]>, receive: &mut [T]) -> CallResult {
    let (from, to, count) = vectors(send, receive);
    // SAFETY: both buffers hold `count` elements of this type, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Exscan(from, to, count, T::datatype(), T::operation(), comm.as_raw()) })
}

/// Two vectors of one length as C takes them: where to read, where to write, how many elements.
fn vectors<T>(send: Option<&[T]>, receive: &mut [T]) -> (*const c_void, *mut c_void, c_int) {
    assert!(send.is_none_or(|send| send.len() == receive.len()), "the result is as long as the vectors");
    (input(send).0, receive.as_mut_ptr().cast(), c_count(receive.len()))
}
