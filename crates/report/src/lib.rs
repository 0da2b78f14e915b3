//! Findings as people read them.
//!
//! | module | job |
//! |---|---|
//! | [`summary`] | what the findings come to: ranges of sizes served alike, and gains per collective |
//! | [`terminal`] | aligned tables for a terminal |
//! | [`markdown`] | the report file |
//! | [`osu`] | benchmark tables with OSU's columns |
//! | [`notes`] | the comments of the rules file |
//! | [`tree`] | the decision tree with its evidence, as text and as a drawing |
//! | [`validation`] | what launches without and with a rules file showed |

pub mod markdown;
pub mod notes;
pub mod osu;
pub mod summary;
pub mod terminal;
pub mod tree;
pub mod validation;
