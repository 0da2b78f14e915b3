//! Result of a check of performance guidelines: `guidelines.json`.

use std::collections::BTreeMap;

use collrules_record::criteria::Criteria;
use collrules_record::findings::Statistic;
use collrules_record::obstacle::MockupObstacle;
use collrules_record::plan::Skipped;
use collrules_record::policy::Assumption;
use collrules_record::reason::Bar;
use collrules_record::{Bytes, Candidate, Cell, Component, Estimate, FormatVersion, HanAlgorithm, Mockup, Ranks};
use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::{Choice, Release};
use collrules_tuner::judging::LEAST_VISITS;
use serde::{Deserialize, Serialize};

/// The file of a result.
pub const FILE: &str = "guidelines.json";
/// The result as a page.
pub const PAGE: &str = "guidelines.html";
/// The result as text.
pub const TEXT: &str = "guidelines.md";
/// The result as a table.
pub const TABLE: &str = "guidelines.csv";

/// The version of `guidelines.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The format of this structure.
    pub format: FormatVersion,
    /// Run directory or table that was checked, as the user named it.
    pub source: String,
    /// True if the times come from a cost model, so that they say nothing about any real machine.
    pub simulated: bool,
    /// Open MPI's version string; unknown for a table.
    pub library: Option<String>,
    /// The words that started the measurement.
    pub command: Vec<String>,
    /// The release whose algorithms were remedies.
    pub release: Release,
    /// Meaning of one timing.
    pub statistic: Statistic,
    /// Criteria that a mock-up had to meet; `min_gain` is the tolerated slowdown.
    pub criteria: Criteria,
    /// Limits of a table with few launches; absent if there are enough, or if one run timed calls side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_launches: Option<FewLaunches>,
    /// One entry per cell in which a mock-up was timed or failed, by collective, communicator size and message size.
    pub cells: Vec<CheckedCell>,
    /// Cells in which the default failed or gave wrong data, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_failed: Vec<(Cell, String)>,
    /// Mock-ups that were requested but not measured.
    pub left_out: Vec<LeftOutCell>,
    /// Cells that were requested but not measured.
    pub skipped: Vec<Skipped>,
    /// Result of the check in launches with a rules file active, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_rules: Option<UnderRules>,
}

/// Too few launches of a table for a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FewLaunches {
    /// The fewest launches of a cell.
    pub launches: usize,
    /// The number of launches that a test needs.
    pub needed: usize,
}

impl FewLaunches {
    /// Limits of so many launches, if they are too few.
    pub fn find(launches: usize) -> Option<Self> {
        (launches < LEAST_VISITS).then_some(Self { launches, needed: LEAST_VISITS })
    }
}

/// Result of a check in launches with a rules file active.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderRules {
    /// The settings that activate it.
    pub settings: BTreeMap<String, String>,
    /// One entry per cell; the builtin is what runs under the file.
    pub cells: Vec<CheckedCell>,
    /// Change of each violation under the file, new ones included.
    pub changes: Vec<Changed>,
}

/// A mock-up that was not measured for a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutCell {
    /// The cell.
    pub cell: Cell,
    /// The mock-up.
    pub mockup: Mockup,
    /// The reason.
    pub why: MockupObstacle,
}

impl UnderRules {
    /// The rules file: that of coll/tuned or, if a tuning has none, that of HAN.
    pub fn file(&self) -> &str {
        let named = |name| self.settings.get(name).map(String::as_str);
        named(RULES_FILE).or_else(|| named(HAN_FILE)).unwrap_or("settings")
    }

    /// Returns the number of violations with this change.
    pub fn count(&self, how: Change) -> usize {
        self.changes.iter().filter(|changed| changed.how == how).count()
    }
}

/// Results for a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedCell {
    /// The cell.
    pub cell: Cell,
    /// The builtin's time in seconds; missing if it failed.
    pub builtin: Option<Estimate>,
    /// The component that runs the builtin's calls, if known.
    pub run_by: Option<Component>,
    /// The mock-ups with timings.
    pub mockups: Vec<MockupFinding>,
    /// Mock-ups that failed, with the reason.
    pub failed: Vec<(Mockup, String)>,
    /// The mock-up that `severity` is of: that of the violation or, without one, the undecided one, or the fastest.
    /// Missing if none was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Mockup>,
    /// Builtin time over the time of this mock-up, minus one: at 0.5 the builtin takes 1.5 times as long. Its interval
    /// holds for all mock-ups of the cell at once. Missing without a pair.
    pub severity: Option<Estimate>,
    /// The worst violated guideline, if any.
    pub violation: Option<Violation>,
    /// Reason why it is unknown whether there is a violation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
}

/// A mock-up that may be faster by more than is tolerated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undecided {
    /// The undecided mock-up with the largest gain; missing if none was timed.
    pub mockup: Option<Mockup>,
    /// Reason why the test cannot decide.
    pub why: Doubt,
}

/// Reason why a test cannot decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// No mock-up was timed side by side with the builtin.
    NotTimed,
    /// There are fewer visits, or launches of a table, than the test needs.
    FewVisits,
    /// It was not timed in every launch in which the builtin was.
    MissedLaunches,
    /// The difference is not significant.
    NotSignificant,
    /// It is not faster in every launch.
    LaunchesDisagree,
    /// The clock is too coarse.
    CoarseClock,
}

