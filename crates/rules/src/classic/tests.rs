//! Writing, reading and looking up together.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::collective::Collective;
use crate::hazard::Hazard;
use crate::release::Release;
use crate::steps::Steps;
use crate::table::{RankSteps, RuleTable, SizeSteps, all_builtin};

fn table_of(collective: Collective, blocks: RankSteps) -> RuleTable {
    let mut table = RuleTable::new();
    table.set(collective, blocks);
    table
}

/// One choice for everything.
fn always(collective: Collective, choice: Choice) -> RuleTable {
    table_of(collective, Steps::constant(Steps::constant(choice)))
}

fn written(table: &RuleTable) -> String {
    ClassicFile::from_table(table, &Notes::default()).expect("a table without hazards").to_string()
}

/// The file without comments, as reading leaves it.
fn bare(mut file: ClassicFile) -> ClassicFile {
    file.header.clear();
    for collective in &mut file.collectives {
        collective.notes.clear();
        for comm_rule in &mut collective.sizes {
            comm_rule.notes.clear();
            comm_rule.rules.iter_mut().for_each(|rule| rule.note = None);
        }
    }
    file
}

#[test]
fn a_file_looks_like_this() {
    let mut four = Steps::constant(Choice::plain(1));
    four.set(65536, None, Choice::plain(3).with_segsize(8192));
    let mut blocks = all_builtin();
    blocks.set(4, Some(8), four);
    blocks.set(8, None, Steps::constant(Choice::plain(2).with_faninout(4)));
    let notes = Notes {
        header: vec!["tuned on\na cluster".to_owned()],
        blocks: BTreeMap::from([((Collective::Bcast, 4), vec!["2 nodes x 2".to_owned()])]),
        rules: BTreeMap::from([((Collective::Bcast, 4, 65536), "saves 41 %".to_owned())]),
    };
    let file = ClassicFile::from_table(&table_of(Collective::Bcast, blocks), &notes).expect("no hazards");
    let text = file.to_string();
    let (header, body) = text.split_once("\n\n").expect("a header");
    assert!(header.starts_with("# tuned on a cluster\n#\n# Rules for Open MPI's coll/tuned"), "{header}");
    assert_eq!(
        body,
        "\
1               # collectives

7               # bcast
4               # communicator sizes
# fewer than 4 ranks
4 1             # communicator size, message sizes
    0 0 0    0  # builtin
# 4 to 7 ranks
# 2 nodes x 2
4 2             # communicator size, message sizes
    0 1 0    0  # basic_linear
65536 3 0 8192  # pipeline, 8KiB segments; saves 41 %
# 4 to 7 ranks, repeated for Open MPI 6.0
8 2             # communicator size, message sizes
    0 1 0    0  # basic_linear
65536 3 0 8192  # pipeline, 8KiB segments
# 8 ranks and more
8 1             # communicator size, message sizes
    0 2 4    0  # chain, fan-out 4
"
    );
    assert_eq!(read(&text), Ok(bare(file)));
}

#[test]
fn an_empty_table_is_a_legal_file() {
    let text = written(&RuleTable::new());
    assert_eq!(read(&text), Ok(ClassicFile::default()));
    // Without any comment the text would be JSON, which 6.0 would then reject as such.
    assert!(ClassicFile::default().to_string().contains('#'));
}

#[test]
fn a_single_block_is_listed_once() {
    let file = read(&written(&always(Collective::Scatter, Choice::plain(2)))).expect("a good file");
    let sizes: Vec<_> = file.collectives[0].sizes.iter().map(|rule| rule.comm_size).collect();
    assert_eq!(sizes, [0]);
}

#[test]
fn hazards_are_refused_unless_accepted() {
    let table = always(Collective::Reduce, Choice::plain(5));
    let error = ClassicFile::from_table(&table, &Notes::default()).expect_err("not safe");
    assert!(matches!(&error, EmitError::Hazards(found) if matches!(found[..], [Hazard::NonCommutative { .. }])));
    assert!(error.to_string().starts_with("the rules are not safe to use: reduce 5/0/0/0 (binomial) for any number"));
    let commutative = |hazard: &Hazard| matches!(hazard, Hazard::NonCommutative { .. });
    assert!(ClassicFile::from_table_accepting(&table, &Notes::default(), commutative).is_ok());
    let barrier = always(Collective::Barrier, Choice::plain(5));
    assert!(ClassicFile::from_table_accepting(&barrier, &Notes::default(), commutative).is_err());
}

