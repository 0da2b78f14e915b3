//! What the analysis concluded, as plain data: `findings.json`, and what reports are made of.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::{Apart, Choice, Collective, Release, RuleTable};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::format::FormatVersion;
use crate::handover::Handover;
use crate::laid_out::LaidOut;
use crate::placement::Placement;
use crate::tree::Tree;
use crate::units::{Bytes, Ranks, Seconds};
use crate::values::percent;

/// The version of `findings.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 2 };

/// The result of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The format of this structure.
    pub format: FormatVersion,
    /// What was analysed: a run directory or a table, as the user named it.
    pub source: String,
    /// Whether the times come from a cost model, and say nothing about any real machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// What one timing is.
    pub statistic: Statistic,
    /// The release whose algorithms and lookup sizes were assumed.
    pub release: Release,
    /// What a candidate had to show to replace the builtin.
    pub criteria: Criteria,
    /// One entry per cell, ordered by collective, communicator size and message size.
    pub cells: Vec<CellFinding>,
    /// Where the rules change from one choice to another as the message grows.
    pub crossovers: Vec<Crossover>,
    /// The rules that follow.
    pub table: RuleTable,
    /// What HAN's rules file hands over to coll/tuned. Since format 1.2.
    #[serde(default, skip_serializing_if = "Handover::is_empty")]
    pub handover: Handover,
    /// The same with the evidence for each of them. Findings of format 1.0 have none.
    #[serde(default)]
    pub tree: Tree,
    /// Where the ranks of each communicator were, and which component served them; of a table nothing is known.
    #[serde(default)]
    pub placement: Placement,
    /// MCA settings without which the rules have no effect, because another component serves the calls.
    #[serde(default)]
    pub pins: BTreeMap<String, String>,
    /// Points whose times can hardly be true. They are in the cells as they were read, and no gain that rests on them
    /// is announced. Since format 1.2.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub doubted: BTreeSet<(Cell, Candidate)>,
    /// The layouts that share the rules, where several were measured: the times of the cells are then weighted geometric
    /// means over them. Since format 1.2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<LaidOut>,
    /// What a rules file of 6.0 says beside the table of communicators that lie on nodes in one way alone. Since format 1.2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<Apart>,
    /// What the reader has to know about the data or the rules, in whole sentences.
    pub remarks: Vec<String>,
}

/// What one timing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// One call, the slowest rank.
    RankMaximum,
    /// A mean over calls and ranks, as OSU prints: it hides the slowest rank and the spread.
    RankAverage,
    /// One value per launch over calls on the slowest rank: IMB's `t_max` and OSU's `Max Latency` are means, what
    /// ReproMPI gives are calls or their median.
    SlowestRankSummary,
}

impl Statistic {
    /// Whether one value sums up many calls, so that a launch has one for each point.
    pub fn is_summary(self) -> bool {
        self != Self::RankMaximum
    }
}

/// What of the calls is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Middle {
    /// Their median, in which rare slow calls do not count
    #[default]
    Median,
    /// Their mean, in which they do
    Mean,
}

impl Middle {
    pub(crate) fn is_median(&self) -> bool {
        *self == Self::Median
    }
}

/// What a candidate has to show to replace the builtin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Decisions")]
pub struct Criteria {
    /// Gain, in percent, that a candidate must reach to replace the builtin
    // As a share, such as 0.03: the builtin takes at least 1.03 times as long.
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent)]
    pub min_gain: f64,
    /// Largest acceptable share of wrong replacements among all, in percent
    // The bound on the false discovery rate, as a share.
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub error_rate: f64,
    /// Confidence of the intervals.
    #[arg(skip = Self::default().level)]
    pub level: f64,
    /// Gain, in percent, that a candidate needs where too few values allow no test. The mean of its gain and its
    /// neighbours' (other communicator sizes) must be as large
    #[arg(long, value_name = "PERCENT", default_value = "15", value_parser = percent)]
    pub untested_gain: f64,
    /// What of the calls is compared
    #[arg(long = "statistic", value_enum, default_value_t)]
    #[serde(default, skip_serializing_if = "Middle::is_median")]
    pub middle: Middle,
    /// Choose what is faster by the median although rare slow calls make it slower on average
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accept_stalls: bool,
    /// The smallest step of the clock; smaller differences between medians prove nothing. 0 where it is unknown.
    #[arg(skip)]
    pub clock_step: Seconds,
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            min_gain: 0.03,
            error_rate: 0.05,
            level: 0.95,
            untested_gain: 0.15,
            middle: Middle::Median,
            accept_stalls: false,
            clock_step: Seconds(0.0),
        }
    }
}

/// What was concluded for a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFinding {
    /// The cell.
    pub cell: Cell,
    /// The points with timings, the builtin first, then by candidate.
    pub points: Vec<PointFinding>,
    /// Candidates that must not be chosen, with the reason.
    pub disqualified: Vec<(Candidate, String)>,
    /// The verdict on this cell alone.
    pub verdict: Verdict,
    /// What the rule table gives for this cell in the end: constraints may overrule the verdict.
    pub served: Choice,
    /// Who carries out the call where `served` is the builtin: the builtin itself, or what is left of it when the
    /// rules' settings are in force.
    #[serde(default = "builtin")]
    pub unruled: Candidate,
}

fn builtin() -> Candidate {
    Candidate::Builtin
}

