//! Tests that written files read back, in every format, with every version of the target.

use proptest::prelude::*;

use super::*;
use crate::file::load;
use crate::steps::Steps;
use crate::table::SizeSteps;
use crate::table::{RankSteps, all_builtin};

fn table_of(collective: Collective, blocks: RankSteps) -> RuleTable {
    let mut table = RuleTable::new();
    table.set(collective, blocks);
    table
}

fn always(collective: Collective, choice: &str) -> RuleTable {
    table_of(collective, Steps::constant(Steps::constant(choice.parse().expect("a choice"))))
}

/// Rules for bcast: builtin below 4 ranks, two ranges for 4 to 7, one choice from 8 on.
fn example() -> (RuleTable, Notes) {
    let mut four = Steps::constant(Choice::plain(1));
    four.set(65536, None, Choice::plain(3).with_segsize(8192));
    let mut blocks = all_builtin();
    blocks.set(4, Some(8), four);
    blocks.set(8, None, Steps::constant(Choice::plain(2).with_faninout(4)));
    let mut table = table_of(Collective::Bcast, blocks);
    table.set(Collective::Alltoall, Steps::constant(Steps::constant("4/0/0/8".parse().expect("a choice"))));
    let notes = Notes {
        header: vec!["tuned on a \"cluster\"".to_owned()],
        blocks: [((Collective::Bcast, 4), vec!["2 nodes x 2".to_owned()])].into(),
        rules: [((Collective::Bcast, 4, 65536), "saves 41 %".to_owned())].into(),
    };
    (table, notes)
}

fn means(text: &str, version: &Behaviour) -> RuleTable {
    match load(text.as_bytes(), version) {
        Ok(loaded) => loaded.to_table(),
        other => panic!("{version}: {other:?}\n{text}"),
    }
}

#[test]
fn a_file_of_version_1_looks_like_this() {
    let (mut table, notes) = example();
    table.set(Collective::Alltoall, all_builtin());
    let text = classic(&table, &notes, |_| false).expect("no hazards");
    let (header, body) = text.split_once("\n\n").expect("a header");
    assert!(header.starts_with("# tuned on a \"cluster\"\n#\n# Rules for Open MPI's coll/tuned"), "{header}");
    assert_eq!(
        body,
        "\
1               # collectives

7               # bcast
4               # communicator sizes
# fewer than 4 ranks
4 1             # communicator size, message sizes
    0 0 0    0  # default
# 4 to 7 ranks
# 2 nodes x 2
4 2             # communicator size, message sizes
    0 1 0    0  # basic_linear
65536 3 0 8192  # pipeline, 8 KiB segments; saves 41 %
# 4 to 7 ranks, repeated for Open MPI 6.0
8 2             # communicator size, message sizes
    0 1 0    0  # basic_linear
65536 3 0 8192  # pipeline, 8 KiB segments
# 8 ranks and more
8 1             # communicator size, message sizes
    0 2 4    0  # chain, fan-out 4
"
    );
}

#[test]
fn a_file_of_version_2_looks_like_this() {
    let (table, notes) = example();
    let text = write(&table, &notes, TargetFormat::V2).expect("no hazards");
    assert!(text.starts_with("rule-file-version-2\n# tuned on a \"cluster\"\n#\n# Rules for"), "{text}");
    assert!(text.contains("\n    0 4 0    0 8  # linear_sync, at most 8 requests\n"), "{text}");
    assert!(text.contains("\n65536 3 0 8192    # pipeline, 8 KiB segments; saves 41 %\n"), "{text}");
    for version in &TargetFormat::V2.readers() {
        assert_eq!(means(&text, version), table, "{version}");
    }
}

#[test]
fn a_json_file_looks_like_this() {
    let (table, notes) = example();
    let text = write(&table, &notes, TargetFormat::Json).expect("no hazards");
    assert_eq!(
        text,
        r#"{
  "rule_file_version": 3,
  "module": "tuned",
  "comment": [
    "-1 here makes versions before 6.0 reject the file, rather than take digits in it for rules.",
    "Rules for Open MPI's coll/tuned, for 6.0 and later.",
    "Sizes are what Open MPI looks up, in bytes, both ends included; alg 0 leaves the decision to Open MPI.",
    "tuned on a \"cluster\""
  ],
  "collectives": {
    "alltoall": [
      {
        "comment": "any number of ranks",
        "comm_size_min": 0,
        "rules": [
          { "msg_size_min": 0, "alg": 4, "faninout": 0, "seg_size": 0, "reqs": 8, "comment": "linear_sync, at most 8 requests" }
        ]
      }
    ],
    "bcast": [
      {
        "comment": "fewer than 4 ranks",
        "comm_size_min": 0, "comm_size_max": 3,
        "rules": [
          { "msg_size_min": 0, "alg": 0, "comment": "default" }
        ]
      },
      {
        "comment": [
          "4 to 7 ranks",
          "2 nodes x 2"
        ],
        "comm_size_min": 4, "comm_size_max": 7,
        "rules": [
          { "msg_size_min": 0, "msg_size_max": 65535, "alg": 1, "faninout": 0, "seg_size": 0, "reqs": 0, "comment": "basic_linear" },
          { "msg_size_min": 65536, "alg": 3, "faninout": 0, "seg_size": 8192, "reqs": 0, "comment": "pipeline, 8 KiB segments; saves 41 %" }
        ]
      },
      {
        "comment": "8 ranks and more",
        "comm_size_min": 8,
        "rules": [
          { "msg_size_min": 0, "alg": 2, "faninout": 4, "seg_size": 0, "reqs": 0, "comment": "chain, fan-out 4" }
        ]
      }
    ]
  }
}
"#
    );
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    assert_eq!(means(&text, &Behaviour::latest(crate::Release::V6_0)), table);
}

