//! The library that `collrules profile` preloads into MPI programs. It defines the collectives of MPI, counts and times
//! each call, and passes it on to the next library that defines it, usually Open MPI's.
//!
//! It defines both `MPI_Bcast` and `PMPI_Bcast`: C programs call the first; Fortran's bindings (`mpif.h`, `use mpi`,
//! `use mpi_f08`: see `nm -D libmpi_mpifh.so`) and programs and tools that profile themselves call the second. A call
//! that passes through both counts once.
//!
//! It links no MPI, so that one build works with every Open MPI of the same binary interface, and only passes calls on
//! in a program of another MPI. Its memory is bounded: see [`table`] and [`communicators`]. Only the first call on a
//! communicator allocates memory.
//!
//! | module | job |
//! |---|---|
//! | [`table`] | counters of calls, found without locks |
//! | [`kept`] | the times of single calls, the same ones on all ranks |
//! | [`communicators`] | facts about the communicators of this rank |
//! | [`recorder`] | adds calls to counters, and counters to the record of this rank |
//! | [`leave`] | the record as a file, written from time to time and at the end |
//! | `ffi` | the definitions of MPI's functions, and queries of MPI. The only unsafe code |

pub mod communicators;
mod ffi;
pub mod kept;
pub mod leave;
pub mod recorder;
pub mod table;
