//! Point-to-point messages, and the operation of reductions alone.

use std::ffi::c_int;

use collrules_program::DataType;
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

/// Messages to and from other ranks, and calls with them.
pub(crate) trait Peers {
    /// Sends bytes that are elements of this size.
    fn send(&self, data: &[u8], element: usize, to: u32) -> CallResult;
    /// Receives bytes that are elements of this size.
    fn receive(&self, into: &mut [u8], element: usize, from: u32) -> CallResult;
    /// Sends and receives at once.
    fn exchange(&self, data: &[u8], to: u32, into: &mut [u8], from: u32, element: usize) -> CallResult;
    /// Adds elements of this type to the left of others.
    fn add(&self, from: &[u8], to: &mut [u8], data: DataType) -> CallResult;
    /// The communicator of calls; none without MPI.
    fn communicator(&self) -> Option<&SimpleCommunicator>;
}

impl Peers for SimpleCommunicator {
    fn send(&self, data: &[u8], element: usize, to: u32) -> CallResult {
        let (from, (kind, count)) = (data.as_ptr().cast(), units(element, data.len()));
        // SAFETY: `data` holds `count` elements of this type and outlives the blocking call.
        classify(unsafe { ffi::MPI_Send(from, count, kind, to as c_int, TAG, self.as_raw()) })
    }

    fn receive(&self, into: &mut [u8], element: usize, from: u32) -> CallResult {
        let (to, (kind, count)) = (into.as_mut_ptr().cast(), units(element, into.len()));
        // SAFETY: `into` has room for `count` elements of this type and outlives the blocking call, and the constant says
        // that no status is wanted.
        classify(unsafe { ffi::MPI_Recv(to, count, kind, from as c_int, TAG, self.as_raw(), ffi::RSMPI_STATUS_IGNORE) })
    }

    fn exchange(&self, data: &[u8], to: u32, into: &mut [u8], from: u32, element: usize) -> CallResult {
        exchange(self, (data, to as c_int), (into, from as c_int), element)
    }

    fn add(&self, from: &[u8], to: &mut [u8], data: DataType) -> CallResult {
        match data {
            DataType::Int => reduce_local::<i32>(from, to),
            DataType::Float => reduce_local::<f32>(from, to),
            DataType::Double => reduce_local::<f64>(from, to),
        }
    }

    fn communicator(&self) -> Option<&SimpleCommunicator> {
        Some(self)
    }
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
fn exchange(
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

/// `MPI_Reduce_local`: the first operand, to the left of the second, which becomes the result. Both hold elements.
fn reduce_local<T: Element>(arrived: &[u8], sum: &mut [u8]) -> CallResult {
    assert!(arrived.len() == sum.len(), "each element has one to be added to");
    let (from, to) = (arrived.as_ptr().cast::<T>(), sum.as_mut_ptr().cast::<T>());
    assert!(sum.is_empty() || from.is_aligned() && to.is_aligned(), "elements begin where their type may");
    let count = c_count(sum.len() / size_of::<T>());
    // SAFETY: both buffers hold `count` elements of this type, as asserted, and outlive the call.
    classify(unsafe { ffi::MPI_Reduce_local(from.cast(), to.cast(), count, T::datatype(), T::operation()) })
}
