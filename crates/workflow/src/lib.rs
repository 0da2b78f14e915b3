//! The steps of a tuning, and what other commands share with it: typed options and a session in, files and plain results
//! out.
//!
//! This crate neither prints nor parses a command line: progress is reported to the session's watcher as [`Event`]s.
//!
//! | module | job |
//! |---|---|
//! | [`session`] | inputs of every workflow besides its options, and the events that it reports |
//! | [`start`] | a backend, with the survey of its system |
//! | [`budget`] | how long each step may take, within a job of a batch system as well |
//! | [`plan`] | options and survey to a plan |
//! | [`campaign`] | the run directory of measurements: begun or resumed, plan after plan |
//! | `running` | the component that runs the measured calls |
//! | [`analyze`] | samples or a table to findings, with remarks on clock, run and rules |
//! | `evidence` | what launches showed of the rules that there are: the only judge |
//! | [`publish`] | the only writer of rules, settings and report, and the reader of what was published |
//! | [`prove`] | proof that a tuning is obeyed, before its files get their names |
//! | [`tune`] | all steps of a tuning |
//! | [`tuning`] | the tuning that an analysis decided on, or that lies in a directory with the steps that ended |
//! | `comparison` | fresh launches of arms, from the log if they are there |
//! | [`validate`] | a rules file against the default in fresh launches, and its repair |
//! | [`drift`] | some cells of a run measured again |

pub mod analyze;
pub mod budget;
pub mod campaign;
mod comparison;
mod crashing;
pub mod drift;
pub mod error;
mod evidence;
mod layouts;
pub mod plan;
pub mod prove;
pub mod publish;
mod quality;
pub mod refine;
mod remarks;
mod resume;
mod running;
pub mod session;
pub mod settings;
pub mod start;
pub mod tune;
pub mod tuning;
pub mod validate;

pub use error::WorkflowError;
pub use session::{Event, Session};

/// Name and version of the program, as files have it.
pub const TOOL: &str = concat!("collrules ", env!("CARGO_PKG_VERSION"));
