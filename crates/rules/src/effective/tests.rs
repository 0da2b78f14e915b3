//! The tables of the specification.

use super::EffectiveAlgorithm::{Algorithm as Runs, Builtin, Crash, Endless, Error, Instead};
use super::*;
use crate::units::Ranks;

/// A call on this many ranks with this many elements of 4 bytes.
fn call(collective: Collective, ranks: u32, count: u64) -> Call {
    Call::new(collective, Ranks(ranks), Bytes(4 * count)).with_type_size(4)
}

fn choice(text: &str) -> Choice {
    text.parse().expect("a choice")
}

/// Returns the effective choice as `algorithm/faninout/segsize/max_requests`.
fn runs(release: Release, text: &str, call: &Call) -> String {
    let effective = effective(release, call.collective, choice(text), call);
    assert!(matches!(effective.algorithm, Runs(algorithm) if algorithm.id == effective.choice.algorithm));
    effective.choice.to_string()
}

/// Returns the id of the algorithm that runs for this one with every parameter 0.
fn id(release: Release, algorithm: u32, call: &Call) -> u32 {
    let effective = effective(release, call.collective, Choice::plain(algorithm), call);
    match effective.algorithm {
        Runs(found) => found.id,
        other => panic!("{other:?}"),
    }
}

const OLD: [Release; 3] = [Release::V4_0, Release::V4_1, Release::V5_0];

#[test]
fn communicator_sizes_that_do_not_fit() {
    use Collective::{Allgather, Allgatherv};
    for release in Release::ALL {
        assert_eq!([2, 3, 4, 6, 8].map(|ranks| id(release, 5, &call(Allgather, ranks, 8))), [5, 4, 5, 5, 5]);
        assert_eq!([2, 3, 4, 5].map(|ranks| id(release, 4, &call(Allgatherv, ranks, 8))), [4, 3, 4, 3]);
        assert_eq!([2, 3, 4, 6, 8].map(|ranks| id(release, 3, &call(Allgather, ranks, 8))), [3, 2, 3, 2, 3]);
    }
    // The Bruck that 6.0 falls back to has a radix of its own.
    assert_eq!(runs(Release::V6_0, "3/0/0/0", &call(Allgather, 6, 8)), "2/2/0/0");
    assert_eq!(runs(Release::V5_0, "3/0/0/0", &call(Allgather, 6, 8)), "2/0/0/0");
    let effective = effective(Release::V5_0, Allgather, Choice::plain(5), &call(Allgather, 3, 8));
    assert_eq!(effective.reasons, ["neighbor needs an even number of ranks, not 3: ring runs instead"]);
}

#[test]
fn two_process_algorithms_fail_elsewhere() {
    for (collective, id) in
        [(Collective::Allgather, 6), (Collective::Allgatherv, 5), (Collective::Alltoall, 5), (Collective::Barrier, 5)]
    {
        for release in Release::ALL {
            let at = |ranks| effective(release, collective, Choice::plain(id), &call(collective, ranks, 8)).algorithm;
            assert!(matches!(at(2), Runs(algorithm) if algorithm.name == "two_proc"), "{collective}");
            for ranks in [3, 4] {
                assert_eq!(at(ranks), Error(ErrorClass::Unsupported), "{release} {collective} {ranks}");
            }
        }
    }
    assert_eq!((ErrorClass::Unsupported.number(), ErrorClass::Argument.number()), (52, 13));
}

#[test]
fn unknown_algorithms_fail() {
    for (release, collective, id) in [
        (Release::V4_0, Collective::Scatter, 3),
        (Release::V4_1, Collective::Allgather, 7),
        (Release::V5_0, Collective::Reduce, 8),
        (Release::V6_0, Collective::Bcast, 99),
    ] {
        let found = effective(release, collective, Choice::plain(id), &call(collective, 4, 8));
        assert_eq!(found.algorithm, Error(ErrorClass::Argument));
        assert!(found.reasons[0].contains("known are 1 "), "{:?}", found.reasons);
    }
}

#[test]
fn the_builtin_decides_where_it_is_told_to() {
    for release in Release::ALL {
        for collective in Collective::ALL {
            let found = effective(release, collective, choice("0/4/8192/1"), &call(collective, 4, 8));
            if matches!(collective, Collective::Exscan | Collective::Scan) {
                assert!(matches!(found.algorithm, Runs(algorithm) if algorithm.id == 1), "{collective}");
            } else {
                assert_eq!((found.algorithm, found.choice), (Builtin, Choice::BUILTIN), "{collective}");
            }
            // A single rank never gets as far as the rules.
            let alone = effective(release, collective, Choice::plain(99), &call(collective, 1, 8));
            assert_eq!((alone.algorithm, alone.choice), (Builtin, Choice::BUILTIN), "{collective}");
        }
    }
}

