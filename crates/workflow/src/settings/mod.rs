//! Settings of a whole job, and the search for those that make collectives faster.
//!
//! | module | job |
//! |---|---|
//! | `list` | the settings of a system, with the values to try |
//! | `stage` | the part of `tune` that searches for settings |
//! | `rules` | the rules under the chosen settings |
//! | `jobs` | launches with settings, kept in a journal |
//! | `whole` | the whole tuning compared with the default by `validate` |
//! | `subjects` | the sizes and patterns that these launches time |

mod jobs;
mod list;
mod rules;
mod stage;
mod subjects;
mod whole;

pub(crate) use list::find;
pub use list::{Listed, list};
pub(crate) use rules::{compare_rules, plan_under_settings, under_settings};
pub(crate) use stage::search;
pub(crate) use whole::{compare_whole, refuse_sourced};
