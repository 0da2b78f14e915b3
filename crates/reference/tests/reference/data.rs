//! Every script, played in memory: each rank ends up with what the collective promises.

use collrules_reference::{Blocks, Buffer, Happening, Machine, Primitive, Range, Reference, Script, Step, play};
use collrules_rules::Collective;
use proptest::prelude::*;

use crate::COLLECTIVES;

/// What a rank has at a place of its vector: nothing, or how often each rank's data is in it. Weights that are sums of
/// different powers tell apart whose data it is.
type Vector = Vec<Option<u128>>;

/// The element at a place of the known vector of a rank.
fn known(rank: u32, place: usize) -> u128 {
    // Of up to 64 ranks: what is twice in a sum, or missing, changes it.
    (1_u128 << rank) + ((place as u128) << 72)
}

fn span(blocks: &Blocks, range: Range) -> std::ops::Range<usize> {
    let elements = blocks.elements(range);
    elements.start as usize..elements.end as usize
}

/// What a rank has before the call.
fn before(collective: Collective, blocks: &Blocks, rank: u32, root: u32) -> Vector {
    let all = 0..blocks.total() as usize;
    let own = span(blocks, Range::one(rank));
    let has = |place: &usize| match collective {
        Collective::Bcast | Collective::Scatter => rank == root,
        Collective::Gather | Collective::Allgather => own.contains(place),
        _ => true,
    };
    all.map(|place| has(&place).then(|| known(rank, place))).collect()
}

/// What a rank has to have after it, where it is promised anything.
fn after(collective: Collective, blocks: &Blocks, rank: u32, root: u32) -> Vector {
    let sum = |place| (0..blocks.ranks()).map(|rank| known(rank, place)).sum();
    let expected = |owner: u32, place: usize| match collective {
        Collective::Bcast => Some(known(root, place)),
        Collective::Scatter => (owner == rank).then(|| known(root, place)),
        Collective::Gather => (rank == root).then(|| known(owner, place)),
        Collective::Allgather => Some(known(owner, place)),
        Collective::Reduce => (rank == root).then(|| sum(place)),
        Collective::Allreduce => Some(sum(place)),
        _ => (owner == rank).then(|| sum(place)),
    };
    let block = |owner| span(blocks, Range::one(owner)).map(move |place| (owner, place));
    (0..blocks.ranks()).flat_map(block).map(|(owner, place)| expected(owner, place)).collect()
}

/// The vectors of all ranks after a play.
fn played(script: &Script, mut vectors: Vec<Vector>) -> Vec<Vector> {
    let blocks = script.blocks().clone();
    let mut scratch: Vec<Vector> = vectors.iter().map(|vector| vec![None; vector.len()]).collect();
    let times = play(script, Machine::default(), &mut |happening| match happening {
        Happening::Message { from, to, blocks: sent, expected, into } => {
            assert_eq!(sent, expected, "{from} sends {to} what it waits for");
            let place = span(&blocks, sent);
            assert!(!place.is_empty(), "no message without elements");
            let data = vectors[from as usize][place.clone()].to_vec();
            assert!(data.iter().all(Option::is_some), "{from} sends {to} what it does not have: {sent:?}");
            let into = if into == Buffer::Vector { &mut vectors } else { &mut scratch };
            into[to as usize][place].copy_from_slice(&data);
        }
        Happening::Reduced { rank, blocks: reduced } => {
            for place in span(&blocks, reduced) {
                let arrived = scratch[rank as usize][place].take().expect("something arrived");
                let own = vectors[rank as usize][place].as_mut().expect("there is something to add it to");
                *own += arrived;
            }
        }
    });
    assert!(times.is_ok(), "{times:?}");
    vectors
}

fn check(collective: Collective, reference: Reference, root: u32, blocks: &Blocks) {
    let script = Script::new(collective, reference, root, blocks.clone()).expect("there is such an algorithm");
    let ranks = 0..blocks.ranks();
    let vectors = played(&script, ranks.clone().map(|rank| before(collective, blocks, rank, root)).collect());
    for rank in ranks {
        for (place, expected) in after(collective, blocks, rank, root).into_iter().enumerate() {
            let found = vectors[rank as usize][place];
            assert!(
                expected.is_none() || found == expected,
                "{collective} {}, {} ranks, root {root}: rank {rank} has {found:?} at {place}, not {expected:?}",
                reference.name(),
                blocks.ranks()
            );
        }
    }
}

