//! The collectives that `coll/tuned` has algorithms for.

use serde::{Deserialize, Serialize};

use crate::operation::Operation;
use crate::{names, read_from_text};

names! {
    /// A collective operation with tuned algorithms, by its id in Open MPI's `COLLTYPE` enumeration, which is the
    /// same in every release from 4.0 on (`ompi/mca/coll/base/coll_base_functions.h`),
    /// and by its name in MCA parameters (`coll_tuned_NAME_algorithm`) and in JSON rules files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[repr(u8)]
    pub enum Collective {
        /// `MPI_Allgather`
        Allgather = 0 "allgather",
        /// `MPI_Allgatherv`
        Allgatherv = 1 "allgatherv",
        /// `MPI_Allreduce`
        Allreduce = 2 "allreduce",
        /// `MPI_Alltoall`
        Alltoall = 3 "alltoall",
        /// `MPI_Alltoallv`
        Alltoallv = 4 "alltoallv",
        /// `MPI_Barrier`
        Barrier = 6 "barrier",
        /// `MPI_Bcast`
        Bcast = 7 "bcast",
        /// `MPI_Exscan`
        Exscan = 8 "exscan",
        /// `MPI_Gather`
        Gather = 9 "gather",
        /// `MPI_Reduce`
        Reduce = 11 "reduce",
        /// `MPI_Reduce_scatter`
        ReduceScatter = 12 "reduce_scatter",
        /// `MPI_Reduce_scatter_block`
        ReduceScatterBlock = 13 "reduce_scatter_block",
        /// `MPI_Scan`
        Scan = 14 "scan",
        /// `MPI_Scatter`
        Scatter = 15 "scatter",
    }
}

/// Data of a call on one side, in terms of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// None.
    Nothing,
    /// The message.
    Message,
    /// A message for each rank.
    Blocks,
    /// This rank's share of the message: the ranks divide it among them.
    Share,
}

/// A side of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The data of the caller.
    Sends,
    /// The result.
    Receives,
}

/// Data of a call, on ranks that have any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallData {
    /// The data of the caller.
    pub sends: Extent,
    /// The result.
    pub receives: Extent,
    /// The side that only the root has, in calls with a root.
    pub at_root: Option<Side>,
}

impl Collective {
    /// Number of ids that Open MPI knows (`COLLCOUNT`), including some without tuned algorithms, which are legal in a
    /// rules file.
    pub const ID_COUNT: u32 = 22;

    /// The id in rules files.
    pub fn id(self) -> u32 {
        self as u32
    }

    /// The collective with this id, if it is a tunable one.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|collective| collective.id() == id)
    }

    /// The collective of an operation, if it is a tunable one.
    pub fn from_operation(operation: Operation) -> Option<Self> {
        Self::from_id(operation.id())
    }

    /// The data of a call.
    pub fn data(self) -> CallData {
        use Extent::{Blocks, Message, Nothing, Share};
        let (sends, receives, at_root) = match self {
            Self::Allgather | Self::Allgatherv => (Message, Blocks, None),
            Self::Allreduce | Self::Exscan | Self::Scan => (Message, Message, None),
            Self::Alltoall | Self::Alltoallv => (Blocks, Blocks, None),
            Self::Barrier => (Nothing, Nothing, None),
            // Its only buffer counts as received.
            Self::Bcast => (Nothing, Message, Some(Side::Sends)),
            Self::Gather => (Message, Blocks, Some(Side::Receives)),
            Self::Reduce => (Message, Message, Some(Side::Receives)),
            Self::ReduceScatter => (Message, Share, None),
            Self::ReduceScatterBlock => (Blocks, Message, None),
            Self::Scatter => (Blocks, Message, Some(Side::Sends)),
        };
        CallData { sends, receives, at_root }
    }

    /// Returns true if calls have a message size.
    pub fn has_sizes(self) -> bool {
        self.data().receives != Extent::Nothing
    }

    /// Returns true if callers pass the block of one rank instead of the whole vector, with the same count for each
    /// rank.
    pub fn counts_blocks(self) -> bool {
        matches!(self, Self::Allgather | Self::Gather | Self::ReduceScatterBlock | Self::Scatter)
    }

    /// Returns true if `MPI_IN_PLACE` is allowed in calls.
    pub fn has_in_place(self) -> bool {
        !matches!(self, Self::Barrier | Self::Bcast)
    }

    /// Returns true if calls have a root.
    pub fn is_rooted(self) -> bool {
        self.data().at_root.is_some()
    }

    /// Returns true if coll/tuned has a built-in decision. Without one, coll/basic goes from rank to rank.
    pub fn has_default(self) -> bool {
        !matches!(self, Self::Exscan | Self::Scan)
    }

    /// Returns true if the ranks of a call may look up different sizes, since MPI ignores some of their counts.
    pub fn looks_up_by_rank(self) -> bool {
        matches!(self, Self::Gather | Self::Scatter)
    }

    /// Returns true if calls have an operation, such as a sum, and a datatype for it.
    pub fn reduces(self) -> bool {
        matches!(
            self,
            Self::Allreduce | Self::Exscan | Self::Reduce | Self::ReduceScatter | Self::ReduceScatterBlock | Self::Scan
        )
    }
}

