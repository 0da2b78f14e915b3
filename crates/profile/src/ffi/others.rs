//! The definitions of functions that begin and end MPI, of messages from rank to rank, and of waiting for requests.

use std::ffi::{c_int, c_void};
use std::mem;

use super::hook::{self, other_call};
use super::next::{NextFunction, UNKNOWN, define, define_both};
use super::{Comm, Counts, Ptr, Type};
use crate::recorder::OtherCall::{Messages, Waiting};

/// Makes a call that initializes MPI, and begins counting if it succeeds.
fn initialize(call: impl FnOnce() -> c_int) -> c_int {
    let code = call();
    if code == 0 {
        hook::begin();
    }
    code
}

/// Makes a call that starts processes, and counts those if it succeeds.
fn start(call: impl FnOnce() -> c_int, comm: Comm, root: c_int, counts: impl Iterator<Item = c_int>) -> c_int {
    let code = call();
    if code == 0 {
        hook::started(comm, root, counts);
    }
    code
}

define_both! { "MPI_Init"; (a: Ptr, b: Ptr), |call| initialize(call) }
define_both! { "MPI_Init_thread"; (a: Ptr, b: Ptr, c: c_int, d: Ptr), |call| initialize(call) }
define_both! { "MPI_Session_init"; (a: Ptr, b: Ptr, c: Ptr), |call| {
    hook::begin_session();
    call()
} }
define_both! { "MPI_Finalize"; (), |call| {
    hook::finalize();
    call()
} }
define_both! { "MPI_Abort"; (a: Comm, b: c_int), |call| {
    hook::end();
    call()
} }
define_both! { "MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"; (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm), |call| other_call(Messages, call) }
define_both! { "MPI_Recv", "MPI_Isend", "MPI_Issend", "MPI_Ibsend", "MPI_Irsend", "MPI_Irecv"; (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Sendrecv"; (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Ptr, g: c_int, h: Type, i: c_int, j: c_int, k: Comm, l: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Sendrecv_replace"; (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: c_int, g: c_int, h: Comm, i: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Mrecv", "MPI_Imrecv"; (a: Ptr, b: c_int, c: Type, d: Ptr, e: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Probe"; (a: c_int, b: c_int, c: Comm, d: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Iprobe", "MPI_Mprobe"; (a: c_int, b: c_int, c: Comm, d: Ptr, e: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Improbe"; (a: c_int, b: c_int, c: Comm, d: Ptr, e: Ptr, f: Ptr), |call| other_call(Messages, call) }
define_both! { "MPI_Wait"; (a: Ptr, b: Ptr), |call| other_call(Waiting, call) }
define_both! { "MPI_Waitall"; (a: c_int, b: Ptr, c: Ptr), |call| other_call(Waiting, call) }
define_both! { "MPI_Waitany", "MPI_Testall"; (a: c_int, b: Ptr, c: Ptr, d: Ptr), |call| other_call(Waiting, call) }
define_both! { "MPI_Waitsome", "MPI_Testany", "MPI_Testsome"; (a: c_int, b: Ptr, c: Ptr, d: Ptr, e: Ptr), |call| other_call(Waiting, call) }
define_both! { "MPI_Test"; (a: Ptr, b: Ptr, c: Ptr), |call| other_call(Waiting, call) }

define! {
    "MPI_Comm_spawn", (a: Ptr, b: Ptr, count: c_int, d: Ptr, root: c_int, comm: Comm, g: Ptr, h: Ptr),
    |call| start(call, comm, root, std::iter::once(count))
}
define! {
    "MPI_Comm_spawn_multiple",
    (count: c_int, b: Ptr, c: Ptr, counts: Counts, e: Ptr, root: c_int, comm: Comm, h: Ptr, i: Ptr),
    // SAFETY: at the root, as many counts as there are programs; elsewhere none is looked at.
    |call| start(call, comm, root, (0..usize::try_from(count).unwrap_or(0)).map(|place| unsafe { *counts.add(place) }))
}
