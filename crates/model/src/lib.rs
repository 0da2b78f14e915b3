//! Communication models: from timings of a few messages to parameters, and from parameters to predictions.
//!
//! Nothing here measures: probes are timed by the runner as patterns, or come from a table. Predictions, and synthetic
//! timings of tests, are played message by message (`collrules_program::play`), independent of the formulas that are
//! fitted.
//!
//! | module | job |
//! |---|---|
//! | [`model`] | a communication model: parameters of messages, nodes and pairs |
//! | [`stalls`] | results about rare calls that take many times as long as usual |
//! | [`mod@line`] | lines through times, and the places where one ends and another begins |
//! | [`pattern_fit`] | times of patterns, as lines with bends |
//! | [`place`] | on one host, or on two |
//! | `probe` | probes, and their medians by launch |
//! | `way` | all pairs of a kind: Hockney by regime, LogGP, PLogP |
//! | `lmo` | each node and each pair |
//! | `slow` | nodes and pairs that stand out |
//! | [`unknown`] | parameters that the probes cannot determine |
//! | `fit` | the whole model |
//! | `table` | probes that others timed |
//! | `machine` | a model as a platform that programs are played on |
//! | `played` | this platform as the machine of a simulation |
//! | `algorithm` | alpha and beta of each algorithm by itself |
//! | `predict` | predictions for a collective |
//! | `quality` | predictions compared with measured collectives, and with their neighbouring sizes |
//! | [`irregular`] | distributions of calls: stalls, their cures, jumps |
//! | `many_to_one` | kappas, levels and probabilities of gathers that stall, and predictions from them |

mod algorithm;
mod fit;
pub mod irregular;
pub mod line;
mod lmo;
mod machine;
mod many_to_one;
pub mod model;
pub mod pattern_fit;
pub mod place;
mod played;
mod predict;
mod probe;
mod quality;
mod slow;
pub mod stalls;
pub mod table;
pub mod unknown;
mod way;

#[cfg(test)]
mod tests;

pub use algorithm::algorithms;
pub use fit::{Unfit, fit};
pub use machine::{IntervalEnd, Unsaid, platform};
pub use many_to_one::{GatherForecast, expected, many_to_one};
pub use played::ModelMachine;
pub use predict::{longest, predict};
pub use probe::{Probe, ProbeTiming, Probes};
pub use quality::quality;
pub use way::Limit;
