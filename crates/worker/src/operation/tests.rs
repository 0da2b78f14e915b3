//! The checks themselves, without MPI: a reference implementation stands for the library, and then for a bad one.

mod program;

use collrules_program::{Arguments, Seat};
use collrules_rules::Collective;

use super::data::{Buffers, Data, KnownElement};

const SALT: u64 = 41;

fn data<T: KnownElement>(collective: Collective, rank: usize, ranks: usize, block: usize) -> Data<T> {
    let arguments = Arguments::default();
    Data::new(Seat { collective, rank, ranks, bytes: block * size_of::<T>(), even: None, arguments }).expect("small")
}

fn filled<T: KnownElement>(collective: Collective, ranks: usize, block: usize) -> Vec<Data<T>> {
    let mut all: Vec<Data<T>> = (0..ranks).map(|rank| data(collective, rank, ranks, block)).collect();
    all.iter_mut().for_each(|data| data.fill(SALT));
    all
}

fn rooted(collective: Collective, ranks: usize, block: usize) -> Vec<Data<u8>> {
    let mut all = filled::<u8>(collective, ranks, block);
    for rank in 0..ranks {
        let own = rank * block..(rank + 1) * block;
        match collective {
            Collective::Bcast => {
                let sent = all[0].receive.to_vec();
                all[rank].receive.copy_from_slice(&sent);
            }
            Collective::Scatter => {
                let sent = all[0].send[own].to_vec();
                all[rank].receive.copy_from_slice(&sent);
            }
            _ => {
                let sent = all[rank].send.to_vec();
                all[0].receive[own].copy_from_slice(&sent);
            }
        }
    }
    all
}

fn exchange(collective: Collective, ranks: usize, block: usize) -> Vec<Data<u8>> {
    let mut all = filled::<u8>(collective, ranks, block);
    for from in 0..ranks {
        for to in 0..ranks {
            let first = if all[from].send.len() > block { to * block } else { 0 };
            let sent = all[from].send[first..first + block].to_vec();
            all[to].receive[from * block..(from + 1) * block].copy_from_slice(&sent);
        }
    }
    all
}

fn reduction(collective: Collective, ranks: usize, elements: usize) -> Vec<Data<i32>> {
    let mut all = filled::<i32>(collective, ranks, elements);
    let mut first = 0;
    for rank in 0..ranks {
        let summed = match collective {
            Collective::Scan => 0..rank + 1,
            Collective::Exscan => 0..rank,
            _ => 0..ranks,
        };
        let mut sum = vec![0i32; all[0].send.len()];
        for other in summed {
            sum.iter_mut().zip(&all[other].send[..]).for_each(|(sum, element)| *sum += element);
        }
        let len = all[rank].receive.len();
        if matches!(collective, Collective::ReduceScatter | Collective::ReduceScatterBlock) {
            first += len;
            all[rank].receive.copy_from_slice(&sum[first - len..first]);
        } else {
            all[rank].receive.copy_from_slice(&sum[..len]);
        }
    }
    all
}

/// Right results pass; results of other data, or with anything changed by `spoil` on one rank, do not.
#[track_caller]
fn holds<D: Buffers>(make: impl Fn() -> Vec<D>, mut spoil: impl FnMut(&mut D) -> bool) {
    let all = make();
    for (rank, data) in all.iter().enumerate() {
        assert!(data.is_right(SALT), "rank {rank} has the right result");
    }
    for (rank, mut data) in make().into_iter().enumerate() {
        if spoil(&mut data) {
            assert!(!data.is_right(SALT), "rank {rank}: a changed result is seen");
        }
    }
    assert!(make().iter().any(|data| !data.is_right(SALT + 1)), "a result of an earlier call is seen");
}

#[test]
fn rooted_results_are_checked() {
    for collective in [Collective::Bcast, Collective::Gather, Collective::Scatter] {
        for (ranks, block) in [(2, 1), (3, 5), (4, 64)] {
            for at in [0, usize::MAX] {
                holds(
                    || rooted(collective, ranks, block),
                    |data| {
                        let at = at.min(data.receive.len().saturating_sub(1));
                        data.receive.get_mut(at).is_some_and(|byte| {
                            *byte ^= 1;
                            true
                        })
                    },
                );
            }
        }
    }
}

/// Data that came from rank 0, where another rank is the root, are found out; and the root alone has what roots have.
#[test]
fn data_of_another_root_is_wrong() {
    let arguments = Arguments { root: 2, ..Arguments::default() };
    let seat = |collective, rank| Seat { collective, rank, ranks: 3, bytes: 5, even: None, arguments };
    for (collective, first) in [(Collective::Bcast, 0), (Collective::Scatter, 5)] {
        let mut data: Data<u8> = Data::new(seat(collective, 1)).expect("small");
        data.fill(SALT);
        for (root, right) in [(2, true), (0, false)] {
            let sent: Vec<u8> = (first..first + 5).map(|place| u8::sent(SALT, root, place)).collect();
            data.receive.copy_from_slice(&sent);
            assert_eq!(data.is_right(SALT), right, "{collective} from rank {root}");
        }
    }
    let lengths =
        |collective| [0, 1, 2].map(|rank| (seat(collective, rank).send().len, seat(collective, rank).receive().len));
    assert_eq!(lengths(Collective::Scatter), [(0, 5), (0, 5), (15, 5)]);
    assert_eq!(lengths(Collective::Gather), [(5, 0), (5, 0), (5, 15)]);
}

