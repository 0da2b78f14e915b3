//! What fresh launches without and with a rules file showed, as plain data: `validation.json`.

use std::collections::BTreeMap;

use collrules_rules::hazard::RankRange;
use collrules_rules::{Choice, Collective, Version};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::estimate::{Estimate, geometric_mean};
use crate::findings::Middle;
use crate::format::FormatVersion;
use crate::units::Seconds;

/// The version of `validation.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// A comparison of a rules file, as deployed, with what the user has without it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The rules file, as the user named it.
    pub rules: String,
    /// The Open MPI that was asked.
    pub version: Version,
    /// The MCA settings of the launches with the file, by name; those without it had none of them.
    pub settings: BTreeMap<String, String>,
    /// What a cell had to show to count as faster or slower.
    pub criteria: Criteria,
    /// The file as it was given, then after each repair; the last one is about the file that was left behind, unless
    /// that leaves everything to the builtin.
    pub rounds: Vec<Round>,
    /// The ranges that were given back to the builtin, those of earlier validations of the run included. An analysis of
    /// the run leaves them to the builtin.
    #[serde(default)]
    pub given_back: Vec<GivenBack>,
    /// Where no time was left to compare what the last repair left behind: then the last comparison is about the file as
    /// it was before. Since format 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_again: Option<NotAgain>,
}

/// What a repair left behind, and nobody compared again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotAgain {
    /// How many cells of the last comparison a rule or a setting still acts on.
    pub cells: usize,
    /// Those of them that the rules now serve otherwise than in that comparison.
    pub otherwise: Vec<Cell>,
}

/// A range of a rule table that is left to the builtin for what a validation showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenBack {
    /// The collective.
    pub collective: Collective,
    /// The communicator sizes.
    pub ranks: RankRange,
    /// The first lookup bytes, and the first beyond them; none where there is no end.
    pub lookup: (u64, Option<u64>),
}

impl GivenBack {
    /// What a tuning says of HAN itself for a collective: its parameters, or rules for what it calls. Rules for the calls of
    /// programs are not among them: no message of this size can ask for one.
    pub fn settings(collective: Collective) -> Self {
        Self { collective, ranks: RankRange { first: 0, end: None }, lookup: (u64::MAX, None) }
    }

    /// Whether it is what the tuning says of HAN itself.
    pub fn is_settings(&self) -> bool {
        self.lookup.0 == u64::MAX
    }
}

/// What a cell has to show to count as faster or slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// Differences below this count as the same, such as 0.03.
    pub min_difference: f64,
    /// The bound on the share of wrong verdicts among those of "faster" and "slower" (false discovery rate).
    pub error_rate: f64,
    /// Confidence of the intervals.
    pub level: f64,
    /// What of the calls of a launch is compared.
    #[serde(default, skip_serializing_if = "Middle::is_median")]
    pub middle: Middle,
    /// The smallest step of the clock; a difference of less than two of them counts as none. 0 where it is unknown.
    #[serde(default)]
    pub clock_step: Seconds,
    /// How often doubtful cells may be looked at anew after further pairs, the first look included; every look has its
    /// share of the error rate.
    #[serde(default = "one")]
    pub looks: u32,
}

fn one() -> u32 {
    1
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            min_difference: 0.03,
            error_rate: 0.05,
            level: 0.95,
            middle: Middle::default(),
            clock_step: Seconds(0.0),
            looks: one(),
        }
    }
}

/// One comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The run directory with the samples, beside `validation.json` unless it is absolute.
    #[serde(default)]
    pub samples: String,
    /// Pairs of launches, one without and one with the file; doubtful cells have had all of them, others fewer.
    pub pairs: u32,
    /// Every compared cell, ordered by collective, communicator size and message size.
    pub cells: Vec<ValidatedCell>,
    /// The geometric mean of the speedups over all cells, with an interval that has the pairs for its units; missing where
    /// no pair has all cells.
    #[serde(default)]
    pub speedup: Option<Estimate>,
    /// How many cells were not compared for want of time: some launch of each pair ended before it got to them.
    #[serde(default)]
    pub unreached: usize,
    /// Cells that could not be compared, and why.
    #[serde(default)]
    pub failed: Vec<FailedCell>,
    /// The cells that were given back to the builtin for what this round showed: shown to be slower, or, where their
    /// verdict is another, only suspected of it.
    pub repaired: Vec<Cell>,
}

/// A cell that could not be compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCell {
    /// The cell.
    pub cell: Cell,
    /// Whether calls failed under the file; otherwise without it.
    pub with: bool,
    /// What went wrong.
    pub why: String,
}

/// What one cell showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidatedCell {
    /// The cell.
    pub cell: Cell,
    /// Whether it was measured for tuning; otherwise it lies between such cells.
    pub tuned: bool,
    /// What the file gives for it.
    pub served: Choice,
    /// Whether neither a rule nor a setting has a say in how its calls are served: what happens to it has other causes.
    /// Since format 1.1.
    #[serde(default)]
    pub control: bool,
    /// Whether HAN's rules file hands it over to coll/tuned. Since format 1.1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handed: bool,
    /// Seconds without the file.
    pub without: Estimate,
    /// Seconds with the file.
    pub with: Estimate,
    /// The first over the second: 1.10 where the file makes it 10 % faster.
    pub speedup: Estimate,
    /// Probability of such a difference, in either direction, if there were none, adjusted for the number of cells and
    /// of looks; missing where there are too few launches to say.
    pub q_value: Option<f64>,
    /// The conclusion.
    pub verdict: Outcome,
}

