//! The definition of a function that would be called without this library.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

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
