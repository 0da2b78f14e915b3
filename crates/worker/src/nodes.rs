//! The communicators of nodes and lanes, for mock-ups that take nodes for what they are.

use std::hash::{DefaultHasher, Hash, Hasher};

use collrules_guidelines::Group;
use collrules_record::Even;
use mpi::collective::SystemOperation;
use mpi::topology::{Color, Communicator, SimpleCommunicator};

use crate::ffi;
use crate::sync::over_ranks;

/// The ranks are not where they were.
#[derive(Debug, thiserror::Error)]
#[error(
    "the ranks of this job are on other nodes than those that the job before had when it was asked: leave out the \
     mock-ups lane and hier (--only), or place ranks node after node (mpirun --map-by slot)"
)]
pub(crate) struct NotOnNodes;

/// The parts of a communicator, as a program would make them: on each node, and across all of them.
pub(crate) struct Parts {
    pub(crate) even: Even,
    node: SimpleCommunicator,
    lane: SimpleCommunicator,
}

impl Parts {
    /// Splits a communicator whose nodes are these, on all its ranks.
    pub(crate) fn of(comm: &SimpleCommunicator, even: Even) -> Result<Self, NotOnNodes> {
        let (rank, each) = (comm.rank(), even.each as i32);
        let by = |color: i32| comm.split_by_color(Color::with_value(color)).ok_or(NotOnNodes);
        let (node, lane) = (by(rank / each)?, by(rank % each)?);
        // Where a job with fewer ranks is placed otherwise than the one that was asked for its hosts.
        let mut hasher = DefaultHasher::new();
        mpi::environment::processor_name().unwrap_or_default().hash(&mut hasher);
        let mine = hasher.finish();
        if over_ranks(&node, mine, SystemOperation::min()) != over_ranks(&node, mine, SystemOperation::max()) {
            return Err(NotOnNodes);
        }
        ffi::return_errors(&node);
        ffi::return_errors(&lane);
        Ok(Self { even, node, lane })
    }

    /// The communicator of a call that only a part of the ranks makes together; none for one that all make.
    pub(crate) fn among(&self, group: Group) -> Option<&SimpleCommunicator> {
        match group {
            Group::All => None,
            Group::Node | Group::FirstNode => Some(&self.node),
            Group::Lane | Group::Leaders => Some(&self.lane),
        }
    }
}
