//! Plan of a campaign: its cells and the candidates of each. The plan of a single launch belongs to the runner.

use std::collections::{BTreeMap, BTreeSet};

use collrules_program::Mockup;
use collrules_rules::{Collective, Release, names};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::{Arguments, Cell};
use crate::clock::SyncMethod;
use crate::condition::{ArrivalPattern, Condition};
use crate::launch::Launch;
use crate::obstacle::{CellObstacle, MockupObstacle};
use crate::pattern::{Cast, Pattern};
use crate::placement::Placement;
use crate::policy::Assumptions;
use crate::question::Question;
use crate::units::{Ranks, Seconds};

/// Plan of a campaign, with the conditions for its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The cells with their candidates; the builtin is the first candidate of every cell.
    pub cells: Vec<CellPlan>,
    /// The patterns with their casts, timed in launches with all candidates.
    pub patterns: Vec<PatternPlan>,
    /// The number of ranks of the job: those of the largest communicator.
    pub ranks: Ranks,
    /// Number of launches; each launch measures all cells.
    pub launches: u32,
    /// Distribution of samples over a launch, with the conditions for its end.
    pub schedule: Schedule,
    /// Seed of every random order.
    pub seed: u64,
    /// The collectives that get a launch for each candidate.
    pub separate: Separate,
    /// Cells of the grid that are not measured, and why.
    pub skipped: Vec<Skipped>,
    /// In a plan with launches under a rules file: the way the file is activated. Their `builtin` is the default under the
    /// file, and samples call it `rules`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// Nodes of each communicator's ranks, and the component that carries out its calls.
    pub placement: Placement,
    /// Root and datatype of all calls.
    pub arguments: Arguments,
    /// Arrivals of ranks in a program, for a condition under which ranks are as late.
    pub arrivals: Vec<ArrivalPattern>,
}

/// Settings of jobs that are started as users start theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// Method by which the settings reach Open MPI.
    pub way: DeployWay,
    /// The MCA settings by name; none for the default.
    pub settings: BTreeMap<String, String>,
    /// All settings that are compared: a job does not inherit them from a shell in which they are active.
    pub compared: Vec<BTreeMap<String, String>>,
}

/// Method by which MCA settings reach Open MPI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum DeployWay {
    /// By variables in mpirun's environment, as env.sh sets them
    #[default]
    Environment,
    /// By options of mpirun
    #[value(name = "mpirun")]
    CommandLine,
}

names!(DeployWay { Environment "environment", CommandLine "mpirun", });

impl Deployment {
    /// Settings in the environment of mpirun, the only ones that are compared with the default.
    pub fn new(settings: BTreeMap<String, String>) -> Self {
        Self { way: DeployWay::Environment, compared: vec![settings.clone()], settings }
    }

    /// The setting that names the rules file.
    pub const FILE: &'static str = "coll_tuned_dynamic_rules_filename";

    /// The rules file.
    pub fn rules(&self) -> Option<&str> {
        self.settings.get(Self::FILE).map(String::as_str)
    }
}

/// The collectives whose candidates are not switched within a job.
///
/// Each of their candidates gets a launch of its own, which loads a file with its single rule. A series has one such
/// launch for each candidate, in random order. Timings are compared within a series;
/// for other collectives, within a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Separate {
    /// The collectives.
    pub collectives: BTreeSet<Collective>,
    /// Number of series of these collectives.
    pub series: u32,
}

impl Separate {
    /// Returns true if there are no such collectives.
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }
}

/// Cells that are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skipped {
    /// The cell.
    pub cell: Cell,
    /// The reason.
    pub why: CellObstacle,
}

/// A candidate that is not measured in a cell, since another one measured there does the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// The candidate.
    pub candidate: Candidate,
    /// The one that is measured for it.
    pub measured_as: Candidate,
}

/// A cell with the candidates that can run it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    /// The cell.
    pub cell: Cell,
    /// The candidates that are measured, builtin first: all others are compared with it.
    pub candidates: Vec<Candidate>,
    /// The groups in which its candidates race.
    #[serde(default, skip_serializing_if = "Question::is_empty")]
    pub question: Question,
    /// The candidates that need not be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
    /// Mock-ups that were requested but are not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<MockupOmission>,
    /// Time that the tuned programs spend in its calls; missing if the tuning is not for given programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Seconds>,
    /// The time by which a rank is late, or the longest gap between arrivals, if the condition does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Seconds>,
    /// True if the time is likely to jump between the next smaller size and this one: Open MPI's default changes its
    /// algorithm, or messages exceed an eager limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_jump: bool,
}

/// A pattern with the ranks that carry it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternPlan {
    /// The pattern.
    pub pattern: Pattern,
    /// The casts: they take turns in every round, while the others wait.
    pub casts: Vec<Cast>,
}

/// A mock-up that is not measured for a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockupOmission {
    /// The mock-up.
    pub mockup: Mockup,
    /// The reason.
    pub why: MockupObstacle,
}

