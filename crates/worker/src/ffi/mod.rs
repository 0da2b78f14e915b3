//! The raw MPI calls whose return codes matter, `MPI_T`, and what Open MPI calls itself. The only unsafe code of
//! collrules.
//!
//! rsmpi drops the return codes of collectives; a candidate that fails must be seen to fail.

#![allow(unsafe_code)]

pub(crate) mod counter;
pub(crate) mod inner;
pub(crate) mod messages;
mod tools;

use std::ffi::{CString, c_int};

use mpi::ffi;
use mpi::raw::{AsRaw, FromRaw};
use mpi::topology::{Communicator, SimpleCommunicator};

pub(crate) use tools::{Tools, ToolsError};

/// The error class of a failed call.
pub(crate) type ErrorClass = i32;

/// Makes failing calls on this communicator return instead of ending the job.
pub(crate) fn return_errors(comm: &SimpleCommunicator) {
    // SAFETY: the communicator is valid while borrowed, and the handler is a predefined constant.
    let code = unsafe { ffi::MPI_Comm_set_errhandler(comm.as_raw(), ffi::RSMPI_ERRORS_RETURN) };
    debug_assert_eq!(code, ffi::MPI_SUCCESS as c_int);
}

/// `MPI_Comm_dup_with_info` with a preference for components of Open MPI's coll framework, or against them: the info key
/// that `coll_base_comm_select.c` reads in 4.1 and 5.0.
pub(crate) fn duplicate_with_preference(
    comm: &SimpleCommunicator,
    preference: &str,
) -> Result<SimpleCommunicator, ErrorClass> {
    let value = CString::new(preference).map_err(|_| ffi::MPI_ERR_ARG as ErrorClass)?;
    // SAFETY: a predefined constant.
    let mut info = unsafe { ffi::RSMPI_INFO_NULL };
    // SAFETY: `info` is a valid place for the one value written.
    classify(unsafe { ffi::MPI_Info_create(&raw mut info) })?;
    // SAFETY: a predefined constant.
    let mut made = unsafe { ffi::RSMPI_COMM_NULL };
    // SAFETY: the info object was created above, and both texts are zero-terminated and outlive the call.
    let code = unsafe { ffi::MPI_Info_set(info, c"ompi_comm_coll_preference".as_ptr(), value.as_ptr()) };
    let code = if code == ffi::MPI_SUCCESS as c_int {
        // SAFETY: communicator and info object are valid while borrowed, and `made` is a valid place.
        unsafe { ffi::MPI_Comm_dup_with_info(comm.as_raw(), info, &raw mut made) }
    } else {
        code
    };
    // SAFETY: created above and not used again.
    unsafe { ffi::MPI_Info_free(&raw mut info) };
    classify(code)?;
    // SAFETY: made by a call that succeeded, and owned by nobody else.
    Ok(unsafe { SimpleCommunicator::from_raw(made) })
}

/// `MPI_Bcast` of bytes from rank 0.
pub(crate) fn bcast(comm: &SimpleCommunicator, buffer: &mut [u8]) -> Result<(), ErrorClass> {
    let count = c_count(buffer.len());
    // SAFETY: the buffer holds `count` bytes and outlives the blocking call.
    classify(unsafe { ffi::MPI_Bcast(buffer.as_mut_ptr().cast(), count, ffi::RSMPI_UINT8_T, 0, comm.as_raw()) })
}

/// `MPI_Scatter` of one block of `receive.len()` bytes to each rank, from rank 0, whose `send` holds them all.
pub(crate) fn scatter(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(comm.rank() != 0 || send.len() == receive.len() * comm.size() as usize, "one block per rank");
    let count = c_count(receive.len());
    // SAFETY: on rank 0 `send` holds a block of `count` bytes per rank, as asserted; elsewhere MPI does not look at
    // it. `receive` holds `count` bytes. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Scatter(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Gather` of the block in `send` from each rank to rank 0, whose `receive` takes them all.
pub(crate) fn gather(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(comm.rank() != 0 || receive.len() == send.len() * ranks(comm), "one block per rank");
    let count = c_count(send.len());
    // SAFETY: `send` holds `count` bytes; on rank 0 `receive` has room for a block per rank, as asserted, elsewhere MPI
    // does not look at it. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Gather(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            0,
            comm.as_raw(),
        )
    })
}

/// `MPI_Allgather` of the block in `send` from each rank to all.
pub(crate) fn allgather(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len() * ranks(comm), "one block per rank");
    let count = c_count(send.len());
    // SAFETY: `send` holds `count` bytes, `receive` a block per rank, as asserted. Both outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Allgather(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// `MPI_Alltoall`: a block from each rank to each.
