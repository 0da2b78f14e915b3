//! Programs of coll/tuned's algorithms, as its code sends their messages, for root 0. The bytes have no place in a
//! buffer: only their number matters.

mod topology;

use collrules_rules::effective::{EffectiveAlgorithm, effective};
use collrules_rules::{Bytes, Call, Choice, Collective, Ranks, Release, registry};

use self::topology::{TreeRank, binary, binomial, chain, knomial};
use crate::blocks::{BlockRange, Blocks};
use crate::program::Program;
use crate::ring::{self, back};
use crate::step::{Buffer, BufferPart, NOTHING, Step};
use crate::vector::{OWN, Vector};

/// A call whose messages are built.
#[derive(Clone, Copy)]
struct CallShape {
    ranks: u32,
    bytes: u64,
    segment: u64,
    fanout: u32,
    max_requests: u32,
}

/// Builds the programs of all ranks.
type ProgramBuilder = fn(CallShape) -> Vec<Program>;

/// The algorithms whose messages are known, by their names in the registry, with the function that builds the programs.
const KNOWN: [(Collective, &str, ProgramBuilder); 20] = [
    (Collective::Alltoall, "linear", |call| exchanged(call, 0)),
    (Collective::Alltoall, "pairwise", in_pairs),
    (Collective::Alltoall, "modified_bruck", doubled),
    (Collective::Alltoall, "linear_sync", |call| exchanged(call, call.max_requests)),
    (Collective::Alltoall, "two_proc", in_pairs),
    (Collective::Bcast, "basic_linear", |call| bcast(&chain(call.ranks, call.ranks), call.bytes, call.bytes)),
    (Collective::Bcast, "chain", |call| bcast(&chain(call.ranks, call.fanout), call.bytes, call.segment)),
    (Collective::Bcast, "pipeline", |call| bcast(&chain(call.ranks, 1), call.bytes, call.segment)),
    (Collective::Bcast, "split_binary_tree", halves),
    (Collective::Bcast, "binary_tree", |call| bcast(&binary(call.ranks), call.bytes, call.segment)),
    (Collective::Bcast, "binomial", |call| bcast(&binomial(call.ranks), call.bytes, call.segment)),
    (Collective::Bcast, "knomial", |call| bcast(&knomial(call.ranks, call.fanout), call.bytes, call.segment)),
    (Collective::Bcast, "scatter_allgather", |call| scattered(call, call.ranks.is_power_of_two())),
    (Collective::Bcast, "scatter_allgather_ring", |call| scattered(call, false)),
    (Collective::Scatter, "basic_linear", |call| down(&chain(call.ranks, call.ranks), &[(0, call.bytes)], true)),
    (Collective::Scatter, "binomial", |call| down(&binomial(call.ranks), &[(0, call.bytes)], true)),
    (Collective::Scatter, "linear_nb", |call| down(&chain(call.ranks, call.ranks), &[(0, call.bytes)], false)),
    (Collective::Gather, "basic_linear", |call| up(&chain(call.ranks, call.ranks), call.bytes)),
    (Collective::Gather, "binomial", |call| up(&binomial(call.ranks), call.bytes)),
    (Collective::Gather, "linear_sync", asked_for),
];

/// The algorithms whose messages are known: collective and name.
pub fn known() -> impl Iterator<Item = (Collective, &'static str)> {
    KNOWN.into_iter().map(|(collective, name, _)| (collective, name))
}

/// Default of coll/tuned for missing fan-outs: chains of bcast, and the radix of k-nomial trees.
const CHAINS: u32 = 4;

/// The most messages of a call that are played: more take minutes.
const MOST_MESSAGES: u64 = 1 << 21;

/// The most messages on their way at once: each that ends changes the rates of all others.
const MOST_OPEN: u64 = 1 << 12;

