//! Findings in forms for people.
//!
//! | module | job |
//! |---|---|
//! | [`summary`] | summary of the findings: ranges of sizes that use the same candidate, and gains per collective |
//! | [`gains`] | state and speedup of each size under the files of a tuning, as every format shows them |
//! | [`reasons`] | reasons for the choice in each cell |
//! | [`quality`] | quality of a run's numbers |
//! | [`remarks`] | remarks on the data or the rules |
//! | `facts`, `cells` | facts that every format has, in words |
//! | `conduct` | outcomes of rules in programs |
//! | `document` | the model of results for people, and its formats |
//! | [`terminal`] | aligned tables for a terminal |
//! | [`tuning`] | the report of a tuning |
//! | [`tables`] | every point for programs: CSV and JSON |
//! | [`notes`] | the comments of the rules file |
//! | [`proof`] | results of a proof of the rules |
//! | `tree` | the decision tree with its evidence |
//! | [`validation`] | result of launches without and with a rules file |
//! | [`changes`] | changes from one run to a later one |
//! | [`layouts`] | gains and losses of each layout if rules are for several |
//! | [`profile`] | calls of a program, and its possible gains |
//! | [`ab_test`] | result of runs of a program without and with a tuning |
//! | [`osu`] | benchmark tables with OSU's columns |
//! | `plot` | curves as SVG |
//! | [`outcome`] | the last screen of a tuning |
//! | [`plain`] | untrusted text, made harmless |
//! | [`words`] | plurals, lists, ratios, wrapped lines |

pub mod ab_test;
mod cells;
pub mod changes;
pub mod conduct;
mod context;
pub mod document;
pub mod drift;
pub mod facts;
pub mod gains;
pub mod layouts;
pub mod notes;
pub mod osu;
pub mod outcome;
pub mod plain;
pub mod plot;
pub mod profile;
pub mod proof;
pub mod quality;
pub mod reasons;
pub mod remarks;
pub mod settings;
pub mod status;
pub mod summary;
pub mod tables;
pub mod terminal;
mod tree;
pub mod tuning;
pub mod validation;
pub mod words;

pub use context::Context;
pub use document::Document;
