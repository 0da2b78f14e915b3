//! Open MPI's `coll/tuned` in its own words: collectives, releases, algorithms, and the files that steer it.
//!
//! Strings in, strings out: nothing here opens a file, measures, or needs MPI.
//!
//! | module | job |
//! |---|---|
//! | [`units`] | bytes and ranks |
//! | [`collective`] | the collectives that `coll/tuned` can be told about |
//! | [`release`] | Open MPI versions and the release families whose behaviour is known |
//! | [`choice`] | what one rule line says |
//! | [`registry`] | the algorithms of each release |
//! | [`metric`] | from the message size of a call to the size that the rule lookup sees |
//! | [`steps`] | total step functions, the canonical form of ranges |
//! | [`table`] | the rule table: what should be chosen, independent of any file format |
//! | [`hazard`] | tables that must not be written, and why |
//! | [`classic`] | the classic rules file: model, reader, writer, lookup per release |
//! | [`deploy`] | the settings that switch a rules file on |

pub mod choice;
pub mod classic;
pub mod collective;
pub mod deploy;
pub mod hazard;
pub mod metric;
pub mod registry;
pub mod release;
pub mod steps;
pub mod table;
pub mod units;

pub use choice::Choice;
pub use collective::Collective;
pub use release::{Release, Version};
pub use table::RuleTable;
pub use units::{Bytes, Ranks};
