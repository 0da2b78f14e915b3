//! The measured cells, and their alternatives.

use collrules_program::Mockup;
use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::CandidateName;
use crate::cell::Arguments;
use crate::profile::weight::Weight;
use crate::units::{Bytes, Ranks};
use crate::values::{self, List};

/// The collectives that programs call most. MPI_Allreduce, MPI_Bcast, MPI_Barrier, MPI_Reduce, MPI_Allgather and MPI_Alltoall lead by
/// time or by calls in the profiles of Rabenseifner (Automatic MPI Counter Profiling, CUG 2000) and of Chunduri et al.
/// (Characterization of MPI Usage on a Production Supercomputer, SC 2018).
const MOST_CALLED: &str = "allreduce,bcast,alltoall,reduce,allgather,barrier";

/// The measured cells, and their alternatives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
pub struct Grid {
    /// Collectives to tune, or all
    #[arg(long = "ops", value_name = "LIST", default_value = MOST_CALLED, value_parser = values::collectives)]
    pub collectives: List<Collective>,
    /// Communicator sizes: FIRST:LAST for the powers of two between, both ends, and full nodes [default: up to the
    /// slots]; FIRST:LAST:STEP; or a list
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicator_sizes)]
    pub ranks: CommunicatorSizes,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas; rules act from
    /// the smallest to the largest
    #[arg(long, value_name = "SIZES", default_value = "1:1M", value_parser = values::sizes)]
    pub sizes: List<Bytes>,
    /// True if the sizes are those of whole vectors, divided into blocks, instead of messages.
    #[arg(skip)]
    pub vectors: bool,
    /// Segment sizes to try, besides none
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8K,64K")]
    pub segments: Vec<Bytes>,
    /// Fan-outs to try, if an algorithm has one
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4")]
    pub fanouts: Vec<u32>,
    /// Limits on requests to try, if an algorithm has one and this Open MPI reads it from a file (4.1.8, 5.0.7, 6.0)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2")]
    pub requests: Vec<u32>,
    /// Maximum memory for the buffers of a rank; larger calls are left out
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub max_memory: Bytes,
    /// Try only these algorithms and the default: COLLECTIVE:ALGORITHM by name or number, or such as
    /// bcast:tuned:2/4/0/0. Other collectives keep all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::only)]
    pub only: Vec<(Collective, CandidateName)>,
    /// Start a job for each algorithm instead of switching within a job. Allgatherv always needs that
    #[arg(long)]
    pub launch_per_candidate: bool,
    /// Time that programs spend in cells: if there are any weights, only their cells are measured.
    #[arg(skip)]
    pub weights: Vec<Weight>,
    /// Alternatives that are compared with the default.
    #[arg(skip)]
    pub alternatives: Alternatives,
    /// Also time Chan et al.'s reference algorithms for short and long vectors, chan:short and chan:long, which no rule
    /// can choose
    #[arg(long)]
    pub reference: bool,
    /// Root and datatype of all calls.
    #[arg(skip)]
    pub arguments: Arguments,
    /// Also time messages inside a node and between nodes, and the operation of reductions. Included in --reference
    #[arg(long)]
    pub patterns: bool,
    /// The number of partners of each rank in the probes of a communication model; none without probes.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
}

/// Communicator sizes, and ranges in which full nodes are requested too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicatorSizes {
    /// The sizes; if empty, all that fit the available slots.
    pub sizes: Vec<Ranks>,
    /// The ends of ranges.
    pub ranges: Vec<(Ranks, Ranks)>,
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

values::default_is_no_option!(Grid);

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

/// Communicator sizes like [`values::communicators`], with the ranges that were written.
pub fn communicator_sizes(text: &str) -> Result<CommunicatorSizes, String> {
    let sizes = values::communicators(text)?;
    let ranges = text.split(',').filter_map(|part| part.split_once(':'));
    let ranges = ranges.filter_map(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    Ok(CommunicatorSizes { ranges: ranges.collect(), sizes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_communicators_want_full_nodes_and_are_stored() {
        let list = communicator_sizes("2,24").expect("a list");
        let range = communicator_sizes("24,2:8").expect("a range");
        assert_eq!(range.sizes, [2, 4, 8, 24].map(Ranks));
        let wanted =
            |communicators: &CommunicatorSizes| [6, 12].map(|ranks| communicators.want_full_nodes(Ranks(ranks)));
        assert_eq!(
            (wanted(&list), wanted(&range), wanted(&CommunicatorSizes::default())),
            ([false; 2], [true, false], [true; 2])
        );
        for communicators in [list, range, CommunicatorSizes::default()] {
            let text = serde_json::to_string(&communicators).expect("plain data");
            assert_eq!(serde_json::from_str::<CommunicatorSizes>(&text).expect(&text), communicators);
        }
    }
}
