//! The raw MPI calls whose return codes matter, `MPI_T`, and the function that Open MPI itself calls. The only unsafe
//! code of collrules.
//!
//! rsmpi drops the return codes of collectives, which show failed candidates.

#![allow(unsafe_code)]

pub(crate) mod calls;
pub(crate) mod counter;
pub(crate) mod messages;
mod tools;

use std::ffi::{CString, c_int};

use mpi::ffi;
use mpi::raw::{AsRaw, FromRaw};
use mpi::topology::SimpleCommunicator;

pub(crate) use tools::{Tools, ToolsError};

/// The error class of a failed call.
pub(crate) type MpiErrorClass = i32;

/// Result of a call.
pub(crate) type CallResult = Result<(), MpiErrorClass>;

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
) -> Result<SimpleCommunicator, MpiErrorClass> {
    let value = CString::new(preference).map_err(|_| ffi::MPI_ERR_ARG as MpiErrorClass)?;
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
    // SAFETY: made by a call that succeeded, and owned nowhere else.
    Ok(unsafe { SimpleCommunicator::from_raw(made) })
}

fn c_count(len: usize) -> c_int {
    c_int::try_from(len).expect("the grid admits no message above the range of a C int")
}

fn classify(code: c_int) -> CallResult {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut class = code;
    // SAFETY: `class` is a valid place for the one value written.
    unsafe { ffi::MPI_Error_class(code, &raw mut class) };
    Err(class)
}
