//! The decision tree with the evidence for each leaf: collective, communicator sizes, lookup bytes, choice.

use collrules_rules::hazard::RankRange;
use collrules_rules::{Choice, Collective};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::estimate::Estimate;
use crate::policy::{Assumption, Policy};
use crate::reason::KeepReason;
use crate::units::{Bytes, Ranks};

/// Choices of the rules, with their evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Policy that turned verdicts into rules.
    pub policy: Policy,
    /// Number of ranges that overrule the builtin.
    pub rules: usize,
    /// True if cells are weighted by the time that programs spend in them: the means below are then ratios of sums of
    /// times, otherwise geometric means of ratios.
    pub by_time: bool,
    /// Mean over measured cells of builtin time over time under the rules, by the same measurements.
    pub gain: f64,
    /// Cost of sharing rules: mean over measured cells of the time under the rules over that of the best permitted
    /// candidate, minus one.
    pub regret: f64,
    /// The largest regret of a cell.
    pub worst_regret: f64,
    /// The branches, by collective.
    pub collectives: Vec<CollectiveBranch>,
    /// Changes of the choice from one measured communicator size to the next.
    pub rank_changes: Vec<RankChange>,
    /// Effect of one more, or one fewer, assumption.
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
    /// The measured sizes in that range.
    pub measured: Vec<Ranks>,
    /// The leaves, which cover all lookup bytes.
    pub leaves: Vec<Leaf>,
}

/// A range of lookup bytes with its choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leaf {
    /// The first lookup bytes in the range.
    pub first: u64,
    /// The end of the range, excluded; none if it is open.
    pub end: Option<u64>,
    /// The choice.
    pub choice: Choice,
    /// The candidate that carries out the calls.
    pub by: Candidate,
    /// Evidence for the choice; none if nothing was measured.
    pub evidence: Option<LeafEvidence>,
    /// Reasons of the measured cells to keep the builtin, if they do, with the number of cells.
    pub kept: Vec<(KeepReason, usize)>,
}

/// Evidence for the choice of a leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeafEvidence {
    /// The smallest and the largest measured message.
    pub messages: (Bytes, Bytes),
    /// Number of measured cells.
    pub cells: usize,
    /// Number of cells in which the choice met all criteria by itself; for the builtin, of cells in which nothing is
    /// shown to be faster.
    pub proven: usize,
    /// Number of timings of the choice and of the builtin.
    pub samples: usize,
    /// Builtin time over time of the choice.
    pub gain: LeafGain,
    /// The largest q value of the cells; missing without a test.
    pub q_value: Option<f64>,
    /// Mean over cells of the time over that of the best permitted candidate, minus one.
    pub regret: f64,
}

/// Gains of the cells of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeafGain {
    /// Mean, as in the whole tree.
    pub mean: f64,
    /// Means of the lower and of the upper ends of the cells' intervals: wider than an interval for the mean; missing
    /// if a cell has none.
    pub interval: Option<(f64, f64)>,
    /// The smallest gain.
    pub least: f64,
    /// Its largest timed size.
    pub most: f64,
}

impl LeafGain {
    /// The gain over cells with these; none without any.
    pub fn over(gains: impl IntoIterator<Item = Estimate>) -> Option<Self> {
        let gains: Vec<Estimate> = gains.into_iter().collect();
        let points = || gains.iter().map(|gain| gain.point);
        let (least, most) = (points().reduce(f64::min)?, points().reduce(f64::max)?);
        let mean = Estimate::geometric_mean(gains.iter().copied())?;
        Some(Self { mean: mean.point, interval: mean.low.zip(mean.high), least, most })
    }
}

/// A change of choice between neighbouring measured communicator sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankChange {
    /// The collective.
    pub collective: Collective,
    /// The measured communicator sizes on both sides.
    pub bracket: (Ranks, Ranks),
    /// The smallest and the largest message with the change.
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
    /// True if the assumption is made.
    pub made: bool,
    /// Ranges that would overrule the builtin.
    pub rules: usize,
    /// Geometric mean over measured cells of builtin time over time under those rules.
    pub gain: f64,
    /// Number of cells that would get another choice.
    pub cells: usize,
}
