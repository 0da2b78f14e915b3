//! What a check of performance guidelines found: `guidelines.json`.

use std::collections::BTreeMap;

use collrules_rules::deploy::{HAN_FILE, RULES_FILE};
use collrules_rules::{Choice, Release};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::component::Component;
use crate::estimate::Estimate;
use crate::findings::{Criteria, Statistic};
use crate::han_choice::HanAlgorithm;
use crate::manifest::FormatVersion;
use crate::mockup::Mockup;
use crate::plan::Skipped;
use crate::policy::Assumption;
use crate::units::{Bytes, Ranks};

/// The version of `guidelines.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The format of this structure.
    pub format: FormatVersion,
    /// What was judged: a run directory or a table, as the user named it.
    pub source: String,
    /// Whether the times come from a cost model, and say nothing about any real machine.
    pub simulated: bool,
    /// What Open MPI calls itself; of a table nothing is known.
    pub library: Option<String>,
    /// The words that started the measurement.
    pub command: Vec<String>,
    /// The release whose algorithms were remedies.
    pub release: Release,
    /// What one timing is.
    pub statistic: Statistic,
    /// What a mock-up had to show: `min_gain` is the slowdown that is tolerated.
    pub criteria: Criteria,
    /// One entry per cell in which a mock-up was timed or failed, by collective, communicator size and message size.
    pub cells: Vec<CheckedCell>,
    /// Mock-ups that were wanted and not measured.
    pub left_out: Vec<LeftOutCell>,
    /// Cells that were wanted and not measured.
    pub skipped: Vec<Skipped>,
    /// The same in launches with a rules file in force, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_rules: Option<UnderRules>,
}

/// What a check found in launches with a rules file in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnderRules {
    /// The settings that put it in force.
    pub settings: BTreeMap<String, String>,
    /// One entry per cell; the builtin is what serves under the file.
    pub cells: Vec<CheckedCell>,
    /// What became of each violation, and which ones are new.
    pub changes: Vec<Changed>,
}

/// A mock-up that a cell did not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutCell {
    /// The cell.
    pub cell: Cell,
    /// The mock-up.
    pub mockup: Mockup,
    /// Why, in a phrase.
    pub why: String,
}

impl UnderRules {
    /// The file: that of coll/tuned or, in a tuning without one, that of HAN.
    pub fn file(&self) -> &str {
        let named = |name| self.settings.get(name).map(String::as_str);
        named(RULES_FILE).or_else(|| named(HAN_FILE)).unwrap_or("settings")
    }

    /// How many violations became this.
    pub fn count(&self, how: Change) -> usize {
        self.changes.iter().filter(|changed| changed.how == how).count()
    }
}

/// What is known of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedCell {
    /// The cell.
    pub cell: Cell,
    /// The builtin's time in seconds; missing where it failed.
    pub builtin: Option<Estimate>,
    /// The component that serves the builtin's calls, if that is known.
    pub served_by: Option<Component>,
    /// The mock-ups with timings.
    pub mockups: Vec<MockupFinding>,
    /// Mock-ups that failed, with the reason.
    pub failed: Vec<(Mockup, String)>,
    /// Builtin time over that of the best mock-up, minus one: 0.5 is half as long again. Its interval holds for whichever
    /// mock-up is the best in truth, and its value is taken where the best was not picked. Missing without a pair.
    pub severity: Option<Estimate>,
    /// The guideline that is violated the worst, if one is.
    pub violation: Option<Violation>,
}

/// What is known of a mock-up in a cell.
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
    /// The same, adjusted for all comparisons of the check.
    pub q_value: Option<f64>,
    /// Whether its guideline is violated.
    pub violated: bool,
}

/// A collective that is slower than calls that do the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// The best of the mock-ups whose guidelines are violated.
    pub best: Mockup,
    /// What to call instead.
    pub advice: String,
    /// What that needs on a rank beside the caller's buffers; missing where it depends on nodes that nothing is known of.
    pub memory: Option<Bytes>,
    /// What would cure it.
    pub cure: Cure,
}

/// What brings a call within the tolerated slowdown of the best mock-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cure {
    /// A rule for `coll/tuned`, which `collrules tune` finds.
    Rule {
        /// What it says.
        choice: Choice,
        /// Builtin time over its time.
        gain: f64,
        /// Why `collrules tune` would not write it by these times, in a phrase; missing where it would.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<String>,
    },
    /// An algorithm of HAN, for which its rules file asks.
    Han {
        /// Which.
        algorithm: HanAlgorithm,
        /// Builtin time over its time.
        gain: f64,
    },
    /// A rule that must not be written.
    Barred {
        /// What it would say.
        choice: Choice,
        /// Builtin time over its time.
        gain: f64,
        /// Why not, in a phrase.
        why: String,
        /// What programs would have to keep to, so that it might.
        assumption: Option<Assumption>,
    },
    /// Another component of Open MPI.
    Component {
        /// Which.
        component: Component,
        /// Builtin time over its time.
        gain: f64,
    },
    /// A candidate that may do, but was timed too little, or too unevenly, to show it.
    Unproven {
        /// Which.
        candidate: Candidate,
        /// Builtin time over its time.
        gain: f64,
    },
    /// Nothing that was timed.
    Nothing,
    /// No candidate of Open MPI was timed.
    Unmeasured,
}

/// A violation that one of two checks has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// The cell.
    pub cell: Cell,
    /// Its severity in the earlier check, if it was measured.
    pub before: Option<Estimate>,
    /// Its severity now, if it was measured.
    pub now: Option<Estimate>,
    /// What became of it.
    pub how: Change,
}

/// What became of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// There is one now that was not known.
    New,
    /// It is worse than it was.
    Worse,
    /// It is not as bad as it was.
    Better,
    /// It is gone.
    Gone,
    /// It is as bad as it was, as far as intervals tell.
    Stays,
    /// It is not shown any more, and not shown to be gone either.
    Open,
}

impl Checked {
    /// The cells with a violation, the worst first.
    pub fn violations(&self) -> Vec<(&CheckedCell, &Violation)> {
        let mut all: Vec<_> = self.cells.iter().filter_map(|cell| Some((cell, cell.violation.as_ref()?))).collect();
        all.sort_by(|a, b| b.0.slowdown().total_cmp(&a.0.slowdown()).then(a.0.cell.cmp(&b.0.cell)));
        all
    }

    /// What was found under the rules file, as a check of its own.
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

impl CheckedCell {
    /// The slowdown as a share, 0 where nothing is violated.
    pub fn slowdown(&self) -> f64 {
        self.severity.filter(|_| self.violation.is_some()).map_or(0.0, |severity| severity.point.max(0.0))
    }
}
