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
    /// How many times the job is started; each launch measures all cells.
    pub launches: u32,
    /// How samples are spread over a launch and when they end.
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
    /// No visit starts after this time in a launch, except that every cell gets one.
    pub budget: Seconds,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            warmup_rounds: 5,
            rounds_per_visit: 3,
            min_rounds: 24,
            max_rounds: 150,
            precision: 0.02,
            drop_factor: 1.5,
            budget: Seconds(40.0),
        }
    }
}

impl Plan {
    /// The same plan for one of its launches, which has random orders of its own.
    #[must_use]
    pub fn for_launch(&self, launch: u32) -> Self {
        Self { launches: 1, seed: self.seed.wrapping_add(u64::from(launch) << 32), ..self.clone() }
    }

    /// The time that all launches may take together, in seconds.
    pub fn budget(&self) -> Seconds {
        Seconds(self.schedule.budget.0 * f64::from(self.launches))
    }

    /// The number of points: candidates summed over cells.
    pub fn points(&self) -> usize {
        self.cells.iter().map(|cell| cell.candidates.len()).sum()
    }
}
