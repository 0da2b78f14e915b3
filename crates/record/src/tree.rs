//! The decision tree with the evidence that each leaf rests on: collective, communicator sizes, lookup bytes, choice.

use collrules_rules::hazard::RankRange;
use collrules_rules::{Choice, Collective};
use serde::{Deserialize, Serialize};

use crate::policy::{Assumption, Policy};
use crate::units::{Bytes, Ranks};

/// What the rules decide, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// How verdicts were turned into rules.
    pub policy: Policy,
    /// Ranges that overrule the builtin.
    pub rules: usize,
    /// Whether cells count for the time that programs spend in them: then the means below are ratios of sums of times, and else
    /// geometric means of ratios.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_time: bool,
    /// Mean over measured cells of builtin time over time under the rules, by the measurements at hand.
    pub gain: f64,
    /// What sharing rules costs: mean over measured cells of the time under the rules over that of the best permitted
    /// candidate, minus one.
    pub regret: f64,
    /// The largest regret of a cell.
    pub worst_regret: f64,
    /// The branches, by collective.
    pub collectives: Vec<CollectiveBranch>,
    /// Where the choice changes from one measured communicator size to the next.
    pub rank_changes: Vec<RankChange>,
    /// What would change if one more assumption were made, or one less.
    pub alternatives: Vec<Alternative>,
}

/// A collective with its ranges of communicator sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveBranch {
    /// The collective.
    pub collective: Collective,
    /// The ranges, which cover all communicator sizes.
    pub ranges: Vec<RankBranch>,
}

/// A range of communicator sizes with its leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankBranch {
    /// The communicator sizes.
    pub ranks: RankRange,
    /// Those of them that were measured.
    pub measured: Vec<Ranks>,
    /// The leaves, which cover all lookup bytes.
    pub leaves: Vec<Leaf>,
}

/// A range of lookup bytes with its choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leaf {
    /// The first lookup bytes.
    pub first: u64,
    /// The first lookup bytes beyond; none where there is no end.
    pub end: Option<u64>,
    /// The choice.
    pub choice: Choice,
    /// The choice in words.
    pub name: String,
    /// What it rests on; none where nothing was measured.
    pub evidence: Option<Evidence>,
    /// Why this choice, in a few words.
    pub why: String,
}

/// What a leaf rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The smallest and the largest measured message.
    pub messages: (Bytes, Bytes),
    /// Measured cells.
    pub cells: usize,
    /// Cells in which the choice met all criteria by itself; for the builtin, cells that nothing was shown to beat.
    pub proven: usize,
    /// Timings of the choice and of the builtin.
    pub samples: usize,
    /// Builtin time over time of the choice.
    pub gain: LeafGain,
    /// The largest q value of the cells; missing where there was no test.
    pub q_value: Option<f64>,
    /// Mean over cells of the time over that of the best permitted candidate, minus one.
    pub regret: f64,
}

/// Gains of the cells of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeafGain {
    /// Mean, as in the whole tree.
    pub mean: f64,
    /// Means of the lower and of the upper ends of the cells' intervals, which is wider than an interval for
    /// the mean; missing where a cell has none.
    pub interval: Option<(f64, f64)>,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

/// A change of choice between neighbouring measured communicator sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankChange {
    /// The collective.
    pub collective: Collective,
    /// The measured communicator sizes on both sides.
    pub bracket: (Ranks, Ranks),
    /// The smallest and the largest message at which the change is made.
    pub messages: (Bytes, Bytes),
    /// The choice on fewer ranks.
    pub below: Choice,
    /// The choice on more ranks.
    pub above: Choice,
}

/// The rules under other assumptions, from the same timings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The assumption that is made, or no longer made.
    pub assumption: Assumption,
    /// Whether it is made.
    pub made: bool,
    /// Ranges that would overrule the builtin.
    pub rules: usize,
    /// Geometric mean over measured cells of builtin time over time under those rules.
    pub gain: f64,
    /// Cells that would be served otherwise.
    pub cells: usize,
}
