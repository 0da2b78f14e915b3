//! Samples to estimates, verdicts, crossovers and a rule table.
//!
//! The input is [`Observations`], the output [`Findings`](collrules_record::findings::Findings). Uses neither MPI nor
//! the disk.
//!
//! | module | job |
//! |---|---|
//! | `terms` | criteria, policy and system of an analysis |
//! | `observations` | timings by point: samples files, foreign tables |
//! | `view` | timings that count if another component handles the calls |
//! | `cells` | timings by cell and candidate, and the pairs that are compared |
//! | `statistics` | tests, variances, and the correction for many tests |
//! | `evidence` | evidence for each candidate in a cell, by medians or means; rare slow calls, which a median does not show |
//! | `neighbours` | correction of gains by those at neighbouring sizes |
//! | `verdict` | the replacement of the builtin in a cell, or the reason for none; candidates that must not be chosen, however fast |
//! | `crossover` | sizes between measured ones at which the choice changes |
//! | `common` | one choice for all message sizes that must share one |
//! | `table` | the rule table as an exact optimisation |
//! | `build` | from verdicts to the rule table |
//! | `tree` | the table with its evidence |
//! | [`mod@refine`] | sizes to measure next |
//! | `remarks` | remarks for the reader |
//! | `analysis` | all of it in order, and rules under other assumptions |
//! | [`judging`] | timings, evidence and verdicts for what judges other candidates |
//! | `components` | rules for calls that another component than `coll/tuned` handles |
//! | [`mod@drift`] | changes of the default's times since a run |
//! | [`mod@compare`] | changes between two runs, and the present gain of the earlier rules |
//! | `reference_gains` | reference algorithms that are faster than all of `coll/tuned` |
//! | [`comparison`] | arms and the default in fresh launches; the search for settings |
//! | [`validation`] | the result of a rules file in such launches |
//! | [`results`] | results that only reports read |
//! | [`repair`] | ranges to revert because a rules file is slower there |

mod analysis;
mod build;
mod cells;
mod common;
pub mod compare;
pub mod comparison;
mod components;
mod crossover;
pub mod drift;
mod error;
mod evidence;
pub mod judging;
mod layouts;
mod neighbours;
mod observations;
pub mod prospects;
mod reference_gains;
pub mod refine;
mod remarks;
pub mod repair;
pub mod results;
mod statistics;
mod table;
mod terms;
mod tree;
pub mod validation;
mod verdict;
mod view;
mod weights;

pub use compare::compare;
pub use components::{analyze, analyze_among};
pub use error::TunerError;
pub use observations::Observations;
pub use reference_gains::reference_gains;
pub use terms::Laid;
