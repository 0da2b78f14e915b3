//! A communication model of a machine: `model.json`.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::{Choice, Collective, Release, names};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::estimate::Estimate;
use crate::format::FormatVersion;
use crate::units::{Bytes, Ranks};

/// The version of `model.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

/// What probes say about a machine. Times are in seconds, sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The format of this structure.
    pub format: FormatVersion,
    /// What was fitted: a run directory or a table, as the user named it.
    pub source: String,
    /// Whether the times come from a simulation, and say nothing about any real machine.
    pub simulated: bool,
    /// What Open MPI calls itself; of a table nothing is known.
    pub library: Option<String>,
    /// The release that was measured, if that is known.
    pub release: Option<Release>,
    /// The level of the intervals.
    pub level: f64,
    /// How many launches there are timings of.
    pub launches: usize,
    /// The ranks that took part, with their hosts as far as they are known.
    pub ranks: BTreeMap<u32, Option<String>>,
    /// The eager limits: what is longer waits for its receiver.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub eager: BTreeMap<Where, Bytes>,
    /// For which pairs Open MPI reported them; for others they are those that it usually has.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub eager_reported: BTreeSet<Where>,
    /// The pairs inside hosts, and those between them.
    pub ways: Vec<Way>,
    /// Parameters of each node and pair; missing where the probes do not give them.
    pub nodes: Option<Lmo>,
    /// What stands out.
    pub slow: Slow,
    /// What the probes cannot tell, and why, in sentences.
    pub unknown: Vec<String>,
    /// What a simulation on this model makes of calls beside their messages; nothing that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<Planted>,
    /// What a message takes in each algorithm that was measured beside the probes, by calls of that algorithm alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<Algorithm>,
    /// What sending to several at once costs; missing where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<Concurrent>,
    /// How well the model predicts cells that were measured beside the probes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quality: Vec<Predicted>,
}

/// Hockney's parameters of an algorithm of coll/tuned, in a range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Algorithm {
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
    /// Time of an empty message; missing where it cannot be told from none.
    pub alpha: Option<Estimate>,
    /// Time for each byte; missing where it cannot be told from none.
    pub beta: Option<Estimate>,
    /// The largest deviation of a measured time, as a share of it.
    pub residual: f64,
}

/// What messages take that leave a rank at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concurrent {
    /// The collective that shows it.
    pub collective: Collective,
    /// The algorithm of it, in which the root sends to all others.
    pub name: String,
    /// The communicator size.
    pub ranks: Ranks,
    /// The message size.
    pub bytes: Bytes,
    /// Its time over that of as many messages one after the other: 1 where they share a link wholly.
    pub share: Estimate,
}

/// Calls that take longer than their messages explain: escalations, and with certainty, steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planted {
    /// The collective.
    pub collective: Collective,
    /// The algorithm that it happens to; without one, to all, and to the builtin as well.
    #[serde(default)]
    pub algorithm: Option<u32>,
    /// The smallest message.
    pub from: Bytes,
    /// The largest message.
    pub to: Bytes,
    /// How much longer, in seconds.
    pub more: f64,
    /// The share of calls.
    pub probability: f64,
}

/// Where the two ranks of a pair are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// On one host.
    Inside,
    /// On two hosts.
    Between,
}

names!(Where {
    Inside "inside a host",
    Between "between hosts",
});

/// All pairs of a kind together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Which pairs.
    pub place: Where,
    /// How many pairs were timed.
    pub pairs: usize,
    /// A line for each range of sizes, in ascending order (Hockney).
    pub regimes: Vec<Regime>,
    /// The bytes that pass a link that was idle before the rate of long messages holds; missing where none were seen to.
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
    /// A limit of Open MPI that lies between the regime before and this one.
    pub begins_at: Option<String>,
}

/// LogGP's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogGp {
    /// Latency (L).
    pub latency: Option<Estimate>,
    /// What the sender is busy for (o_s).
    pub send: Option<Estimate>,
    /// What the receiver is busy for (o_r).
    pub receive: Option<Estimate>,
    /// Time between messages (g).
    pub gap: Option<Estimate>,
    /// Time for each byte of a long message (G).
    pub gap_per_byte: Option<Estimate>,
}

/// Parameters of each node and pair (Lastovetsky and others).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lmo {
    /// The size that the times per byte are from.
    pub bytes: Bytes,
    /// What nodes take.
    pub nodes: Vec<Node>,
    /// What pairs take.
    pub pairs: Vec<Pair>,
    /// Whether a node's two messages share its link, so that its processing cannot be told from its link.
    pub shared_links: bool,
}

/// What a node takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The rank.
    pub rank: u32,
    /// Time to handle a message (C).
    pub fixed: Option<Estimate>,
    /// Time to handle a byte (t); missing where links are shared.
    pub per_byte: Option<Estimate>,
    /// Bytes per second that leave the node; missing where links are not shared.
    pub link: Option<Estimate>,
    /// How far apart redundant estimates of the fixed time are: their middle half over their median.
    pub disagreement: Option<f64>,
}

/// What a pair takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The ranks.
    pub ranks: (u32, u32),
    /// Where they are.
    pub place: Where,
    /// Latency beside what the nodes take (L).
    pub latency: Option<Estimate>,
    /// Bytes per second between them (beta).
    pub rate: Option<Estimate>,
}

/// Nodes and pairs that are slower than the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// The share of machines without any on which one is named nevertheless.
    pub error_rate: f64,
    /// What is tolerated, such as 0.2.
    pub tolerate: f64,
    /// How many nodes and pairs were tested.
    pub tested: usize,
    /// The ranks that are slow with all others.
    pub nodes: Vec<SlowNode>,
    /// Pairs that are slower than their two nodes explain.
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

/// A pair that is slower than its two nodes explain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowPair {
    /// The ranks.
    pub ranks: (u32, u32),
    /// The size at which it shows.
    pub bytes: Bytes,
    /// Its time over what its nodes explain.
    pub factor: Estimate,
}

/// A measured cell and what was predicted for it, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// The cell.
    pub cell: Cell,
    /// The algorithm of coll/tuned.
    pub algorithm: u32,
    /// Its name.
    pub name: String,
    /// The same with its parameters.
    #[serde(default)]
    pub choice: Choice,
    /// The measured time.
    pub measured: f64,
    /// The model's prediction, which knows nothing of collectives.
    pub model: f64,
    /// The same, corrected by what the algorithm took over its predictions at the other sizes; missing where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<f64>,
    /// The time of the next smaller size, scaled with the size where there is none.
    pub neighbour: Option<f64>,
    /// A line through the sizes on both sides.
    pub line: Option<f64>,
}

impl Model {
    /// Whether anything stands out.
    pub fn names_slow(&self) -> bool {
        !self.slow.nodes.is_empty() || !self.slow.pairs.is_empty()
    }

    /// The pairs of a kind.
    pub fn way(&self, place: Where) -> Option<&Way> {
        self.ways.iter().find(|way| way.place == place)
    }
}
