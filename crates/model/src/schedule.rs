//! The messages of coll/tuned's algorithms, as its code sends them, for root 0.

use collrules_program::{Buffer, BufferPart, NOTHING, Program, Step};
use collrules_rules::{Choice, Collective, Ranks, Release, registry};

use crate::machine::{MOST_MESSAGES, MOST_OPEN, Unsaid};
use crate::tree::{self, MessageTree};

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
    (Collective::Alltoall, "linear", |call| exchanged(call.ranks, call.bytes, 0)),
    (Collective::Alltoall, "pairwise", |call| in_pairs(call.ranks, call.bytes)),
    (Collective::Alltoall, "modified_bruck", |call| doubled(call.ranks, call.bytes)),
    (Collective::Alltoall, "linear_sync", |call| exchanged(call.ranks, call.bytes, call.max_requests)),
    (Collective::Alltoall, "two_proc", |call| in_pairs(call.ranks, call.bytes)),
    (Collective::Bcast, "basic_linear", |call| down(&tree::linear(call.ranks), call.bytes, call.bytes)),
    (Collective::Bcast, "chain", |call| down(&tree::chain(call.ranks, call.fanout), call.bytes, call.segment)),
    (Collective::Bcast, "pipeline", |call| down(&tree::chain(call.ranks, 1), call.bytes, call.segment)),
    (Collective::Bcast, "split_binary_tree", |call| halves(call.ranks, call.bytes, call.segment)),
    (Collective::Bcast, "binary_tree", |call| down(&tree::binary(call.ranks), call.bytes, call.segment)),
    (Collective::Bcast, "binomial", |call| down(&tree::binomial(call.ranks), call.bytes, call.segment)),
    (Collective::Bcast, "knomial", |call| down(&tree::knomial(call.ranks, call.fanout), call.bytes, call.segment)),
    (Collective::Bcast, "scatter_allgather", |call| scattered(call.ranks, call.bytes, call.ranks.is_power_of_two())),
    (Collective::Bcast, "scatter_allgather_ring", |call| scattered(call.ranks, call.bytes, false)),
    (Collective::Scatter, "basic_linear", |call| blocks_down(&tree::linear(call.ranks), call.bytes, true)),
    (Collective::Scatter, "binomial", |call| blocks_down(&tree::binomial(call.ranks), call.bytes, true)),
    (Collective::Scatter, "linear_nb", |call| blocks_down(&tree::linear(call.ranks), call.bytes, false)),
    (Collective::Gather, "basic_linear", |call| blocks_up(&tree::linear(call.ranks), call.bytes)),
    (Collective::Gather, "binomial", |call| blocks_up(&tree::binomial(call.ranks), call.bytes)),
    (Collective::Gather, "linear_sync", |call| asked_for(call.ranks, call.bytes, call.segment)),
];

/// The algorithms whose messages are known: collective and name.
pub fn known() -> impl Iterator<Item = (Collective, &'static str)> {
    KNOWN.into_iter().map(|(collective, name, _)| (collective, name))
}

/// Default of coll/tuned for missing fan-outs: chains of bcast, and the radix of k-nomial trees.
const CHAINS: u32 = 4;

