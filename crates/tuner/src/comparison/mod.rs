//! Comparison of arms with the default in fresh launches, and the search for settings.
//!
//! A launch has one arm, which times each subject in unbroken loops. A block has a launch of each arm and of the default,
//! whose jobs take turns side by side if they can; speedups are compared within a block. Some blocks have a second launch
//! of the default, the control.
//!
//! | module | job |
//! |---|---|
//! | `block` | the launches of a block, and estimates from several |
//! | `looks` | numbers of blocks after which arms are judged, and the error that each look may spend |
//! | `judge` | verdicts on the subjects of an arm |
//! | `compare` | blocks until all demands are decided, or no time is left |
//! | `search` | the design of the search: one setting at a time, foldover |

mod block;
mod compare;
mod judge;
mod looks;
mod search;
#[cfg(test)]
mod tests;

pub use block::{ArmBlock, SubjectTimes, SubjectWeight, mean_speedup, speedups};
pub use compare::{ArmLauncher, ArmResult, Compared, Comparison, compare, compare_in_parts, has_control};
pub use judge::{ArmDemand, CLASSES, SubjectResult, class};
pub(crate) use judge::{decide, difference};
pub use looks::{Looks, MOST_BLOCKS};
pub use search::{AT_ONCE, Factor, Searched, search};
