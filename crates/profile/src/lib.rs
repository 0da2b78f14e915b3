//! The library that `collrules profile` preloads into MPI programs. It defines the collectives of MPI, counts and times
//! each call, and hands it on to the next library that defines them, as a rule Open MPI's.
//!
//! It defines both `MPI_Bcast` and `PMPI_Bcast`: C programs call the first; Fortran's bindings (`mpif.h`, `use mpi`,
//! `use mpi_f08`: see `nm -D libmpi_mpifh.so`) and programs and tools that profile themselves call the second. A call that
//! comes along both ways counts once.
//!
//! It links no MPI, so that one build serves every Open MPI of the same binary interface, and does nothing but hand calls
//! on in a program of another MPI. Its memory is bounded: see [`table`] and [`communicators`]. Calls allocate nothing but for
//! the first one on a communicator.
//!
//! | module | job |
//! |---|---|
//! | [`table`] | counters of calls, found without locks |
//! | [`kept`] | the times of single calls, the same ones on all ranks |
//! | [`communicators`] | what is known of the communicators of this rank |
//! | [`recorder`] | a call to its counters; counters to the record of this rank |
//! | [`leave`] | the record as a file, from time to time and in the end |
//! | `ffi` | the definitions of MPI's functions, and what is asked of MPI. The only unsafe code |

pub mod communicators;
mod ffi;
pub mod kept;
pub mod leave;
pub mod recorder;
pub mod table;
