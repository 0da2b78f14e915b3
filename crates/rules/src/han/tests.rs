//! Tests of the reader, fault by fault, and of properties of all files.

use proptest::prelude::*;

use super::*;
use crate::behaviour::Behaviour;
use crate::collective::Collective;
use crate::emit::EmitError;
use crate::file::{Fault, FaultKind, Field, Reason};

/// File that worked on 5.0.11, together with a tuned rules file.
const SEEN: &str = "2\nbcast\n1 # one level\n2\n3\n1 1\n0 han\n8 3\n0 han\n2048 tuned\n12000 tuned\n9 1\n0 han\n\
                    allreduce\n1\nglobal_communicator\n3\n1 1\n0 han\n8 1\n0 tuned\n9 1\n0 han\n";

fn version(text: &str) -> Behaviour {
    text.parse().expect("a known version")
}

fn accepted(text: impl AsRef<[u8]>, by: &str) -> HanFile {
    match load(text.as_ref(), &version(by)) {
        Ok(loaded) => loaded,
        other => panic!("{by} on {}: {other:?}", text.as_ref().escape_ascii()),
    }
}

fn fault(text: &str, by: &str) -> FaultKind {
    match load(text.as_bytes(), &version(by)) {
        Err(Fault { line: Some(_), kind, .. }) if !kind.crashes() => kind,
        other => panic!("{by} on {text}: {other:?}"),
    }
}

fn in_use(loaded: &HanFile, ranks: u32, bytes: u64) -> Option<HanComponent> {
    let choice = loaded.lookup(Collective::Bcast, Level::GlobalCommunicator, ranks, bytes).choice;
    choice.map(|choice| choice.component)
}

#[test]
fn the_last_that_fits_applies() {
    let loaded = accepted(SEEN, "5.0.11");
    let found = [(2, 1 << 20), (8, 2047), (8, 2048), (9, 2048)].map(|(ranks, bytes)| in_use(&loaded, ranks, bytes));
    use HanComponent::{Han, Tuned};
    assert_eq!(found, [Han, Han, Tuned, Han].map(Some));
    let none = loaded.lookup(Collective::Reduce, Level::GlobalCommunicator, 8, 0);
    assert_eq!((none.choice, none.reason), (None, Reason::NoRules));
    assert_eq!(loaded.lookup(Collective::Bcast, Level::IntraNode, 8, 0).reason, Reason::NoLevel);
    let found = loaded.lookup(Collective::Bcast, Level::GlobalCommunicator, 8, 4096);
    assert_eq!(found.place().map(|span| span.of(SEEN.as_bytes())), Some(&b"2048 tuned"[..]));
    // Out of order, the last in the file that fits hides what fits better.
    let unsorted = accepted("1 7 1 2 1 1 3 0 han 4096 tuned 64 basic", "5.0");
    assert_eq!(
        [0, 64, 4096].map(|bytes| in_use(&unsorted, 4, bytes).map(HanComponent::name)),
        [Some("han"), Some("basic"), Some("basic")]
    );
}

#[test]
fn of_collectives_and_levels_that_come_twice_the_last_counts() {
    let loaded = accepted("2 bcast 1 2 1 1 1 0 tuned bcast 2 2 1 1 1 0 basic 2 0", "5.0");
    let found = loaded.lookup(Collective::Bcast, Level::GlobalCommunicator, 4, 0);
    assert_eq!((found.choice, found.reason), (None, Reason::NoCommRule));
    assert_eq!(loaded.to_table(), HanTable::default());
}

#[test]
fn a_configuration_without_rules_leaves_its_sizes_to_parameters() {
    let loaded = accepted("1 7 1 2 2 1 1 0 tuned 4 0", "5.0");
    assert_eq!([3, 4].map(|ranks| in_use(&loaded, ranks, 0)), [Some(HanComponent::Tuned), None]);
    // A first size of 1 passes.
    let loaded = accepted("1 7 1 2 1 1 1 1 tuned", "5.0");
    assert_eq!([0, 1].map(|bytes| in_use(&loaded, 4, bytes)), [None, Some(HanComponent::Tuned)]);
}