/// The programs of all ranks for a call.
pub fn programs(
    release: Release,
    collective: Collective,
    choice: Choice,
    ranks: u32,
    bytes: u64,
) -> Result<Vec<Program>, Unsaid> {
    let found = registry::algorithm(release, collective, choice.algorithm).ok();
    let name = found.map(|algorithm| algorithm.name);
    let unsaid = || Unsaid::Algorithm {
        collective: collective.to_string(),
        algorithm: name.map_or_else(|| choice.algorithm.to_string(), str::to_owned),
        known: known().map(|(collective, name)| format!("{collective} {name}")).collect::<Vec<_>>().join(", "),
    };
    let is_meant = |(of, known, _): &(Collective, &str, _)| *of == collective && Some(*known) == name;
    let (_, name, build) = KNOWN.into_iter().find(is_meant).ok_or_else(unsaid)?;
    let segment = Some(choice.segsize).filter(|size| *size > 0 && *size < bytes).unwrap_or(bytes);
    let fanout = if choice.faninout > 0 { choice.faninout } else { CHAINS };
    if let Some(algorithm) = found.filter(|algorithm| !algorithm.ranks.admits(Ranks(ranks))) {
        return Err(Unsaid::TwoAlone { collective: collective.to_string(), algorithm: algorithm.name, ranks });
    }
    let others = u64::from(ranks.saturating_sub(1));
    let (messages, open) = match (collective, name) {
        (Collective::Alltoall, "modified_bruck") => (u64::from(ranks) * u64::from(ranks.ilog2() + 1), u64::from(ranks)),
        (Collective::Alltoall, "linear") => (u64::from(ranks) * others, u64::from(ranks) * others),
        (Collective::Alltoall, "linear_sync") => {
            let each = if choice.max_requests == 0 { others } else { others.min(choice.max_requests.into()) };
            (u64::from(ranks) * others, u64::from(ranks) * each)
        }
        (Collective::Alltoall, _) => (u64::from(ranks) * others, u64::from(ranks)),
        _ => (2 * others * bytes.div_ceil(segment.max(1)).max(1), others),
    };
    if messages > MOST_MESSAGES || open > MOST_OPEN {
        return Err(Unsaid::Messages { messages, open });
    }
    Ok(build(CallShape { ranks, bytes, segment, fanout, max_requests: choice.max_requests }))
}

/// A block from every rank to every other, with at most `open` receives and sends at a time (0: all): receives from the
/// next ranks on, sends to those before.
fn exchanged(ranks: u32, bytes: u64, open: u32) -> Vec<Program> {
    let others = ranks.saturating_sub(1);
    let open = if open == 0 { others } else { open.min(others) };
    let each = |rank: u32| {
        let from = |place: u32| (rank + 1 + place) % ranks;
        let to = |place: u32| (rank + ranks - 1 - place) % ranks;
        let mut actions: Vec<Step> = (0..open).map(|place| Step::Expect { from: from(place) }).collect();
        actions.extend((0..open).map(|place| send(to(place), bytes)));
        for place in 0..others {
            actions.push(receive(from(place)));
            if place + open < others {
                actions.extend([Step::Expect { from: from(place + open) }, send(to(place + open), bytes)]);
            }
        }
        actions.push(Step::Settle);
        actions.into_iter().collect()
    };
    (0..ranks).map(each).collect()
}

/// A block from every rank to every other, one pair after the other.
fn in_pairs(ranks: u32, bytes: u64) -> Vec<Program> {
    let swap = |rank: u32, step: u32| exchange((rank + step) % ranks, (rank + ranks - step) % ranks, bytes);
    (0..ranks).map(|rank| (1..ranks).map(|step| swap(rank, step)).collect()).collect()
}

/// A block from every rank to every other with Bruck's algorithm: in each step, all blocks whose distance has that bit.
fn doubled(ranks: u32, bytes: u64) -> Vec<Program> {
    let steps = || std::iter::successors(Some(1), |step| Some(2 * step)).take_while(move |step| *step < ranks);
    let each = |rank: u32| {
        let swap = |step: u32| {
            let blocks = (1..ranks).filter(|distance| distance & step != 0).count() as u64;
            exchange((rank + step) % ranks, (rank + ranks - step) % ranks, blocks * bytes)
        };
        steps().map(swap).collect()
    };
    (0..ranks).map(each).collect()
}

/// Empty messages of a dissemination barrier.
pub fn barrier(ranks: u32) -> Vec<Program> {
    let steps = || std::iter::successors(Some(1), |step| Some(2 * step)).take_while(|step| *step < ranks);
    let each =
        |rank: u32| steps().map(|step| exchange((rank + step) % ranks, (rank + ranks - step) % ranks, 0)).collect();
    (0..ranks).map(each).collect()
}

