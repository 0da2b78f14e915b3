//! Communication models: from timings of a few messages to parameters, and from parameters to predictions.
//!
//! Nothing here measures: probes are timed by the runner as patterns, or come from a table. Fits never meet the formulas that
//! they invert again: predictions, and the timings that tests plant, are played message by message.
//!
//! | module | job |
//! |---|---|
//! | `probe` | what is timed: kinds of probes, and their medians by launch |
//! | `curve` | lines, and where one gives way to another |
//! | `way` | all pairs of a kind: Hockney by regime, LogGP, PLogP |
//! | `lmo` | each node and each pair |
//! | `slow` | nodes and pairs that stand out |
//! | `fit` | all of it |
//! | `platform`, `play` | nodes and links, and messages played on them |

mod curve;
mod fit;
mod lmo;
mod platform;
mod play;
mod probe;
mod slow;
mod way;

#[cfg(test)]
mod planted;

pub use fit::{Origin, Unfit, fit};
pub use platform::Platform;
pub use play::{Action, Stuck, play};
pub use probe::{BadKind, Kind, Probe, Probes, Timing};
pub use slow::Terms;
pub use way::Limit;
