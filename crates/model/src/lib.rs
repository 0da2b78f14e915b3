//! Communication models: from timings of a few messages to parameters, and from parameters to predictions.
//!
//! Nothing here measures: probes are timed by the runner as patterns, or come from a table. Fits never meet the formulas that
//! they invert again: predictions, and the timings that tests plant, are played message by message.
//!
//! | module | job |
//! |---|---|
//! | `probe` | what is timed: kinds of probes, and their medians by launch |
//! | `way` | all pairs of a kind: Hockney by regime, LogGP, PLogP |
//! | `lmo` | each node and each pair |
//! | `slow` | nodes and pairs that stand out |
//! | `fit` | all of it |
//! | `table` | probes that others timed |
//! | `platform`, `play` | nodes and links, and messages played on them |
//! | `machine` | a model as such a platform |
//! | `tree`, `schedule` | the messages of coll/tuned's algorithms |
//! | `algorithm` | alpha and beta of each algorithm by itself |
//! | `correct` | what else an algorithm takes, from what it took at other sizes |
//! | `predict` | what a model says of a collective |
//! | `quality` | what it says of collectives that were measured, beside what neighbouring sizes say |
//! | [`irregular`] | distributions of calls: stalls, their cures, leaps |
//! | `export` | models as network simulators read them |

mod algorithm;
mod correct;
mod export;
mod fit;
pub mod irregular;
mod lmo;
mod machine;
mod platform;
mod play;
mod predict;
mod probe;
mod quality;
mod schedule;
mod slow;
pub mod table;
mod tree;
mod way;

#[cfg(test)]
mod planted;

pub use algorithm::algorithms;
pub use export::{NoExport, Simulator, export};
pub use fit::{Origin, Unfit, fit};
pub use machine::{Side, Unsaid, platform};
pub use platform::Platform;
pub use play::{Action, Stuck, play};
pub use predict::{Call, call_seconds, predict};
pub use probe::{BadKind, Kind, Probe, Probes, Timing};
pub use quality::quality;
pub use schedule::{barrier, known, programs};
pub use slow::Terms;
pub use way::Limit;
