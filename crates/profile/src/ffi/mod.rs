//! The definitions of MPI's functions, and what is asked of MPI: the only unsafe code.
//!
//! | module | job |
//! |---|---|
//! | `next` | the definition of a function that would be called without this library |
//! | `mpi` | what is asked of MPI about communicators, datatypes and operations |
//! | `passed` | the arguments of a call: how much it moves, and how |
//! | `hook` | from a call to the recorder, and when recording begins and ends |
//! | `collectives` | the definitions of collectives |
//! | `others` | the definitions of what begins and ends MPI, and of messages from rank to rank |

#![allow(unsafe_code)]

mod collectives;
mod hook;
mod mpi;
mod next;
mod others;
mod passed;

use std::ffi::{c_int, c_void};

/// A buffer, a place for a request, or whatever else is handed on unseen.
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
