//! Open MPI's `coll/tuned` in its own terms: collectives, releases, algorithms, and the files that control it.
//!
//! Strings in, strings out: nothing here opens a file, measures, or needs MPI.
//!
//! | module | job |
//! |---|---|
//! | [`units`] | bytes and ranks |
//! | [`collective`] | the collectives of `coll/tuned` |
//! | [`release`] | Open MPI versions and the release families whose behaviour is known |
//! | [`behaviour`] | how a version handles rules files, to its patch level |
//! | [`bits`] | the order in which calls add up, which determines the last bits of sums |
//! | [`choice`] | the choice of a rule line |
//! | `order` | orders of additions, and sums in these orders |
//! | `layout_rules` | rules for communicators with one arrangement on nodes only |
//! | [`call`] | a collective call, as rules see it |
//! | [`registry`] | the algorithms of each release |
//! | [`effective`] | the effect of a choice: fallbacks, clamped parameters, errors |
//! | [`lint`] | errors and surprises in a file, with codes, reasons and remedies |
//! | [`metric`] | the size that the rule lookup sees for a message size |
//! | [`settings`] | MCA parameters and variables of a whole job: known, existing, worth trying |
//! | [`steps`] | total step functions, the canonical form of ranges |
//! | [`table`] | the rule table: choices, independent of any file format |
//! | [`mod@names`] | the names of plain enums, and types stored as text |
//! | [`hazard`] | tables that must not be written, and the reasons |
//! | [`span`], [`lines`] | places in a source text, and its lines |
//! | [`han`] | rules files of coll/han, which name the component for a call |
//! | [`kind`] | files of coll/tuned and coll/han alike: reading, parts of calls, choices |
//! | [`json`] | JSON as Open MPI 6.0 parses it, with the place of every value |
//! | [`mod@file`] | the meaning of a file of any format to a version: acceptance, lookup, table |
//! | [`emit`] | writing a rule table as a file of any format |
//! | [`probe`] | tables and files that show from outside which rule applies to a call |
//! | [`explain`] | how each version treats a call or a file, and why |
//! | [`diff`] | differences between tables or files |
//! | [`convert`] | conversion of a file to another format, with losses |
//! | [`patches`] | differences between patch levels, with their commits |
//! | [`port`] | effects of another version on rules |
//! | [`deploy`] | the settings that switch a rules file on |
//! | [`words`] | numbers and lists in sentences |

pub mod behaviour;
pub mod bits;
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
pub mod kind;
mod layout_rules;
pub mod lines;
pub mod lint;
pub mod metric;
pub mod names;
pub mod operation;
mod order;
pub mod patches;
pub mod port;
pub mod probe;
mod reach;
pub mod registry;
pub mod release;
pub mod settings;
pub mod span;
pub mod steps;
pub mod table;
mod tokens;
pub mod units;
pub mod words;

pub use behaviour::Behaviour;
pub use call::{Call, Distribution};
pub use choice::Choice;
pub use collective::Collective;
pub use file::{Fault, Loaded, load};
pub use layout_rules::LayoutRules;
pub use operation::Operation;
pub use order::Order;
pub use release::{Maturity, Release, Version};
pub use span::Span;
pub use table::RuleTable;
pub use units::{Bytes, Ranks};