#[test]
fn every_slip_rejects_the_whole_file() {
    let end = FaultKind::End;
    for (text, expected) in [
        ("", end(Field::Collectives)),
        ("0", FaultKind::NoCollectives),
        ("1", end(Field::Collective)),
        ("1 Bcast 0", FaultKind::NoSuchCollective("Bcast".to_owned())),
        ("1 22 0", FaultKind::NoSuchCollective("22".to_owned())),
        ("1 bcast", end(Field::Levels)),
        ("1 bcast -1", FaultKind::Negative(Field::Levels, -1)),
        ("1 bcast 1 3", FaultKind::NoLevel("3".to_owned())),
        ("1 bcast 1 node", FaultKind::NoLevel("node".to_owned())),
        ("1 bcast 1 2", end(Field::CommRules)),
        ("1 bcast 1 2 1 2", FaultKind::CommSize(2)),
        ("1 bcast 1 2 2 1 0 0", FaultKind::CommSize(0)),
        ("1 bcast 1 2 1 1", end(Field::MessageRules)),
        ("1 bcast 1 2 1 1 1 8 tuned", FaultKind::FirstSize(8)),
        ("1 bcast 1 2 1 1 1 0", end(Field::Component)),
        ("1 bcast 1 2 1 1 1 0 3", FaultKind::NoComponent("3".to_owned())),
        ("1 bcast 1 2 1 1 1 0 xhc", FaultKind::NoComponent("xhc".to_owned())),
        ("1 bcast 1 2 1 1 1 0 han@simple", FaultKind::NoComponent("han@simple".to_owned())),
        ("1 bcast 1 2 1 1 1 0 han @", end(Field::Algorithm)),
        ("1 bcast 1 2 1 1 1 0 han @3", FaultKind::NoAlgorithm("3".to_owned(), "bcast")),
        ("1 bcast 1 2 1 1 1 0 han [8", end(Field::Segsize)),
        ("1 bcast 9999999999999", FaultKind::TooMany(Field::Levels, 9_999_999_999_999)),
    ] {
        if text.ends_with("[8") {
            // At the end of the file the closing bracket is not missed.
            assert_eq!(accepted(text, "5.0").segments.len(), 1);
            continue;
        }
        assert_eq!(fault(text, "5.0.11"), expected, "{text}");
    }
    let Err(without) = load(b"1 bcast 0", &version("4.0")) else { panic!() };
    assert_eq!(without.kind, FaultKind::NoHan);
}

#[test]
fn algorithms_are_read_from_5_0_on_and_crash_where_there_are_none() {
    let choice = |text: &str, by: &str| accepted(text, by).collectives[0].levels[0].configurations[0].rules[0].choice;
    let text = "1 reduce 1 2 1 1 1 0 han # why\n @reproducible [ 1 2 ]";
    assert_eq!(choice(text, "5.0").algorithm, 3);
    assert_eq!(choice("1 11 1 2 1 1 1 0 han @ 2", "5.0").algorithm, 2);
    assert_eq!(choice("1 1 1 2 1 1 1 0 han @default", "5.0").algorithm, 0);
    assert!(load(b"1 allgatherv 1 2 1 1 1 0 han @simple", &version("5.0")).is_err_and(|fault| fault.kind.crashes()));
    // 4.1 skips what it does not know on its way to the next number.
    assert_eq!(choice(text, "4.1").algorithm, 0);
    assert_eq!(in_use(&accepted("1 bcast 1 2 1 1 2 0 han @simple 8 tuned", "4.1"), 4, 8), Some(HanComponent::Tuned));
}

