//! Played costs against the closed formulas, and against the bounds.

use collrules_program::{BlockRange, Blocks, Machine, Programs, Reference, ReferenceAlgorithm, bound, play, rotation};
use collrules_rules::Collective;
use proptest::prelude::*;

use crate::COLLECTIVES;

const MACHINE: Machine = Machine { latency: 1000.0, transfer: 1.0, operation: 0.25 };

fn cost(programs: &(impl Programs + ?Sized)) -> f64 {
    let times = play(programs, &MACHINE).expect("no rank waits for ever");
    times.into_iter().fold(0.0, f64::max)
}

fn reference_cost(collective: Collective, reference: Reference, root: u32, blocks: &Blocks) -> f64 {
    cost(&ReferenceAlgorithm::new(collective, reference, root, blocks.clone(), 1).expect("there is such an algorithm"))
}

/// The formulas of Chan et al. for a vector of n elements in blocks of `ceil(n / p)`, with the largest block where buckets
/// travel.
fn formula(collective: Collective, reference: Reference, ranks: u32, n: f64) -> f64 {
    let (a, b, g) = (MACHINE.latency, MACHINE.transfer, MACHINE.operation);
    let p = f64::from(ranks);
    let levels = p.log2().ceil();
    let tree = |per_element: f64| levels * (a + n * per_element);
    let halves = levels * a + (p - 1.0) / p * n * b;
    let bucket = |per_element: f64| (p - 1.0) * (a + n / p * per_element);
    match (collective, reference) {
        (Collective::Bcast, Reference::Short) => tree(b),
        (Collective::Bcast, Reference::Long) => halves + bucket(b),
        (Collective::Reduce, Reference::Short) => tree(b + g),
        (Collective::Reduce, Reference::Long) => bucket(b + g) + halves,
        (Collective::Scatter | Collective::Gather, Reference::Short) => halves,
        (Collective::Scatter | Collective::Gather, Reference::Long) | (Collective::Allgather, Reference::Long) => {
            bucket(b)
        }
        (Collective::Allgather, Reference::Short) => halves + tree(b),
        (Collective::ReduceScatter | Collective::ReduceScatterBlock, Reference::Short) => tree(b + g) + halves,
        (Collective::ReduceScatter | Collective::ReduceScatterBlock, Reference::Long) => bucket(b + g),
        (Collective::Allreduce, Reference::Short) => tree(b + g) + tree(b),
        (Collective::Allreduce, Reference::Long) => bucket(b + g) + bucket(b),
        _ => f64::NAN,
    }
}

