//! Conclusions of the analysis, as plain data: `findings.json`, and the input of reports.

use std::collections::BTreeSet;

use collrules_rules::bits::Effect;
use collrules_rules::steps::Steps;
use collrules_rules::{Choice, Collective, LayoutRules, Release, RuleTable};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::condition::Condition;
use crate::criteria::Criteria;
use crate::estimate::Estimate;
use crate::file::FormatVersion;
use crate::han_rules::HanRules;
use crate::placement::{Arrangement, Layout, Placement};
use crate::reason::{KeepReason, Shortfall, Stalling};
use crate::remark::Remark;
use crate::settings::Settings;
use crate::transport::Transport;
use crate::tree::Tree;
use crate::units::{Bytes, Ranks};

/// The version of `findings.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 2, minor: 0 };

/// The result of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The format of this structure.
    pub format: FormatVersion,
    /// Run directory or table that was analysed, as the user named it.
    pub source: String,
    /// True if the times come from a cost model, so that they say nothing about any real machine.
    pub simulated: bool,
    /// Meaning of one timing.
    pub statistic: Statistic,
    /// The release whose algorithms and lookup sizes were assumed.
    pub release: Release,
    /// Criteria that a candidate had to meet to replace the default.
    pub criteria: Criteria,
    /// One entry per cell, ordered by collective, communicator size and message size.
    pub cells: Vec<CellFinding>,
    /// Message sizes at which the rules change their choice.
    pub crossovers: Vec<Crossover>,
    /// The rules that follow.
    pub table: RuleTable,
    /// Message sizes that HAN's rules file delegates to coll/tuned.
    pub han: HanRules,
    /// Rules as a tree, with the evidence for each of them.
    pub tree: Tree,
    /// Nodes of each communicator's ranks, and the component that carries out its calls; unknown for a table.
    pub placement: Placement,
    /// The transport of the measured job's messages; missing if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// MCA settings without which the rules have no effect, because another component handles the calls.
    pub parameters: Settings,
    /// Points with implausible times. They are in the cells as they were read, but no gain that relies on them is
    /// reported.
    pub doubted: BTreeSet<(Cell, Candidate)>,
    /// The layouts that share the rules, if several were measured; the times of the cells are then geometric means over
    /// them.
    pub layouts: Vec<LaidOut>,
    /// Additional rules of a 6.0 rules file, for communicators with one arrangement on nodes only.
    pub layout_rules: Vec<LayoutRules>,
    /// Effect of the rules in programs, rule by rule.
    pub conduct: Vec<Conduct>,
    /// Remarks for the reader on the data or the rules.
    pub remarks: Vec<Remark>,
}

/// Meaning of one timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// One call, the slowest rank.
    RankMaximum,
    /// A mean over calls and ranks, as OSU prints: it hides the slowest rank and the spread.
    RankAverage,
    /// One value per launch over calls on the slowest rank: IMB's `t_max` and OSU's `Max Latency` are means, and
    /// ReproMPI's values are single calls or medians.
    SlowestRankSummary,
}

impl Statistic {
    /// Returns true if one value summarizes many calls, so that a launch has one value per point.
    pub fn is_summary(self) -> bool {
        self != Self::RankMaximum
    }
}

/// Conduct of a rule, over neighbouring measured sizes that use it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conduct {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The smallest measured message.
    pub first: Bytes,
    /// The largest measured message.
    pub last: Bytes,
    /// Candidate that carries out the calls.
    pub by: Candidate,
    /// The effect on the bits of sums, over all calls that use the rule.
    pub bits: Effect,
    /// Its outcomes in other calls than those that decided on it.
    pub trials: Vec<Trial>,
}

/// Outcome of a rule in calls other than those that decided on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Condition of the calls.
    pub condition: Condition,
    /// The outcome.
    pub outcome: TrialOutcome,
    /// The lowest lower end of the speedups over the default in these calls; missing if one has no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest: Option<f64>,
}

/// Outcome of a comparison in other calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// A loss beyond the limit is excluded.
    Holds,
    /// Neither shown nor excluded.
    Undecided,
    /// It is slower, or calls fail under it.
    Loses,
    /// There was no time.
    Untried,
}

/// Conclusions for a cell.
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
    /// Final choice of the rule table for this cell: constraints may overrule the verdict.
    pub in_use: Choice,
    /// Candidate that carries out the call if `in_use` is the builtin: the builtin itself, or the component that
    /// remains when the rules' settings are active.
    pub unruled: Candidate,
}

/// Results for one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointFinding {
    /// The candidate.
    pub candidate: Candidate,
    /// Its time in seconds.
    pub time: Estimate,
    /// Builtin time over candidate time, 1.10 being 10 % faster; missing for the builtin and without a pair.
    pub gain: Option<Estimate>,
    /// The expected gain: `gain` is too large if it was chosen for being large, and neighbouring sizes show by how
    /// much. Missing if `gain` is.
    pub expected: Option<f64>,
    /// Probability of such a difference in favour of the candidate if there were none; missing without a test.
    pub p_value: Option<f64>,
    /// `p_value`, adjusted for the number of comparisons in the whole analysis.
    pub q_value: Option<f64>,
    /// Rare slow calls that make it slower than the builtin on average although its median is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Stalling>,
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
        /// The reason.
        why: KeepReason,
    },
}

