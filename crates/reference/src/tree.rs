//! Primitives over a minimum spanning tree: the ranks are halved again and again, and of each half one rank stands for
//! all of it.
//!
//! Chan's halves are cut in the middle, whoever is in them, and the far end stands for the half without the root. Where a
//! half is odd, scatter and gather then carry up to 1.5 times the blocks of the bound. Here the half with the root takes
//! the odd rank, and the nearest end stands for the other half. So the root and all who follow it carry `ranks - 1`
//! blocks at most, which is the bound, for every number of ranks and every root.

use crate::blocks::Range;
use crate::step::{Buffer, Step};

/// A message of the tree, seen from the root: `parent` hands on to `child` what belongs to the ranks in `blocks`.
struct Edge {
    parent: u32,
    child: u32,
    blocks: Range,
}

/// The messages of a rank, from the root downwards.
fn edges(rank: u32, ranks: u32, mut root: u32) -> Vec<Edge> {
    let mut range = Range::all(ranks);
    let mut edges = Vec::new();
    while range.ranks() > 1 {
        // The smaller half, unless they are equal, is the one without the root.
        let half = range.ranks() / 2;
        let right = Range { first: range.end - half, end: range.end };
        let (own, other, child) = if right.contains(root) {
            let left = Range { first: range.first, end: range.first + half };
            (Range { first: left.end, end: range.end }, left, left.end - 1)
        } else {
            (Range { first: range.first, end: right.first }, right, right.first)
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
pub(crate) fn bcast(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = Step> {
    down(rank, edges(rank, ranks, root).into_iter().map(move |edge| Edge { blocks: Range::all(ranks), ..edge }))
}

/// The root's blocks for each.
pub(crate) fn scatter(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = Step> {
    down(rank, edges(rank, ranks, root).into_iter())
}

/// The blocks of each for the root: scatter backwards.
pub(crate) fn gather(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = Step> {
    edges(rank, ranks, root).into_iter().rev().map(move |edge| up(rank, &edge, edge.blocks, Buffer::Vector))
}

/// The sum of all vectors for the root: bcast backwards.
pub(crate) fn reduce(rank: u32, ranks: u32, root: u32) -> impl Iterator<Item = Step> {
    let blocks = Range::all(ranks);
    edges(rank, ranks, root).into_iter().rev().flat_map(move |edge| {
        let reduce = (rank == edge.parent).then_some(Step::Reduce { blocks });
        [up(rank, &edge, blocks, Buffer::Scratch)].into_iter().chain(reduce)
    })
}

fn down(rank: u32, edges: impl Iterator<Item = Edge>) -> impl Iterator<Item = Step> {
    edges.map(move |Edge { parent, child, blocks }| {
        if rank == parent {
            Step::Send { to: child, blocks }
        } else {
            Step::Receive { from: parent, blocks, into: Buffer::Vector }
        }
    })
}

fn up(rank: u32, edge: &Edge, blocks: Range, into: Buffer) -> Step {
    if rank == edge.child {
        Step::Send { to: edge.parent, blocks }
    } else {
        Step::Receive { from: edge.child, blocks, into }
    }
}
