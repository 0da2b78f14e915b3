//! A communication model of a machine: `model.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::rundir::{self, RunDirError};
use collrules_record::{Bytes, Cell, Estimate, FormatVersion, Ranks};
use collrules_rules::{Choice, Collective, Release};
use serde::{Deserialize, Serialize};

use crate::place::Where;
use crate::stalls::StallLevel;
use crate::unknown::Unknown;

/// The file of a model.
pub const FILE: &str = "model.json";
/// The model as text.
pub const TEXT: &str = "model.md";
/// The model as a page.
pub const PAGE: &str = "model.html";

/// The version of `model.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// Communication model of a machine, fitted to probes. Times are in seconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The format of this structure.
    pub format: FormatVersion,
    /// Run directory or table of the probes, as the user named it.
    pub source: String,
    /// True if the times come from a simulation, and say nothing about any real machine.
    pub simulated: bool,
    /// Open MPI's version string; unknown for a table.
    pub library: Option<String>,
    /// The release that was measured, if that is known.
    pub release: Option<Release>,
    /// The level of the intervals.
    pub level: f64,
    /// Number of launches with timings.
    pub launches: usize,
    /// The ranks that took part, with their hosts as far as they are known.
    pub ranks: BTreeMap<u32, Option<String>>,
    /// The eager limits; longer messages wait for their receiver.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eager: BTreeMap<Where, Bytes>,
    /// Pairs whose limits Open MPI reported; others have its default.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub eager_reported: BTreeSet<Where>,
    /// The pairs inside hosts, and those between hosts.
    pub ways: Vec<PathModel>,
    /// Parameters of each node and pair; missing where the probes do not give them.
    pub nodes: Option<Lmo>,
    /// Slow nodes and pairs.
    pub slow: Slow,
    /// Parameters that the probes cannot determine.
    pub unknown: Vec<Unknown>,
    /// Synthetic delays that a simulation on this model adds to calls; never measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Slowdown>,
    /// Message parameters of each algorithm that was measured besides the probes, from calls of that algorithm alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<AlgorithmModel>,
    /// Cost of sending to several ranks at once; missing if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Concurrent>,
    /// Predictions of cells that were measured besides the probes, with the measured times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quality: Vec<Predicted>,
    /// Gathers that stall at medium sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub many_to_one: Vec<ManyToOne>,
}

/// The many-to-one model of Lastovetsky, O'Flynn and Rychkov (2007) for a gather that stalls, in addition to the
/// parameters of nodes and pairs: C and t of each rank, and beta to the root.
///
/// Up to M1 a call takes `n (C0 + t0 M) + max_i(Ci + ti M + M / beta_i0) + kappa1 M`, above M2 it takes
/// `C0 + t0 M + sum_i(Ci + ti M + M / beta_i0) + kappa2 + kappa3 M`, and between them levels of escalation have probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ManyToOne {
    /// The algorithm of coll/tuned; without one the default.
    pub choice: Option<Choice>,
    /// Its name.
    pub name: String,
    /// The communicator size.
    pub ranks: Ranks,
    /// The largest size without stalls (M1).
    pub quiet_below: Bytes,
    /// The largest size with stalls (M2).
    pub last: Bytes,
    /// Seconds for each byte of a small message (kappa1).
    pub kappa1: Option<Estimate>,
    /// Seconds of a large message (kappa2); missing if fewer than two sizes above M2 were timed.
    pub kappa2: Option<Estimate>,
    /// Seconds for each byte of a large message (kappa3).
    pub kappa3: Option<Estimate>,
    /// The sizes between them.
    pub medium: Vec<Medium>,
}

/// A medium size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Medium {
    /// The message size.
    pub bytes: Bytes,
    /// Seconds of a call that does not stall.
    pub usual: f64,
    /// Levels of escalation with their probabilities P_i(n, M).
    pub levels: Vec<StallLevel>,
}

/// Hockney's parameters of an algorithm of coll/tuned, in a range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlgorithmModel {
    /// The collective.
    pub collective: Collective,
    /// The algorithm with its parameters.
    pub choice: Choice,
    /// Its name.
    pub name: String,
    /// The communicator size.
    pub ranks: Ranks,
    /// The smallest size that was timed.
    pub from: Bytes,
    /// The largest size that was timed.
    pub to: Bytes,
    /// Time of an empty message; missing if it is too small to measure.
    pub alpha: Option<Estimate>,
    /// Time for each byte; missing if it is too small to measure.
    pub beta: Option<Estimate>,
    /// The largest deviation of a measured time, as a share of it.
    pub residual: f64,
}

/// Time of messages that leave a rank at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concurrent {
    /// The collective that shows it.
    pub collective: Collective,
    /// Its algorithm, in which the root sends to all others.
    pub name: String,
    /// The communicator size.
    pub ranks: Ranks,
    /// The message size.
    pub bytes: Bytes,
    /// Its time over that of as many messages one after the other: 1 if they fully share a link.
    pub share: Estimate,
}

/// Calls that take longer than their messages explain: escalations, and with certainty, steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slowdown {
    /// The collective.
    pub collective: Collective,
    /// The algorithm that is delayed; if missing, all of them and the builtin.
    #[serde(default)]
    pub algorithm: Option<u32>,
    /// The smallest message.
    pub from: Bytes,
    /// The largest message.
    pub to: Bytes,
    /// Additional time, in seconds.
    pub more: f64,
    /// The share of calls.
    pub probability: f64,
}