pub(crate) fn alltoall(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> Result<(), ErrorClass> {
    let block = send.len() / ranks(comm);
    assert!(send.len() == block * ranks(comm) && receive.len() == send.len(), "one block per rank");
    let count = c_count(block);
    // SAFETY: both buffers hold a block of `count` bytes per rank, as asserted, and outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Alltoall(
            send.as_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            count,
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// How many elements belong to each rank, and where they begin.
pub(crate) struct Counts {
    counts: Vec<c_int>,
    firsts: Vec<c_int>,
    total: usize,
}

impl Counts {
    /// The blocks of the ranks, in rank order, without gaps.
    pub(crate) fn of(counts: impl Iterator<Item = usize>) -> Self {
        let mut result = Self { counts: Vec::new(), firsts: Vec::new(), total: 0 };
        for count in counts {
            result.counts.push(c_count(count));
            result.firsts.push(c_count(result.total));
            result.total += count;
        }
        result
    }

    /// The same of bytes that make up elements of four.
    fn in_elements(&self) -> Self {
        Self::of(self.counts.iter().map(|count| *count as usize / 4))
    }

    /// Where the block of a rank begins.
    pub(crate) fn first(&self, rank: usize) -> usize {
        self.firsts[rank] as usize
    }

    /// Whether there is a block for each rank, and this buffer holds them all.
    fn fit(&self, comm: &SimpleCommunicator, len: usize) -> bool {
        self.counts.len() == ranks(comm) && len == self.total
    }
}

/// `MPI_Allgatherv` of the block in `send` from each rank to all.
pub(crate) fn allgatherv(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, receive.len()), "the receive buffer holds all blocks");
    assert!(send.len() == counts.counts[comm.rank() as usize] as usize, "the send buffer is this rank's block");
    // SAFETY: counts and displacements are one per rank, as asserted, and describe blocks within `receive`; `send`
    // holds this rank's block. All of them outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Allgatherv(
            send.as_ptr().cast(),
            c_count(send.len()),
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// `MPI_Alltoallv` with the same counts for sending and receiving.
pub(crate) fn alltoallv(
    comm: &SimpleCommunicator,
    send: &[u8],
    receive: &mut [u8],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, send.len()) && counts.fit(comm, receive.len()), "both buffers hold all blocks");
    // SAFETY: counts and displacements are one per rank, as asserted, and describe blocks within both buffers. All of
    // them outlive the blocking call.
    classify(unsafe {
        ffi::MPI_Alltoallv(
            send.as_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            counts.counts.as_ptr(),
            counts.firsts.as_ptr(),
            ffi::RSMPI_UINT8_T,
            comm.as_raw(),
        )
    })
}

/// `MPI_Allreduce`: the sum of all vectors, on all ranks.
pub(crate) fn allreduce(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Allreduce(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Reduce`: the sum of all vectors, on rank 0.
pub(crate) fn reduce(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(comm.rank() != 0 || receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: `send` holds `count` elements, and so does `receive` on rank 0, as asserted; elsewhere MPI does not look
    // at it. Both outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, 0, comm.as_raw()) })
}

/// `MPI_Reduce_scatter`: of the sum of all vectors, each rank gets its block.
pub(crate) fn reduce_scatter(
    comm: &SimpleCommunicator,
    send: &[i32],
    receive: &mut [i32],
    counts: &Counts,
) -> Result<(), ErrorClass> {
    assert!(counts.fit(comm, send.len()), "the send buffer holds all blocks");
    assert!(receive.len() == counts.counts[comm.rank() as usize] as usize, "the receive buffer is this rank's block");
    let (from, to) = (send.as_ptr().cast(), receive.as_mut_ptr().cast());
    let blocks = counts.counts.as_ptr();
    // SAFETY: there is a count per rank, `send` holds as many elements as they sum up to, and `receive` this rank's, as
    // asserted. All of them outlive the blocking call.
    classify(unsafe { ffi::MPI_Reduce_scatter(from, to, blocks, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Reduce_scatter_block`: of the sum of all vectors, each rank gets a block as long as `receive`.
pub(crate) fn reduce_scatter_block(
    comm: &SimpleCommunicator,
    send: &[i32],
    receive: &mut [i32],
) -> Result<(), ErrorClass> {
    assert!(send.len() == receive.len() * ranks(comm), "one block per rank");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(receive.len()));
    // SAFETY: `send` holds a block of `count` elements per rank, as asserted, and `receive` one. Both outlive the
    // blocking call.
    classify(unsafe {
        ffi::MPI_Reduce_scatter_block(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw())
    })
}

/// `MPI_Scan`: on each rank the sum of the vectors up to its own.
pub(crate) fn scan(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Scan(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Exscan`: on each rank the sum of the vectors before its own; undefined on rank 0.
pub(crate) fn exscan(comm: &SimpleCommunicator, send: &[i32], receive: &mut [i32]) -> Result<(), ErrorClass> {
    assert!(receive.len() == send.len(), "the sum is as long as the vectors");
    let (from, to, count) = (send.as_ptr().cast(), receive.as_mut_ptr().cast(), c_count(send.len()));
    // SAFETY: both buffers hold `count` elements, as asserted, and outlive the blocking call.
    classify(unsafe { ffi::MPI_Exscan(from, to, count, ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, comm.as_raw()) })
}

/// `MPI_Barrier`.
pub(crate) fn barrier(comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
    // SAFETY: the communicator is valid while borrowed.
    classify(unsafe { ffi::MPI_Barrier(comm.as_raw()) })
}

fn ranks(comm: &SimpleCommunicator) -> usize {
    comm.size() as usize
}

fn c_count(len: usize) -> c_int {
    c_int::try_from(len).expect("the grid admits no message above the range of a C int")
}

fn classify(code: c_int) -> Result<(), ErrorClass> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut class = code;
    // SAFETY: `class` is a valid place for the one value written.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    Err(class)
}

/// Elements as the bytes that they are.
pub(crate) fn bytes_of(elements: &[i32]) -> &[u8] {
    // SAFETY: the elements are initialised, a byte has no alignment, and the length is theirs in bytes.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The same to be written to: every pattern of bits is an element.
pub(crate) fn bytes_of_mut(elements: &mut [i32]) -> &mut [u8] {
    // SAFETY: as above, and the elements are borrowed for as long as the bytes.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), size_of_val(elements)) }
}