/// How a cell fares with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Faster than without it.
    Faster,
    /// No difference that can be told, or that matters.
    Same,
    /// Slower than without it.
    Slower,
}

impl Validation {
    /// The last comparison: of the file that was left behind, unless that was `not_again` compared.
    pub fn last(&self) -> Option<&Round> {
        self.rounds.last()
    }

    /// Whether the file that was left behind makes something slower.
    pub fn loses(&self) -> bool {
        let Some(round) = self.last() else { return false };
        let slower = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower && !cell.control;
        let failed = round.failed.iter().any(|failed| failed.with);
        // What was given back without another comparison was all that there was.
        round.repaired.is_empty() && (failed || round.cells.iter().any(|cell| slower(&cell)))
    }

    /// Fills in what files of format 1.0 lack. Their cells without a rule count as controls unless there are settings
    /// beside the two that switch the file on.
    pub(crate) fn completed(mut self) -> Self {
        if self.format.minor == 0 {
            let set = self.settings.len() > 2;
            for cell in self.rounds.iter_mut().flat_map(|round| &mut round.cells) {
                cell.control = cell.served.is_builtin() && !set;
            }
        }
        self
    }
}

impl ValidatedCell {
    /// Whether a rule of coll/tuned or of HAN is for it.
    pub fn is_ruled(&self) -> bool {
        self.handed || !self.served.is_builtin()
    }
}

impl Round {
    /// The number of cells with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.cells.iter().filter(|cell| cell.verdict == outcome).count()
    }

    /// The cell with the least speedup, among those that the file has a say in.
    pub fn worst(&self) -> Option<&ValidatedCell> {
        let affected = self.cells.iter().filter(|cell| !cell.control);
        affected.min_by(|a, b| a.speedup.point.total_cmp(&b.speedup.point))
    }

    /// The share of cells that are slower with the file, from 0 to 1.
    pub fn share_slower(&self) -> f64 {
        self.count(Outcome::Slower) as f64 / self.cells.len().max(1) as f64
    }

    /// The geometric mean of the speedups; 1 without cells.
    pub fn geometric_mean(&self) -> f64 {
        geometric_mean(self.cells.iter().map(|cell| cell.speedup.point)).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Ranks};

    fn cell(bytes: u64, speedup: f64, verdict: Outcome) -> ValidatedCell {
        let estimate = |point| Estimate { point, low: None, high: None, level: 0.95, samples: 3 };
        ValidatedCell {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(bytes) },
            tuned: true,
            served: Choice::plain(6),
            control: false,
            handed: false,
            without: estimate(speedup * 1e-6),
            with: estimate(1e-6),
            speedup: estimate(speedup),
            q_value: None,
            verdict,
        }
    }

    #[test]
    fn only_what_the_file_acts_on_can_be_its_loss() {
        let slower = cell(1, 0.5, Outcome::Slower);
        let control = ValidatedCell { served: Choice::BUILTIN, control: true, ..slower.clone() };
        let with = |cells: Vec<ValidatedCell>, settings: usize, repaired: Vec<Cell>| Validation {
            format: FORMAT,
            rules: String::new(),
            version: "5.0.0".parse().expect("a version"),
            settings: (0..settings).map(|name| (name.to_string(), String::new())).collect(),
            criteria: Criteria::default(),
            rounds: vec![Round { cells, repaired, ..Round::default() }],
            given_back: Vec::new(),
            not_again: None,
        };
        assert!(with(vec![slower.clone()], 2, Vec::new()).loses());
        assert!(!with(vec![slower.clone()], 2, vec![slower.cell]).loses(), "it was given back");
        assert!(!with(vec![control.clone()], 2, Vec::new()).loses());
        let handed = ValidatedCell { handed: true, control: false, ..control.clone() };
        assert!(with(vec![handed], 2, Vec::new()).loses());
        let old = |settings| {
            let format = FormatVersion { minor: 0, ..FORMAT };
            Validation { format, ..with(vec![control.clone()], settings, Vec::new()) }.completed()
        };
        assert!(!old(2).loses());
        assert!(old(3).loses(), "a setting may displace what served it");
    }

    #[test]
    fn a_round_is_summed_up() {
        let cells = vec![cell(1, 0.5, Outcome::Slower), cell(2, 8.0, Outcome::Faster), cell(4, 1.0, Outcome::Same)];
        let round = Round { pairs: 3, cells, ..Round::default() };
        assert!((round.geometric_mean() - 4f64.cbrt()).abs() < 1e-12);
        assert_eq!((round.count(Outcome::Faster), round.share_slower()), (1, 1.0 / 3.0));
        let none = Round::default();
        assert_eq!((none.geometric_mean(), none.share_slower()), (1.0, 0.0));
    }
}
