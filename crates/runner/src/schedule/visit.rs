//! A visit, and how sure its consequences have to be.

/// Confidence of the intervals that end or drop a point.
pub(super) const LEVEL: f64 = 0.95;

/// A visit to a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The cell's index in the plan.
    pub cell: usize,
    /// How many visits the cell had before.
    pub visit: u32,
    /// Untimed rounds first.
    pub warmup: u32,
    /// Timed rounds.
    pub rounds: u32,
    /// The candidates to time, by index.
    pub candidates: Vec<usize>,
}
