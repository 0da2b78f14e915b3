//! Samples to estimates, verdicts, crossovers and a rule table.
//!
//! The way in is [`Observations`], the way out [`Findings`](collrules_record::findings::Findings). Neither MPI nor the
//! disk is touched.
//!
//! | module | job |
//! |---|---|
//! | `observations` | timings as columns: samples files, foreign tables |
//! | `view` | what counts where another component serves the calls |
//! | `cells` | timings by cell and candidate, and the pairs that are compared |
//! | `statistics` | rank tests and the correction for many of them |
//! | `evidence` | what a cell's timings say about each candidate |
//! | `means` | the same by means instead of medians |
//! | `stalls` | rare slow calls, which a median does not show |
//! | `launches` | what stays the same through a launch, and widens intervals |
//! | `neighbours` | what neighbouring sizes say about a gain |
//! | `bars` | candidates that must not be chosen, however fast |
//! | `verdict` | what replaces the builtin in a cell, or why nothing does |
//! | `crossover` | where the choice changes between measured sizes |
//! | `common` | one choice for all message sizes, where they have to share one |
//! | `table` | the rule table as an exact optimisation |
//! | `build` | from verdicts to the rule table |
//! | `tree` | the table with its evidence |
//! | `alternatives` | what other assumptions would change |
//! | [`mod@refine`] | what to measure next to know crossovers better |
//! | `remarks` | what the reader has to know, in whole sentences |
//! | `analysis` | all of it in order |
//! | [`mod@guidelines`] | whether mock-ups beat the builtin, and what would cure it |
//! | [`study()`] | chosen algorithms compared on a grid |
//! | `patterns` | what messages and the operation take, by patterns |
//! | `components` | rules where another component than `coll/tuned` serves the calls |
//! | [`mod@drift`] | whether points take what they took, and rules still hold |
//! | [`mod@compare`] | two runs: what changed, and what the earlier rules are worth now |
//! | `beyond` | what no rule can give: reference algorithms that are faster than all of `coll/tuned` |
//! | `replay` | decisions on some launches, judged by others |
//! | [`validation`] | pairs of launches without and with a rules file |
//! | [`repair`] | what falls back to the builtin where a rules file loses |

mod alternatives;
mod analysis;
mod bars;
mod beyond;
mod build;
mod cells;
mod common;
pub mod compare;
mod components;
mod crossover;
pub mod drift;
mod error;
mod evidence;
pub mod guidelines;
mod handed;
mod launches;
mod layouts;
mod means;
mod neighbours;
mod observations;
mod patterns;
pub mod prospects;
pub mod refine;
mod remarks;
pub mod repair;
mod replay;
mod settled;
mod stalls;
mod statistics;
mod study;
mod table;
mod tree;
pub mod tried;
pub mod validation;
mod verdict;
mod view;
mod weights;

pub use analysis::{analyze, analyze_under};
pub use beyond::beyond_rules;
pub use compare::compare;
pub use components::analyze_among;
pub use error::TunerError;
pub use layouts::Laid;
pub use observations::Observations;
pub use patterns::fit_patterns;
pub use replay::{Replay, Score as ReplayScore, Total as ReplayTotal, replay};
pub use study::study;
