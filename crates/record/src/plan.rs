//! The cells of a campaign and the candidates of each.

use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::Seconds;

/// What a campaign measures, and when it has enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The cells with their candidates; the builtin is the first candidate of every cell.
    pub cells: Vec<CellPlan>,
    /// How samples are spread and when they end.
    pub schedule: Schedule,
    /// Seed of every random order.
    pub seed: u64,
}

/// A cell with the candidates that can serve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    /// The cell.
    pub cell: Cell,
    /// The candidates, builtin first.
    pub candidates: Vec<Candidate>,
}

/// How samples are spread over a launch and when a cell has enough of them.
///
/// Cells are visited in a shuffled order, again and again; in a visit all candidates of the cell take turns round by
/// round, each round in a new shuffled order. The visit is the unit of replication, so that many short ones serve
/// better than a few long ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Untimed rounds at the start of the first visit; later visits have one.
    pub warmup_rounds: u32,
    /// Timed rounds per visit.
    pub rounds_per_visit: u32,
    /// Rounds that every cell gets before precision may end it.
    pub min_rounds: u32,
    /// Rounds after which a cell ends in any case.
    pub max_rounds: u32,
    /// A cell ends when the median's interval of every candidate still timed is this narrow: half width over median.
    pub precision: f64,
    /// A candidate is dropped when even the lower end of its interval is this many times the upper end of the best.
    pub drop_factor: f64,
    /// No visit starts after this time, except that every cell gets one.
    pub budget: Seconds,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            warmup_rounds: 5,
            rounds_per_visit: 3,
            min_rounds: 48,
            max_rounds: 300,
            precision: 0.02,
            drop_factor: 1.5,
            budget: Seconds(120.0),
        }
    }
}

impl Plan {
    /// The number of points: candidates summed over cells.
    pub fn points(&self) -> usize {
        self.cells.iter().map(|cell| cell.candidates.len()).sum()
    }
}
