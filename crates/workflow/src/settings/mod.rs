//! Settings of a whole job, and the search for those that make collectives faster.
//!
//! | module | job |
//! |---|---|
//! | `list` | the settings of a system, with the values to try |
//! | `stage` | the part of `tune` that searches for settings, and chooses between them and the rules |

mod list;
mod stage;

pub(crate) use list::find;
pub use list::{Listed, list};
pub(crate) use stage::{choose, describe_finalist, plan_search, weights};