/// What is known of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointFinding {
    /// The candidate.
    pub candidate: Candidate,
    /// Its time in seconds.
    pub time: Estimate,
    /// Builtin time over candidate time, 1.10 being 10 % faster; missing for the builtin and without a pair.
    pub gain: Option<Estimate>,
    /// The gain to expect from it: `gain` is a little too good where it was chosen for being large, and neighbouring
    /// sizes say by how much. Missing where `gain` is.
    #[serde(default)]
    pub expected: Option<f64>,
    /// Probability of such a difference in favour of the candidate if there were none; missing without a test.
    pub p_value: Option<f64>,
    /// The same, adjusted for the number of comparisons in the whole analysis.
    pub q_value: Option<f64>,
    /// Rare slow calls that make it slower than the builtin on average, although its median is not. Since format 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalling>,
}

/// Calls of a candidate that take several times as long as the builtin usually does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stalling {
    /// A call that takes longer is slow.
    pub beyond: Seconds,
    /// The slow calls of the candidate.
    pub slow: usize,
    /// All of its calls.
    pub calls: usize,
    /// The slow calls of the builtin.
    pub builtin_slow: usize,
    /// All of its calls.
    pub builtin_calls: usize,
    /// The candidate's mean over the builtin's.
    pub mean_ratio: f64,
}

/// The conclusion for a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Verdict {
    /// A candidate is better than the builtin.
    Replace {
        /// The better candidate.
        candidate: Candidate,
        /// Builtin time over candidate time.
        gain: Estimate,
    },
    /// The builtin stays.
    Keep {
        /// Why, in a few words.
        why: String,
    },
}

/// A size at which the rule table changes its choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossover {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The choice below.
    pub below: Choice,
    /// The choice from `at` on.
    pub above: Choice,
    /// Who carries out calls below, where that is neither a rule of coll/tuned nor the builtin: HAN's file says so. Since
    /// format 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_by: Option<Candidate>,
    /// The same from `at` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_by: Option<Candidate>,
    /// The message bytes at which the change is made.
    pub at: Bytes,
    /// The measured message sizes around it.
    pub bracket: (Bytes, Bytes),
    /// The sizes from the largest below it at which the choice below is shown to be faster to the smallest above it at
    /// which the choice above is, as far as the measured sizes reach; missing where times have no intervals.
    #[serde(default)]
    pub interval: Option<(Bytes, Bytes)>,
}

impl Crossover {
    /// Who carries out calls below, and from `at` on.
    pub fn sides(&self) -> (Candidate, Candidate) {
        let side = |by: Option<Candidate>, choice| by.unwrap_or(Candidate::of(choice));
        (side(self.below_by, self.below), side(self.above_by, self.above))
    }
}

impl Findings {
    /// Findings of nothing, to be filled.
    pub fn empty(source: impl Into<String>, release: Release) -> Self {
        Self {
            format: FORMAT,
            source: source.into(),
            simulated: false,
            statistic: Statistic::RankMaximum,
            release,
            criteria: Criteria::default(),
            cells: Vec::new(),
            crossovers: Vec::new(),
            table: RuleTable::new(),
            handover: Handover::default(),
            tree: Tree::default(),
            placement: Placement::default(),
            pins: BTreeMap::new(),
            doubted: BTreeSet::new(),
            layouts: Vec::new(),
            apart: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Whether the tuning is empty: no rules of coll/tuned, none of HAN, no settings.
    pub fn changes_nothing(&self) -> bool {
        let apart = self.apart.iter().all(|block| block.sizes.as_constant().is_some_and(|choice| choice.is_builtin()));
        self.table.is_empty() && self.handover.is_empty() && self.pins.is_empty() && apart
    }

    /// Whether the gain in a cell rests on times that can hardly be true.
    pub fn doubts(&self, cell: &CellFinding) -> bool {
        let served = cell.served_candidate();
        let doubted = |candidate| self.doubted.contains(&(cell.cell, candidate));
        served != Candidate::Builtin && (doubted(served) || doubted(Candidate::Builtin))
    }
}

impl CellFinding {
    /// The point of a candidate, if it was timed.
    pub fn point(&self, candidate: Candidate) -> Option<&PointFinding> {
        self.points.iter().find(|point| point.candidate == candidate)
    }

    /// Who carries out the call with rules and settings in force.
    pub fn served_candidate(&self) -> Candidate {
        if self.served.is_builtin() { self.unruled } else { Candidate::of(self.served) }
    }

    /// Builtin time over the time of what carries out the call with rules and settings in force: missing where the
    /// builtin stays.
    pub fn served_gain(&self) -> Option<Estimate> {
        self.point(self.served_candidate()).and_then(|point| point.gain)
    }

    /// The gain to expect of what the rule table serves, corrected for the choice of what seemed best: 1 where the
    /// builtin stays.
    pub fn served_expectation(&self) -> Option<f64> {
        self.point(Candidate::of(self.served)).and_then(|point| point.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// Findings of format 1.1 had a `risk` for each point, a `caution` in the criteria, and `max_rules` in the policy.
    #[test]
    fn findings_of_the_format_before_are_read() {
        let estimate = Estimate { point: 1.5, low: None, high: None, level: 0.95, samples: 1 };
        let point = PointFinding {
            candidate: Candidate::Builtin,
            time: estimate,
            gain: Some(estimate),
            expected: Some(1.4),
            p_value: None,
            q_value: None,
            stalls: None,
        };
        let mut findings = Findings::empty("a table", Release::V5_0);
        findings.cells.push(CellFinding {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(8) },
            points: vec![point],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: "no candidate is faster".to_owned() },
            served: Choice::BUILTIN,
            unruled: Candidate::Builtin,
        });
        let mut old = serde_json::to_value(&findings).expect("plain data");
        old["format"]["minor"] = 1.into();
        old["criteria"]["caution"] = 7.into();
        old["tree"]["policy"]["max_rules"] = 3.into();
        old["cells"][0]["points"][0]["risk"] = 0.1.into();
        findings.format.minor = 1;
        assert_eq!(serde_json::from_value::<Findings>(old).expect("an older minor version"), findings);
    }
}