/// Reason why a call of coll/tuned cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unplayable {
    /// An algorithm whose messages are not known.
    #[error("the messages of {collective} with {algorithm} are not known here; known are {known}")]
    Algorithm {
        /// The collective.
        collective: Collective,
        /// The algorithm, as it was named.
        algorithm: String,
        /// Algorithms that are known.
        known: String,
    },
    /// An algorithm that works on two ranks only.
    #[error("{0} with {1} runs on two ranks alone, and {2} are asked for")]
    TwoAlone(Collective, &'static str, u32),
    /// More messages than can be played.
    #[error(
        "such a call has about {messages} messages, up to {open} of them at a time; the simulation is limited to \
         {MOST_MESSAGES}, and {MOST_OPEN} at a time: ask for fewer ranks, or longer segments"
    )]
    Messages {
        /// Number of messages.
        messages: u64,
        /// Number of messages that may be on their way at once.
        open: u64,
    },
}

/// The programs of all ranks for a call with single bytes. If an algorithm falls back to another one, these are the
/// other's.
pub fn tuned(
    release: Release,
    collective: Collective,
    mut choice: Choice,
    ranks: u32,
    bytes: u64,
) -> Result<Vec<Program>, Unplayable> {
    let runs = effective(release, collective, choice, &Call::new(collective, Ranks(ranks), Bytes(bytes)));
    if matches!(runs.algorithm, EffectiveAlgorithm::Algorithm(algorithm) if algorithm.id != choice.algorithm) {
        choice = Choice { algorithm: runs.choice.algorithm, faninout: runs.choice.faninout, ..choice };
    }
    let found = registry::algorithm(release, collective, choice.algorithm).ok();
    let name = found.map(|algorithm| algorithm.name);
    let unknown = || Unplayable::Algorithm {
        collective,
        algorithm: name.map_or_else(|| choice.algorithm.to_string(), str::to_owned),
        known: known().map(|(collective, name)| format!("{collective} {name}")).collect::<Vec<_>>().join(", "),
    };
    let is_meant = |(of, known, _): &(Collective, &str, _)| *of == collective && Some(*known) == name;
    let (_, name, build) = KNOWN.into_iter().find(is_meant).ok_or_else(unknown)?;
    if found.is_some_and(|algorithm| !algorithm.admits(Ranks(ranks))) {
        return Err(Unplayable::TwoAlone(collective, name, ranks));
    }
    let segment = Some(choice.segsize).filter(|size| *size > 0 && *size < bytes).unwrap_or(bytes);
    let fanout = if choice.faninout > 0 { choice.faninout } else { CHAINS };
    let (all, others) = (u64::from(ranks), u64::from(ranks.saturating_sub(1)));
    let (messages, open) = match (collective, name) {
        (Collective::Alltoall, "modified_bruck") => (all * u64::from(ranks.ilog2() + 1), all),
        (Collective::Alltoall, "linear") => (all * others, all * others),
        (Collective::Alltoall, "linear_sync") if choice.max_requests == 0 => (all * others, all * others),
        (Collective::Alltoall, "linear_sync") => (all * others, all * others.min(choice.max_requests.into())),
        (Collective::Alltoall, _) => (all * others, all),
        _ => (2 * others * bytes.div_ceil(segment.max(1)).max(1), others),
    };
    if messages > MOST_MESSAGES || open > MOST_OPEN {
        return Err(Unplayable::Messages { messages, open });
    }
    Ok(build(CallShape { ranks, bytes, segment, fanout, max_requests: choice.max_requests }))
}

/// Empty messages of a dissemination barrier.
pub fn barrier(ranks: u32) -> Vec<Program> {
    swaps(ranks, doublings(ranks), |_| 0)
}

fn each(ranks: u32, steps: impl Fn(u32) -> Vec<Step>) -> Vec<Program> {
    (0..ranks).map(|rank| Program { extra: Vec::new(), steps: steps(rank) }).collect()
}

