//! The measured cells, and their alternatives.

use collrules_program::Mockup;
use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::CandidateName;
use crate::cell::Arguments;
use crate::profile::weight::Weight;
use crate::units::{Bytes, Ranks};

/// The measured cells, and their alternatives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The collectives.
    pub collectives: Vec<Collective>,
    /// The communicator sizes.
    pub ranks: CommunicatorSizes,
    /// The message sizes.
    pub sizes: Vec<Bytes>,
    /// True if the sizes are those of whole vectors, divided into blocks, instead of messages.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vectors: bool,
    /// Segment sizes to try in addition to no segments.
    pub segments: Vec<Bytes>,
    /// Fan-outs to try for algorithms that have one.
    pub fanouts: Vec<u32>,
    /// Bounds on requests to try for algorithms that have one, if a rules file can set it.
    pub requests: Vec<u32>,
    /// Most memory for the buffers of one rank.
    pub max_memory: Bytes,
    /// The only algorithms to try for their collectives.
    pub only: Vec<(Collective, CandidateName)>,
    /// True if each alternative gets jobs of its own.
    pub launch_per_candidate: bool,
    /// Time that programs spend in cells: if there are any weights, only their cells are measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<Weight>,
    /// Alternatives that are compared with the default.
    #[serde(default, skip_serializing_if = "Alternatives::are_rules")]
    pub alternatives: Alternatives,
    /// True if reference algorithms are timed as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// Root and datatype of all calls.
    #[serde(default, skip_serializing_if = "Arguments::are_usual")]
    pub arguments: Arguments,
    /// True if patterns are timed as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patterns: bool,
    /// The number of partners of each rank in the probes of a communication model; none without probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
}

/// Communicator sizes, and ranges in which full nodes are requested too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSizes", into = "StoredSizes")]
pub struct CommunicatorSizes {
    /// The sizes; if empty, all that fit the available slots.
    pub sizes: Vec<Ranks>,
    /// The ends of ranges.
    pub ranges: Vec<(Ranks, Ranks)>,
}

/// A list of sizes, as in old files, or sizes with ranges.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredSizes {
    Sizes(Vec<Ranks>),
    Both { sizes: Vec<Ranks>, full_nodes_between: Vec<(Ranks, Ranks)> },
}

impl From<StoredSizes> for CommunicatorSizes {
    fn from(stored: StoredSizes) -> Self {
        match stored {
            StoredSizes::Sizes(sizes) => sizes.into(),
            StoredSizes::Both { sizes, full_nodes_between } => Self { sizes, ranges: full_nodes_between },
        }
    }
}

impl From<CommunicatorSizes> for StoredSizes {
    fn from(CommunicatorSizes { sizes, ranges }: CommunicatorSizes) -> Self {
        if ranges.is_empty() { Self::Sizes(sizes) } else { Self::Both { sizes, full_nodes_between: ranges } }
    }
}

impl From<Vec<Ranks>> for CommunicatorSizes {
    fn from(sizes: Vec<Ranks>) -> Self {
        Self { sizes, ranges: Vec::new() }
    }
}

impl CommunicatorSizes {
    /// Returns true if full nodes of this size are requested: if no sizes are named, and between the ends of a range.
    pub fn want_full_nodes(&self, ranks: Ranks) -> bool {
        self.sizes.is_empty() || self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&ranks))
    }
}

/// Alternatives that are compared with the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alternatives {
    /// Algorithms and parameters that rules and settings can choose.
    #[default]
    Rules,
    /// Other calls that do the same. A cell without any is not measured.
    Mockups(Mockups),
}

/// The mock-ups that are timed next to the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mockups {
    /// The only mock-ups; all of the catalogue if none are named.
    pub only: Vec<Mockup>,
    /// Numbers of calls into which messages are split.
    pub pieces: Vec<u32>,
    /// Largest memory that a mock-up may need on a rank in addition to the caller's buffers.
    pub max_extra_memory: Bytes,
    /// True if candidates that rules can choose are timed as well, to find a remedy for a violation.
    pub remedies: bool,
}

impl Default for Grid {
    /// The grid of `tune` without options.
    fn default() -> Self {
        Self {
            collectives: {
                use Collective::{Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce};
                vec![Allgather, Allreduce, Alltoall, Barrier, Bcast, Reduce]
            },
            ranks: CommunicatorSizes::default(),
            sizes: (0..=20).map(|power| Bytes(1 << power)).collect(),
            vectors: false,
            segments: vec![Bytes(8 << 10), Bytes(64 << 10)],
            fanouts: vec![2, 4],
            requests: vec![2],
            max_memory: Bytes(512 << 20),
            only: Vec::new(),
            launch_per_candidate: false,
            weights: Vec::new(),
            alternatives: Alternatives::Rules,
            reference: false,
            arguments: Arguments::default(),
            patterns: false,
            probes: None,
        }
    }
}

impl Grid {
    /// These collectives on these communicators with messages of these sizes.
    pub fn new(collectives: &[Collective], ranks: &[Ranks], sizes: &[Bytes]) -> Self {
        let ranks = ranks.to_vec().into();
        Self { collectives: collectives.to_vec(), ranks, sizes: sizes.to_vec(), ..Self::default() }
    }
}

impl Alternatives {
    /// Returns true if there are no others.
    pub fn are_rules(&self) -> bool {
        *self == Self::Rules
    }

    /// Returns true if candidates that rules can choose are among them.
    pub fn have_rules(&self) -> bool {
        match self {
            Self::Rules => true,
            Self::Mockups(mockups) => mockups.remedies,
        }
    }
}
