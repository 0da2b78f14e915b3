//! Simple primitives: the root exchanges a message with each other rank.

use crate::blocks::BlockRange;
use crate::step::Step;
use crate::vector::Vector;

/// The root's blocks for each, in rank order.
pub(crate) fn scatter(on: Vector<'_>, rank: u32, root: u32) -> impl Iterator<Item = Step> {
    others(rank, on.ranks(), root).map(move |other| {
        if rank == root {
            Step::Send { to: other, part: on.part(BlockRange::block(other)) }
        } else {
            Step::Receive { from: root, part: on.part(BlockRange::block(rank)) }
        }
    })
}

/// The blocks of each for the root, in rank order.
pub(crate) fn gather(on: Vector<'_>, rank: u32, root: u32) -> impl Iterator<Item = Step> {
    others(rank, on.ranks(), root).map(move |other| {
        if rank == root {
            Step::Receive { from: other, part: on.part(BlockRange::block(other)) }
        } else {
            Step::Send { to: root, part: on.part(BlockRange::block(rank)) }
        }
    })
}

/// The ranks that a rank sends to or receives from.
fn others(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = u32> {
    let partners = if rank == root { 0..ranks } else { root..root + 1 };
    partners.filter(move |other| *other != rank)
}
