//! Lower bounds for the time of any algorithm.
//!
//! After Chan et al., table I of the seed's report: the network is fully connected, and each rank sends at most one
//! message and receives at most one at a time. Messages, volume and operations each have a bound. Their sum is the
//! paper's bound for blocks as equal as can be; it may be out of reach. With unequal blocks, the rank with the most
//! messages and the rank with the most data may differ, so a call may take less than the sum.

use collrules_rules::Collective;

use crate::blocks::{BlockRange, Blocks};
use crate::play::Machine;

/// Least messages, volume and operations of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Messages one after the other.
    pub messages: f64,
    /// Elements through one rank's link in one direction.
    pub moved: f64,
    /// Elements that one rank applies the operation to.
    pub reduced: f64,
}

impl Bound {
    /// The time on a machine: the sum of the three parts, which is a bound if blocks are as equal as can be.
    pub fn time(self, machine: Machine) -> f64 {
        self.messages * machine.latency + self.moved * machine.transfer + self.reduced * machine.operation
    }
}

/// Returns the lower bound of a collective, with vectors divided as for
/// [`ReferenceAlgorithm::new`](crate::ReferenceAlgorithm::new); none
/// if Chan et al. have no bound. The bound of a call without elements is zero.
pub fn bound(collective: Collective, root: u32, blocks: &Blocks) -> Option<Bound> {
    let ranks = blocks.ranks();
    let total = blocks.total();
    let block = |rank| blocks.len(BlockRange::block(rank));
    // Some rank has all but the smallest block to send or to receive.
    let others = (total - (0..ranks).map(block).min().unwrap_or(0)) as f64;
    let part = total as f64 * f64::from(ranks - 1) / f64::from(ranks);
    let all = Bound { messages: doublings(ranks), ..Bound::default() };
    let bound = match collective {
        Collective::Bcast => Bound { moved: total as f64, ..all },
        Collective::Reduce => Bound { moved: total as f64, reduced: part, ..all },
        Collective::Scatter | Collective::Gather => {
            let involved = (0..ranks).filter(|rank| *rank == root || block(*rank) > 0).count() as u32;
            Bound { messages: doublings(involved), moved: (total - block(root)) as f64, reduced: 0.0 }
        }
        Collective::Allgather => Bound { moved: others, ..all },
        Collective::ReduceScatter | Collective::ReduceScatterBlock => Bound { moved: others, reduced: part, ..all },
        Collective::Allreduce => Bound { moved: 2.0 * part, reduced: part, ..all },
        _ => return None,
    };
    Some(if total == 0 { Bound::default() } else { bound })
}

/// Returns the number of doublings from one rank to all: ceil(log2 ranks).
fn doublings(ranks: u32) -> f64 {
    f64::from(u32::BITS - ranks.saturating_sub(1).leading_zeros())
}
