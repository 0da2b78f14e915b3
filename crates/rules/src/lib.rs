//! Open MPI's `coll/tuned` in its own words: collectives, releases, algorithms, and the files that steer it.
//!
//! Strings in, strings out: nothing here opens a file, measures, or needs MPI.
//!
//! | module | job |
//! |---|---|
//! | [`units`] | bytes and ranks |
//! | [`collective`] | the collectives that `coll/tuned` can be told about |
//! | [`release`] | Open MPI versions and the release families whose behaviour is known |
//! | [`behaviour`] | what a version does with rules files, to its patch level |
//! | [`choice`] | what one rule line says |
//! | `apart` | rules for communicators that lie on nodes in one way alone |
//! | [`call`] | a collective call, as far as rules see it |
//! | [`registry`] | the algorithms of each release |
//! | [`effective`] | what a choice comes to in the end: fallbacks, clamped parameters, errors |
//! | [`lint`] | all that is wrong with a file, or might surprise, with codes, reasons and remedies |
//! | [`metric`] | from the message size of a call to the size that the rule lookup sees |
//! | [`steps`] | total step functions, the canonical form of ranges |
//! | [`table`] | the rule table: what should be chosen, independent of any file format |
//! | [`mod@names`] | the names of plain enums, and types that files hold as text |
//! | [`hazard`] | tables that must not be written, and why |
//! | [`span`], [`lines`] | places in a source text, and its lines |
//! | [`han`] | rules files of coll/han, which say which component serves a call |
//! | [`json`] | JSON as Open MPI 6.0 parses it, with the place of every value |
//! | [`mod@file`] | what a file of any format means to a version: acceptance, lookup, table |
//! | [`emit`] | from a rule table to a file in any format |
//! | [`probe`] | tables and files that show from outside which rule serves a call |
//! | [`explain`] | what each version makes of a call or a file, and why |
//! | [`diff`] | what two tables or files decide differently |
//! | [`convert`] | from a file to another format, and what that loses |
//! | [`deploy`] | the settings that switch a rules file on |
//! | [`words`] | numbers and lists in sentences |

mod apart;
pub mod behaviour;
pub mod call;
pub mod choice;
pub mod collective;
pub mod convert;
pub mod deploy;
pub mod diff;
pub mod effective;
pub mod emit;
pub mod explain;
pub mod file;
pub mod han;
pub mod hazard;
pub mod json;
pub mod lines;
pub mod lint;
pub mod metric;
pub mod names;
pub mod operation;
pub mod probe;
mod reach;
pub mod registry;
pub mod release;
pub mod span;
pub mod steps;
pub mod table;
mod tokens;
pub mod units;
pub mod words;

pub use apart::Apart;
pub use behaviour::Behaviour;
pub use call::{Call, Distribution};
pub use choice::Choice;
pub use collective::Collective;
pub use file::{Load, Loaded, load};
pub use operation::Operation;
pub use release::{Release, Version};
pub use span::Span;
pub use table::RuleTable;
pub use units::{Bytes, Ranks};