/// Distribution of samples over a launch, with the condition under which a cell has enough of them.
///
/// Cells are visited in a shuffled order, again and again; in a visit all candidates of the cell take turns round by
/// round, each round in a new shuffled order. The visit is the unit of replication, so many short visits are better
/// than a few long ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Untimed rounds at the start of the first visit; later visits have at most one, and long calls none.
    pub warmup_rounds: u32,
    /// Timed rounds per visit.
    pub rounds_per_visit: u32,
    /// Rounds of every cell before precision may end it.
    pub min_rounds: u32,
    /// Rounds after which a cell ends in any case.
    pub max_rounds: u32,
    /// A cell ends when, for every candidate still timed, the interval of the median over visits is this narrow: half
    /// width over median, of its time or of its gain over the builtin.
    pub precision: f64,
    /// A candidate rests for the launch when it certainly takes this many times as long as the best.
    pub drop_factor: f64,
    /// True if candidates are timed to the end in every launch, however slow: for all times instead of only the best.
    pub keep_slow: bool,
    /// No visit starts after this time in a launch, except the first to each cell. If missing, a launch goes on until
    /// every cell is precise or has its maximum of rounds.
    pub budget: Option<Seconds>,
    /// After this time in a launch, no visit starts at all, except the first of the launch.
    pub limit: Option<Seconds>,
    /// Expected time to start a launch.
    pub startup: Seconds,
    /// The gain over the builtin that decides, such as 0.03: cells near it are worth more time.
    pub min_gain: f64,
    /// Guarantees that programs are assumed to give. A candidate that needs more never eliminates one that rules may
    /// choose.
    pub assumptions: Assumptions,
    /// Method that brings ranks together before a timed call.
    pub sync: SyncMethod,
    /// The condition under which calls are timed.
    pub condition: Condition,
    /// Largest error of the common clock on a rank before the clock is set again.
    pub clock_bound: Seconds,
    /// True if each rank's clock is treated as separate, even on one host: shows the error of the common clock.
    pub separate_clocks: bool,
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
            keep_slow: false,
            budget: Some(Seconds(40.0)),
            limit: None,
            startup: Seconds(0.0),
            min_gain: 0.03,
            assumptions: Assumptions::default(),
            sync: SyncMethod::Barrier,
            condition: Condition::default(),
            clock_bound: Seconds(1e-6),
            separate_clocks: false,
        }
    }
}

impl CellPlan {
    /// A cell with these candidates, builtin first.
    pub fn new(cell: Cell, candidates: Vec<Candidate>) -> Self {
        let question = Question::default();
        let (shared, left_out, weight, lateness, is_jump) = (Vec::new(), Vec::new(), None, None, false);
        Self { cell, candidates, question, shared, left_out, weight, lateness, is_jump }
    }
}

/// The largest number of launches, and of series, that a plan may have.
const MOST_LAUNCHES: u32 = 10_000;
/// The largest number of ranks of a job.
pub(crate) const MOST_RANKS: u32 = 1 << 24;

impl Plan {
    /// Refuses counts that no campaign can have, since plans are lists in memory.
    pub fn check(&self) -> Result<(), String> {
        let launches = [("launches", self.launches), ("series", self.separate.series)];
        let largest = self.cells.iter().map(|planned| planned.cell.ranks).max().unwrap_or_default();
        let ranks = [("ranks", self.ranks.0), ("comm_size", largest.0)];
        let within = |counts: &[(&str, u32)], most: u32| match counts.iter().find(|(_, count)| *count > most) {
            Some((name, count)) => Err(format!("`{name}` is {count}; at most {most} are allowed")),
            None => Ok(()),
        };
        within(&launches, MOST_LAUNCHES)?;
        within(&ranks, MOST_RANKS)
    }

    /// A plan of cells that are all measured together.
    pub fn new(cells: Vec<CellPlan>, launches: u32, schedule: Schedule, seed: u64) -> Self {
        let ranks = cells.iter().map(|planned| planned.cell.ranks).max().unwrap_or_default();
        let mut plan = Self { cells, ranks, launches, schedule, seed, ..Self::default() };
        plan.sort_groups();
        plan
    }

    /// Sorts the candidates of every cell into the groups in which they race, given assumptions about programs.
    pub fn sort_groups(&mut self) {
        let assumptions = self.schedule.assumptions;
        let cells: Vec<Cell> = self.cells.iter().map(|planned| planned.cell).collect();
        for planned in &mut self.cells {
            planned.question = Question::new(planned.cell.collective, &planned.candidates, assumptions);
            // The orders of sums are the same in all releases that they are known of.
            let keeps = |candidate| assumptions.keeps_bits(Release::V5_0, planned.cell, candidate, &cells);
            planned.question.restrict(planned.cell.collective, &planned.candidates, keeps);
        }
    }

    /// Returns true if each candidate of a collective has launches of its own.
    pub fn is_apart(&self, collective: Collective) -> bool {
        self.separate.collectives.contains(&collective)
    }

    /// The launch of a row with this number, for rows of a point. The journal numbers launches with all candidates.
    pub fn launch(&self, collective: Collective, candidate: Candidate, number: u32) -> Launch {
        if self.is_apart(collective) {
            Launch::Alone { series: number, collective: Some(collective), candidate }
        } else {
            self.shared(number)
        }
    }

    /// The launch with all candidates and this number.
    pub fn shared(&self, number: u32) -> Launch {
        Launch::Shared { number, deployed: self.is_under_rules() }
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

    /// The time for all launches together, from the start of the first job to the end of the last one; none if
    /// unlimited.
    pub fn budget(&self) -> Option<Seconds> {
        self.schedule.budget.map(|budget| Seconds((budget.0 + self.schedule.startup.0) * f64::from(self.launches)))
    }

    /// Returns true if all its launches have all candidates and an active rules file.
    pub fn is_under_rules(&self) -> bool {
        self.deployment.is_some()
    }

    /// The number of points: candidates summed over cells.
    pub fn points(&self) -> usize {
        self.cells.iter().map(|cell| cell.candidates.len()).sum()
    }
}
