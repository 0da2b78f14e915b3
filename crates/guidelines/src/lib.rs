//! Performance guidelines: a collective should not be slower than other calls of the same library that do the same
//! (Träff, Gropp, Thakur, *Self-consistent MPI performance guidelines*, IEEE TPDS 21(5), 2010).
//!
//! Everything here is data, without MPI: the worker carries it out, the simulation adds up what it costs, and reports
//! print it.
//!
//! | module | job |
//! |---|---|
//! | [`catalogue`] | one entry per guideline: collective, calls, memory, source |
//! | [`memory`] | formulas of what a mock-up needs beside the caller's buffers |
//! | [`mod@program`] | the steps of a mock-up on one rank: copies and calls with their counts |
//! | `build` | the program of each mock-up |
//! | [`mod@select`] | which mock-ups a cell gets, and why others are left out |

mod build;
pub mod catalogue;
pub mod memory;
pub mod program;
pub mod select;

pub use build::program;
pub use catalogue::{CATALOGUE, Guideline};
pub use program::{Buffer, Call, Group, Part, Program, Seat, Step};
pub use select::{Selected, Wishes, advice, select};
