//! Samples to estimates, verdicts, crossovers and a rule table.
//!
//! The way in is [`Observations`], the way out [`Findings`](collrules_record::findings::Findings). Neither MPI nor the
//! disk is touched.
//!
//! | module | job |
//! |---|---|
//! | `observations` | timings as columns: samples files, foreign tables |
//! | `cells` | timings by cell and candidate, and the pairs that are compared |
//! | [`statistics`] | rank tests and the correction for many of them |
//! | `evidence` | what a cell's timings say about each candidate |
//! | `bars` | candidates that must not be chosen, however fast |
//! | `verdict` | what replaces the builtin in a cell, or why nothing does |
//! | `crossover` | where the choice changes between measured sizes |
//! | `common` | one choice for all message sizes, where they have to share one |
//! | `build` | the rule table |
//! | `remarks` | what the reader has to know, in whole sentences |
//! | `analysis` | all of it in order |

mod analysis;
mod bars;
mod build;
mod cells;
mod common;
mod crossover;
mod error;
mod evidence;
mod observations;
mod remarks;
pub mod statistics;
mod verdict;

pub use analysis::analyze;
pub use error::TunerError;
pub use observations::Observations;