#[test]
fn boundaries_are_doubled_where_6_0_reads_along() {
    let (mut table, notes) = example();
    table.set(Collective::Alltoall, all_builtin());
    let text = write(&table, &notes, TargetFormat::Classic).expect("it can be said");
    assert!(text.contains("\n4               # communicator sizes\n") && text.contains("repeated for Open MPI 6.0"));
    for version in TargetFormat::Classic.readers() {
        assert_eq!(means(&text, &version), table, "{version}");
    }
    assert_eq!(text, classic(&table, &notes, |_| false).expect("no hazards"));
}

#[test]
fn formats_have_their_readers() {
    let names = |format: TargetFormat| format.readers().iter().map(Behaviour::name).collect::<Vec<_>>();
    assert_eq!(names(TargetFormat::V2), ["4.1.8 and later", "5.0.7 and later", "6.0"]);
    assert_eq!(names(TargetFormat::Json), ["6.0"]);
    assert_eq!(TargetFormat::Classic.readers(), Behaviour::distinct());
    assert_eq!("v1".parse(), Ok(TargetFormat::Classic));
    for format in TargetFormat::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    assert!("xml".parse::<TargetFormat>().expect_err("unknown").to_string().contains("classic, v2, json"));
}

#[test]
fn hazards_and_what_a_format_cannot_express_are_refused() {
    let notes = Notes::default();
    let table = always(Collective::Reduce, "5/0/0/0");
    let accepts = |hazard: &Hazard| matches!(hazard, Hazard::NonCommutative { .. });
    for written in [classic(&table, &notes, |_| false), json_with_layouts(&table, &[], &notes, |_| false)] {
        assert!(matches!(written, Err(EmitError::Hazards(_))));
    }
    assert!(classic(&table, &notes, accepts).is_ok() && json_with_layouts(&table, &[], &notes, accepts).is_ok());
    // An algorithm that 4.0 lacks is for others.
    assert!(write(&always(Collective::Allgather, "7/0/0/0"), &notes, TargetFormat::Classic).is_ok());
    let bounded = always(Collective::Alltoall, "4/0/0/8");
    assert!(matches!(write(&bounded, &notes, TargetFormat::Classic), Err(EmitError::MaxRequests { .. })));
    assert!(write(&bounded, &notes, TargetFormat::V2).is_ok() && write(&bounded, &notes, TargetFormat::Json).is_ok());
    let mut sizes = Steps::constant(Choice::BUILTIN);
    sizes.set(1 << 63, None, Choice::plain(6));
    let mut blocks = all_builtin();
    blocks.set(1 << 31, None, Steps::constant(Choice::plain(6)));
    for (large, named) in [
        (always(Collective::Bcast, "3/0/2147483648/0"), "segment size"),
        (always(Collective::Bcast, "2/2147483648/0/0"), "fan-out"),
        (table_of(Collective::Bcast, Steps::constant(sizes)), "message size"),
        (table_of(Collective::Bcast, blocks), "communicator size"),
    ] {
        for format in TargetFormat::ALL {
            match write(&large, &notes, format) {
                Err(EmitError::TooLarge { what, value, most, .. }) => assert_eq!((what, value), (named, most + 1)),
                other => panic!("{format} {named}: {other:?}"),
            }
        }
    }
}

#[test]
fn bruck_gets_a_radix() {
    for format in TargetFormat::ALL {
        for (said, written) in [("2/0/0/0", "2/2/0/0"), ("2/1/0/0", "2/2/0/0"), ("2/4/0/0", "2/4/0/0")] {
            let table = always(Collective::Allgather, said);
            let text = write(&table, &Notes::default(), format).expect("it can be said");
            for version in &format.readers() {
                assert_eq!(means(&text, version), always(Collective::Allgather, written), "{format} {version}");
            }
        }
    }
}

#[test]
fn an_empty_table_is_a_legal_file() {
    for format in TargetFormat::ALL {
        let text = write(&RuleTable::new(), &Notes::default(), format).expect("it can be said");
        for version in &format.readers() {
            assert!(means(&text, version).is_empty(), "{format} {version}");
        }
    }
    // Without any comment the text would be JSON, which 6.0 would then reject as such.
    assert!(classic(&RuleTable::new(), &Notes::default(), |_| false).expect("no hazards").contains('#'));
}

