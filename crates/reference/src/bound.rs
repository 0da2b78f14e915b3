//! The time that no algorithm can undercut.
//!
//! After Chan et al., table I of the seed's report: the network is fully connected, and each rank sends at most one message
//! and receives at most one at a time. Messages, volume and operations are bounds each for itself. Their sum is the paper's
//! bound for blocks as equal as can be; there need be no algorithm that reaches it. With unequal blocks the rank with the
//! longest way and the rank with the most data may be two, so that a call may take less than the sum.

use collrules_rules::Collective;

use crate::blocks::{Blocks, Range};
use crate::play::Machine;

/// What a call needs at least.
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
    /// The time on a machine: the sum of what each takes, which is a bound where blocks are as equal as can be.
    pub fn time(self, machine: Machine) -> f64 {
        self.messages * machine.latency + self.moved * machine.transfer + self.reduced * machine.operation
    }
}

/// What a collective needs at least, with vectors divided as for [`Script::new`](crate::Script::new); none where Chan et
/// al. have no bound. A call without elements needs nothing.
pub fn bound(collective: Collective, root: u32, blocks: &Blocks) -> Option<Bound> {
    let ranks = blocks.ranks();
    let total = blocks.total();
    let block = |rank| blocks.len(Range::one(rank));
    // Somebody has all but the smallest block to send or to receive.
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

/// What a rotation needs at least.
pub fn rotation_bound(blocks: &Blocks) -> Bound {
    let most = (0..blocks.ranks()).map(|rank| blocks.len(Range::one(rank))).max().unwrap_or(0);
    Bound { messages: if most > 0 { 1.0 } else { 0.0 }, moved: most as f64, reduced: 0.0 }
}

/// How often one rank has to be doubled until there are so many: ceil(log2 ranks).
fn doublings(ranks: u32) -> f64 {
    f64::from(u32::BITS - ranks.saturating_sub(1).leading_zeros())
}
