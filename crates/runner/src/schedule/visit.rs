//! A visit, and the confidence of its consequences.

use serde::{Deserialize, Serialize};

/// Confidence of the intervals that end or drop a point.
pub(super) const LEVEL: f64 = 0.95;

/// A visit to a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// The cell's index in the plan.
    pub cell: usize,
    /// Number of earlier visits of the cell.
    pub visit: u32,
    /// Untimed rounds first.
    pub warmup: u32,
    /// Timed rounds.
    pub rounds: u32,
    /// The candidates to time, by index.
    pub candidates: Vec<usize>,
}
