//! The cells of a campaign and the candidates of each.

use std::collections::BTreeSet;

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::placement::Placement;
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
    /// The collectives that get a launch for each candidate.
    #[serde(default, skip_serializing_if = "Separate::is_empty")]
    pub separate: Separate,
    /// Cells of the grid that are not measured, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// In the plan of a launch that loads a rules file: the rule that serves every call of its cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_rule: Option<Candidate>,
    /// Where the ranks of each communicator are, and which component serves them.
    #[serde(default)]
    pub placement: Placement,
}

/// The collectives whose candidates cannot, or shall not, be switched in one job.
///
/// Each of their candidates gets a launch of its own, which loads a file with the one rule. A series has one such launch
/// for each candidate, in an order shuffled anew, and is to these collectives what a launch is to the others: timings
/// of one series are compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Separate {
    /// The collectives.
    pub collectives: BTreeSet<Collective>,
    /// How many series there are.
    pub series: u32,
}

impl Separate {
    /// Whether there are no such collectives.
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }
}

/// Cells that are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The cell.
    pub cell: Cell,
    /// Why, in a phrase.
    pub why: String,
}

/// A candidate that is not measured in a cell, since another one measured there does the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// The candidate.
    pub candidate: Candidate,
    /// The one that is measured for it.
    pub measured_as: Candidate,
    /// Why they do the same, in a phrase.
    pub why: String,
}

/// A cell with the candidates that can serve it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    /// The cell.
    pub cell: Cell,
    /// The candidates that are measured, builtin first.
    pub candidates: Vec<Candidate>,
    /// The candidates that need not be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
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
    /// nothing is left to compare are left out, and so are those of collectives with launches of their own.
    #[must_use]
    pub fn for_launch(&self, launch: u32, wanted: impl Fn(Cell, Candidate) -> bool) -> Self {
        let together =
            self.cells.iter().filter(|planned| !self.separate.collectives.contains(&planned.cell.collective));
        let cells = together.map(|planned| {
            let candidates = planned.candidates.iter().copied().filter(|candidate| wanted(planned.cell, *candidate));
            CellPlan { cell: planned.cell, candidates: candidates.collect(), shared: Vec::new() }
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
            separate: Separate::default(),
            skipped: Vec::new(),
            under_rule: None,
            placement: self.placement.clone(),
        }
    }

    /// The candidate whose timings stand for this one in a cell: itself if it is measured.
    pub fn measured_as(&self, cell: Cell, candidate: Candidate) -> Option<Candidate> {
        let planned = self.cells.iter().find(|planned| planned.cell == cell)?;
        let shared = || planned.shared.iter().find(|shared| shared.candidate == candidate);
        if planned.candidates.contains(&candidate) {
            Some(candidate)
        } else {
            shared().map(|shared| shared.measured_as)
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