/// All pairs of a kind together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathModel {
    /// Kind of pairs.
    pub place: Where,
    /// Number of pairs that were timed.
    pub pairs: usize,
    /// A line for each range of sizes, in ascending order (Hockney).
    pub regimes: Vec<Regime>,
    /// The bytes that pass an idle link before the rate of long messages applies; missing if none were seen to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Estimate>,
    /// The time from one message to the next of a sender, by size (PLogP's g).
    pub gaps: Vec<(Bytes, Estimate)>,
    /// LogGP's parameters, as far as there are trains.
    pub loggp: Option<LogGp>,
}

/// A range of sizes in which the time is a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regime {
    /// The smallest size that was timed in it.
    pub from: Bytes,
    /// The largest size that was timed in it.
    pub to: Bytes,
    /// Time of an empty message (alpha), one way.
    pub alpha: Estimate,
    /// Time for each byte (beta).
    pub beta: Estimate,
    /// The largest deviation of a measured size from the line, as a share of its time.
    pub residual: f64,
    /// A limit of Open MPI between the previous regime and this one.
    pub begins_at: Option<String>,
}

/// LogGP's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogGp {
    /// Latency (L).
    pub latency: Option<Estimate>,
    /// Time for which the sender is busy (o_s).
    pub send: Option<Estimate>,
    /// Time for which the receiver is busy (o_r).
    pub receive: Option<Estimate>,
    /// Time between messages (g).
    pub gap: Option<Estimate>,
    /// Time for each byte of a long message (G).
    pub gap_per_byte: Option<Estimate>,
}

/// Parameters of each node and pair (Lastovetsky and others).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lmo {
    /// The size at which the times per byte were measured.
    pub bytes: Bytes,
    /// Parameters of the nodes.
    pub nodes: Vec<NodeModel>,
    /// Parameters of the pairs.
    pub pairs: Vec<PairModel>,
    /// True if a node's two messages share its link, so that its processing cannot be separated from its link.
    pub shared_links: bool,
}

/// Parameters of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeModel {
    /// The rank.
    pub rank: u32,
    /// Time to handle a message (C).
    pub fixed: Option<Estimate>,
    /// Time to handle a byte (t); missing where links are shared.
    pub per_byte: Option<Estimate>,
    /// Bytes per second that leave the node; missing where links are not shared.
    pub link: Option<Estimate>,
    /// Disagreement of redundant estimates of the fixed time: the width of their middle half over their median.
    pub disagreement: Option<f64>,
}

/// Parameters of a pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairModel {
    /// The ranks.
    pub ranks: (u32, u32),
    /// Location of the two ranks.
    pub place: Where,
    /// Latency in addition to the times of the nodes (L).
    pub latency: Option<Estimate>,
    /// Bytes per second between them (beta).
    pub rate: Option<Estimate>,
}

/// Nodes and pairs that are slower than the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// The probability of naming any node or pair on a machine without slow ones.
    pub error_rate: f64,
    /// Slowdown that is tolerated, such as 0.2.
    pub tolerate: f64,
    /// Number of nodes and pairs that were tested.
    pub tested: usize,
    /// The ranks that are slow with all others.
    pub nodes: Vec<SlowNode>,
    /// Pairs that are slower than their two nodes predict.
    pub pairs: Vec<SlowPair>,
    /// The time of each pair over that of a usual one, at the largest size.
    pub map: Vec<((u32, u32), f64)>,
}

/// A rank that is slow with all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowNode {
    /// The rank.
    pub rank: u32,
    /// Its host.
    pub host: Option<String>,
    /// The size at which it shows.
    pub bytes: Bytes,
    /// Its time over that of a usual node.
    pub factor: Estimate,
}

/// A pair that is slower than its two nodes predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowPair {
    /// The ranks.
    pub ranks: (u32, u32),
    /// The size at which it shows.
    pub bytes: Bytes,
    /// Its time over the time predicted from its two nodes.
    pub factor: Estimate,
}

/// A measured cell and its predicted times, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// The cell.
    pub cell: Cell,
    /// The algorithm of coll/tuned.
    pub algorithm: u32,
    /// Its name.
    pub name: String,
    /// Algorithm with its parameters.
    #[serde(default)]
    pub choice: Choice,
    /// The measured time.
    pub measured: f64,
    /// The model's prediction, without knowledge of collectives.
    pub model: f64,
    /// Prediction corrected by the errors of predictions of the algorithm at the other sizes; missing if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<f64>,
    /// The time of the next smaller size, or of the next larger one if there is none.
    pub neighbour: Option<f64>,
    /// A line through the neighbours on both sides.
    pub line: Option<f64>,
}

impl Model {
    /// Reads a model: its file, or the directory that it is in.
    pub fn read(path: &Path) -> Result<Self, RunDirError> {
        rundir::read_json_file(&rundir::within(path, FILE), FORMAT)
    }

    /// Returns true if some node or pair is slow.
    pub fn names_slow(&self) -> bool {
        !self.slow.nodes.is_empty() || !self.slow.pairs.is_empty()
    }

    /// The pairs of a kind.
    pub fn way(&self, place: Where) -> Option<&PathModel> {
        self.ways.iter().find(|way| way.place == place)
    }
}
