//! Simple primitives: the root and each other rank have a message of their own.

use crate::blocks::Range;
use crate::step::{Buffer, Step};

/// The root's blocks for each, in rank order.
pub(crate) fn scatter(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = Step> {
    others(rank, ranks, root).map(move |other| {
        if rank == root {
            Step::Send { to: other, blocks: Range::one(other) }
        } else {
            Step::Receive { from: root, blocks: Range::one(rank), into: Buffer::Vector }
        }
    })
}

/// The blocks of each for the root, in rank order.
pub(crate) fn gather(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = Step> {
    others(rank, ranks, root).map(move |other| {
        if rank == root {
            Step::Receive { from: other, blocks: Range::one(other), into: Buffer::Vector }
        } else {
            Step::Send { to: root, blocks: Range::one(rank) }
        }
    })
}

/// Whom a rank deals with.
fn others(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = u32> {
    let whom = if rank == root { 0..ranks } else { root..root + 1 };
    whom.filter(move |other| *other != rank)
}
