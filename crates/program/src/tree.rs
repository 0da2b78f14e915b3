//! Primitives over a minimum spanning tree: the ranks are halved again and again, and one rank represents each half.
//!
//! Chan cuts in the middle, wherever the root is, and the far end represents the half without it. For odd halves,
//! scatter and gather then carry up to 1.5 times the blocks of the bound. Here the half with the root takes the odd
//! rank, and the nearest end represents the other half. So the root and all after it carry at most `ranks - 1` blocks,
//! which is the bound, for every number of ranks and every root.

use crate::blocks::BlockRange;
use crate::step::{BufferPart, Step};
use crate::vector::Vector;

/// A message of the tree, seen from the root: `parent` passes the data of the ranks in `blocks` on to `child`.
struct Edge {
    parent: u32,
    child: u32,
    blocks: BlockRange,
}

/// The messages of a rank, from the root downwards.
fn edges(rank: u32, ranks: u32, mut root: u32) -> Vec<Edge> {
    let mut range = BlockRange::all(ranks);
    let mut edges = Vec::new();
    while range.ranks() > 1 {
        // The smaller half, unless they are equal, is the one without the root.
        let half = range.ranks() / 2;
        let right = BlockRange { first: range.end - half, end: range.end };
        let (own, other, child) = if right.contains(root) {
            let left = BlockRange { first: range.first, end: range.first + half };
            (BlockRange { first: left.end, end: range.end }, left, left.end - 1)
        } else {
            (BlockRange { first: range.first, end: right.first }, right, right.first)
        };
        if rank == root || rank == child {
            edges.push(Edge { parent: root, child, blocks: other });
        }
        if other.contains(rank) {
            (range, root) = (other, child);
        } else {
            range = own;
        }
    }
    edges
}

/// The root's vector for all.
pub(crate) fn bcast(on: Vector<'_>, rank: u32, root: u32) -> impl Iterator<Item = Step> {
    let blocks = BlockRange::all(on.ranks());
    down(on, rank, edges(rank, on.ranks(), root).into_iter().map(move |edge| Edge { blocks, ..edge }))
}

/// The root's blocks for each.
pub(crate) fn scatter(on: Vector<'_>, rank: u32, root: u32) -> impl Iterator<Item = Step> {
    down(on, rank, edges(rank, on.ranks(), root).into_iter())
}

/// The blocks of each for the root: scatter backwards.
pub(crate) fn gather(on: Vector<'_>, rank: u32, root: u32) -> impl Iterator<Item = Step> {
    let edges = edges(rank, on.ranks(), root).into_iter().rev();
    edges.map(move |edge| up(rank, &edge, on.part(edge.blocks), on.part(edge.blocks)))
}

/// The sum of all vectors for the root: bcast backwards.
pub(crate) fn reduce(on: Vector<'_>, rank: u32, root: u32) -> impl Iterator<Item = Step> {
    let whole = BlockRange::all(on.ranks());
    let (vector, arrived) = (on.part(whole), on.scratch(whole));
    edges(rank, on.ranks(), root).into_iter().rev().flat_map(move |edge| {
        let reduce = (rank == edge.parent).then_some(Step::Reduce { from: arrived, to: vector });
        [up(rank, &edge, vector, arrived)].into_iter().chain(reduce)
    })
}

fn down(on: Vector<'_>, rank: u32, edges: impl Iterator<Item = Edge>) -> impl Iterator<Item = Step> {
    edges.map(move |Edge { parent, child, blocks }| {
        let part = on.part(blocks);
        if rank == parent { Step::Send { to: child, part } } else { Step::Receive { from: parent, part } }
    })
}

fn up(rank: u32, edge: &Edge, sent: BufferPart, into: BufferPart) -> Step {
    if rank == edge.child {
        Step::Send { to: edge.parent, part: sent }
    } else {
        Step::Receive { from: edge.child, part: into }
    }
}
