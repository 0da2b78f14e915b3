//! Instruments on the public interface of the tuner: guidelines, and studies of chosen algorithms.
//!
//! Performance guidelines: a collective should not be slower than other calls of the same library that do the same
//! (Träff, Gropp, Thakur, *Self-consistent MPI performance guidelines*, IEEE TPDS 21(5), 2010).
//!
//! | module | job |
//! |---|---|
//! | [`catalogue`] | one entry per guideline: collective, calls, source |
//! | [`guidelines`] | result of a check of performance guidelines |
//! | [`mod@check`] | mock-ups that are faster than the default, and remedies |
//! | [`mod@select`] | the mock-ups of a cell, and why others are left out |
//! | [`mod@study`] | chosen algorithms compared on a grid; [`study::definition`], [`study::results`] |
//! | `patterns` | costs of messages and of the operation |

pub mod catalogue;
pub mod check;
pub mod guidelines;
mod patterns;
pub mod select;
pub mod study;
#[cfg(test)]
mod tests;

pub use catalogue::{CATALOGUE, Guideline};
pub use patterns::fit_patterns;
pub use select::{add, needed_memory, select};
pub use study::{compare_campaigns, study};