fn some(bytes: u64) -> BufferPart {
    BufferPart { place: Buffer::Send, first: 0, len: bytes as usize }
}

fn send(to: u32, bytes: u64) -> Step {
    Step::Send { to, part: some(bytes) }
}

fn receive(from: u32) -> Step {
    Step::Receive { from, part: NOTHING }
}

fn exchange(to: u32, from: u32, bytes: u64) -> Step {
    Step::Exchange { to, send: some(bytes), from, receive: NOTHING }
}

/// A block from every rank to every other, with at most `open` receives and sends at a time (0: all): receives from the
/// next ranks on, sends to those before.
fn exchanged(CallShape { ranks, bytes, .. }: CallShape, open: u32) -> Vec<Program> {
    let others = ranks.saturating_sub(1);
    let open = if open == 0 { others } else { open.min(others) };
    each(ranks, |rank| {
        let from = |place: u32| back(rank, ranks - 1 - place, ranks);
        let expect = |place: u32| Step::Expect { from: from(place) };
        let send = |place: u32| send(back(rank, 1 + place, ranks), bytes);
        let mut steps: Vec<Step> = (0..open).map(expect).chain((0..open).map(send)).collect();
        for place in 0..others {
            steps.push(receive(from(place)));
            if place + open < others {
                steps.extend([expect(place + open), send(place + open)]);
            }
        }
        steps.push(Step::Settle);
        steps
    })
}

/// Exchanges of all ranks with those at these distances, one after the other.
fn swaps(ranks: u32, distances: impl Iterator<Item = u32> + Clone, bytes: impl Fn(u32) -> u64) -> Vec<Program> {
    each(ranks, |rank| {
        let swap = |far: u32| exchange(back(rank, ranks - far, ranks), back(rank, far, ranks), bytes(far));
        distances.clone().map(swap).collect()
    })
}

fn doublings(ranks: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::successors(Some(1), |step| Some(2 * step)).take_while(move |step| *step < ranks)
}

/// A block from every rank to every other, one pair after the other.
fn in_pairs(CallShape { ranks, bytes, .. }: CallShape) -> Vec<Program> {
    swaps(ranks, 1..ranks, |_| bytes)
}

/// A block from every rank to every other with Bruck's algorithm: in each step, all blocks whose distance has that bit.
fn doubled(CallShape { ranks, bytes, .. }: CallShape) -> Vec<Program> {
    let blocks = |step: u32| (1..ranks).filter(|distance| distance & step != 0).count() as u64;
    swaps(ranks, doublings(ranks), |step| blocks(step) * bytes)
}

/// The lengths of the segments.
fn segments(bytes: u64, segment: u64) -> impl Iterator<Item = u64> {
    let count = if segment == 0 { 0 } else { bytes.div_ceil(segment) };
    (0..count).map(move |place| segment.min(bytes - place * segment))
}

/// Sends all bytes to all ranks, segment by segment.
fn bcast(tree: &[TreeRank], bytes: u64, segment: u64) -> Vec<Program> {
    down(tree, &segments(bytes, segment).map(|length| (length, 0)).collect::<Vec<_>>(), false)
}

/// Sends parts down a tree. The length of each is a number of bytes, plus a number for each rank of a child's subtree.
/// Senders wait for each message (`waits`), or for all of a part in the end.
fn down(tree: &[TreeRank], parts: &[(u64, u64)], waits: bool) -> Vec<Program> {
    each(tree.len() as u32, |rank| {
        let TreeRank { parent, children, .. } = &tree[rank as usize];
        let part = |(whole, own): &(u64, u64)| {
            let length = |child: u32| whole + own * tree[child as usize].ranks;
            let sends = children.iter().flat_map(move |child| {
                std::iter::once(send(*child, length(*child))).chain(waits.then_some(Step::Settle))
            });
            parent.map(receive).into_iter().chain(sends).chain([Step::Settle]).collect::<Vec<_>>()
        };
        parts.iter().flat_map(part).collect()
    })
}