#[test]
fn what_version_1_cannot_say_is_refused() {
    let refused = |table: &RuleTable| ClassicFile::from_table(table, &Notes::default()).expect_err("refused");
    let bounded = Choice { max_requests: 4, ..Choice::plain(4) };
    let error = refused(&always(Collective::Alltoall, bounded));
    assert!(matches!(error, EmitError::MaxRequests { choice, .. } if choice == bounded));

    let int = 1 << 31;
    let too_large = |table: &RuleTable, expected: &str| match refused(table) {
        EmitError::TooLarge { what, value, most, .. } => assert_eq!((what, value), (expected, most + 1)),
        other => panic!("{expected}: {other}"),
    };
    too_large(&always(Collective::Bcast, Choice::plain(3).with_segsize(int)), "segment size");
    too_large(&always(Collective::Bcast, Choice::plain(2).with_faninout(1 << 31)), "fan-out");
    too_large(&always(Collective::Bcast, Choice::plain(1 << 31)), "algorithm");
    let mut sizes = Steps::constant(Choice::BUILTIN);
    sizes.set(1 << 63, None, Choice::plain(6));
    too_large(&table_of(Collective::Bcast, Steps::constant(sizes)), "message size");
    let mut blocks = all_builtin();
    blocks.set(int, None, Steps::constant(Choice::plain(6)));
    too_large(&table_of(Collective::Bcast, blocks), "communicator size");
}

fn bcast_choice() -> impl Strategy<Value = Choice> {
    let segsize = prop::sample::select(vec![0u64, 1024, 8192, i32::MAX as u64]);
    (0u32..10, 0u32..5, segsize).prop_map(|(id, faninout, segsize)| match id {
        0 => Choice::BUILTIN,
        _ => Choice::plain(id).with_faninout(faninout).with_segsize(segsize),
    })
}

fn barrier_choice() -> impl Strategy<Value = Choice> {
    prop::sample::select(vec![0, 1, 2, 3, 4, 6]).prop_map(Choice::plain)
}

/// Small numbers, where neighbours are likely, and the very last.
fn start(last: u64) -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1u64..40, 2 => 1..=last, 1 => last - 2..=last]
}

fn size_steps(choice: impl Strategy<Value = Choice> + Clone) -> impl Strategy<Value = SizeSteps> {
    let later = prop::collection::vec((start(i64::MAX as u64), choice.clone()), 0..6);
    (choice, later).prop_map(|(first, later)| {
        let mut steps = Steps::constant(first);
        later.into_iter().for_each(|(at, choice)| steps.set(at, None, choice));
        steps
    })
}

fn rank_steps(sizes: impl Strategy<Value = SizeSteps> + Clone) -> impl Strategy<Value = RankSteps> {
    let later = prop::collection::vec((start(i32::MAX as u64), sizes.clone()), 0..6);
    (sizes, later).prop_map(|(first, later)| {
        let mut steps = Steps::constant(first);
        later.into_iter().for_each(|(at, sizes)| steps.set(at, None, sizes));
        steps
    })
}

fn table() -> impl Strategy<Value = RuleTable> {
    let bcast = rank_steps(size_steps(bcast_choice().boxed()).boxed());
    let barrier = rank_steps(barrier_choice().prop_map(Steps::constant).boxed());
    (bcast, barrier).prop_map(|(bcast, barrier)| {
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, bcast);
        table.set(Collective::Barrier, barrier);
        table
    })
}

/// Any file that reading can return.
fn file() -> impl Strategy<Value = ClassicFile> {
    let choice = (any::<u32>(), any::<u32>(), 0..=i64::MAX as u64).prop_map(|(algorithm, faninout, segsize)| Choice {
        algorithm,
        faninout,
        segsize,
        max_requests: 0,
    });
    let rule = (start(i64::MAX as u64), choice).prop_map(|(size, choice)| ClassicRule { size, choice, note: None });
    let rules = prop::collection::vec(rule, 0..4).prop_map(|mut rules| {
        rules.first_mut().into_iter().for_each(|rule| rule.size = 0);
        rules
    });
    let comm_rule = (prop_oneof![0u32..9, any::<u32>()], rules).prop_map(|(comm_size, rules)| ClassicCommRule {
        comm_size,
        notes: vec![],
        rules,
    });
    prop::collection::btree_map(0u32..22, prop::collection::vec(comm_rule, 0..4), 0..4).prop_map(|blocks| {
        let blocks = blocks.into_iter().map(|(id, sizes)| ClassicCollective { id, notes: vec![], sizes });
        ClassicFile { header: vec![], collectives: blocks.collect() }
    })
}