/// Results for a mock-up in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MockupFinding {
    /// The mock-up.
    pub mockup: Mockup,
    /// Its time in seconds.
    pub time: Estimate,
    /// Builtin time over its time; missing without a pair.
    pub gain: Option<Estimate>,
    /// Probability of such a difference in favour of the mock-up if there were none; missing without a test.
    pub p_value: Option<f64>,
    /// `p_value`, adjusted for all mock-ups of the cell and all cells of the check: accepting `q <= r` limits the
    /// expected share of wrong cells to `r`.
    pub q_value: Option<f64>,
    /// True if its guideline is violated by more than is tolerated.
    pub violated: bool,
}

/// A collective that is slower than calls that do the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// The best of the mock-ups whose guidelines are violated: the one with the largest lower end of its gain.
    pub best: Mockup,
    /// Memory that its calls need on a rank in addition to the caller's buffers; missing if it depends on nodes that
    /// are unknown.
    pub memory: Option<Bytes>,
    /// Remedy for the violation.
    pub cure: Cure,
}

/// Remedy that brings a call within the tolerated slowdown of the best mock-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cure {
    /// A rule for `coll/tuned` that `collrules tune` finds.
    Rule {
        /// Choice of the rule.
        choice: Choice,
        /// Builtin time over its time.
        gain: f64,
        /// Reason why `collrules tune` would not write it from these times; missing if it would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Withheld>,
    },
    /// An algorithm of HAN that its rules file can choose.
    Han {
        /// The algorithm.
        algorithm: HanAlgorithm,
        /// Builtin time over its time.
        gain: f64,
    },
    /// A rule that must not be written.
    Barred {
        /// Choice that the rule would make.
        choice: Choice,
        /// Builtin time over its time.
        gain: f64,
        /// The reason.
        why: Bar,
        /// Guarantee that programs would have to give to make the rule permissible.
        assumption: Option<Assumption>,
    },
    /// Another component of Open MPI.
    Component {
        /// The algorithm.
        component: Component,
        /// Builtin time over its time.
        gain: f64,
    },
    /// A candidate that may be fast enough, but was timed too little or too unevenly to show it.
    Unproven {
        /// The algorithm.
        candidate: Candidate,
        /// Builtin time over its time.
        gain: f64,
    },
    /// Nothing that was timed helps.
    Nothing,
    /// No candidate of Open MPI was timed.
    Unmeasured,
}

/// Reason why `collrules tune` would not write a rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", content = "of", rename_all = "snake_case")]
pub enum Withheld {
    /// All message sizes of a communicator size share one algorithm, and another one is better, or none is shown to be.
    OneChoice,
    /// Merge the rules of neighbouring sizes if this costs at most this share of time.
    SharedRule(f64),
}

/// Change of a violation between two checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// The cell.
    pub cell: Cell,
    /// Its severity in the earlier check, if it was measured.
    pub before: Option<Estimate>,
    /// Its severity now, if it was measured.
    pub now: Option<Estimate>,
    /// Change of the violation.
    pub how: Change,
}

/// Change of a violation from one check to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    New,
    /// It is worse than it was.
    Worse,
    /// It is not as bad as it was.
    Better,
    /// It is gone.
    Gone,
    /// It is as bad as it was, within intervals.
    Stays,
    /// It is neither shown nor shown to be gone.
    Open,
}

impl Checked {
    /// The cells with a violation, the worst first.
    pub fn violations(&self) -> Vec<(&CheckedCell, &Violation)> {
        self.worst_first().into_iter().filter_map(|cell| Some((cell, cell.violation.as_ref()?))).collect()
    }

    /// The undecided cells with a severity above the one that is tolerated, the worst first.
    pub fn suspects(&self) -> Vec<&CheckedCell> {
        let is_beyond = |cell: &CheckedCell| cell.severity.is_some_and(|it| exceeds(it, self.criteria.min_gain));
        let is_suspect = |cell: &&CheckedCell| cell.undecided.is_some() && is_beyond(cell);
        self.worst_first().into_iter().filter(is_suspect).collect()
    }

    fn worst_first(&self) -> Vec<&CheckedCell> {
        let mut all: Vec<&CheckedCell> = self.cells.iter().collect();
        let severity = |cell: &CheckedCell| cell.severity.map_or(f64::NEG_INFINITY, |severity| severity.point);
        all.sort_by(|a, b| severity(b).total_cmp(&severity(a)).then(a.cell.cmp(&b.cell)));
        all
    }

    /// Returns the results under the rules file as a check of its own.
    pub fn under_file(&self) -> Option<Self> {
        let UnderRules { cells, .. } = self.under_rules.as_ref()?;
        Some(Self {
            cells: cells.clone(),
            under_rules: None,
            left_out: Vec::new(),
            skipped: Vec::new(),
            ..self.clone()
        })
    }

    /// A cell.
    pub fn cell(&self, cell: Cell) -> Option<&CheckedCell> {
        self.cells.iter().find(|checked| checked.cell == cell)
    }

    /// The communicator sizes, in ascending order.
    pub fn ranks(&self) -> Vec<Ranks> {
        let mut ranks: Vec<Ranks> = self.cells.iter().map(|checked| checked.cell.ranks).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }
}

/// Returns true if a slowdown is larger than is tolerated; an equal one may seem so by a rounding error.
pub(super) fn exceeds(severity: Estimate, tolerated: f64) -> bool {
    severity.point > tolerated + 1e-9
}

impl CheckedCell {
    /// The mock-up that the severity is of.
    pub fn compared(&self) -> Option<&MockupFinding> {
        self.mockups.iter().find(|found| Some(found.mockup) == self.compared)
    }

    /// The slowdown as a share; 0 without a violation.
    pub fn slowdown(&self) -> f64 {
        self.severity.filter(|_| self.violation.is_some()).map_or(0.0, |severity| severity.point.max(0.0))
    }
}
