//! Settings of a whole job that make collectives faster without making any slower.
//!
//! Settings hold for a job, so that each combination has launches of its own. A block has one launch of each combination
//! and of the default, which has several while many are compared; speedups are compared within a block.
//!
//! | module | job |
//! |---|---|
//! | `search` | the design: one at a time, foldover |
//! | `confirm` | the comparison of the best with the default, until losses are excluded |
//! | `block` | the launches of a block, speedups, and the test that excludes a loss beyond a limit |

mod block;
mod confirm;
mod search;
#[cfg(test)]
mod tests;

pub use block::{MeasureTimes, SettingsBlock, guard, mean_speedup, speedups, weight_of};
pub use confirm::{Confirmation, ERROR, LOOKS, confirm};
pub use search::{Factor, Searched, SettingsLauncher, default_launches, search, spread_default};
