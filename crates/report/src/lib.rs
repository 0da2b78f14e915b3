//! Findings as people read them.
//!
//! | module | job |
//! |---|---|
//! | [`summary`] | what the findings come to: ranges of sizes served alike, and gains per collective |
//! | [`terminal`] | aligned tables for a terminal |
//! | [`markdown`] | the report file |
//! | [`osu`] | benchmark tables with OSU's columns |
//! | [`changes`] | what changed from one run to a later one, as text, Markdown and a page |
//! | [`page`] | the report as a page of HTML |
//! | [`tables`] | every point for programs: CSV and JSON |
//! | [`plain`] | text from elsewhere, made harmless |
//! | [`plot`] | curves and heatmaps as SVG |
//! | [`notes`] | the comments of the rules file |
//! | [`study`] | a study of chosen algorithms: conclusion, figures, tables |
//! | [`tree`] | the decision tree with its evidence, as text and as a drawing |
//! | [`validation`] | what launches without and with a rules file showed |

pub mod changes;
mod context;
mod facts;
pub mod markdown;
pub mod notes;
pub mod osu;
pub mod page;
pub mod plain;
pub mod plot;
pub mod study;
pub mod summary;
pub mod tables;
pub mod terminal;
pub mod tree;
mod validated;
pub mod validation;

pub use context::Context;
