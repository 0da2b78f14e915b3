//! Every program, played in memory: each rank ends up with what the collective promises.

use std::collections::BTreeMap;

use collrules_program::{
    BlockRange, Blocks, Buffer, BufferPart, Happening, Machine, Primitive, Programs, Reference, ReferenceAlgorithm,
    Step, play_and_tell, rotation,
};
use collrules_rules::Collective;
use proptest::prelude::*;

use crate::COLLECTIVES;

/// Content of a rank's vector: at each place nothing, or the number of times that each rank's data is in it. Weights
/// that are sums of different powers show whose data it is.
type Vector = Vec<Option<u128>>;

/// The element at a place of the known vector of a rank.
fn known(rank: u32, place: usize) -> u128 {
    // Of up to 64 ranks: what is twice in a sum, or missing, changes it.
    (1_u128 << rank) + ((place as u128) << 72)
}

fn span(blocks: &Blocks, range: BlockRange) -> std::ops::Range<usize> {
    let elements = blocks.elements(range);
    elements.start as usize..elements.end as usize
}

/// The buffers of all ranks, by rank and buffer. What is not there was never written to.
type Memory = BTreeMap<(u32, Buffer), Vector>;

/// Returns the data of a rank before the call, with the buffer that holds it.
fn before(collective: Collective, blocks: &Blocks, rank: u32, root: u32) -> (Buffer, Vector) {
    let all: Vector = (0..blocks.total() as usize).map(|place| Some(known(rank, place))).collect();
    let own = all[span(blocks, BlockRange::block(rank))].to_vec();
    match collective {
        Collective::Bcast if rank == root => (Buffer::Receive, all),
        Collective::Bcast => (Buffer::Send, Vec::new()),
        Collective::Scatter if rank != root => (Buffer::Send, Vec::new()),
        Collective::Gather | Collective::Allgather => (Buffer::Send, own),
        _ => (Buffer::Send, all),
    }
}

/// Returns the expected content of a rank's receive buffer after the call.
fn after(collective: Collective, blocks: &Blocks, rank: u32, root: u32) -> Vector {
    let sum = |place| (0..blocks.ranks()).map(|rank| known(rank, place)).sum();
    let own = span(blocks, BlockRange::block(rank));
    let owned = |owner| span(blocks, BlockRange::block(owner)).map(move |place| known(owner, place));
    let all = 0..blocks.total() as usize;
    let expected: Vec<u128> = match collective {
        Collective::Bcast => all.map(|place| known(root, place)).collect(),
        Collective::Scatter => own.map(|place| known(root, place)).collect(),
        Collective::Gather | Collective::Reduce if rank != root => Vec::new(),
        Collective::Gather | Collective::Allgather => (0..blocks.ranks()).flat_map(owned).collect(),
        Collective::Reduce | Collective::Allreduce => all.map(sum).collect(),
        _ => own.map(sum).collect(),
    };
    expected.into_iter().map(Some).collect()
}

fn read(memory: &Memory, rank: u32, part: BufferPart) -> Vector {
    let data = memory.get(&(rank, part.place)).and_then(|buffer| buffer.get(part.range())).unwrap_or_default();
    assert!(data.len() == part.len && data.iter().all(Option::is_some), "{rank} does not have {part:?}");
    data.to_vec()
}

fn write(memory: &mut Memory, rank: u32, part: BufferPart, data: &[Option<u128>]) {
    let buffer = memory.entry((rank, part.place)).or_default();
    assert_ne!(part.place, Buffer::Send, "nothing is written to what the caller sends");
    assert!(data.len() == part.len && part.len > 0, "as much is written as there is room for, and something");
    buffer.resize(buffer.len().max(part.range().end), None);
    buffer[part.range()].copy_from_slice(data);
}

/// The memory of all ranks after a play.
fn played(programs: &(impl Programs + ?Sized), mut memory: Memory) -> Memory {
    let times = play_and_tell(programs, &Machine::default(), &mut |happening| match happening {
        Happening::Message { from, sent, to, received } => {
            assert_eq!(sent.len, received.len, "{from} sends {to} what it waits for");
            let data = read(&memory, from, sent);
            write(&mut memory, to, received, &data);
        }
        Happening::Copied { rank, from, to } => {
            let data = read(&memory, rank, from);
            write(&mut memory, rank, to, &data);
        }
        Happening::Reduced { rank, from, to } => {
            let (arrived, own) = (read(&memory, rank, from), read(&memory, rank, to));
            let sum: Vector = arrived.iter().zip(own).map(|(one, other)| Some((*one)? + other?)).collect();
            write(&mut memory, rank, to, &sum);
            // Nothing is added twice.
            write(&mut memory, rank, from, &vec![None; from.len]);
        }
    });
    assert!(times.is_ok(), "{times:?}");
    memory
}

fn check(collective: Collective, reference: Reference, root: u32, blocks: &Blocks) {
    let algorithm =
        ReferenceAlgorithm::new(collective, reference, root, blocks.clone(), 1).expect("there is such an algorithm");
    let data = |rank| {
        let (place, data) = before(collective, blocks, rank, root);
        ((rank, place), data)
    };
    let memory = played(&algorithm, (0..blocks.ranks()).map(data).collect());
    for rank in 0..blocks.ranks() {
        let expected = after(collective, blocks, rank, root);
        let found = memory.get(&(rank, Buffer::Receive)).map(Vec::as_slice).unwrap_or_default();
        let name = reference.name();
        let ranks = blocks.ranks();
        assert_eq!(found, expected, "{collective} {name}, {ranks} ranks, root {root}: rank {rank}");
        let unwritten = before(collective, blocks, rank, root);
        let kept = unwritten.0 == Buffer::Receive || memory.get(&(rank, Buffer::Send)) == Some(&unwritten.1);
        assert!(kept, "{collective} {name}: rank {rank} writes to what it sends");
    }
}