/// Bytes without a place, of which only the number matters.
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

/// The lengths of the segments.
fn segments(bytes: u64, segment: u64) -> impl Iterator<Item = u64> + Clone {
    let (whole, rest) = bytes.checked_div(segment).map_or((0, 0), |whole| (whole, bytes - whole * segment));
    std::iter::repeat_n(segment, whole as usize).chain(Some(rest).filter(|rest| *rest > 0))
}

/// Builds the programs of ranks that send all bytes to all others down a tree, segment by segment.
fn down(tree: &MessageTree, bytes: u64, segment: u64) -> Vec<Program> {
    let parents = tree::parents(tree);
    let each = |rank: usize| {
        let mut actions = Vec::new();
        for length in segments(bytes, segment) {
            actions.extend(parents[rank].map(receive));
            actions.extend(tree[rank].iter().map(|child| send(*child, length)));
            actions.push(Step::Settle);
        }
        actions.into_iter().collect()
    };
    (0..tree.len()).map(each).collect()
}

/// Sends a half down each side of a binary tree; then pairs of ranks, one from each side, swap them.
fn halves(ranks: u32, bytes: u64, segment: u64) -> Vec<Program> {
    let tree = tree::binary(ranks);
    if ranks < 3 {
        return down(&tree, bytes, segment);
    }
    let half = [bytes.div_ceil(2), bytes / 2];
    let parents = tree::parents(&tree);
    let side = |rank: u32| usize::from(rank.is_multiple_of(2));
    let mut programs: Vec<Program> = vec![Program::default(); ranks as usize];
    let lengths: [Vec<u64>; 2] = half.map(|half| segments(half, segment.min(half)).collect());
    for at in 0..lengths[0].len().max(lengths[1].len()) {
        for child in &tree[0] {
            let sent = lengths[side(*child)].get(at).map(|length| [send(*child, *length), Step::Settle]);
            programs[0].extend(sent.into_iter().flatten());
        }
    }
    for rank in 1..ranks {
        for length in &lengths[side(rank)] {
            programs[rank as usize].extend(parents[rank as usize].map(receive));
            for child in &tree[rank as usize] {
                programs[rank as usize].extend([send(*child, *length), Step::Settle]);
            }
        }
    }
    for odd in (1..ranks).step_by(2) {
        let even = odd + 1;
        if even < ranks {
            programs[odd as usize].extend([exchange(even, even, half[0])]);
            programs[even as usize].extend([exchange(odd, odd, half[1])]);
        } else {
            programs[0].extend([send(odd, half[1]), Step::Settle]);
            programs[odd as usize].extend([receive(0)]);
        }
    }
    programs
}

/// Scatters blocks down a binomial tree, the farthest first, then gathers all blocks to all: by doubling, or around a
/// ring.
fn scattered(ranks: u32, bytes: u64, doubling: bool) -> Vec<Program> {
    let block = bytes.div_ceil(u64::from(ranks.max(1)));
    // The last ranks may have less, or nothing.
    let length = |first: u32, count: u32| {
        let begin = (u64::from(first) * block).min(bytes);
        (begin + u64::from(count) * block).min(bytes) - begin
    };
    let tree = tree::binomial(ranks);
    let (parents, sizes) = (tree::parents(&tree), tree::sizes(&tree));
    (0..ranks)
        .map(|rank| {
            let mut actions: Vec<Step> = parents[rank as usize].map(receive).into_iter().collect();
            for child in tree[rank as usize].iter().rev() {
                actions.extend([send(*child, length(*child, sizes[*child as usize] as u32)), Step::Settle]);
            }
            if doubling {
                let mut mask = 1;
                while mask < ranks {
                    let partner = rank ^ mask;
                    actions.push(exchange(partner, partner, length(rank / mask * mask, mask)));
                    mask *= 2;
                }
            } else {
                for step in 0..ranks.saturating_sub(1) {
                    let sent = (rank + ranks - step) % ranks;
                    actions.push(exchange((rank + 1) % ranks, (rank + ranks - 1) % ranks, length(sent, 1)));
                }
            }
            actions.into_iter().collect()
        })
        .collect()
}

