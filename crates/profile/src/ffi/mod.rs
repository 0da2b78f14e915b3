//! The definitions of MPI's functions, and queries of MPI: the only unsafe code.
//!
//! | module | job |
//! |---|---|
//! | `next` | the definition of a function that would be called without this library |
//! | `mpi` | queries of MPI about communicators, datatypes and operations |
//! | `passed` | the arguments of a call: message size and flags |
//! | `hook` | connects calls with the recorder; begins and ends recording |
//! | `collectives` | the definitions of collectives |
//! | `others` | the definitions of functions that begin and end MPI, and of messages from rank to rank |

#![allow(unsafe_code)]

mod collectives;
mod hook;
mod mpi;
mod next;
mod others;
mod passed;

use std::ffi::{c_int, c_void};

/// A buffer, a place for a request, or anything else that is passed on unread.
type Ptr = *const c_void;
/// Counts, or displacements.
type Counts = *const c_int;
/// Datatypes.
type Types = *const Type;
/// `MPI_Datatype`: a pointer in Open MPI.
type Type = *const c_void;
/// `MPI_Op`.
type Op = *const c_void;
/// `MPI_Comm`.
type Comm = *const c_void;