#[test]
fn names_of_levels_are_read_from_5_0_on() {
    let text = "1 bcast 1 global_communicator 1 1 1 0 tuned";
    assert_eq!(in_use(&accepted(text, "5.0"), 4, 0), Some(HanComponent::Tuned));
    // 4.1 skips the name, and takes the number behind it for the level.
    let misread = accepted(text, "4.1");
    assert_eq!((misread.collectives[0].levels[0].level, misread.to_table()), (Level::InterNode, HanTable::default()));
    assert!(load(b"1 bcast 1 2 1 1 1 0 xhc", &version("6.0")).is_ok());
}

/// Words that were once wrong: accepted and refused by a build of the 6.0 branch.
#[test]
fn the_vocabulary_of_6_0_is_that_of_its_source() {
    for text in ["1 bcast 1 2 1 1 1 0 sm", "1 alltoallv 1 2 1 1 1 0 han @smsc", "1 alltoall 1 2 1 1 1 0 han @smsc"] {
        assert!(load(text.as_bytes(), &version("6.0")).is_ok(), "{text}");
    }
    let disqualify = "1 alltoall 1 2 1 1 1 0 han @disqualify";
    assert_eq!(fault(disqualify, "6.0"), FaultKind::NoAlgorithm("disqualify".to_owned(), "alltoall"));
    let bcast = Collective::Bcast.id();
    let in_use = |id, level| service(id, level, HanComponent::Xhc);
    assert_eq!(in_use(bcast, Level::GlobalCommunicator), Service::Next, "it runs on single nodes alone");
    assert_eq!(in_use(bcast, Level::InterNode), Service::Next);
    assert_eq!(in_use(bcast, Level::IntraNode), Service::IfRaised(HanComponent::Xhc));
    assert_eq!(in_use(Collective::Gather.id(), Level::IntraNode), Service::Next);
    // gatherv and scatterv.
    for id in [10, 16] {
        assert_eq!(service(id, Level::GlobalCommunicator, HanComponent::Tuned), Service::Next);
        assert_eq!(service(id, Level::GlobalCommunicator, HanComponent::Han), Service::Named(HanComponent::Han));
    }
}

#[test]
fn numbers_wrap_and_names_end_as_in_c() {
    // 2^32 + 7 is bcast to 5.0, and a zero byte ends a name.
    assert_eq!(accepted("1 4294967303 0", "5.0").collectives[0].id, 7);
    assert_eq!(fault("1 4294967303 0", "4.1"), FaultKind::NoSuchCollective("4294967303".to_owned()));
    assert_eq!(accepted(b"1 bcast\0x 0", "5.0").collectives[0].id, 7);
    assert_eq!(accepted(b"1 \0 0", "5.0").collectives[0].id, 0);
    assert_eq!(accepted("1 gatherv_x 0", "5.0").collectives[0].id, 10);
    let negative = accepted("1 7 1 2 1 1 2 0 han -1 tuned", "5.0");
    assert_eq!(negative.collectives[0].levels[0].configurations[0].rules[1].size, u64::MAX);
}

#[test]
fn files_for_han_are_told_from_files_for_tuned() {
    assert!(is_han(SEEN.as_bytes()));
    // Also those that HAN rejects, or that have no configuration, and one whose numbers alone are a file of coll/tuned.
    for text in [
        "1 bcast 1 1 2 1 0 2 1 0 han @simple",
        "1 bcast 1 global_communicator 1 4 1 0 han",
        "1 BCAST 1 Global_Communicator 1 1 1 0 HAN",
        "1 bcast 1 intra_node 0",
    ] {
        assert!(is_han(text.as_bytes()), "{text}");
    }
    assert!(!is_han(b"1 7 1 # 0 han\n0 1\n0 6 0 0\n"));
    assert!(!is_han(b"tuned 1 7 1\n0 1\n0 6 0 0\n"));
    assert!(!is_han(b"{\"collectives\": {}}"));
}