/// Any choice that files can express.
fn choice() -> impl Strategy<Value = Choice> {
    let segsize = prop::sample::select(vec![0u64, 1024, 8192, i32::MAX as u64]);
    (0u32..6, 0u32..5, segsize, prop::sample::select(vec![0u32, 1, 8, i32::MAX as u32])).prop_map(
        |(algorithm, faninout, segsize, max_requests)| match algorithm {
            0 => Choice::BUILTIN,
            _ => Choice { algorithm, faninout, segsize, max_requests },
        },
    )
}

fn steps<V: Clone + PartialEq + std::fmt::Debug>(
    value: impl Strategy<Value = V> + Clone,
    last: u64,
) -> impl Strategy<Value = Steps<V>> {
    let start = prop_oneof![8 => 1u64..40, 2 => 1..=last, 1 => last - 2..=last];
    (value.clone(), prop::collection::vec((start, value), 0..6)).prop_map(|(first, later)| {
        let mut steps = Steps::constant(first);
        later.into_iter().for_each(|(at, value)| steps.set(at, None, value));
        steps
    })
}

fn table() -> impl Strategy<Value = RuleTable> {
    let blocks = steps(steps(choice().boxed(), i64::MAX as u64).boxed(), i32::MAX as u64);
    let collective = prop::sample::select(vec![Collective::Allgather, Collective::Bcast, Collective::Reduce]);
    prop::collection::vec((collective, blocks), 0..4).prop_map(|all| {
        let mut table = RuleTable::new();
        all.into_iter().for_each(|(collective, blocks)| table.set(collective, blocks));
        table
    })
}

/// The table without bounds on requests, for version 1.
fn without_requests(table: &RuleTable) -> RuleTable {
    let mut bare = RuleTable::new();
    let choice = |choice: &Choice| Choice { max_requests: 0, ..*choice };
    for (collective, blocks) in table.collectives() {
        let sizes = |sizes: &SizeSteps| Steps::ascending(sizes.iter().map(|(start, _, found)| (start, choice(found))));
        bare.set(collective, Steps::ascending(blocks.iter().map(|(first, _, block)| (first, sizes(block)))));
    }
    bare
}

proptest! {
    #[test]
    fn what_is_written_reads_back(table in table(), note in any::<String>()) {
        let mut notes = Notes { header: vec![note.clone(), "-1 0x \"\\".to_owned()], ..Notes::default() };
        for (collective, blocks) in table.collectives() {
            for (first, _, sizes) in blocks.iter() {
                notes.blocks.insert((collective, first), vec![note.clone()]);
                for (size, _, _) in sizes.iter() {
                    notes.rules.insert((collective, first, size), note.clone());
                }
            }
        }
        for format in TargetFormat::ALL {
            let table = if format == TargetFormat::Classic { without_requests(&table) } else { table.clone() };
            let text = write(&table, &notes, format).expect("it can be said");
            prop_assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')));
            for version in &format.readers() {
                prop_assert_eq!(means(&text, version), portable(&table), "{} {}\n{}", format, version, text);
            }
            for version in Behaviour::distinct().into_iter().filter(|version| format == TargetFormat::Json && !version.reads_json) {
                let refused = load(text.as_bytes(), &version).is_err_and(|fault| !fault.kind.crashes());
                prop_assert!(refused, "{}\n{}", version, text);
            }
            // From file to table to file again nothing is lost.
            let again = write(&means(&text, &format.readers()[0]), &notes, format);
            prop_assert_eq!(again.expect("it can be said"), text);
        }
    }
}

// Blocks of one distribution come first, even if they leave the decision to Open MPI.
#[test]
fn blocks_of_one_distribution_read_back_apart() {
    let (table, notes) = example();
    let rules = |ranks, distribution, sizes| {
        let ranks = crate::units::Ranks(ranks);
        LayoutRules { collective: Collective::Bcast, ranks, distribution, sizes }
    };
    let binomial = Steps::constant(Choice::plain(6));
    let blocks = [
        rules(4, Distribution::OnePerNode, binomial.clone()),
        rules(5, Distribution::SingleNode, Steps::constant(Choice::BUILTIN)),
    ];
    let text = json_with_layouts(&table, &blocks, &notes, |_| true).expect("can be written");
    let version = Behaviour::from_version("6.0.0".parse().expect("a version")).expect("known");
    let Ok(file) = load(text.as_bytes(), &version) else { panic!("{text}") };
    assert_eq!(file.to_table(), portable(&table));
    let on = |distribution, ranks| {
        file.to_table_for(distribution).get(Collective::Bcast).expect("has rules").get(ranks).clone()
    };
    assert_eq!(on(Distribution::OnePerNode, 4), binomial);
    assert_eq!(on(Distribution::SingleNode, 5), Steps::constant(Choice::BUILTIN));
    assert_eq!(on(Distribution::SingleNode, 4), *table.get(Collective::Bcast).expect("has rules").get(4));
}
