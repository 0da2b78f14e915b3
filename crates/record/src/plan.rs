//! The cells of a campaign and the candidates of each.

use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::{Ranks, Seconds};

/// What a campaign measures, and when it has enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The cells with their candidates; the builtin is the first candidate of every cell.
    pub cells: Vec<CellPlan>,
    /// The number of ranks of the job: those of the largest communicator.
    pub ranks: Ranks,
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
    /// Untimed rounds at the start of the first visit; later visits have one. Where calls are long there are none.
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
    /// The plan of one launch: with random orders of its own, and only the candidates that are `wanted`. Cells in which
    /// nothing is left to compare are left out.
    #[must_use]
    pub fn for_launch(&self, launch: u32, wanted: impl Fn(Cell, Candidate) -> bool) -> Self {
        let cells = self.cells.iter().map(|planned| {
            let candidates = planned.candidates.iter().copied().filter(|candidate| wanted(planned.cell, *candidate));
            CellPlan { cell: planned.cell, candidates: candidates.collect() }
        });
        let comparable = |planned: &CellPlan| {
            planned.candidates.first() == Some(&Candidate::Builtin) && planned.candidates.len() > 1
        };
        Self {
            cells: cells.filter(comparable).collect(),
            ranks: self.ranks,
            launches: 1,
            schedule: self.schedule,
            seed: self.seed.wrapping_add(u64::from(launch) << 32),
        }
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