/// Sums of floating-point numbers are exact in any order, on many ranks too.
#[test]
fn floating_point_sums_are_exact() {
    fn sums<T: KnownElement + std::ops::Add<Output = T> + std::fmt::Debug>(ranks: usize) {
        let mut own = data::<T>(Collective::Allreduce, 0, ranks, 16);
        own.fill(SALT);
        let results = own.receive.to_vec();
        for (place, result) in results.into_iter().enumerate() {
            let summands = |rank: usize| T::sent(SALT, rank, place);
            let forth = (1..ranks).map(summands).fold(summands(0), |sum, next| sum + next);
            let back = (0..ranks - 1).rev().map(summands).fold(summands(ranks - 1), |sum, next| sum + next);
            assert!(forth == back && result != forth, "{forth:?} {back:?}");
            own.receive[place] = forth;
        }
        assert!(own.is_right(SALT));
    }
    for ranks in [2, 3, 1 << 16] {
        sums::<f32>(ranks);
        sums::<f64>(ranks);
    }
}

#[test]
fn exchanged_results_are_checked() {
    for collective in [Collective::Allgather, Collective::Allgatherv, Collective::Alltoall, Collective::Alltoallv] {
        for (ranks, block) in [(2, 1), (3, 5), (4, 64)] {
            for at in [0, block, ranks * block - 1] {
                holds(
                    || exchange(collective, ranks, block),
                    |data| {
                        data.receive[at] ^= 0x80;
                        true
                    },
                );
            }
            // Blocks in the wrong order.
            if block > 1 {
                holds(
                    || exchange(collective, ranks, block),
                    |data| {
                        data.receive.rotate_left(block);
                        true
                    },
                );
            }
        }
    }
}

#[test]
fn reduced_results_are_checked() {
    let collectives = [
        Collective::Allreduce,
        Collective::Exscan,
        Collective::Reduce,
        Collective::ReduceScatter,
        Collective::ReduceScatterBlock,
        Collective::Scan,
    ];
    for collective in collectives {
        for (ranks, elements) in [(2, 1), (3, 2), (3, 7), (4, 64)] {
            holds(
                || reduction(collective, ranks, elements),
                |data| {
                    let undefined = collective == Collective::Exscan && data.seat.is_root();
                    let last = data.receive.last_mut().filter(|_| !undefined);
                    last.is_some_and(|element| {
                        *element += 1;
                        true
                    })
                },
            );
        }
    }
}

/// A contribution that is missing, or counted for another, changes every sum.
#[test]
fn sums_of_the_wrong_ranks_are_seen() {
    for ranks in [2, 3, 16] {
        let all = reduction(Collective::Allreduce, ranks, 64);
        for (one, other) in (0..ranks).flat_map(|one| (0..ranks).map(move |other| (one, other))) {
            let mut data = reduction(Collective::Allreduce, ranks, 64).swap_remove(0);
            let differences = all[one].send.iter().zip(&all[other].send[..]);
            for (sum, (counted, missing)) in data.receive.iter_mut().zip(differences) {
                *sum += counted - missing;
            }
            assert_eq!(data.is_right(SALT), one == other, "{one} counted for {other} of {ranks}");
        }
    }
}

/// A call that does nothing at all is seen on every rank that should have got something.
#[test]
fn results_that_never_came_are_seen() {
    let mut scatter = data::<u8>(Collective::Scatter, 1, 3, 1);
    let mut gather = data::<u8>(Collective::Gather, 0, 3, 1);
    let mut alltoall = data::<u8>(Collective::Alltoall, 1, 3, 1);
    let mut allreduce = data::<i32>(Collective::Allreduce, 1, 3, 1);
    let all: [&mut dyn Buffers; 4] = [&mut scatter, &mut gather, &mut alltoall, &mut allreduce];
    for data in all {
        data.fill(SALT);
        assert!(!data.is_right(SALT));
    }
}

#[test]
fn what_does_not_divide_evenly_goes_to_the_first_ranks() {
    let counts = |rank| data::<i32>(Collective::ReduceScatter, rank, 3, 7);
    assert_eq!([0, 1, 2].map(|rank| counts(rank).receive.len()), [3, 2, 2]);
    assert_eq!([0, 1, 2].map(|rank| counts(0).counts.first(rank)), [0, 3, 5]);
}