/// Gathers everybody's block up a tree.
fn up(tree: &[TreeRank], bytes: u64) -> Vec<Program> {
    each(tree.len() as u32, |rank| {
        let TreeRank { parent, children, ranks } = &tree[rank as usize];
        let receives = children.iter().map(|child| receive(*child));
        receives.chain(parent.map(|parent| send(parent, bytes * ranks))).chain([Step::Settle]).collect()
    })
}

/// Sends a half down each side of a binary tree; then pairs of ranks, one from each side, swap them.
fn halves(CallShape { ranks, bytes, segment, .. }: CallShape) -> Vec<Program> {
    let tree = binary(ranks);
    if ranks < 3 {
        return bcast(&tree, bytes, segment);
    }
    let half = [bytes.div_ceil(2), bytes / 2];
    let side = |rank: u32| usize::from(rank.is_multiple_of(2));
    let lengths: [Vec<u64>; 2] = half.map(|half| segments(half, segment.min(half)).collect());
    each(ranks, |rank| {
        let TreeRank { parent, children, .. } = &tree[rank as usize];
        let mut steps = Vec::new();
        for place in 0..lengths[0].len().max(lengths[1].len()) {
            let length = |rank: u32| lengths[side(rank)].get(place).copied();
            steps.extend(parent.filter(|_| length(rank).is_some()).map(receive));
            let sends = children.iter().filter_map(|child| Some([send(*child, length(*child)?), Step::Settle]));
            steps.extend(sends.flatten());
        }
        let other = if rank.is_multiple_of(2) { rank.saturating_sub(1) } else { rank + 1 };
        // Without a pair, the last rank has its other half from the root.
        match rank {
            0 if ranks.is_multiple_of(2) => steps.extend([send(ranks - 1, half[1]), Step::Settle]),
            0 => {}
            _ if other < ranks => steps.push(exchange(other, other, half[side(rank)])),
            _ => steps.push(receive(0)),
        }
        steps
    })
}

/// Scatters blocks down a binomial tree, the farthest first, then gathers all blocks to all: by doubling, or around a
/// ring.
fn scattered(CallShape { ranks, bytes, .. }: CallShape, doubling: bool) -> Vec<Program> {
    let block = bytes.div_ceil(u64::from(ranks.max(1)));
    // The last ranks may have less, or nothing.
    let begin = |rank: u32| (u64::from(rank) * block).min(bytes);
    let blocks = Blocks::from_counts((0..ranks).map(|rank| begin(rank + 1) - begin(rank)));
    let length = |first: u32, count: u32| blocks.len(BlockRange { first, end: first + count });
    let tree = knomial(ranks, 2);
    each(ranks, |rank| {
        let TreeRank { parent, children, .. } = &tree[rank as usize];
        let sends = children
            .iter()
            .flat_map(|child| [send(*child, length(*child, tree[*child as usize].ranks as u32)), Step::Settle]);
        let mut steps: Vec<Step> = parent.map(receive).into_iter().chain(sends).collect();
        if doubling {
            let swap = |mask: u32| exchange(rank ^ mask, rank ^ mask, length(rank / mask * mask, mask));
            steps.extend(doublings(ranks).map(swap));
        } else {
            steps.extend(ring::allgather(Vector { blocks: &blocks, element: 1, place: OWN, left_out: 0 }, rank));
        }
        steps
    })
}

