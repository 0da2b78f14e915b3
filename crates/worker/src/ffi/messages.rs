//! Point-to-point messages, and the operation of reductions alone.

use std::ffi::c_int;

use mpi::ffi;
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;

use super::{ErrorClass, c_count, classify};

/// The tag of all messages here, by which they are counted. Nothing else of the worker has it.
pub(super) const TAG: c_int = 1507;

/// What messages consist of.
pub(crate) trait Element: Copy + Default {
    /// MPI's type for it.
    fn datatype() -> ffi::MPI_Datatype;
}

impl Element for u8 {
    fn datatype() -> ffi::MPI_Datatype {
        // SAFETY: a predefined constant.
        unsafe { ffi::RSMPI_UINT8_T }
    }
}

impl Element for i32 {
    fn datatype() -> ffi::MPI_Datatype {
        // SAFETY: a predefined constant.
        unsafe { ffi::RSMPI_INT32_T }
    }
}

/// `MPI_Send`.
pub(crate) fn send<T: Element>(comm: &SimpleCommunicator, data: &[T], to: u32) -> Result<(), ErrorClass> {
    let (from, count) = (data.as_ptr().cast(), c_count(data.len()));
    // SAFETY: `data` holds `count` elements of this type and outlives the blocking call.
    classify(unsafe { ffi::MPI_Send(from, count, T::datatype(), to as c_int, TAG, comm.as_raw()) })
}

/// `MPI_Recv`.
pub(crate) fn receive<T: Element>(comm: &SimpleCommunicator, into: &mut [T], from: u32) -> Result<(), ErrorClass> {
    let (to, count) = (into.as_mut_ptr().cast(), c_count(into.len()));
    // SAFETY: `into` has room for `count` elements of this type and outlives the blocking call, and the constant says that
    // no status is wanted.
    classify(unsafe {
        ffi::MPI_Recv(to, count, T::datatype(), from as c_int, TAG, comm.as_raw(), ffi::RSMPI_STATUS_IGNORE)
    })
}

/// `MPI_Sendrecv`: both at once.
pub(crate) fn exchange<T: Element>(
    comm: &SimpleCommunicator,
    data: &[T],
    to: u32,
    into: &mut [T],
    from: u32,
) -> Result<(), ErrorClass> {
    // SAFETY: both buffers hold as many elements of this type as is said, do not overlap, since one is borrowed mutably,
    // and outlive the blocking call; the constant says that no status is wanted.
    classify(unsafe {
        ffi::MPI_Sendrecv(
            data.as_ptr().cast(),
            c_count(data.len()),
            T::datatype(),
            to as c_int,
            TAG,
            into.as_mut_ptr().cast(),
            c_count(into.len()),
            T::datatype(),
            from as c_int,
            TAG,
            comm.as_raw(),
            ffi::RSMPI_STATUS_IGNORE,
        )
    })
}

/// `MPI_Reduce_local`: adds what arrived.
pub(crate) fn reduce_local<T: Element>(arrived: &[T], sum: &mut [T]) -> Result<(), ErrorClass> {
    assert!(arrived.len() == sum.len(), "each element has one to be added to");
    let (from, to, count) = (arrived.as_ptr().cast(), sum.as_mut_ptr().cast(), c_count(sum.len()));
    // SAFETY: both buffers hold `count` elements of this type, as asserted, and outlive the call.
    classify(unsafe { ffi::MPI_Reduce_local(from, to, count, T::datatype(), ffi::RSMPI_SUM) })
}