#[test]
fn every_rank_gets_what_it_should_whatever_the_root() {
    for ranks in 2..=64 {
        // All roots of many ranks would take long.
        let roots = if ranks <= 32 { (0..ranks).collect() } else { vec![0, 1, ranks / 2, ranks - 1] };
        // Equal blocks, a remainder, and fewer elements than ranks.
        for blocks in [Blocks::equal(2, ranks), Blocks::share(u64::from(ranks) + 1, ranks), Blocks::share(1, ranks)] {
            for collective in COLLECTIVES {
                let roots = if COLLECTIVES[..4].contains(&collective) { &roots[..] } else { &roots[..1] };
                for reference in Reference::ALL {
                    roots.iter().for_each(|root| check(collective, reference, *root, &blocks));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn counts_may_be_anything(counts in prop::collection::vec(0_u64..5, 2..20), root in 0_u32..20) {
        let blocks = Blocks::from_counts(counts);
        let root = root % blocks.ranks();
        for collective in COLLECTIVES {
            for reference in Reference::ALL {
                check(collective, reference, root, &blocks);
            }
        }
    }
}

#[test]
fn a_rotation_hands_each_block_to_the_rank_before() {
    let blocks = Blocks::from_counts([2, 0, 3, 1]);
    let programs = rotation(&blocks).expect("4 ranks");
    let own = Buffer::Extra(0);
    let data = |rank| ((rank, own), (0..6).map(|place| Some(known(rank, place))).collect());
    let memory = played(programs.as_slice(), (0..4).map(data).collect());
    for rank in 0..4 {
        let next = (rank + 1) % 4;
        for place in span(&blocks, BlockRange::block(next)) {
            assert_eq!(memory[&(rank, own)][place], Some(known(next, place)));
        }
    }
}

#[test]
fn a_call_without_elements_sends_nothing() {
    for collective in COLLECTIVES {
        for reference in Reference::ALL {
            let algorithm = ReferenceAlgorithm::new(collective, reference, 0, Blocks::share(0, 5), 4).expect("5 ranks");
            assert_eq!((0..5).map(|rank| algorithm.steps(rank).count()).sum::<usize>(), 0, "{collective}");
        }
    }
}

#[test]
fn on_two_ranks_scatter_and_gather_are_the_same_for_short_and_long() {
    let algorithm = |collective, reference, ranks| {
        ReferenceAlgorithm::new(collective, reference, 0, Blocks::equal(8, ranks), 1)
            .expect("there is such an algorithm")
    };
    let same = |collective, ranks| {
        algorithm(collective, Reference::Short, ranks).is_same_as(&algorithm(collective, Reference::Long, ranks))
    };
    let equal: Vec<Collective> = COLLECTIVES.into_iter().filter(|collective| same(*collective, 2)).collect();
    assert_eq!(equal, [Collective::Scatter, Collective::Gather]);
    assert!(COLLECTIVES.into_iter().all(|collective| !same(collective, 4)));
}

#[test]
fn other_collectives_and_single_ranks_have_no_algorithm() {
    let blocks = Blocks::equal(8, 4);
    assert_eq!(ReferenceAlgorithm::new(Collective::Alltoall, Reference::Short, 0, blocks.clone(), 1), None);
    assert_eq!(ReferenceAlgorithm::new(Collective::Barrier, Reference::Long, 0, blocks.clone(), 1), None);
    assert_eq!(ReferenceAlgorithm::new(Collective::Bcast, Reference::Long, 4, blocks, 1), None);
    assert_eq!(ReferenceAlgorithm::new(Collective::Bcast, Reference::Long, 0, Blocks::equal(8, 1), 1), None);
    assert_eq!(rotation(&Blocks::equal(8, 1)), None);
}

#[test]
fn primitives_have_the_papers_names() {
    let composed = Reference::Long.primitives(Collective::Bcast).unwrap_or_default();
    assert_eq!(composed.iter().map(Primitive::to_string).collect::<Vec<_>>(), ["MST scatter", "bucket allgather"]);
    let algorithm =
        ReferenceAlgorithm::new(Collective::Bcast, Reference::Short, 0, Blocks::share(6, 3), 2).expect("3 ranks");
    // The root's half is the larger one: rank 2 is sent its part first.
    let part = BufferPart { place: Buffer::Receive, first: 0, len: 12 };
    let steps: Vec<Step> = algorithm.steps(0).collect();
    assert_eq!(steps, [Step::Send { to: 2, part }, Step::Send { to: 1, part }]);
}

/// A rank that only sends does so from the caller's buffer, and one that receives all of the vector does so in place.
#[test]
fn nothing_is_copied_that_a_caller_would_not_copy() {
    let extra = |collective, reference, rank| {
        let blocks = Blocks::share(100, 5);
        ReferenceAlgorithm::new(collective, reference, 0, blocks, 4).expect("5 ranks").program(rank).extra
    };
    for (collective, reference, rank, expected) in [
        (Collective::Bcast, Reference::Short, 1, vec![]),
        (Collective::Allgather, Reference::Long, 1, vec![]),
        (Collective::Scatter, Reference::Short, 0, vec![]),
        (Collective::Scatter, Reference::Short, 3, vec![400]),
        (Collective::Reduce, Reference::Short, 0, vec![0, 400]),
        (Collective::Reduce, Reference::Short, 4, vec![]),
        (Collective::ReduceScatter, Reference::Long, 2, vec![400, 400]),
    ] {
        assert_eq!(extra(collective, reference, rank), expected, "{collective} {} {rank}", reference.name());
    }
}