#[test]
fn a_radix_below_2_never_ends() {
    for (collective, id, count) in [(Collective::Allgather, 2, 8), (Collective::Reduce, 8, 8)] {
        let at = |faninout| {
            let choice = Choice::plain(id).with_faninout(faninout);
            effective(Release::V6_0, collective, choice, &call(collective, 4, count)).algorithm
        };
        assert_eq!([at(0), at(1), at(u32::MAX)], [Endless; 3], "{collective}");
        assert!(matches!((at(2), at(4)), (Runs(_), Runs(_))), "{collective}");
    }
    for release in OLD {
        assert_eq!(runs(release, "2/0/0/0", &call(Collective::Allgather, 4, 8)), "2/0/0/0");
        assert_eq!(runs(release, "2/4/0/0", &call(Collective::Allgather, 4, 8)), "2/0/0/0");
    }
    assert_eq!(runs(Release::V6_0, "2/4/0/0", &call(Collective::Allgather, 4, 8)), "2/4/0/0");
    assert_eq!(runs(Release::V6_0, "8/3/512/4", &call(Collective::Reduce, 4, 1024)), "8/3/0/0");
}

#[test]
fn fan_outs_are_clamped() {
    for release in Release::ALL {
        for collective in [Collective::Bcast, Collective::Reduce] {
            let chains = |ranks, faninout: u32| {
                let choice = Choice::plain(2).with_faninout(faninout);
                effective(release, collective, choice, &call(collective, ranks, 8)).choice.faninout
            };
            assert_eq!([0, 1, 4, 7, 8, 32].map(|faninout| chains(8, faninout)), [1, 1, 4, 7, 7, 7]);
            assert_eq!([32, 33, 1000, u32::MAX].map(|faninout| chains(100, faninout)), [32, 32, 32, 1]);
        }
    }
    assert_eq!(runs(Release::V5_0, "6/4/0/0", &call(Collective::Bcast, 8, 8)), "6/0/0/0");
}

#[test]
fn messages_go_in_segments_where_these_are_smaller() {
    let bcast = |segsize, count| runs(Release::V5_0, &format!("3/0/{segsize}/0"), &call(Collective::Bcast, 8, count));
    for (segsize, count, used) in [
        (0u64, 1024, 0),
        (1024, 1024, 1024),
        (4094, 1024, 4094),
        // Rounded to the nearest number of elements, which is all of them.
        (4095, 1024, 0),
        (4096, 1024, 0),
        (8192, 1024, 0),
        (3, 1024, 0),
        (4, 1024, 4),
        // 7 bytes of two elements round up to all of them.
        (7, 2, 0),
        (1024, 0, 0),
        // Only the lower half of the number arrives.
        (1 << 32, 1024, 0),
        ((1 << 32) + 512, 1024, 512),
        (1 << 31, 1024, 0),
    ] {
        assert_eq!(bcast(segsize, count), format!("3/0/{used}/0"), "{segsize} {count}");
    }
    let reasons = |text, call: &Call| effective(Release::V5_0, call.collective, choice(text), call).reasons;
    let small = call(Collective::Bcast, 8, 16);
    assert_eq!(reasons("3/0/8192/0", &small), ["segments of 8 KiB hold all of 64 B: it goes in one piece"]);
    assert_eq!(reasons("3/0/2/0", &small), ["segments of 2 B hold no element of 4 B: it goes in one piece"]);
    assert_eq!(reasons("1/0/8192/0", &small), ["basic_linear has no segments: it goes in one piece"]);
    // Gather: the first segment of a block.
    assert_eq!(runs(Release::V5_0, "3/0/1024/0", &call(Collective::Gather, 8, 1024)), "3/0/1024/0");
    assert_eq!(runs(Release::V5_0, "3/0/4096/0", &call(Collective::Gather, 8, 1024)), "3/0/0/0");
}

#[test]
fn bcast_4_splits_in_halves() {
    let bcast = |segsize, count| runs(Release::V5_0, &format!("4/7/{segsize}/0"), &call(Collective::Bcast, 8, count));
    for (segsize, count, used) in [
        (0, 0, "2/1/0/0"),
        (0, 1, "2/1/0/0"),
        (0, 2, "4/0/0/0"),
        (1024, 1024, "4/0/1024/0"),
        // A half is a segment, or less.
        (2048, 1024, "4/0/0/0"),
        (2049, 1024, "2/1/2049/0"),
        (4096, 1024, "2/1/0/0"),
        // Smaller than an element: raised to one.
        (1, 1024, "4/0/1/0"),
        (1, 2, "4/0/0/0"),
        // Halves of 3 and 2 elements: the smaller one is less than a segment.
        (12, 5, "2/1/12/0"),
        (8, 5, "4/0/8/0"),
    ] {
        assert_eq!(bcast(segsize, count), used, "{segsize} {count}");
    }
    let no_size = Call::new(Collective::Bcast, Ranks(8), Bytes(0)).with_type_size(0);
    assert_eq!(effective(Release::V5_0, Collective::Bcast, choice("4/0/8/0"), &no_size).algorithm, Crash);
    assert_eq!(runs(Release::V5_0, "4/0/0/0", &no_size), "2/1/0/0");
}