#[test]
fn formulas_hold_for_any_number_of_ranks_and_any_root() {
    for ranks in 2..=64_u32 {
        let blocks = Blocks::equal(96, ranks);
        for collective in COLLECTIVES {
            for reference in Reference::ALL {
                for root in [0, ranks / 2, ranks - 1] {
                    let played = reference_cost(collective, reference, root, &blocks);
                    let expected = formula(collective, reference, ranks, blocks.total() as f64);
                    // A composition may be quicker than its parts: who is done with the first goes on.
                    let parts = reference.primitives(collective).map_or(0, <[_]>::len);
                    let fits = if parts == 1 {
                        (played - expected).abs() < 1e-6 * expected
                    } else {
                        played < expected * (1.0 + 1e-9) && played > 0.5 * expected
                    };
                    let name = reference.name();
                    assert!(fits, "{collective} {name}, {ranks} ranks, root {root}: {played}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn compositions_are_the_sum_of_their_parts_at_powers_of_two() {
    for ranks in [2, 4, 8, 16, 32, 64] {
        let blocks = Blocks::equal(96, ranks);
        for collective in COLLECTIVES {
            for reference in Reference::ALL {
                let played = reference_cost(collective, reference, 0, &blocks);
                let expected = formula(collective, reference, ranks, blocks.total() as f64);
                assert!(
                    (played - expected).abs() < 1e-6 * expected,
                    "{collective} {}, {ranks} ranks: {played}, not {expected}",
                    reference.name()
                );
            }
        }
    }
}

#[test]
fn thousands_of_ranks_can_be_played() {
    let blocks = Blocks::equal(1, 2048);
    let played = reference_cost(Collective::Allreduce, Reference::Long, 0, &blocks);
    assert!((played - formula(Collective::Allreduce, Reference::Long, 2048, 2048.0)).abs() < 1e-3, "{played}");
}

/// `ceil(n / p)` elements go around the ring, though most blocks have one less.
#[test]
fn the_largest_block_sets_the_pace_of_a_ring() {
    let blocks = Blocks::share(7 * 96 + 1, 7);
    let played = reference_cost(Collective::Allgather, Reference::Long, 0, &blocks);
    assert!((played - 6.0 * (1000.0 + 97.0)).abs() < 1e-6, "{played}");
}

#[test]
fn nothing_undercuts_a_bound() {
    for ranks in 2..=64 {
        for elements in [1, 3, 100, 10_000, 1_000_000] {
            for blocks in [Blocks::share(elements, ranks), Blocks::equal(elements, ranks)] {
                for collective in COLLECTIVES {
                    let least = bound(collective, 1, &blocks).expect("Chan et al. have one").time(MACHINE);
                    for reference in Reference::ALL {
                        let played = reference_cost(collective, reference, 1, &blocks);
                        assert!(
                            played >= least * (1.0 - 1e-12),
                            "{collective} {}, {ranks} ranks, {elements}: {played} under {least}",
                            reference.name()
                        );
                    }
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_part_of_a_bound_is_undercut_with_any_counts(
        counts in prop::collection::vec(prop_oneof![Just(0), 1_u64..10, 1000_u64..100_000], 2..24),
        root in 0_u32..24,
    ) {
        let blocks = Blocks::from_counts(counts);
        let root = root % blocks.ranks();
        for collective in COLLECTIVES {
            let least = bound(collective, root, &blocks).expect("Chan et al. have one");
            let Machine { latency, transfer, operation } = MACHINE;
            for (part, name) in [
                (least.messages * latency, "messages"),
                (least.moved * transfer, "volume"),
                (least.reduced * operation, "operations"),
            ] {
                for reference in Reference::ALL {
                    let played = reference_cost(collective, reference, root, &blocks);
                    prop_assert!(played >= part * (1.0 - 1e-12), "{} {}: {}", collective, reference.name(), name);
                }
            }
        }
        let programs = rotation(&blocks).expect("2 ranks at least");
        let most = (0..blocks.ranks()).map(|rank| blocks.len(BlockRange::block(rank))).max().unwrap_or(0);
        let least = if most > 0 { MACHINE.latency + MACHINE.transfer * most as f64 } else { 0.0 };
        prop_assert!(cost(programs.as_slice()) >= least);
    }
}

/// Table I for 8 ranks and 800 elements.
#[test]
fn bounds_are_those_of_the_paper() {
    let blocks = Blocks::equal(100, 8);
    let least = |collective| bound(collective, 3, &blocks).map(|bound| bound.time(MACHINE));
    let table = [
        (Collective::Bcast, 3800.0),
        (Collective::Reduce, 3800.0 + 175.0),
        (Collective::Scatter, 3700.0),
        (Collective::Gather, 3700.0),
        (Collective::Allgather, 3700.0),
        (Collective::ReduceScatter, 3700.0 + 175.0),
        (Collective::Allreduce, 3000.0 + 1400.0 + 175.0),
    ];
    for (collective, expected) in table {
        assert_eq!(least(collective), Some(expected), "{collective}");
    }
    assert_eq!(least(Collective::Alltoall), None);
    assert_eq!(cost(rotation(&blocks).expect("8 ranks").as_slice()), 1100.0);
}