#[test]
fn a_written_file_looks_like_this() {
    let text = write(&accepted(SEEN, "5.0").to_table(), &["made by hand".to_owned()]).expect("it can be said");
    let body = text.split_once("\n\n").expect("a header").1;
    assert_eq!(
        body,
        "2  # collectives\n\nallreduce\n1  # topology levels\n2  # global_communicator\n3  # configurations\n\
         1 1  # fewer than 8 ranks\n  0 han\n8 1  # 8 ranks\n  0 tuned\n9 1  # 9 ranks and more\n  0 han\n\n\
         bcast\n1  # topology levels\n2  # global_communicator\n3  # configurations\n\
         1 1  # fewer than 8 ranks\n  0 han\n8 2  # 8 ranks\n  0 han\n  2048 tuned\n9 1  # 9 ranks and more\n  0 han\n"
    );
    assert_eq!(write(&HanTable::default(), &[]), Err(EmitError::NoHanRules));
    let mut gap = crate::table::all_builtin();
    let mut sizes = crate::steps::Steps::constant(None);
    sizes.set(64, None, Some(ComponentChoice::from_component(HanComponent::Tuned)));
    gap.set(4, None, sizes);
    let mut table = HanTable::default();
    table.set((Collective::Bcast, Level::GlobalCommunicator), gap);
    assert!(matches!(write(&table, &[]), Err(EmitError::HanGap { .. })));
}

/// A text whose counts fit, in any order of sizes.
fn text() -> impl Strategy<Value = String> {
    let component = prop::sample::select(vec!["tuned", "han", "han @simple", "basic", "libnbc", "adapt [ 1 2 ]"]);
    let rule = (prop_oneof![0u64..40, Just(u64::MAX)], component);
    let rules = prop::collection::vec(rule, 0..5).prop_map(|mut rules| {
        rules.first_mut().into_iter().for_each(|rule| rule.0 %= 2);
        let line = |(size, component)| format!("{size} {component}\n");
        (rules.len(), rules.into_iter().map(line).collect::<String>())
    });
    let configurations = prop::collection::vec((1u64..20, rules), 0..5).prop_map(|mut list| {
        list.first_mut().into_iter().for_each(|first| first.0 = 1);
        let one = |(size, (count, rules)): (u64, (usize, String))| format!("{size} {count} #\n{rules}");
        (list.len(), list.into_iter().map(one).collect::<String>())
    });
    let level = (0u32..3, configurations).prop_map(|(level, (count, list))| format!("{level} {count}\n{list}"));
    let levels = prop::collection::vec(level, 0..4);
    let name = prop::sample::select(vec!["bcast", "reduce", "7", "barrier", "scan"]);
    let collective = (name, levels).prop_map(|(name, levels)| {
        let levels = if name == "scan" { Vec::new() } else { levels };
        format!("{name} {}\n{}", levels.len(), levels.concat())
    });
    prop::collection::vec(collective, 1..4).prop_map(|all| format!("{}\n{}", all.len(), all.concat()))
}

proptest! {
    #[test]
    fn lookups_tables_and_written_files_agree(text in text(), ranks in 1u32..24, bytes in 0u64..44) {
        let loaded = accepted(&text, "5.0");
        let table = loaded.to_table();
        for collective in Collective::ALL {
            for level in Level::ALL {
                for bytes in [bytes, 0, u64::MAX] {
                    let chosen = loaded.lookup(collective, level, ranks, bytes).choice;
                    prop_assert_eq!(chosen, table.lookup((collective, level), ranks.into(), bytes));
                }
            }
        }
        match write(&table, &[]) {
            Ok(written) => {
                prop_assert!(is_han(written.as_bytes()) || !written.contains(" han"));
                prop_assert_eq!(accepted(&written, "5.0").to_table(), table, "{}", written);
            }
            Err(error) => prop_assert_eq!(error, EmitError::NoHanRules),
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for behaviour in Behaviour::distinct() {
            if let Err(fault) = load(&bytes, &behaviour) {
                prop_assert!(fault.span.end <= bytes.len());
            }
        }
    }

    #[test]
    fn damaged_files_are_judged(text in text(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        for behaviour in Behaviour::distinct() {
            if let Ok(loaded) = load(&bytes, &behaviour) {
                let _ = loaded.to_table();
            }
        }
    }
}
