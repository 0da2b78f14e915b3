//! Point-to-point messages, and the operation of reductions alone.

use std::ffi::c_int;

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::{Communicator, SimpleCommunicator};

use super::{CallResult, c_count, classify};

/// The tag of all messages here, by which they are counted. Nothing else of the worker has it.
pub(super) const TAG: c_int = 1507;

/// Element type of buffers.
pub(crate) trait Element: Copy + Default {
    /// MPI's type for it.
    fn datatype() -> ffi::MPI_Datatype;
    /// Operation of reductions on it.
    fn operation() -> ffi::MPI_Op;
}

/// Implements [`Element`] with MPI's constants for the type, and for the operation of reductions.
macro_rules! elements {
    ($($element:ty: $datatype:ident, $operation:ident;)+) => {$(
        impl Element for $element {
            fn datatype() -> ffi::MPI_Datatype {
                // SAFETY: a predefined constant.
                unsafe { ffi::$datatype }
            }

            fn operation() -> ffi::MPI_Op {
                // SAFETY: a predefined constant.
                unsafe { ffi::$operation }
            }
        }
    )+};
}

// Reductions of bytes put blocks together: `MPI_BOR`.
elements! {
    u8: RSMPI_UINT8_T, RSMPI_BOR;
    i32: RSMPI_INT32_T, RSMPI_SUM;
    f32: RSMPI_FLOAT, RSMPI_SUM;
    f64: RSMPI_DOUBLE, RSMPI_SUM;
}

/// The datatype in which programs send elements of this size, and its number in bytes.
fn units(element: usize, bytes: usize) -> (ffi::MPI_Datatype, c_int) {
    if element == 1 { (u8::datatype(), c_count(bytes)) } else { (i32::datatype(), c_count(bytes / size_of::<i32>())) }
}

/// `MPI_Send` of elements of this size.
pub(crate) fn send(comm: &SimpleCommunicator, data: &[u8], element: usize, to: u32) -> CallResult {
    let (from, (kind, count)) = (data.as_ptr().cast(), units(element, data.len()));
    // SAFETY: `data` holds `count` elements of this type and outlives the blocking call.
    classify(unsafe { ffi::MPI_Send(from, count, kind, to as c_int, TAG, comm.as_raw()) })
}

/// `MPI_Recv` of as many elements of this size as there is room for.
pub(crate) fn receive(comm: &SimpleCommunicator, into: &mut [u8], element: usize, from: u32) -> CallResult {
    let (to, (kind, count)) = (into.as_mut_ptr().cast(), units(element, into.len()));
    // SAFETY: `into` has room for `count` elements of this type and outlives the blocking call, and the constant says that
    // no status is wanted.
    classify(unsafe { ffi::MPI_Recv(to, count, kind, from as c_int, TAG, comm.as_raw(), ffi::RSMPI_STATUS_IGNORE) })
}

/// `MPI_Sendrecv` of bytes: to the next rank, from the one before. The first rank gets nothing, and the last sends nothing.
pub(crate) fn shift(comm: &SimpleCommunicator, send: &[u8], receive: &mut [u8]) -> CallResult {
    let (rank, size) = (comm.rank(), comm.size());
    // SAFETY: a predefined constant.
    let no_rank = unsafe { ffi::RSMPI_PROC_NULL };
    let next = if rank + 1 < size { rank + 1 } else { no_rank };
    exchange(comm, (send, next), (receive, if rank > 0 { rank - 1 } else { no_rank }), 1)
}

/// `MPI_Sendrecv` of elements of this size, to a rank and from another one.
pub(crate) fn exchange(
    comm: &SimpleCommunicator,
    (data, to): (&[u8], c_int),
    (into, from): (&mut [u8], c_int),
    element: usize,
) -> CallResult {
    let ((kind, count), (_, room)) = (units(element, data.len()), units(element, into.len()));
    let (sent, got) = (data.as_ptr().cast(), into.as_mut_ptr().cast());
    // SAFETY: both buffers hold as many elements of this type as is said, do not overlap, since one is borrowed mutably,
    // and outlive the blocking call; the constant says that no status is wanted.
    classify(unsafe {
        let ignored = ffi::RSMPI_STATUS_IGNORE;
        ffi::MPI_Sendrecv(sent, count, kind, to, TAG, got, room, kind, from, TAG, comm.as_raw(), ignored)
    })
}

/// `MPI_Reduce_local`: the first operand, to the left of the second, which becomes the result.
pub(crate) fn reduce_local<T: Element>(arrived: &[T], sum: &mut [T]) -> CallResult {
    assert!(arrived.len() == sum.len(), "each element has one to be added to");
    let (from, to, count) = (arrived.as_ptr().cast(), sum.as_mut_ptr().cast(), c_count(sum.len()));
    // SAFETY: both buffers hold `count` elements of this type, as asserted, and outlive the call.
    classify(unsafe { ffi::MPI_Reduce_local(from, to, count, T::datatype(), T::operation()) })
}
