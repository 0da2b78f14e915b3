//! The measurements of one start of the job. Controller and worker exchange them; they are not stored.

use std::collections::BTreeMap;

use collrules_record::condition::{ArrivalPattern, Condition};
use collrules_record::plan::{CellPlan, DeployWay, Deployment, PatternPlan, Plan, Schedule};
use collrules_record::question::Question;
use collrules_record::{Arguments, Candidate, Cell, Launch, Placement, Ranks, Seconds, Subject};
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
    /// Distribution of samples over the launch, and the conditions that end them.
    pub schedule: Schedule,
    /// Seed of every random order of this launch.
    pub seed: u64,
    /// True if cells are only called one after the other, to find the one that ends a job; no times are reported.
    pub is_trial: bool,
    /// Kind of the launch: the alternatives that take turns in it.
    pub launch: Launch,
    /// Method by which a tuning is activated, in launches that have one or are compared with such launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// Placement of the ranks of each communicator, and the component that it uses.
    pub placement: Placement,
    /// Root and datatype of all calls.
    #[serde(default, skip_serializing_if = "Arguments::are_usual")]
    pub arguments: Arguments,
    /// Arrivals of ranks in a program, for a condition under which ranks are as late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<ArrivalPattern>,
}

/// A cell of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchCell {
    /// The cell.
    pub cell: Cell,
    /// The candidates to time; the builtin first, unless the launch has a single candidate.
    pub candidates: Vec<Candidate>,
    /// The groups in which its candidates race.
    #[serde(default, skip_serializing_if = "Question::is_empty")]
    pub question: Question,
    /// Visits before which precision does not end the cell, as long as there is time.
    pub least_visits: u32,
    /// Share of the launch's time for the cell.
    pub effort: Effort,
    /// Number of sizes that its decision stands for: if time is short, cells with more per second come first.
    #[serde(default = "one")]
    pub worth: f64,
    /// The fastest candidate in earlier launches, if they began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest: Option<Candidate>,
    /// Candidates that earlier launches dropped because they are slow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<Candidate>,
    /// True if the time is likely to jump between the next smaller size and this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_jump: bool,
    /// Time of a round of its candidates, if earlier launches checked them all and the round is long; they are then not
    /// checked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<Seconds>,
    /// Time that programs spend in its calls; cells with more come first, and get more of the time if calls take
    /// seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Seconds>,
    /// The time by which a rank is late, or the longest gap between arrivals, if the condition does not say it; it follows
    /// from the time that the default takes in the launch if it is missing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Seconds>,
    /// The condition of its calls, if it is not that of the launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
}

/// Worth of a cell that stands for itself.
fn one() -> f64 {
    1.0
}

/// Share of a launch's time for a cell, according to earlier launches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// One visit: it is decided, and one visit would reveal a launch that disagrees.
    Least,
    /// A visit in every pass.
    #[default]
    Normal,
    /// Two visits in every pass: launches disagree about it.
    More,
}

impl LaunchPlan {
    /// A launch with all of these cells, without a search for components.
    pub fn new(cells: Vec<LaunchCell>, schedule: Schedule, seed: u64) -> Self {
        let ranks = cells.iter().map(|planned| planned.cell.ranks).max().unwrap_or_default();
        let (patterns, launch, placement) = (Vec::new(), Launch::shared(0), Placement::default());
        let (is_trial, arguments, arrivals) = (false, Arguments::default(), Vec::new());
        Self {
            cells,
            patterns,
            ranks,
            schedule,
            seed,
            is_trial,
            launch,
            deployment: None,
            placement,
            arguments,
            arrivals,
        }
    }

    /// A launch of a plan with these cells, without its patterns.
    pub fn of_plan(plan: &Plan, cells: Vec<LaunchCell>, schedule: Schedule, launch: Launch) -> Self {
        Self {
            ranks: plan.ranks,
            launch,
            deployment: plan.deployment.clone(),
            placement: plan.placement.clone(),
            arguments: plan.arguments,
            arrivals: plan.arrivals.clone(),
            ..Self::new(cells, schedule, plan.seed)
        }
    }

    /// The active settings of a job that is started as users start theirs, with the way in which they reach Open MPI;
    /// none for other jobs.
    pub fn settings(&self) -> Option<(DeployWay, BTreeMap<String, String>)> {
        let Deployment { way, settings, .. } = self.deployment.clone().filter(|_| self.launch.is_as_users_do())?;
        Some((way, settings))
    }

    /// The condition of the calls of the subject with this index.
    pub fn condition(&self, index: usize) -> Condition {
        self.cells.get(index).and_then(|planned| planned.condition).unwrap_or(self.schedule.condition)
    }

    /// Returns the number of subjects.
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

    /// Returns the number of candidates, or casts, of the subject with this index.
    pub fn turns(&self, index: usize) -> usize {
        self.cells.get(index).map_or_else(|| self.pattern(index).casts.len(), |planned| planned.candidates.len())
    }

    /// The name of this candidate, or the ranks of this cast.
    pub fn turn(&self, index: usize, turn: usize) -> String {
        match self.cells.get(index) {
            Some(planned) => planned.candidates[turn].to_string(),
            None => format!("ranks {}", self.pattern(index).casts[turn]),
        }
    }

    /// The pattern with this index; indices of patterns follow those of cells.
    pub fn pattern(&self, index: usize) -> &PatternPlan {
        &self.patterns[index - self.cells.len()]
    }

    /// Returns true if the job has a single candidate, so nothing can be compared within it.
    pub fn has_one_candidate(&self) -> bool {
        matches!(self.launch, Launch::Alone { .. } | Launch::Arm { .. })
    }

    /// Returns a candidate of the launch as samples name it: with a rules file, the builtin is recorded as `rules`.
    pub fn recorded(&self, candidate: Candidate) -> Candidate {
        if self.launch.is_under_rules() && candidate == Candidate::Builtin { Candidate::Rules } else { candidate }
    }
}

impl LaunchCell {
    /// A cell with these candidates, and normal effort.
    pub fn new(cell: Cell, candidates: Vec<Candidate>) -> Self {
        Self::from(&CellPlan::new(cell, candidates))
    }
}

impl From<&CellPlan> for LaunchCell {
    fn from(planned: &CellPlan) -> Self {
        let CellPlan { cell, weight, lateness, is_jump, .. } = *planned;
        let (candidates, question) = (planned.candidates.clone(), planned.question.clone());
        let (least_visits, effort, worth, fastest, slow) = (1, Effort::Normal, one(), None, Vec::new());
        Self {
            cell,
            candidates,
            question,
            least_visits,
            effort,
            worth,
            fastest,
            slow,
            is_jump,
            round: None,
            weight,
            lateness,
            condition: None,
        }
    }
}
