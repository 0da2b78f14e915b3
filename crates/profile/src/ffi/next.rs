//! Definitions of MPI's functions, each of which passes its call on to the definition that would be called without this
//! library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// `MPI_ERR_OTHER`, for functions that the MPI in this process does not have.
pub(super) const UNKNOWN: c_int = 16;

/// Defines the function of a name; in its body, `$call` passes the call on.
macro_rules! define {
    ($name:expr, ($($argument:ident: $type:ty),* $(,)?), |$call:ident| $body:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn defined($($argument: $type),*) -> c_int {
                static NEXT: NextFunction = NextFunction::new(concat!($name, "\0"));
                let next = NEXT.get();
                if next.is_null() {
                    return UNKNOWN;
                }
                // SAFETY: a function of this name has this type.
                let next = unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(next) };
                // SAFETY: the caller's own arguments, handed on as they are.
                let $call = || unsafe { next($($argument),*) };
                $body
            }
        };
    };
}

/// Defines functions with the same arguments, each with and without the P of the profiling interface.
macro_rules! define_both {
    ($($name:expr),+; $arguments:tt, |$call:ident| $body:expr) => { $(
        define_both! { @ $name, $arguments, |$call| $body }
    )+ };
    (@ $name:expr, $arguments:tt, |$call:ident| $body:expr) => {
        define! { $name, $arguments, |$call| $body }
        define! { concat!("P", $name), $arguments, |$call| $body }
    };
}

pub(super) use {define, define_both};

/// A function by its name, looked up once.
pub(super) struct NextFunction {
    name: &'static str,
    found: AtomicPtr<c_void>,
}

impl NextFunction {
    /// A function; the name ends with a zero.
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address; null if no library defines it.
    #[inline]
    pub(super) fn get(&self) -> *mut c_void {
        let found = self.found.load(Relaxed);
        if !found.is_null() {
            return found;
        }
        let found = find(libc::RTLD_NEXT, self.name.as_ptr().cast());
        self.found.store(found, Relaxed);
        found
    }
}

/// The address of a function in the libraries after this one.
pub(super) fn function(name: &CStr) -> *mut c_void {
    find(libc::RTLD_NEXT, name.as_ptr())
}

/// The address of a constant, such as `ompi_mpi_comm_world`: the program's own copy, if there is one, is used by all.
pub(super) fn constant(name: &CStr) -> *mut c_void {
    find(libc::RTLD_DEFAULT, name.as_ptr())
}

fn find(place: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: all names end with a zero.
    let found = unsafe { libc::dlsym(place, name) };
    if !found.is_null() {
        return found;
    }
    // Programs such as Python load MPI out of sight of others: it is there, but not behind this library.
    for library in [c"libmpi.so.40", c"libmpi.so.0", c"libmpi.so"] {
        // SAFETY: the name ends with a zero; nothing is loaded that is not there.
        let library = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if !library.is_null() {
            // SAFETY: as above, with a handle that was just made.
            let found = unsafe { libc::dlsym(library, name) };
            if !found.is_null() {
                return found;
            }
        }
    }
    ptr::null_mut()
}
