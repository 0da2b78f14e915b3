//! Bucket primitives: the ranks form a ring, and every block goes around it.

use crate::blocks::BlockRange;
use crate::step::{BufferPart, Step};
use crate::vector::Vector;

/// The blocks of each for all.
pub(crate) fn allgather(on: Vector<'_>, rank: u32) -> impl Iterator<Item = Step> {
    let ranks = on.ranks();
    (0..ranks - 1).map(move |turn| pass_on(on, rank, back(rank, turn, ranks), |range| on.part(range)))
}

/// For each rank its block of the sum of all vectors.
pub(crate) fn reduce_scatter(on: Vector<'_>, rank: u32) -> impl Iterator<Item = Step> {
    let ranks = on.ranks();
    // What is sent first is the block that arrives at its owner last.
    (1..ranks).flat_map(move |turn| {
        let arrived = BlockRange::block(back(rank, turn + 1, ranks));
        let reduce = Step::Reduce { from: on.scratch(arrived), to: on.part(arrived) };
        [pass_on(on, rank, back(rank, turn, ranks), |range| on.scratch(range)), reduce]
    })
}

/// Sends a block to the next rank, and gets the block before it.
fn pass_on(on: Vector<'_>, rank: u32, block: u32, into: impl Fn(BlockRange) -> BufferPart) -> Step {
    let ranks = on.ranks();
    Step::Exchange {
        to: back(rank, ranks - 1, ranks),
        send: on.part(BlockRange::block(block)),
        from: back(rank, 1, ranks),
        receive: into(BlockRange::block(back(block, 1, ranks))),
    }
}

/// The rank this many places before.
pub(crate) fn back(rank: u32, places: u32, ranks: u32) -> u32 {
    let places = places % ranks;
    if rank >= places { rank - places } else { rank + (ranks - places) }
}
