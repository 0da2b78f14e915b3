//! Simple primitives: the root exchanges a message with each other rank.

use crate::blocks::BlockRange;
use crate::step::Step;
use crate::vector::Vector;

/// The root's blocks for each, in rank order; unless they go `down`, the blocks of each for the root.
pub(crate) fn exchange(on: Vector<'_>, rank: u32, root: u32, down: bool) -> impl Iterator<Item = Step> {
    let partners = if rank == root { 0..on.ranks() } else { root..root + 1 };
    partners.filter(move |other| *other != rank).map(move |other| {
        let part = on.part(BlockRange::block(if rank == root { other } else { rank }));
        if (rank == root) == down { Step::Send { to: other, part } } else { Step::Receive { from: other, part } }
    })
}
