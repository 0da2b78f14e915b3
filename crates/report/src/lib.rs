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
//! | [`guidelines`] | a check of performance guidelines: maps, sentences, tables |
//! | [`irregular`] | calls that stall, their cures, and every distribution |
//! | [`layouts`] | gains and losses of each layout if rules are for several |
//! | [`model`] | a communication model: what stands out, lines, tables, a map of pairs |
//! | [`profile`] | calls of a program, and its possible gains |
//! | [`ab_test`] | result of runs of a program without and with a tuning |
//! | [`study`] | a study of chosen algorithms: conclusion, figures, tables |
//! | [`osu`] | benchmark tables with OSU's columns |
//! | `plot` | curves as SVG |
//! | [`outcome`] | the last screen of a tuning |
//! | [`progress`] | sentences about work in progress |
//! | [`plain`] | untrusted text, made harmless |
//! | [`words`] | plurals, lists, ratios, wrapped lines |

pub mod ab_test;
mod cells;
pub mod changes;
pub mod conduct;
mod context;
mod document;
pub mod drift;
mod facts;
pub mod gains;
pub mod guidelines;
pub mod irregular;
pub mod layouts;
pub mod model;
pub mod notes;
pub mod osu;
pub mod outcome;
pub mod plain;
mod plot;
pub mod profile;
pub mod progress;
pub mod proof;
pub mod quality;
pub mod reasons;
pub mod remarks;
pub mod settings;
pub mod status;
pub mod study;
pub mod summary;
pub mod tables;
pub mod terminal;
mod tree;
pub mod tuning;
pub mod validation;
pub mod words;

pub use context::Context;
pub use document::Document;