/// Scatters blocks down a tree. If senders do not wait for each block (`waits`), they wait for all in the end.
fn blocks_down(tree: &MessageTree, bytes: u64, waits: bool) -> Vec<Program> {
    let (parents, sizes) = (tree::parents(tree), tree::sizes(tree));
    let each = |rank: usize| {
        let sends = tree[rank].iter().flat_map(|child| {
            let settled = waits.then_some(Step::Settle);
            std::iter::once(send(*child, bytes * sizes[*child as usize])).chain(settled)
        });
        parents[rank].map(receive).into_iter().chain(sends).chain([Step::Settle]).collect()
    };
    (0..tree.len()).map(each).collect()
}

/// Gathers everybody's block up a tree.
fn blocks_up(tree: &MessageTree, bytes: u64) -> Vec<Program> {
    let (parents, sizes) = (tree::parents(tree), tree::sizes(tree));
    let each = |rank: usize| {
        let receives = tree[rank].iter().map(|child| receive(*child));
        receives.chain(parents[rank].map(|parent| send(parent, bytes * sizes[rank]))).chain([Step::Settle]).collect()
    };
    (0..tree.len()).map(each).collect()
}

/// The root asks each rank in turn for a first segment, and receives the rests as they come.
fn asked_for(ranks: u32, bytes: u64, first: u64) -> Vec<Program> {
    let rest = bytes - first;
    let mut programs: Vec<Program> = vec![Program::default(); ranks as usize];
    for rank in 1..ranks {
        programs[0].extend([send(rank, 0), receive(rank)]);
        programs[rank as usize].extend([receive(0), send(0, first)]);
        if rest > 0 {
            programs[rank as usize].extend([send(0, rest)]);
        }
        programs[rank as usize].extend([Step::Settle]);
    }
    if rest > 0 {
        programs[0].extend((1..ranks).map(receive));
    }
    programs
}

#[cfg(test)]
mod tests {
    use collrules_program::{Platform, play};

    use super::*;

    fn choice(algorithm: u32, segsize: u64) -> Choice {
        Choice { algorithm, segsize, ..Choice::default() }
    }

    fn link_times(collective: Collective, choice: Choice, ranks: u32) -> f64 {
        let bytes = 1 << 16;
        let programs = programs(Release::V4_1, collective, choice, ranks, bytes).expect("known");
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
    fn every_known_algorithm_ends_on_any_number_of_ranks() {
        for (collective, name) in known() {
            let id = registry::id_of(Release::V4_1, collective, name).expect("in the registry");
            for ranks in (1..10).chain([16, 19]) {
                for (bytes, segsize) in [(0, 0), (1, 0), (1000, 0), (1000, 64), (1000, 3)] {
                    let programs = programs(Release::V4_1, collective, choice(id, segsize), ranks, bytes);
                    if name == "two_proc" && ranks != 2 {
                        assert!(programs.is_err_and(|error| error.to_string().contains("two ranks alone")));
                        continue;
                    }
                    let platform = Platform::shared_links(ranks as usize, 1e6);
                    let ends = play(programs.expect("known").as_slice(), &platform);
                    assert!(ends.is_ok(), "{collective} {name}, {ranks} ranks, {bytes} bytes: {ends:?}");
                }
            }
        }
        let unknown = programs(Release::V4_1, Collective::Allreduce, choice(1, 0), 4, 8);
        assert!(unknown.is_err_and(|error| error.to_string().contains("known are alltoall linear")));
        for (ranks, segsize) in [(65, 0), (4, 1)] {
            let (collective, id) = if segsize == 0 { (Collective::Alltoall, 1) } else { (Collective::Bcast, 3) };
            let many = programs(Release::V4_1, collective, choice(id, segsize), ranks, 1 << 30);
            assert!(many.is_err_and(|error| error.to_string().contains("messages")));
        }
    }
}
