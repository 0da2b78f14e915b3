//! What the commands of collrules do, as functions: typed options and a session in, files and plain results out.
//!
//! Nothing here prints or parses a command line: what happens on the way is told to the session's watcher as [`Event`]s.
//!
//! | module | job |
//! |---|---|
//! | [`session`] | what every workflow gets beside its options, and the events that it tells |
//! | [`start`] | a backend, and what it finds |
//! | [`allotted`] | what a job of a batch system leaves for the work |
//! | [`plan`] | options and survey to a plan, and the shares of the budget |
//! | [`campaign`] | a run directory that is measured into: begun, resumed, plan after plan |
//! | [`served`] | which component serves what is measured |
//! | [`analyze`] | samples or a table to findings, with remarks on clock, run and rules |
//! | [`publish`] | the only writer of rules, settings and report, and the reader of what was published |
//! | [`prove`] | shows that a file is obeyed before it gets its name |
//! | [`tune`] | all of it |
//! | [`validate`] | a rules file against the builtin in fresh launches, and its repair |
//! | [`verify`] | whether the Open MPI in use obeys a file, and what stands in the way |
//! | [`guidelines`] | whether calls that do the same are faster than the builtin |
//! | [`drift`] | some cells of a run measured again |
//! | [`install`] | a tuning put where every job of an Open MPI finds it |
//! | [`irregular`] | calls that stall: measured, found, cured |
//! | [`merge`] | one run of several |
//! | [`model`] | communication models: fitted, kept, asked |
//! | [`profile`] | what a program calls |
//! | [`tried`] | whether a tuning makes a program faster |
//! | [`submit`] | jobs of a batch system that tune |
//! | [`status`] | how far they are |
//! | [`study`] | chosen algorithms compared on a grid |

pub mod allotted;
pub mod analyze;
pub mod campaign;
mod clock;
pub mod drift;
mod error;
pub mod guidelines;
pub mod install;
pub mod irregular;
mod laps;
mod layouts;
mod legacy;
pub mod merge;
pub mod model;
mod model_file;
pub mod plan;
pub mod profile;
pub mod prove;
pub mod publish;
mod refine;
mod remarks;
mod resume;
pub mod served;
pub mod session;
pub mod start;
pub mod status;
pub mod study;
pub mod submit;
pub mod tried;
pub mod tune;
pub mod validate;
pub mod verify;

pub use error::WorkflowError;
pub use session::{Event, Session};

/// How the program calls itself in files.
pub const TOOL: &str = concat!("collrules ", env!("CARGO_PKG_VERSION"));
