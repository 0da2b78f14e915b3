//! What a campaign measures: its cells and the candidates of each. What one launch of it measures is the runner's.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::clock::SyncMethod;
use crate::mockup::Mockup;
use crate::pattern::{Cast, Pattern};
use crate::placement::Placement;
use crate::policy::Assumptions;
use crate::units::{Ranks, Seconds};

/// What a campaign measures, and when it has enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The cells with their candidates; the builtin is the first candidate of every cell.
    pub cells: Vec<CellPlan>,
    /// The patterns with their casts, timed in the launches that have all candidates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<PatternPlan>,
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
    /// In a plan with launches under a rules file: how the file is put in force, and what is measured in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Deployment>,
    /// Where the ranks of each communicator are, and which component serves them.
    #[serde(default)]
    pub placement: Placement,
}

/// A rules file as its users put it in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployment {
    /// How the settings reach Open MPI.
    pub way: DeployWay,
    /// The MCA settings of the launches with the file, by name. Launches without it have none of them.
    pub settings: BTreeMap<String, String>,
    /// The number of the first pair: earlier plans of the same run have made those before.
    #[serde(default)]
    pub first_pair: u32,
    /// What its launches measure.
    #[serde(default, skip_serializing_if = "Launched::is_pairs")]
    pub launched: Launched,
}

/// What the launches of a plan with a rules file measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Launched {
    /// Each has one of the candidates `builtin` and `rules`, which compare Open MPI as it is with what it does under the
    /// file; `launches` counts pairs of them.
    #[default]
    Pairs,
    /// Each has the file in force, and times all candidates of its cells side by side. Their `builtin` is what serves
    /// under the file; samples call it `rules`.
    Together,
}

impl Launched {
    fn is_pairs(&self) -> bool {
        *self == Self::Pairs
    }
}

/// How MCA settings reach Open MPI.
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

impl Deployment {
    /// The setting that names the rules file.
    pub const FILE: &'static str = "coll_tuned_dynamic_rules_filename";

    /// The rules file.
    pub fn rules(&self) -> Option<&str> {
        self.settings.get(Self::FILE).map(String::as_str)
    }
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
    /// How many series there are: of these, and of what is apart from the others of its collective
    /// ([`Candidate::is_apart`]).
    pub series: u32,
}

impl Separate {
    /// Whether there are no such collectives.
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }
}

/// One time that a comparison was made: the timings that carry its number are compared with each other.
///
/// The samples file has the number alone; [`Plan::repetition`] says what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repetition {
    /// One start of the job in which all candidates take turns, by its number in the journal.
    Launch(u32),
    /// One start for each candidate.
    Series(u32),
    /// One start without a rules file and one with it.
    Pair(u32),
}

impl Repetition {
    /// The number, from 0: each kind counts for itself.
    pub fn number(self) -> u32 {
        match self {
            Self::Launch(number) | Self::Series(number) | Self::Pair(number) => number,
        }
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
    /// Mock-ups that were wanted and are not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What the programs that are tuned for spend in its calls; missing where it is not tuned for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Seconds>,
}

/// A pattern with the ranks that carry it out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternPlan {
    /// The pattern.
    pub pattern: Pattern,
    /// The casts: they take turns in every round, and while one plays, the others wait.
    pub casts: Vec<Cast>,
}

/// A mock-up that a cell does not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The mock-up.
    pub mockup: Mockup,
    /// Why, in a phrase.
    pub why: String,
}