impl Verdict {
    /// The candidate that wins.
    pub fn candidate(&self) -> Candidate {
        match self {
            Self::Replace { candidate, .. } => *candidate,
            Self::Keep { .. } => Candidate::Builtin,
        }
    }
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
    /// Candidate that carries out calls below `at`, if HAN's file sets it, and not a rule of coll/tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_by: Option<Candidate>,
    /// Like `below_by`, for calls from `at` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above_by: Option<Candidate>,
    /// The message bytes at which the change is made.
    pub at: Bytes,
    /// The measured message sizes around it.
    pub bracket: (Bytes, Bytes),
    /// From the largest size at which the choice below is shown to be faster to the smallest size at which the choice
    /// above is, within the measured sizes; missing if times have no intervals.
    pub interval: Option<(Bytes, Bytes)>,
}

impl Crossover {
    /// Returns the candidates that carry out calls below `at`, and from `at` on.
    pub fn sides(&self) -> (Candidate, Candidate) {
        let side = |by: Option<Candidate>, choice| by.unwrap_or(Candidate::from_choice(choice));
        (side(self.below_by, self.below), side(self.above_by, self.above))
    }
}

impl Findings {
    /// Empty findings, to be filled.
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
            han: HanRules::default(),
            tree: Tree::default(),
            placement: Placement::default(),
            transport: None,
            parameters: Settings::new(),
            doubted: BTreeSet::new(),
            layouts: Vec::new(),
            layout_rules: Vec::new(),
            conduct: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Returns true if the tuning is empty: no rules of coll/tuned, none of HAN, no settings.
    pub fn changes_nothing(&self) -> bool {
        let layouts =
            self.layout_rules.iter().all(|block| block.sizes.as_constant().is_some_and(|choice| choice.is_builtin()));
        self.table.is_empty() && self.han.is_empty() && self.parameters.is_empty() && layouts
    }

    /// Returns true if the rules, shared or for one layout, change calls of a collective on so many ranks.
    pub fn acts_on(&self, collective: Collective, ranks: Ranks) -> bool {
        let is_ruled = |choices: &Steps<Choice>| choices.iter().any(|(.., choice)| !choice.is_builtin());
        let shared =
            self.table.collectives().any(|(other, steps)| other == collective && is_ruled(steps.get(ranks.0.into())));
        let layouts = self.layout_rules.iter().any(|block| block.collective == collective && is_ruled(&block.sizes));
        shared || layouts || self.han.touches(collective, ranks)
    }

    /// Returns true if the gain in a cell relies on times that are hardly plausible.
    pub fn doubts(&self, cell: &CellFinding) -> bool {
        let in_use = cell.candidate_in_use();
        let doubted = |candidate| self.doubted.contains(&(cell.cell, candidate));
        in_use != Candidate::Builtin && (doubted(in_use) || doubted(Candidate::Builtin))
    }
}

/// Width of the interval of a gain, as a share of the least gain that counts, below which more timings change nothing.
const CLOSE: f64 = 1.0 / 3.0;

impl CellFinding {
    /// The point of a candidate, if it was timed.
    pub fn point(&self, candidate: Candidate) -> Option<&PointFinding> {
        self.points.iter().find(|point| point.candidate == candidate)
    }

    /// Returns true if the default stays for lack of timings: a candidate seems to be faster, and its interval includes gains
    /// that count. One that was not faster in some launch stays so, and one that is known to be close to the limit is decided.
    pub fn is_open(&self, min_gain: f64) -> bool {
        let is_close =
            |gain: &Estimate| gain.high.zip(gain.low).is_some_and(|(high, low)| high - low < CLOSE * min_gain);
        let may_count = |gain: &Estimate| gain.high.is_none_or(|high| high >= 1.0 + min_gain);
        let seems = |gain: &Estimate| gain.point > 1.0 && may_count(gain) && !is_close(gain);
        let lacks_evidence = matches!(
            self.verdict,
            Verdict::Keep {
                why: KeepReason::Nearest(
                    Shortfall::SmallGain | Shortfall::FewVisits | Shortfall::Doubtful | Shortfall::NotSignificant
                )
            }
        );
        lacks_evidence && self.points.iter().filter_map(|point| point.gain).any(|gain| seems(&gain))
    }

    /// Returns the candidate that carries out the call with rules and settings active.
    pub fn candidate_in_use(&self) -> Candidate {
        if self.in_use.is_builtin() { self.unruled } else { Candidate::from_choice(self.in_use) }
    }

    /// Builtin time over the time of the candidate that carries out the call with rules and settings active; missing if
    /// that is the builtin.
    pub fn gain_in_use(&self) -> Option<Estimate> {
        self.point(self.candidate_in_use()).and_then(|point| point.gain)
    }

    /// Like [`Self::gain_in_use`], corrected for selection.
    pub fn expectation_in_use(&self) -> Option<f64> {
        self.point(self.candidate_in_use()).and_then(|point| point.expected)
    }
}

/// A layout among several that share rules, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaidOut {
    /// Order in which its communicators took their ranks.
    pub layout: Layout,
    /// The run with its timings.
    pub run: String,
    /// Its cells.
    pub cells: Vec<CellInLayout>,
}

/// A cell in one layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellInLayout {
    /// The cell.
    pub cell: Cell,
    /// Arrangement of its ranks on nodes.
    pub arrangement: Arrangement,
    /// The candidate that would be chosen if there were no other layout.
    pub wanted: Candidate,
    /// Builtin time over the time of `wanted`; missing for the builtin.
    pub wanted_gain: Option<Estimate>,
    /// The candidate that is used.
    pub in_use: Candidate,
    /// Builtin time over the time of `in_use`; missing for the builtin, and if it was not timed.
    pub gain_in_use: Option<Estimate>,
}