/// The name of an id in JSON files.
pub(crate) fn json_name(id: u32) -> &'static str {
    Operation::from_id(id).map_or("no collective", Operation::name)
}

/// The id that Open MPI finds for a name in a file (`mca_coll_base_name_to_colltype`): for some names it compares only
/// the beginning.
pub(crate) fn id_by_name(name: &[u8]) -> Option<u32> {
    use Operation::{
        Allgatherv, Alltoallv, Alltoallw, Gatherv, NeighborAllgatherv, NeighborAlltoallv, NeighborAlltoallw,
    };
    let open = [Allgatherv, Alltoallv, Alltoallw, Gatherv, NeighborAllgatherv, NeighborAlltoallv, NeighborAlltoallw];
    let has_name = |known: &Operation| {
        let known_name = known.name().as_bytes();
        name == known_name || open.contains(known) && name.starts_with(known_name)
    };
    Operation::ALL.into_iter().find(has_name).map(Operation::id)
}

impl Collective {
    fn read(name: &str) -> Result<Self, String> {
        let (name, names) = (name.trim(), Self::ALL.map(Self::name));
        let known = Self::ALL.into_iter().find(|collective| collective.name().eq_ignore_ascii_case(bare(name)));
        known.ok_or_else(|| {
            let nearest = names::meant(names, bare(name));
            format!("unknown collective `{name}`{nearest}; known are {}", names.join(", "))
        })
    }
}

read_from_text!(Collective);

/// The name without `MPI_`, which people may write.
fn bare(name: &str) -> &str {
    let is_prefixed = name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("MPI_"));
    if is_prefixed { &name[4..] } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_read_back() {
        for collective in Collective::ALL {
            assert_eq!(collective.name().parse(), Ok(collective));
            assert_eq!(Collective::from_id(collective.id()), Some(collective));
            let json = serde_json::to_string(&collective).expect("serialises");
            assert_eq!(json, format!("\"{collective}\""));
        }
    }

    #[test]
    fn json_names_are_found_as_open_mpi_finds_them() {
        for id in 0..Collective::ID_COUNT {
            assert_eq!(id_by_name(json_name(id).as_bytes()), Some(id), "{id}");
        }
        for (name, id) in [("allgathervs", Some(1)), ("gatherv_x", Some(10)), ("neighbor_alltoallwww", Some(21))] {
            assert_eq!(id_by_name(name.as_bytes()), id, "{name}");
        }
        for name in ["", "Bcast", "bcasts", "reducescatter", "reducescatterblock", "reduce_scatterv", "scattervs", "7"]
        {
            assert_eq!(id_by_name(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "brodcast".parse::<Collective>().expect_err("no such collective");
        let text = error.to_string();
        assert!(text.contains("`brodcast`") && text.contains("bcast, exscan"), "{text}");
    }
}
