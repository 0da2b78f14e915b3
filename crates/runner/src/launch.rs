//! What one start of the job measures. Controller and worker hand it to each other; it is stored nowhere.

use std::collections::BTreeMap;

use collrules_record::plan::{CellPlan, DeployWay, PatternPlan, Schedule};
use collrules_record::{Candidate, Cell, Placement, Ranks, Seconds, Subject};
use serde::{Deserialize, Serialize};

/// The plan of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// The cells with their candidates; events refer to both by their index.
    pub cells: Vec<LaunchCell>,
    /// The patterns with their casts. In events their indices follow those of the cells, and casts stand for candidates.
    pub patterns: Vec<PatternPlan>,
    /// The number of ranks of the job: those of the largest communicator, or more.
    pub ranks: Ranks,
    /// How samples are spread over the launch and when they end.
    pub schedule: Schedule,
    /// Seed of every random order of this launch.
    pub seed: u64,
    /// How calls come to be carried out by their candidates.
    pub kind: LaunchKind,
    /// Where the ranks of each communicator are, and which component serves them.
    pub placement: Placement,
}

/// A cell of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchCell {
    /// The cell.
    pub cell: Cell,
    /// The candidates to time; the builtin first, unless the launch has a single candidate.
    pub candidates: Vec<Candidate>,
    /// How much of the launch's time the cell is worth.
    pub effort: Effort,
    /// What a round of its candidates takes, where earlier launches checked them all and the round is long: then they are
    /// not checked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Seconds>,
    /// What programs spend in its calls: cells with more come first, and have more of the time where calls take seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Seconds>,
}

/// How much of a launch's time a cell is worth, after what earlier launches said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// One visit: it is decided, and a launch that says otherwise would be seen.
    Least,
    /// A visit in every pass.
    #[default]
    Normal,
    /// Two visits in every pass: its launches disagree.
    More,
}

/// How calls come to be carried out by their candidates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchKind {
    /// All candidates are in the job: the worker switches between them.
    Together,
    /// One candidate is: the job loads a file with its one rule, or none for the builtin, and the worker switches nothing.
    Alone(Candidate),
    /// The job is started as users start theirs, with a rules file in force or without.
    Deployed {
        /// How the settings reach Open MPI.
        way: DeployWay,
        /// The settings that put the file in force.
        settings: BTreeMap<String, String>,
        /// Whether this launch has them.
        in_force: bool,
    },
}

impl LaunchPlan {
    /// A launch with these cells together, which nobody looked up components for.
    pub fn new(cells: Vec<LaunchCell>, schedule: Schedule, seed: u64) -> Self {
        let ranks = cells.iter().map(|planned| planned.cell.ranks).max().unwrap_or_default();
        let (patterns, kind, placement) = (Vec::new(), LaunchKind::Together, Placement::default());
        Self { cells, patterns, ranks, schedule, seed, kind, placement }
    }

    /// How many subjects there are.
    pub fn subjects(&self) -> usize {
        self.cells.len() + self.patterns.len()
    }

    /// The subject with this index.
    pub fn subject(&self, index: usize) -> Subject {
        match self.cells.get(index) {
            Some(planned) => Subject::Cell(planned.cell),
            None => Subject::Pattern(self.pattern(index).pattern),
        }
    }

    /// How many candidates, or casts, the subject with this index has.
    pub fn turns(&self, index: usize) -> usize {
        self.cells.get(index).map_or_else(|| self.pattern(index).casts.len(), |planned| planned.candidates.len())
    }

    /// The name of such a candidate, or the ranks of such a cast.
    pub fn turn(&self, index: usize, turn: usize) -> String {
        match self.cells.get(index) {
            Some(planned) => planned.candidates[turn].to_string(),
            None => format!("ranks {}", self.pattern(index).casts[turn]),
        }
    }

    /// The pattern with this index, which is beyond those of the cells.
    pub fn pattern(&self, index: usize) -> &PatternPlan {
        &self.patterns[index - self.cells.len()]
    }

    /// Whether the job has a single candidate, so that nothing in it can be compared with anything.
    pub fn has_one_candidate(&self) -> bool {
        match self.kind {
            LaunchKind::Together => false,
            LaunchKind::Alone(_) => true,
            LaunchKind::Deployed { .. } => self.cells.iter().all(|planned| planned.candidates.len() < 2),
        }
    }

    /// What samples call a candidate of the launch: under a rules file the builtin is what serves there.
    pub fn recorded(&self, candidate: Candidate) -> Candidate {
        match (&self.kind, candidate) {
            (LaunchKind::Deployed { in_force: true, .. }, Candidate::Builtin) => Candidate::Rules,
            (_, other) => other,
        }
    }
}

impl LaunchCell {
    /// A cell with these candidates, as much worth as others.
    pub fn new(cell: Cell, candidates: Vec<Candidate>) -> Self {
        Self { cell, candidates, effort: Effort::default(), round: None, weight: None }
    }
}

impl From<&CellPlan> for LaunchCell {
    fn from(planned: &CellPlan) -> Self {
        Self { weight: planned.weight, ..Self::new(planned.cell, planned.candidates.clone()) }
    }
}
