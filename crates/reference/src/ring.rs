//! Bucket primitives: the ranks stand in a ring, and every block goes around it.

use crate::blocks::Range;
use crate::step::{Buffer, Step};

/// The blocks of each for all.
pub(crate) fn allgather(rank: u32, ranks: u32) -> impl Iterator<Item = Step> {
    (0..ranks - 1).map(move |turn| pass_on(rank, ranks, back(rank, turn, ranks), Buffer::Vector))
}

/// Of the sum of all vectors the own block for each.
pub(crate) fn reduce_scatter(rank: u32, ranks: u32) -> impl Iterator<Item = Step> {
    // What is sent first is the block that arrives at its owner last.
    (1..ranks).flat_map(move |turn| {
        let blocks = Range::one(back(rank, turn + 1, ranks));
        [pass_on(rank, ranks, back(rank, turn, ranks), Buffer::Scratch), Step::Reduce { blocks }]
    })
}

/// Everybody's block for the rank before.
pub(crate) fn rotation(rank: u32, ranks: u32) -> impl Iterator<Item = Step> {
    let (before, after) = (back(rank, 1, ranks), back(rank, ranks - 1, ranks));
    let (send, receive) = (Range::one(rank), Range::one(after));
    std::iter::once(Step::Exchange { to: before, send, from: after, receive, into: Buffer::Vector })
}

/// Sends a block to the next rank, and gets the block before it.
fn pass_on(rank: u32, ranks: u32, block: u32, into: Buffer) -> Step {
    Step::Exchange {
        to: back(rank, ranks - 1, ranks),
        send: Range::one(block),
        from: back(rank, 1, ranks),
        receive: Range::one(back(block, 1, ranks)),
        into,
    }
}

/// The rank so many places before.
fn back(rank: u32, places: u32, ranks: u32) -> u32 {
    let places = places % ranks;
    if rank >= places { rank - places } else { rank + (ranks - places) }
}
