//! Sentences about work in progress.
//!
//! | module | job |
//! |---|---|
//! | [`jobs`] | the batch job, and what starts jobs in it |
//! | [`budget`] | the time of a command |
//! | [`measuring`] | a plan, and the components that handle its calls |
//! | [`refinement`] | sizes between those of the grid |
//! | [`validation`] | comparisons of rules with the default, and repairs |
//! | [`comparison`] | fresh launches of arms |
//! | [`settings`] | the search for settings |
//! | [`files`] | problems in files |

pub mod budget;
pub mod comparison;
pub mod files;
pub mod jobs;
pub mod measuring;
pub mod refinement;
pub mod settings;
pub mod validation;