/// How samples are spread over a launch and when a cell has enough of them.
///
/// Cells are visited in a shuffled order, again and again; in a visit all candidates of the cell take turns round by
/// round, each round in a new shuffled order. The visit is the unit of replication, so that many short ones serve
/// better than a few long ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// Untimed rounds at the start of the first visit; later visits have one at most. Where calls are long there are none.
    pub warmup_rounds: u32,
    /// Timed rounds per visit.
    pub rounds_per_visit: u32,
    /// Rounds that every cell gets before precision may end it.
    pub min_rounds: u32,
    /// Rounds after which a cell ends in any case.
    pub max_rounds: u32,
    /// A cell ends when, for every candidate still timed, the interval of the median over visits is this narrow: half
    /// width over median, of its time or of its gain over the builtin.
    pub precision: f64,
    /// A candidate rests for the launch when it certainly takes this many times the time of the best.
    pub drop_factor: f64,
    /// Candidates are timed to the end in every launch, however slow: for those who want all times rather than the best.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_slow: bool,
    /// No visit starts after this time in a launch, but for the first to each cell. Without it a launch goes on until
    /// every cell is precise or has its most rounds.
    pub budget: Option<Seconds>,
    /// After this time in a launch not even a cell's first visit starts.
    #[serde(default)]
    pub limit: Option<Seconds>,
    /// What starting a launch is expected to take.
    #[serde(default)]
    pub startup: Seconds,
    /// The gain over the builtin that decides, such as 0.03: cells near it are worth more time.
    #[serde(default = "usual_gain")]
    pub min_gain: f64,
    /// What programs are taken to keep to: what needs more keeps nothing out of the race that rules may choose.
    #[serde(default, skip_serializing_if = "Assumptions::are_usual")]
    pub assumptions: Assumptions,
    /// How ranks are brought together before a timed call.
    #[serde(default)]
    pub sync: SyncMethod,
    /// How far the common clock may be off on a rank before it is set anew.
    #[serde(default = "usual_clock_bound")]
    pub clock_bound: Seconds,
    /// Take every rank's clock for one of its own, though those of a host are one: shows how good the common clock is.
    #[serde(default)]
    pub separate_clocks: bool,
}

fn usual_gain() -> f64 {
    0.03
}

fn usual_clock_bound() -> Seconds {
    Seconds(1e-6)
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
            min_gain: usual_gain(),
            assumptions: Assumptions::default(),
            sync: SyncMethod::Barrier,
            clock_bound: usual_clock_bound(),
            separate_clocks: false,
        }
    }
}

impl CellPlan {
    /// A cell with these candidates, builtin first, and nothing else to say.
    pub fn new(cell: Cell, candidates: Vec<Candidate>) -> Self {
        Self { cell, candidates, shared: Vec::new(), left_out: Vec::new(), weight: None }
    }
}

impl Plan {
    /// A plan of cells that are all measured together.
    pub fn new(cells: Vec<CellPlan>, launches: u32, schedule: Schedule, seed: u64) -> Self {
        let ranks = cells.iter().map(|planned| planned.cell.ranks).max().unwrap_or_default();
        let (separate, skipped, placement) = (Separate::default(), Vec::new(), Placement::default());
        let (patterns, deployment) = (Vec::new(), None);
        Self { cells, patterns, ranks, launches, schedule, seed, separate, skipped, deployment, placement }
    }

    /// Whether a candidate of a collective has launches of its own.
    pub fn is_apart(&self, collective: Collective, candidate: Candidate) -> bool {
        candidate.is_apart() || self.separate.collectives.contains(&collective)
    }

    /// What the number that rows of this plan carry as their launch counts, for rows of a point.
    pub fn repetition(&self, collective: Collective, candidate: Candidate, number: u32) -> Repetition {
        if self.is_of_pairs() {
            Repetition::Pair(number)
        } else if self.is_apart(collective, candidate) {
            Repetition::Series(number)
        } else {
            Repetition::Launch(number)
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

    /// The time that all launches may take together, from the start of the first one's job to the end of the last one's;
    /// none where it is unlimited.
    pub fn budget(&self) -> Option<Seconds> {
        let launches = f64::from(self.launches) * if self.is_of_pairs() { 2.0 } else { 1.0 };
        self.schedule.budget.map(|budget| Seconds((budget.0 + self.schedule.startup.0) * launches))
    }

    /// Whether it consists of pairs of launches, one without a rules file and one under it.
    pub fn is_of_pairs(&self) -> bool {
        self.deployment.as_ref().is_some_and(|deployment| deployment.launched == Launched::Pairs)
    }

    /// Whether all its launches have a rules file in force, and all candidates.
    pub fn is_under_rules(&self) -> bool {
        self.deployment.as_ref().is_some_and(|deployment| deployment.launched == Launched::Together)
    }

    /// The number of points: candidates summed over cells.
    pub fn points(&self) -> usize {
        self.cells.iter().map(|cell| cell.candidates.len()).sum()
    }
}