#[test]
fn every_rank_gets_what_it_should_for_every_root() {
    for ranks in 2..=64 {
        // Equal blocks, a remainder, and fewer elements than ranks.
        for blocks in [Blocks::equal(2, ranks), Blocks::share(u64::from(ranks) + 1, ranks), Blocks::share(1, ranks)] {
            for collective in COLLECTIVES {
                let rooted = COLLECTIVES[..4].contains(&collective);
                for reference in Reference::ALL {
                    (0..if rooted { ranks } else { 1 }).for_each(|root| check(collective, reference, root, &blocks));
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn counts_may_be_anything(counts in prop::collection::vec(0_u64..5, 2..20), root in 0_u32..20) {
        let blocks = Blocks::of(counts);
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
    let blocks = Blocks::of([2, 0, 3, 1]);
    let script = Script::rotation(blocks.clone()).expect("4 ranks");
    let vectors = played(&script, (0..4).map(|rank| before(Collective::Allgather, &blocks, rank, 0)).collect());
    for rank in 0..4 {
        let next = (rank + 1) % 4;
        for place in span(&blocks, Range::one(next)) {
            assert_eq!(vectors[rank as usize][place], Some(known(next, place)));
        }
    }
}

#[test]
fn a_call_without_elements_sends_nothing() {
    for collective in COLLECTIVES {
        for reference in Reference::ALL {
            let script = Script::new(collective, reference, 0, Blocks::share(0, 5)).expect("5 ranks");
            assert_eq!((0..5).map(|rank| script.steps(rank).count()).sum::<usize>(), 0, "{collective}");
        }
    }
}

#[test]
fn on_two_ranks_scatter_and_gather_are_the_same_for_short_and_long() {
    let script = |collective, reference, ranks| {
        Script::new(collective, reference, 0, Blocks::equal(8, ranks)).expect("there is such an algorithm")
    };
    let same = |collective, ranks| {
        script(collective, Reference::Short, ranks).is_same_as(&script(collective, Reference::Long, ranks))
    };
    let equal: Vec<Collective> = COLLECTIVES.into_iter().filter(|collective| same(*collective, 2)).collect();
    assert_eq!(equal, [Collective::Scatter, Collective::Gather]);
    assert!(COLLECTIVES.into_iter().all(|collective| !same(collective, 4)));
}

#[test]
fn other_collectives_and_single_ranks_have_no_script() {
    let blocks = Blocks::equal(8, 4);
    assert_eq!(Script::new(Collective::Alltoall, Reference::Short, 0, blocks.clone()), None);
    assert_eq!(Script::new(Collective::Barrier, Reference::Long, 0, blocks.clone()), None);
    assert_eq!(Script::new(Collective::Bcast, Reference::Long, 4, blocks), None);
    assert_eq!(Script::new(Collective::Bcast, Reference::Long, 0, Blocks::equal(8, 1)), None);
    assert_eq!(Script::rotation(Blocks::equal(8, 1)), None);
}

#[test]
fn primitives_have_the_papers_names() {
    let composed = Reference::Long.primitives(Collective::Bcast).unwrap_or_default();
    assert_eq!(composed.iter().map(Primitive::to_string).collect::<Vec<_>>(), ["MST scatter", "bucket allgather"]);
    let script = Script::new(Collective::Bcast, Reference::Short, 0, Blocks::share(6, 3)).expect("3 ranks");
    // The root's half is the larger one: rank 2 is served first.
    let whole = Range::all(3);
    let steps: Vec<Step> = script.steps(0).collect();
    assert_eq!(steps, [Step::Send { to: 2, blocks: whole }, Step::Send { to: 1, blocks: whole }]);
    assert_eq!((script.sent(0), script.sent(1)), ((2, 12), (0, 0)));
}
