//! Findings as people read them.
//!
//! | module | job |
//! |---|---|
//! | [`summary`] | what the findings come to: ranges of sizes served alike, and gains per collective |
//! | `reasons` | why each cell is served as it is |
//! | `facts`, `cells` | what every format says, in words |
//! | [`terminal`] | aligned tables for a terminal |
//! | [`markdown`] | the report file |
//! | [`page`] | the report as a page of HTML |
//! | [`tables`] | every point for programs: CSV and JSON |
//! | [`notes`] | the comments of the rules file |
//! | [`tree`] | the decision tree with its evidence, as text and as a drawing |
//! | [`validation`] | what launches without and with a rules file showed |
//! | [`changes`] | what changed from one run to a later one, as text, Markdown and a page |
//! | [`guidelines`] | a check of performance guidelines: maps, sentences, tables |
//! | [`irregular`] | calls that stall, what cures them, and every distribution |
//! | [`layouts`] | what rules for several layouts mean to each |
//! | [`model`] | a communication model: what stands out, lines, tables, a map of pairs |
//! | [`profile`] | what a program calls, and what it could gain |
//! | [`tried`] | what runs of a program without and with a tuning showed |
//! | [`study`] | a study of chosen algorithms: conclusion, figures, tables |
//! | [`osu`] | benchmark tables with OSU's columns |
//! | `plot` | curves, heatmaps and other drawings as SVG |
//! | [`plain`] | text from elsewhere, made harmless |
//! | [`words`] | plurals, lists, ratios, wrapped lines |

mod cells;
pub mod changes;
mod context;
pub mod drift;
mod facts;
pub mod guidelines;
pub mod irregular;
pub mod layouts;
pub mod markdown;
pub mod model;
pub mod notes;
pub mod osu;
pub mod page;
pub mod plain;
mod plot;
pub mod profile;
mod reasons;
pub mod status;
pub mod study;
pub mod summary;
pub mod tables;
pub mod terminal;
pub mod tree;
pub mod tried;
pub mod validation;
pub mod words;

pub use context::Context;
