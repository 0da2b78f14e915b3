//! The definitions of functions that begin and end MPI, of messages from rank to rank, and of waiting for requests.

use std::ffi::{c_int, c_void};
use std::mem;

use super::next::NextFunction;
use super::{Comm, Counts, Ptr, Type, hook};
use crate::recorder::Beside;

/// `MPI_ERR_OTHER`, for functions that the MPI in this process does not have.
const UNKNOWN: c_int = 16;

/// Defines functions that do something around the call that they pass on.
macro_rules! define {
    ($arguments:tt, $around:expr; $($name:ident)+) => { $(define! { one $name $arguments $around })+ };
    (one $name:ident ($($argument:ident: $type:ty),*) $around:expr) => {
        /// Passes the call on.
        ///
        /// # Safety
        ///
        /// The arguments are as MPI requires.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            static NEXT: NextFunction = NextFunction::new(concat!(stringify!($name), "\0"));
            let next = NEXT.get();
            if next.is_null() {
                return UNKNOWN;
            }
            // SAFETY: a function of this name has this type.
            let next = unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(next) };
            // SAFETY: the caller's own arguments, handed on as they are.
            let mut call = || unsafe { next($($argument),*) };
            around($around, &mut call)
        }
    };
}

/// Makes a call through a wrapper.
fn around(how: fn(&mut dyn FnMut() -> c_int) -> c_int, call: &mut dyn FnMut() -> c_int) -> c_int {
    how(call)
}

fn initializing(call: &mut dyn FnMut() -> c_int) -> c_int {
    let code = call();
    if code == 0 {
        hook::begin();
    }
    code
}

fn in_session(call: &mut dyn FnMut() -> c_int) -> c_int {
    hook::begin_session();
    call()
}

fn finalizing(call: &mut dyn FnMut() -> c_int) -> c_int {
    hook::finalize();
    call()
}

fn aborting(call: &mut dyn FnMut() -> c_int) -> c_int {
    hook::end();
    call()
}

fn messages(call: &mut dyn FnMut() -> c_int) -> c_int {
    hook::beside(Beside::Messages, call)
}

fn waiting(call: &mut dyn FnMut() -> c_int) -> c_int {
    hook::beside(Beside::Waiting, call)
}

define! { (a: Ptr, b: Ptr), initializing; MPI_Init PMPI_Init }
define! { (a: Ptr, b: Ptr, c: c_int, d: Ptr), initializing; MPI_Init_thread PMPI_Init_thread }
define! { (a: Ptr, b: Ptr, c: Ptr), in_session; MPI_Session_init PMPI_Session_init }
define! { (), finalizing; MPI_Finalize PMPI_Finalize }
define! { (a: Comm, b: c_int), aborting; MPI_Abort PMPI_Abort }

define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm), messages; MPI_Send PMPI_Send }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm), messages; MPI_Ssend PMPI_Ssend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm), messages; MPI_Bsend PMPI_Bsend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm), messages; MPI_Rsend PMPI_Rsend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), messages; MPI_Recv PMPI_Recv }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), messages; MPI_Isend PMPI_Isend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), messages; MPI_Issend PMPI_Issend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), messages; MPI_Ibsend PMPI_Ibsend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), messages; MPI_Irsend PMPI_Irsend }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Comm, g: Ptr), messages; MPI_Irecv PMPI_Irecv }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: Ptr, g: c_int, h: Type, i: c_int, j: c_int, k: Comm, l: Ptr), messages; MPI_Sendrecv PMPI_Sendrecv }
define! { (a: Ptr, b: c_int, c: Type, d: c_int, e: c_int, f: c_int, g: c_int, h: Comm, i: Ptr), messages; MPI_Sendrecv_replace PMPI_Sendrecv_replace }
define! { (a: Ptr, b: c_int, c: Type, d: Ptr, e: Ptr), messages; MPI_Mrecv PMPI_Mrecv }
define! { (a: Ptr, b: c_int, c: Type, d: Ptr, e: Ptr), messages; MPI_Imrecv PMPI_Imrecv }
define! { (a: c_int, b: c_int, c: Comm, d: Ptr), messages; MPI_Probe PMPI_Probe }
define! { (a: c_int, b: c_int, c: Comm, d: Ptr, e: Ptr), messages; MPI_Iprobe PMPI_Iprobe }
define! { (a: c_int, b: c_int, c: Comm, d: Ptr, e: Ptr), messages; MPI_Mprobe PMPI_Mprobe }
define! { (a: c_int, b: c_int, c: Comm, d: Ptr, e: Ptr, f: Ptr), messages; MPI_Improbe PMPI_Improbe }

/// Defines functions that start processes; `$counts` is their number.
macro_rules! define_start {
    ($name:ident ($($argument:ident: $type:ty),*) $root:ident $comm:ident $counts:expr) => {
        /// Passes the call on, and counts its processes.
        ///
        /// # Safety
        ///
        /// The arguments are as MPI requires.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            static NEXT: NextFunction = NextFunction::new(concat!(stringify!($name), "\0"));
            let next = NEXT.get();
            if next.is_null() {
                return UNKNOWN;
            }
            // SAFETY: a function of this name has this type.
            let next = unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(next) };
            // SAFETY: the caller's own arguments, handed on as they are.
            let code = unsafe { next($($argument),*) };
            if code == 0 {
                hook::started($comm, $root, $counts);
            }
            code
        }
    };
}

define_start! { MPI_Comm_spawn (a: Ptr, b: Ptr, count: c_int, d: Ptr, root: c_int, comm: Comm, g: Ptr, h: Ptr) root comm std::iter::once(count) }
define_start! { MPI_Comm_spawn_multiple (count: c_int, b: Ptr, c: Ptr, counts: Counts, e: Ptr, root: c_int, comm: Comm, h: Ptr, i: Ptr) root comm {
    // SAFETY: at the root, as many counts as there are programs; elsewhere none is looked at.
    (0..usize::try_from(count).unwrap_or(0)).map(move |place| unsafe { *counts.add(place) })
} }

define! { (a: Ptr, b: Ptr), waiting; MPI_Wait PMPI_Wait }
define! { (a: c_int, b: Ptr, c: Ptr), waiting; MPI_Waitall PMPI_Waitall }
define! { (a: c_int, b: Ptr, c: Ptr, d: Ptr), waiting; MPI_Waitany PMPI_Waitany }
define! { (a: c_int, b: Ptr, c: Ptr, d: Ptr, e: Ptr), waiting; MPI_Waitsome PMPI_Waitsome }
define! { (a: Ptr, b: Ptr, c: Ptr), waiting; MPI_Test PMPI_Test }
define! { (a: c_int, b: Ptr, c: Ptr, d: Ptr), waiting; MPI_Testall PMPI_Testall }
define! { (a: c_int, b: Ptr, c: Ptr, d: Ptr, e: Ptr), waiting; MPI_Testany PMPI_Testany }
define! { (a: c_int, b: Ptr, c: Ptr, d: Ptr, e: Ptr), waiting; MPI_Testsome PMPI_Testsome }
