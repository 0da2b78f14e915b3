//! Every collective operation with a number in Open MPI, with or without tuned algorithms.

use serde::{Deserialize, Serialize};

use crate::{names, stored_as_text};

names! {
    /// A collective operation, by its id in Open MPI's `COLLTYPE` enumeration
    /// (`ompi/mca/coll/base/coll_base_functions.h`): in the order of the ids, from 0 on, with the names in JSON rules
    /// files.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(into = "String", try_from = "String")]
    #[expect(missing_docs, reason = "the names say it")]
    #[repr(u8)]
    pub enum Operation, read as "collective operation" {
        Allgather "allgather",
        Allgatherv "allgatherv",
        Allreduce "allreduce",
        Alltoall "alltoall",
        Alltoallv "alltoallv",
        Alltoallw "alltoallw",
        Barrier "barrier",
        Bcast "bcast",
        Exscan "exscan",
        Gather "gather",
        Gatherv "gatherv",
        Reduce "reduce",
        ReduceScatter "reduce_scatter",
        ReduceScatterBlock "reduce_scatter_block",
        Scan "scan",
        Scatter "scatter",
        Scatterv "scatterv",
        NeighborAllgather "neighbor_allgather",
        NeighborAllgatherv "neighbor_allgatherv",
        NeighborAlltoall "neighbor_alltoall",
        NeighborAlltoallv "neighbor_alltoallv",
        NeighborAlltoallw "neighbor_alltoallw",
    }
}

stored_as_text!(Operation);

impl Operation {
    /// The operation with this id.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.get(id as usize).copied()
    }

    /// The id.
    pub fn id(self) -> u32 {
        self as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_count_from_zero() {
        for (place, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!((operation.id() as usize, Operation::from_id(place as u32)), (place, Some(operation)));
        }
        assert_eq!(Operation::from_id(22), None);
    }
}
