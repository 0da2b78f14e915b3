//! The order in which calls add up: what the registry says of each algorithm is what the real releases do, bit by bit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use collrules_program::{Buffer, BufferPart, Happening, Machine, Program, Step, play_and_tell};
use collrules_rules::bits::{Order, Place, orders};
use collrules_rules::{Choice, Collective, Ranks, Release, registry};

use crate::support::{OpenMpi, Ran, prepare, skip, under_each_release, under_each_release_that};
use crate::virtual_cluster::{is_possible, name_cluster, virtual_cluster};

/// Elements of a call: fewer than ranks, a remainder, and sizes on both sides of thresholds of the default.
const COUNTS: [u32; 5] = [1, 7, 33, 600, 1030];

/// More of them for the default alone, which has more thresholds.
const LARGE_COUNTS: [u32; 2] = [3000, 9000];

const COLLECTIVES: [Collective; 6] = [
    Collective::Allreduce,
    Collective::Reduce,
    Collective::ReduceScatter,
    Collective::ReduceScatterBlock,
    Collective::Scan,
    Collective::Exscan,
];

/// The number that `bits.c` sends: that of a rank at a place of its vector.
fn sent(rank: u32, place: u32) -> f64 {
    let seeded = 0x9e37_79b9_7f4a_7c15_u64;
    let z = seeded.wrapping_add(u64::from(rank).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    let z = z.wrapping_add(u64::from(place).wrapping_mul(0x94d0_49bb_1331_11eb));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let bits = z ^ (z >> 31);
    f64::from_bits((bits & 1) << 63 | (1023 + (bits >> 1 & 0xffff) % 41) << 52 | bits >> 12)
}

fn hash(elements: impl Iterator<Item = f64>) -> u64 {
    let bytes = elements.flat_map(f64::to_ne_bytes);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the first elements of the blocks of ranks in a vector, and after them the end of the last one.
fn firsts(elements: u32, ranks: u32) -> Vec<u32> {
    (0..=ranks).map(|rank| rank * (elements / ranks) + rank.min(elements % ranks)).collect()
}

/// The elements of a rank's result, among those of the whole vector.
fn result(collective: Collective, (ranks, rank): (u32, u32), count: u32, root: u32) -> std::ops::Range<u32> {
    match collective {
        Collective::Reduce if rank != root => 0..0,
        Collective::Exscan if rank == 0 => 0..0,
        Collective::ReduceScatter => firsts(count, ranks)[rank as usize]..firsts(count, ranks)[rank as usize + 1],
        Collective::ReduceScatterBlock => rank * count..(rank + 1) * count,
        _ => 0..count,
    }
}

/// The hash of a rank's result if it is summed up in an order.
fn expected(order: Order, collective: Collective, (ranks, rank): (u32, u32), count: u32, root: u32) -> u64 {
    let whole = if collective == Collective::ReduceScatterBlock { count * ranks } else { count };
    let firsts = firsts(whole, ranks);
    let last = if collective == Collective::Exscan { rank.saturating_sub(1) } else { rank };
    hash(result(collective, (ranks, rank), count, root).map(|element| {
        let block = firsts.partition_point(|first| *first <= element) as u32 - 1;
        let place = Place { ranks, rank: last, block, root };
        order.sum(place, &|rank| sent(rank, element), &|one, other| one + other).unwrap()
    }))
}

/// Hashes of results of doubles, by collective, count, root and rank.
type Hashes = BTreeMap<(Collective, u32, u32, u32), u64>;

/// Calls of so many elements on so many ranks with these settings.
fn call(mpi: &OpenMpi, program: &Path, ranks: u32, counts: &[u32], settings: &[String]) -> Hashes {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", "120"]).arg(&mpi.mpirun).args(["-np", &ranks.to_string()]);
    if mpi.is_before(5) {
        command.arg("--oversubscribe");
    } else {
        command.args(["--map-by", ":OVERSUBSCRIBE"]);
        command.env("LD_LIBRARY_PATH", mpi.mpirun.parent().unwrap().parent().unwrap().join("lib"));
    }
    command.args(settings).arg(program).arg("1").args(counts.iter().map(u32::to_string));
    prepare(&mut command);
    let hashes = read_hashes(&Ran::from(command.output().unwrap()).exits(0));
    assert_eq!(hashes.len(), (COLLECTIVES.len() + 1) * counts.len() * ranks as usize, "reduce has two roots");
    hashes
}

fn read_hashes(ran: &Ran) -> Hashes {
    let mut hashes = Hashes::new();
    for line in ran.stdout.lines().filter(|line| line.contains(" double ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse().unwrap();
        let key = (words[0].parse().unwrap(), number(2), number(5), number(6));
        let hash = u64::from_str_radix(words[7], 16).unwrap();
        assert_eq!(*hashes.entry(key).or_insert(hash), hash, "a call gives the same bits again: {line}");
    }
    hashes
}

/// The settings that force the algorithm with this id, in all collectives that have it.
fn force(release: Release, id: u32) -> Vec<String> {
    let has = |collective: &Collective| registry::algorithm(release, *collective, id).is_ok();
    let setting =
        |collective: Collective| ["--mca".to_owned(), format!("coll_tuned_{collective}_algorithm"), id.to_string()];
    let switch = ["--mca", "coll_tuned_use_dynamic_rules", "1"].map(str::to_owned);
    switch.into_iter().chain(COLLECTIVES.into_iter().filter(has).flat_map(setting)).collect()
}

/// The program, compiled; none where there is no compiler.
fn compile(mpi: &OpenMpi, scratch: &Path) -> Option<std::path::PathBuf> {
    let program = scratch.join("bits");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/bits.c");
    let compiled = Command::new(mpi.compiler("mpicc")).arg(&source).arg("-o").arg(&program).status();
    if compiled.is_ok_and(|status| status.success()) {
        return Some(program);
    }
    skip("no mpicc that compiles calls on numbers");
    None
}

/// Every algorithm, and the default, on 5 and 8 ranks.
#[test]
#[ignore = "part of `make test-all`"]
fn real_calls_sum_up_in_the_orders_of_the_registry() {
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compile(mpi, scratch.path()) else { return };
        let release = mpi.release();
        let mut checked = BTreeSet::new();
        for (ranks, id) in [5, 8].into_iter().flat_map(|ranks| (0..=7).map(move |id| (ranks, id))) {
            let settings = if id == 0 { Vec::new() } else { force(release, id) };
            let large = if id == 0 { &LARGE_COUNTS[..] } else { &[] };
            let hashes = call(mpi, &program, ranks, &[&COUNTS, large].concat(), &settings);
            for ((collective, count, root, rank), found) in hashes {
                let Ok(choice) = registry::forced(release, collective, id) else { continue };
                let bytes = u64::from(count) * 8;
                let Some(orders) = orders(release, collective, choice, Ranks(ranks), &(bytes..=bytes)) else {
                    continue;
                };
                checked.insert((collective, id));
                let right = |order: &Order| expected(*order, collective, (ranks, rank), count, root) == found;
                let name = registry::describe(release, collective, choice);
                assert!(
                    orders.iter().any(right),
                    "{collective} {name}, {ranks} ranks, {count} doubles, root {root}, rank {rank}: not in the order of {orders:?} under {}",
                    mpi.version
                );
            }
        }
        // All but the three that reduce with another collective; and the default of all six.
        assert_eq!(checked.len(), 7 + 6 + 4 + 4 + 2 + 2 - 3 + 6, "{checked:?}");
    });
}

/// HAN adds up within nodes first: all ranks have the same bits, and others if they are placed otherwise. With 4.1.4 HAN crashes in
/// some of these calls.
#[test]
#[ignore = "part of `make test-all`"]
fn sums_of_han_depend_on_the_nodes() {
    if !is_possible() {
        return;
    }
    under_each_release_that(
        |mpi| !mpi.is_before(5),
        |mpi| {
            let scratch = tempfile::tempdir().unwrap();
            let Some(program) = compile(mpi, scratch.path()) else { return };
            let call = |priority: &str, map: &str| {
                let mut command = virtual_cluster(&name_cluster(), "--hosts 2 --slots 3 -- env");
                command.arg(format!(
                    "LD_LIBRARY_PATH={}",
                    mpi.mpirun.parent().unwrap().parent().unwrap().join("lib").display()
                ));
                command.arg(mpi.mpirun.canonicalize().unwrap()).args(["-np", "6", "--map-by", map]);
                command.args(["--mca", "coll_han_priority", priority]).arg(&program).args(["1", "33", "9000"]);
                read_hashes(&Ran::from(command.output().unwrap()).exits(0))
            };
            let (slots, nodes) = (call("60", "slot"), call("60", "node"));
            for ((collective, count, root, rank), hash) in &slots {
                let elsewhere = nodes[&(*collective, *count, *root, *rank)];
                match collective {
                    Collective::Allreduce => {
                        assert_eq!(*hash, slots[&(*collective, *count, 0, 0)], "all ranks have one sum");
                        assert_ne!(*hash, elsewhere, "{count} doubles");
                    }
                    Collective::Reduce if rank == root && *count > 1 => {
                        assert_ne!(*hash, elsewhere, "{count} doubles, root {root}")
                    }
                    _ => {}
                }
            }
            assert_eq!(call("0", "slot"), call("0", "node"), "those of coll/tuned do not");
        },
    );
}

/// The memory of all ranks, in elements.
type Memory = BTreeMap<(u32, Buffer), Vec<f64>>;

/// A part of a buffer, in elements of one byte: programs count bytes, and do not care what they are.
fn part(place: Buffer, first: usize, len: usize) -> BufferPart {
    BufferPart { place, first, len }
}

/// The results of all ranks after their programs.
fn carry_out(programs: &[Program], count: usize) -> Vec<Vec<f64>> {
    let mut memory = Memory::new();
    for rank in 0..programs.len() as u32 {
        memory.insert((rank, Buffer::Send), (0..count as u32).map(|place| sent(rank, place)).collect());
        for place in [Buffer::Receive, Buffer::Extra(0), Buffer::Extra(1)] {
            memory.insert((rank, place), vec![0.0; count]);
        }
    }
    let ended = play_and_tell(programs, &Machine::default(), &mut |happening| {
        let mut put = |(rank, from): (u32, BufferPart), (at, to): (u32, BufferPart), add: bool| {
            let data = memory[&(rank, from.place)][from.range()].to_vec();
            let into = &mut memory.get_mut(&(at, to.place)).unwrap()[to.range()];
            into.iter_mut().zip(data).for_each(|(into, data)| *into = if add { data + *into } else { data });
        };
        match happening {
            Happening::Message { from, sent, to, received } => put((from, sent), (to, received), false),
            Happening::Copied { rank, from, to } => put((rank, from), (rank, to), false),
            Happening::Reduced { rank, from, to } => put((rank, from), (rank, to), true),
        }
    });
    assert!(ended.is_ok(), "{ended:?}");
    (0..programs.len() as u32).map(|rank| memory[&(rank, Buffer::Receive)].clone()).collect()
}

/// A reduce to rank 0, over the edges of a tree: parents, and children in the order in which they are added.
fn reduce_over(children: impl Fn(u32) -> Vec<u32>, ranks: u32, count: usize) -> Vec<Program> {
    let (sum, arrived) = (part(Buffer::Receive, 0, count), part(Buffer::Extra(0), 0, count));
    let steps = |rank: u32| -> Program {
        let mut steps = vec![Step::Copy { from: part(Buffer::Send, 0, count), to: sum }];
        for child in children(rank) {
            steps.extend([Step::Receive { from: child, part: arrived }, Step::Reduce { from: arrived, to: sum }]);
        }
        let parent = (0..ranks).find(|parent| children(*parent).contains(&rank));
        steps.extend(parent.map(|to| Step::Send { to, part: sum }));
        Program { extra: Vec::new(), steps }
    };
    (0..ranks).map(steps).collect()
}

/// A reduce to rank 0, which receives from each and adds from the last on.
fn reduce_linearly(ranks: u32, count: usize) -> Vec<Program> {
    let (own, sum, arrived) =
        (part(Buffer::Send, 0, count), part(Buffer::Receive, 0, count), part(Buffer::Extra(0), 0, count));
    let mut root = vec![Step::Receive { from: ranks - 1, part: sum }];
    for from in (1..ranks - 1).rev() {
        root.extend([Step::Receive { from, part: arrived }, Step::Reduce { from: arrived, to: sum }]);
    }
    root.push(Step::Reduce { from: own, to: sum });
    let others = (1..ranks).map(|_| vec![Step::Send { to: 0, part: own }]);
    std::iter::once(root).chain(others).map(|steps| Program { extra: Vec::new(), steps }).collect()
}

/// An allreduce by recursive doubling: whole vectors at doubled distances.
fn reduce_by_doubling(ranks: u32, count: usize) -> Vec<Program> {
    let (own, sum, arrived) =
        (part(Buffer::Send, 0, count), part(Buffer::Receive, 0, count), part(Buffer::Extra(0), 0, count));
    let all = 1 << ranks.ilog2();
    let joined = ranks - all;
    let rank_of = |place: u32| if place < joined { 2 * place + 1 } else { place + joined };
    let steps = |rank: u32| -> Program {
        let mut steps = vec![Step::Copy { from: own, to: sum }];
        if rank < 2 * joined && rank.is_multiple_of(2) {
            steps.extend([Step::Send { to: rank + 1, part: sum }, Step::Receive { from: rank + 1, part: sum }]);
            return Program { extra: Vec::new(), steps };
        }
        let reduce = Step::Reduce { from: arrived, to: sum };
        if rank < 2 * joined {
            steps.extend([Step::Receive { from: rank - 1, part: arrived }, reduce.clone()]);
        }
        let place = if rank < 2 * joined { rank / 2 } else { rank - joined };
        for distance in (0..all.ilog2()).map(|bit| 1 << bit) {
            let other = rank_of(place ^ distance);
            let exchange = Step::Exchange { to: other, send: sum, from: other, receive: arrived };
            steps.extend([exchange, reduce.clone()]);
        }
        if rank < 2 * joined {
            steps.push(Step::Send { to: rank - 1, part: sum });
        }
        Program { extra: Vec::new(), steps }
    };
    (0..ranks).map(steps).collect()
}

/// An allreduce around a ring: sums of blocks travel, then the blocks.
fn reduce_around(ranks: u32, count: usize) -> Vec<Program> {
    let firsts = firsts(count as u32, ranks);
    let block = |place, block: u32| {
        let (first, end) = (firsts[block as usize], firsts[block as usize + 1]);
        part(place, first as usize, (end - first) as usize)
    };
    let back = |rank: u32, places: u32| (rank + ranks - places % ranks) % ranks;
    let steps = |rank: u32| -> Program {
        let mut steps = vec![Step::Copy { from: part(Buffer::Send, 0, count), to: part(Buffer::Receive, 0, count) }];
        for turn in 0..2 * (ranks - 1) {
            let (sent, taken) = (back(rank, turn), back(rank, turn + 1));
            let into = if turn < ranks - 1 { Buffer::Extra(0) } else { Buffer::Receive };
            steps.push(Step::Exchange {
                to: back(rank, ranks - 1),
                send: block(Buffer::Receive, sent),
                from: back(rank, 1),
                receive: block(into, taken),
            });
            if turn < ranks - 1 {
                steps.push(Step::Reduce { from: block(into, taken), to: block(Buffer::Receive, taken) });
            }
        }
        Program { extra: Vec::new(), steps }
    };
    (0..ranks).map(steps).collect()
}

/// Programs of the four algorithms give the bits that real calls give, and that the registry's orders give.
#[test]
#[ignore = "part of `make test-all`"]
fn programs_of_four_algorithms_give_the_bits_of_real_calls() {
    const COUNT: u32 = 600;
    let binomial = |ranks: u32| {
        move |rank: u32| {
            let distances = (0..8).map(|bit| 1 << bit).take_while(move |distance| rank & distance == 0);
            distances.map(|distance| rank + distance).filter(|child| *child < ranks).collect::<Vec<u32>>()
        }
    };
    let count = COUNT as usize;
    let all = |ranks: u32| {
        [
            (Collective::Reduce, 1, Order::Linear, reduce_linearly(ranks, count)),
            (Collective::Reduce, 5, Order::Binomial, reduce_over(binomial(ranks), ranks, count)),
            (Collective::Allreduce, 3, Order::Doubling, reduce_by_doubling(ranks, count)),
            (Collective::Allreduce, 4, Order::Ring(0), reduce_around(ranks, count)),
        ]
    };
    let results = |collective, ranks: u32, programs: &[Program]| -> Vec<u64> {
        let all = carry_out(programs, count).into_iter().zip(0..);
        all.map(|(sums, rank)| hash(result(collective, (ranks, rank), COUNT, 0).map(|at| sums[at as usize]))).collect()
    };
    for ranks in 2..=8 {
        for (collective, id, order, programs) in all(ranks) {
            let in_order: Vec<u64> =
                (0..ranks).map(|rank| expected(order, collective, (ranks, rank), COUNT, 0)).collect();
            assert_eq!(results(collective, ranks, &programs), in_order, "{collective} {id} on {ranks} ranks");
        }
    }
    under_each_release(|mpi| {
        let scratch = tempfile::tempdir().unwrap();
        let Some(program) = compile(mpi, scratch.path()) else { return };
        let release = mpi.release();
        for (ranks, id) in [2, 3, 6, 7].into_iter().flat_map(|ranks| [1, 3, 4, 5].map(|id| (ranks, id))) {
            let found = call(mpi, &program, ranks, &COUNTS, &force(release, id));
            for (collective, _, _, programs) in all(ranks).into_iter().filter(|(_, known, ..)| *known == id) {
                let real: Vec<u64> = (0..ranks).map(|rank| found[&(collective, COUNT, 0, rank)]).collect();
                assert_eq!(results(collective, ranks, &programs), real, "{collective} {id}, {ranks}, {}", mpi.version);
            }
        }
    });
}

/// A choice of which nothing is known is not taken for one that keeps bits.
#[test]
fn calls_that_reduce_with_other_collectives_have_no_order_of_their_own() {
    for (collective, id) in [(Collective::Allreduce, 2), (Collective::ReduceScatter, 1)] {
        assert_eq!(orders(Release::V5_0, collective, Choice::plain(id), Ranks(4), &(0..=64)), None);
    }
}