#[test]
fn few_elements_run_something_else() {
    use Collective::{Allreduce, Bcast, Reduce};
    for release in Release::ALL {
        let at = |collective, algorithm, ranks, count| id(release, algorithm, &call(collective, ranks, count));
        for algorithm in [8, 9] {
            assert_eq!([5, 6, 7].map(|count| at(Bcast, algorithm, 6, count)), [1, algorithm, algorithm]);
        }
        assert_eq!([5, 6, 7].map(|count| at(Allreduce, 4, 6, count)), [3, 4, 4]);
        // The largest power of two in 6 is 4.
        assert_eq!([3, 4, 5].map(|count| at(Allreduce, 6, 6, count)), [1, 6, 6]);
        assert_eq!([3, 4, 5].map(|count| at(Reduce, 7, 6, count)), [1, 7, 7]);
        // Without segments a segmented ring is a ring, and that recursive doubling.
        assert_eq!([5, 6].map(|count| at(Allreduce, 5, 6, count)), [3, 4]);
        let ring = |segsize, count| runs(release, &format!("5/0/{segsize}/0"), &call(Allreduce, 4, count));
        assert_eq!(ring(1024, 1024), "5/0/1024/0");
        assert_eq!(ring(1024, 1023), "4/0/0/0");
        assert_eq!(ring(1024, 3), "3/0/0/0");
    }
    let found = effective(Release::V5_0, Allreduce, Choice::plain(5), &call(Allreduce, 6, 5));
    assert_eq!(
        found.reasons,
        [
            "segmented_ring needs segments, and elements for one on every of 6 ranks: ring runs instead",
            "ring needs at least 6 elements, one for every rank, not 5: recursive_doubling runs instead"
        ]
    );
}

#[test]
fn some_algorithms_give_way_to_operations_that_do_not_commute() {
    for release in Release::ALL {
        let at =
            |collective, algorithm| id(release, algorithm, &Call { commutative: false, ..call(collective, 4, 1024) });
        assert_eq!(at(Collective::Allreduce, 6), 1);
        assert_eq!(at(Collective::Reduce, 7), 1);
        assert_eq!(at(Collective::ReduceScatterBlock, 3), 1);
        // Others do not look, and are wrong.
        assert_eq!(at(Collective::Allreduce, 4), 4);
        assert_eq!(at(Collective::Reduce, 5), 5);
        assert_eq!(at(Collective::ReduceScatter, 3), 3);
    }
}

#[test]
fn in_place_all_exchanges_are_alike() {
    for release in Release::ALL {
        for (collective, ids) in [(Collective::Alltoall, 1..=5), (Collective::Alltoallv, 1..=2)] {
            for id in ids {
                let call = call(collective, 5, 8).in_place();
                let found = effective(release, collective, Choice::plain(id), &call).algorithm;
                assert!(matches!(found, Instead(_)), "{release} {collective} {id}");
            }
        }
    }
}

#[test]
fn requests_are_bounded_by_partners() {
    let alltoall = |requests: u32| {
        let choice = Choice { max_requests: requests, ..Choice::plain(4) };
        effective(Release::V5_0, Collective::Alltoall, choice, &call(Collective::Alltoall, 8, 8)).choice.max_requests
    };
    assert_eq!([0, 1, 7, 8, 1 << 31].map(alltoall), [7, 1, 7, 7, 7]);
    assert_eq!(runs(Release::V5_0, "2/0/0/3", &call(Collective::Alltoall, 8, 8)), "2/0/0/0");
    assert_eq!(runs(Release::V5_0, "5/0/64/3", &call(Collective::Reduce, 8, 1024)), "5/0/64/3");
}

#[test]
fn fallbacks_end_at_algorithms_of_the_release() {
    for release in Release::ALL {
        for collective in Collective::ALL {
            for algorithm in registry::algorithms(release, collective) {
                for fallback in algorithm.fallbacks {
                    let next = registry::algorithm(release, collective, fallback.runs).expect("of the same release");
                    assert_ne!(next.id, algorithm.id, "{release} {collective}");
                }
                for ranks in 2..10 {
                    for count in [0, 1, 2, 7, 100] {
                        let choice = Choice::plain(algorithm.id).with_faninout(2).with_segsize(8);
                        let call = Call { commutative: false, ..call(collective, ranks, count) };
                        let found = effective(release, collective, choice, &call);
                        let again = effective(release, collective, found.choice, &call);
                        if matches!(found.algorithm, Runs(_)) {
                            assert_eq!(again.choice, found.choice, "{release} {collective} {choice} {call:?}");
                        }
                    }
                }
            }
        }
    }
}