/// The root asks each rank in turn for a first segment, and receives the rests as they come.
fn asked_for(CallShape { ranks, bytes, segment, .. }: CallShape) -> Vec<Program> {
    let rest = bytes - segment;
    each(ranks, |rank| match rank {
        0 => {
            let rests = (1..ranks).filter(|_| rest > 0).map(receive);
            (1..ranks).flat_map(|other| [send(other, 0), receive(other)]).chain(rests).collect()
        }
        _ => {
            let rest = Some(send(0, rest)).filter(|_| rest > 0);
            [receive(0), send(0, segment)].into_iter().chain(rest).chain([Step::Settle]).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Platform, play};

    fn choice(algorithm: u32, segsize: u64) -> Choice {
        Choice { algorithm, segsize, ..Choice::default() }
    }

    fn link_times(collective: Collective, choice: Choice, ranks: u32) -> f64 {
        let bytes = 1 << 16;
        let programs = tuned(Release::V4_1, collective, choice, ranks, bytes).expect("known");
        let ends = play(programs.as_slice(), &Platform::shared_links(ranks as usize, bytes as f64)).expect("it ends");
        ends.into_iter().fold(0.0, f64::max)
    }

    /// Max-min sharing on 8 ranks, compared with known counts of link times.
    #[test]
    fn shared_links_take_the_known_number_of_link_times() {
        for (collective, algorithm, expected) in [
            (Collective::Bcast, 1, 7.0),
            (Collective::Bcast, 5, 5.0),
            (Collective::Bcast, 7, 7.0),
            (Collective::Scatter, 1, 7.0),
            (Collective::Scatter, 2, 11.0),
            (Collective::Alltoall, 1, 7.0),
            (Collective::Alltoall, 2, 7.0),
            (Collective::Alltoall, 3, 12.0),
            (Collective::Alltoall, 4, 7.0),
        ] {
            let found = link_times(collective, choice(algorithm, 0), 8);
            assert!((found - expected).abs() < 1e-6, "{collective} {algorithm}: {found}");
        }
        assert!((link_times(Collective::Bcast, choice(3, 1024), 8) - (1.0 + 6.0 / 64.0)).abs() < 1e-6, "pipeline");
    }

    #[test]
    fn what_falls_back_sends_the_messages_of_the_other() {
        let few = |algorithm| tuned(Release::V4_1, Collective::Bcast, choice(algorithm, 0), 8, 7).expect("known");
        assert_eq!(few(8), few(1));
        let halves = |algorithm, segsize| tuned(Release::V4_1, Collective::Bcast, choice(algorithm, segsize), 8, 1000);
        let chain = tuned(Release::V4_1, Collective::Bcast, choice(3, 501), 8, 1000);
        assert_eq!(halves(4, 501), chain, "a single chain");
        assert_ne!(halves(4, 500), chain);
    }

    #[test]
    fn every_known_algorithm_ends_on_any_number_of_ranks() {
        for (collective, name) in known() {
            let id = registry::id_of(Release::V4_1, collective, name).expect("in the registry");
            for ranks in (1..10).chain([16, 19]) {
                for (bytes, segsize) in [(0, 0), (1, 0), (1000, 0), (1000, 64), (1000, 3)] {
                    let programs = tuned(Release::V4_1, collective, choice(id, segsize), ranks, bytes);
                    if name == "two_proc" && ranks != 2 {
                        assert!(matches!(programs, Err(Unplayable::TwoAlone(..))));
                        continue;
                    }
                    let platform = Platform::shared_links(ranks as usize, 1e6);
                    let ends = play(programs.expect("known").as_slice(), &platform);
                    assert!(ends.is_ok(), "{collective} {name}, {ranks} ranks, {bytes} bytes: {ends:?}");
                }
            }
        }
        let unknown = tuned(Release::V4_1, Collective::Allreduce, choice(1, 0), 4, 8);
        assert!(unknown.is_err_and(|error| error.to_string().contains("known are alltoall linear")));
        for (ranks, segsize) in [(65, 0), (4, 1)] {
            let (collective, id) = if segsize == 0 { (Collective::Alltoall, 1) } else { (Collective::Bcast, 3) };
            let many = tuned(Release::V4_1, collective, choice(id, segsize), ranks, 1 << 30);
            assert!(matches!(many, Err(Unplayable::Messages { .. })));
        }
    }
}
