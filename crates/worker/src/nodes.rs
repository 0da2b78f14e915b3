//! Communicators of nodes and lanes, for mock-ups that depend on nodes.

use std::hash::{DefaultHasher, Hash, Hasher};

use collrules_program::RankGroup;
use collrules_record::Even;
use mpi::collective::SystemOperation;
use mpi::topology::{Color, Communicator, SimpleCommunicator};

use crate::error::WorkerError;
use crate::ffi;
use crate::sync::over_ranks;

/// The parts of a communicator, as a program would create them: on each node, and across all nodes.
pub(crate) struct Parts {
    pub(crate) even: Even,
    node: SimpleCommunicator,
    lane: SimpleCommunicator,
}

impl Parts {
    /// Splits a communicator with these nodes, on all its ranks.
    pub(crate) fn split(comm: &SimpleCommunicator, even: Even) -> Result<Self, WorkerError> {
        let (rank, each) = (comm.rank(), even.each as i32);
        let by = |color: i32| comm.split_by_color(Color::with_value(color)).ok_or(WorkerError::NotOnNodes);
        let (node, lane) = (by(rank / each)?, by(rank % each)?);
        // A job with fewer ranks may be placed differently from the one that reported the hosts.
        let mut hasher = DefaultHasher::new();
        mpi::environment::processor_name().unwrap_or_default().hash(&mut hasher);
        let mine = hasher.finish();
        if over_ranks(&node, mine, SystemOperation::min()) != over_ranks(&node, mine, SystemOperation::max()) {
            return Err(WorkerError::NotOnNodes);
        }
        ffi::return_errors(&node);
        ffi::return_errors(&lane);
        Ok(Self { even, node, lane })
    }

    /// The communicator for calls of a part of the ranks; none for calls of all ranks.
    pub(crate) fn among(&self, group: RankGroup) -> Option<&SimpleCommunicator> {
        match group {
            RankGroup::All => None,
            RankGroup::Node | RankGroup::FirstNode => Some(&self.node),
            RankGroup::Lane | RankGroup::Leaders => Some(&self.lane),
        }
    }
}