/// Every place where a table may change, and both sides of it.
fn places(table: &RuleTable) -> Vec<(Collective, u32, u64)> {
    let mut places = Vec::new();
    let around = |at: u64, most: u64| [at.saturating_sub(1), at, at.saturating_add(1)].map(|at| at.min(most));
    for (collective, blocks) in table.collectives() {
        for (first, _, sizes) in blocks.iter() {
            for ranks in around(first, i32::MAX as u64) {
                for bytes in sizes.iter().flat_map(|(start, _, _)| around(start, i64::MAX as u64)) {
                    places.push((collective, ranks as u32, bytes));
                }
            }
        }
    }
    places
}

proptest! {
    #[test]
    fn every_release_reads_what_the_table_says(
        table in table(), ranks in 0..=i32::MAX as u32, bytes in 0..=i64::MAX as u64,
    ) {
        let file = read(&written(&table)).expect("accepted");
        for release in Release::ALL {
            prop_assert_eq!(&file.to_table(release), &table, "{}", release);
            let random = [(Collective::Bcast, ranks, bytes), (Collective::Barrier, ranks, 0)];
            for (collective, ranks, bytes) in places(&table).into_iter().chain(random) {
                let served = file.lookup(release, collective, ranks, bytes);
                let chosen = served.map_or(Choice::BUILTIN, |served| served.choice);
                prop_assert_eq!(chosen, table.lookup(collective, ranks.into(), bytes), "{} {}", release, ranks);
            }
        }
    }

    #[test]
    fn files_read_back(file in file()) {
        prop_assert_eq!(read(&file.to_string()), Ok(file));
    }

    #[test]
    fn the_meaning_of_any_file_is_what_its_lookups_say(file in file(), ranks in 0..12u32, bytes in 0..50u64) {
        for release in Release::ALL {
            let table = file.to_table(release);
            for collective in Collective::ALL {
                let served = file.lookup(release, collective, ranks, bytes).map(|served| served.choice);
                let chosen = served.filter(|choice| !choice.is_builtin()).unwrap_or(Choice::BUILTIN);
                prop_assert_eq!(chosen, table.lookup(collective, ranks.into(), bytes), "{}", release);
            }
        }
    }

    #[test]
    fn comments_change_nothing(
        table in table(), header in any::<String>(), block in any::<String>(), rule in any::<String>(),
    ) {
        let mut notes = Notes { header: vec![header], ..Notes::default() };
        for (collective, blocks) in table.collectives() {
            for (first, _, sizes) in blocks.iter() {
                notes.blocks.insert((collective, first), vec![block.clone(), "-1 0x".to_owned()]);
                for (size, _, _) in sizes.iter() {
                    notes.rules.insert((collective, first, size), rule.clone());
                }
            }
        }
        let text = ClassicFile::from_table(&table, &notes).expect("no hazards").to_string();
        prop_assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')));
        prop_assert_eq!(read(&text), read(&written(&table)));
    }

    #[test]
    fn checkerboards_keep_every_boundary(table in table()) {
        let board = checkerboard(&table);
        let file = read(&board.file().to_string()).expect("accepted");
        for (collective, blocks) in table.collectives() {
            let edges = board.edges(collective);
            let expected: Vec<_> = blocks
                .iter()
                .map(|(first, end, sizes)| {
                    Edges { first, end, sizes: sizes.iter().map(|(start, _, _)| start).skip(1).collect() }
                })
                .collect();
            prop_assert_eq!(&edges, &expected);
            for block in &edges {
                let errs = |bytes| board.errs(collective, block.first, bytes);
                for at in &block.sizes {
                    prop_assert_ne!(errs(*at), errs(at - 1));
                }
                if block.first > 0 {
                    prop_assert_ne!(errs(0), board.errs(collective, block.first - 1, 0));
                }
            }
        }
        for (collective, ranks, bytes) in places(&table) {
            for release in Release::ALL {
                let served = file.lookup(release, collective, ranks, bytes).expect("rules for everything");
                let errs = served.choice.algorithm == PROBE_ALGORITHM;
                prop_assert_eq!(errs, board.errs(collective, ranks.into(), bytes), "{} {}", release, ranks);
            }
        }
    }
}
