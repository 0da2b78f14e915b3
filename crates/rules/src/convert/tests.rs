use proptest::prelude::*;

use super::*;
use crate::units::Bytes;

fn version(text: &str) -> Behaviour {
    text.parse().expect("a known version")
}

fn converted(text: &str, by: Option<&str>, format: TargetFormat) -> Conversion {
    let source = meaning(text.as_bytes(), by.map(version)).expect(text);
    convert(text.as_bytes(), &source, format, &Notes::default()).expect(text)
}

#[test]
fn a_file_that_releases_read_alike_loses_nothing() {
    let text = "1\n7\n4\n4 1\n0 1 0 0\n8 1\n0 1 0 0\n8 2\n0 6 0 0\n1024 3 0 512\n8 1\n0 2 4 0\n";
    // Up to 5.0 the second and the third size apply to nothing, in 6.0 the first two apply alike and the third does
    // not.
    let losses = converted(text, None, TargetFormat::Json).losses;
    assert_eq!(losses.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [8]);
    let text = "1\n7\n2\n8 1\n0 1 0 0\n8 2\n0 6 0 0\n1024 3 0 512\n";
    for format in TargetFormat::ALL {
        let conversion = converted(text, None, format);
        assert_eq!(conversion.meaning, version("6.0"));
        assert_eq!(
            (&conversion.losses[..], &conversion.changes[..], &conversion.lacking[..]),
            (&[][..], &[][..], &[][..])
        );
        for reader in format.readers() {
            let Ok(loaded) = load(conversion.text.as_bytes(), &reader) else { panic!("{reader}") };
            let source = meaning(text.as_bytes(), None).expect("a good file");
            assert_eq!(loaded.to_table(), source.to_table(), "{format} {reader}");
        }
    }
}

#[test]
fn a_file_that_releases_read_differently_needs_one_named() {
    let text = "1 7 3  2 1  0 1 0 0  4 1  0 6 0 0  8 1  0 3 0 0";
    let error = meaning(text.as_bytes(), None).expect_err("is ambiguous");
    assert!(matches!(error, ConvertError::Ambiguous { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "releases read it differently: bcast on 2 ranks, looked up as 0 B, gets basic_linear in Open MPI 5.0.7 and later, \
         and binomial in 6.0"
    );
    for (by, algorithm) in [("5.0", 1), ("6.0", 6)] {
        let table = meaning(text.as_bytes(), Some(version(by))).expect("said").to_table();
        assert_eq!(table.lookup(Collective::Bcast, 2, 0), Choice::plain(algorithm), "{by}");
        assert_eq!(converted(text, Some(by), TargetFormat::Classic).changes, []);
    }
}

#[test]
fn what_nobody_reads_is_not_converted() {
    let error = meaning(b"1 7 1 0 1 5 1 0 0", None).expect_err("no first size 0").to_string();
    assert!(error.starts_with("it is not accepted: every release of Open MPI: line 1"), "{error}");
}

#[test]
fn losses_name_their_lines() {
    let text = r#"{ "collectives": {
        "bcast": [
            { "comm_rank_distribution": "single-node", "rules": [ { "alg": 1 } ] },
            { "comm_size_max": 8, "note": "", "rules": [
                { "msg_size_max": 9, "alg": "no_such" },
                { "alg": 6 },
                { "alg": 1 } ] },
            { "comm_size_max": 4, "rules": [ { "alg": 6 } ] } ],
        "reduce": [ { "rules": [ { "alg": 6, "reqs": 4, "seg_size": 64 } ] } ],
        "gatherv": [ { "rules": [] } ] } }"#;
    let conversion = converted(text, None, TargetFormat::Classic);
    let found = conversion.losses;
    let expected = [
        (3, "the bcast rules for single-node communicators are left out"),
        (4, "the member `note`, which Open MPI does not read, is left out"),
        (5, "Open MPI drops this bcast rule, since its algorithm does not exist; it is left out"),
        (7, "this bcast rule applies to no call and is left out"),
        (8, "these bcast rules for a communicator size apply to no call and are left out"),
        (9, "the bound of 4 requests of this reduce rule is left out; its calls change"),
        (10, "coll/tuned has no algorithms for gatherv; its rules are left out"),
    ];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    let collectives: Vec<_> =
        conversion.changes[0].answer.iter().map(|change| (change.part, change.collective)).collect();
    assert!(
        collectives.contains(&(Part::Distribution(Distribution::SingleNode), Collective::Bcast)),
        "{collectives:?}"
    );
    assert!(collectives.contains(&(Part::Distribution(Distribution::Any), Collective::Reduce)), "{collectives:?}");
}

#[test]
fn algorithms_of_some_releases_leave_the_others_out() {
    let conversion = converted("1 15 1 0 1 0 3 0 0", Some("5.0"), TargetFormat::Classic);
    assert_eq!(conversion.lacking.iter().map(|(version, _)| version.name()).collect::<Vec<_>>(), ["4.0"]);
    // An algorithm that no version has fails in the call; JSON cannot say that.
    let text = "1\n7\n1\n0 1\n0 99 0 0\n";
    assert_eq!(converted(text, None, TargetFormat::V2).changes, []);
    let conversion = converted(text, None, TargetFormat::Json);
    assert_eq!(conversion.losses.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [5]);
    assert_eq!(conversion.changes[0].answer[0].right, Choice::BUILTIN.into());
}

#[test]
fn a_loop_without_end_is_not_carried_over_silently() {
    let conversion = converted("1 0 1 0 1 0 2 0 0", None, TargetFormat::Classic);
    let versions: Vec<_> = conversion.changes.iter().map(VersionGroup::label).collect();
    assert_eq!(versions, ["Open MPI 6.0"]);
}

#[test]
fn sizes_mean_other_calls_to_4_0() {
    let text = "rule-file-version-2\n1 9 1\n0 2\n0 1 0 0\n64 1 0 0\n1 1 0 0";
    let metrics = |text: &str, format| converted(text, Some("6.0"), format).metrics;
    assert_eq!(metrics(text, TargetFormat::Classic), []);
    let text = "rule-file-version-2\n1\n1\n1\n0 2\n0 1 0 0\n64 2 0 0\n";
    assert_eq!(metrics(text, TargetFormat::Classic), [(Collective::Allgatherv, version("4.0"))]);
    assert_eq!(metrics(text, TargetFormat::V2), []);
    assert_eq!(metrics(&text[20..], TargetFormat::Classic), []);
}

/// Tables whose choices every release has.
fn table() -> impl Strategy<Value = RuleTable> {
    let collective = prop::sample::select(vec![Collective::Bcast, Collective::Alltoall, Collective::Reduce]);
    let choice = (0u32..5, 0u32..3, prop::sample::select(vec![0u64, 1024]), 0u32..2);
    let write = (collective, 0u64..12, 0u64..12, 0u64..40, choice);
    prop::collection::vec(write, 0..12).prop_map(|writes| {
        let mut table = RuleTable::new();
        for (collective, first, count, size, (algorithm, faninout, segsize, max_requests)) in writes {
            let choice = Choice { algorithm, faninout, segsize, max_requests };
            let choice = if algorithm == 0 { Choice::BUILTIN } else { choice };
            let blocks = table.collectives().find(|(own, _)| *own == collective).map(|(_, blocks)| blocks.clone());
            let mut blocks = blocks.unwrap_or_else(crate::table::all_builtin);
            let mut sizes = blocks.get(first).clone();
            sizes.set(size, None, choice);
            blocks.set(first, Some(first + count), sizes);
            table.set(collective, blocks);
        }
        table
    })
}

proptest! {
    #[test]
    fn there_and_back_every_lookup_stays(table in table(), ranks in 2u32..30, size in 0u64..50) {
        let first = emit::write(&table, &Notes::default(), TargetFormat::Json).expect("can be written");
        let mut text = first.clone();
        for format in [TargetFormat::V2, TargetFormat::Json, TargetFormat::V2, TargetFormat::Json] {
            let conversion = converted(&text, None, format);
            prop_assert_eq!(&conversion.changes, &[]);
            text = conversion.text;
        }
        prop_assert_eq!(&text, &first);
        let source = meaning(first.as_bytes(), None).expect("was read before");
        let back = converted(&first, None, TargetFormat::Classic);
        for reader in &back.versions {
            let Ok(loaded) = load(back.text.as_bytes(), reader) else { panic!("{reader}") };
            for (collective, _) in table.collectives() {
                let looked_up = |loaded: &Loaded| loaded.lookup_by_size(collective, Ranks(ranks), size, Distribution::Any).choice;
                let expected = Choice { max_requests: 0, ..looked_up(&source) };
                prop_assert_eq!(looked_up(&loaded), expected, "{} {}", reader, Bytes(size));
            }
        }
    }

    #[test]
    fn differences_agree_with_lookups(left in table(), right in table(), ranks in 0u64..30, size in 0u64..50) {
        prop_assert_eq!(diff::tables(&left, &left), []);
        let found = diff::tables(&left, &right);
        prop_assert_eq!(found.is_empty(), left == right);
        for collective in Collective::ALL {
            let within = |first: u64, end: Option<u64>, at: u64| at >= first && end.is_none_or(|end| at < end);
            let covering: Vec<_> = found
                .iter()
                .filter(|difference| difference.collective == collective)
                .filter(|difference| within(difference.ranks.first, difference.ranks.end, ranks))
                .filter(|difference| within(difference.sizes.first, difference.sizes.end, size))
                .map(|difference| (difference.left, difference.right))
                .collect();
            let [one, other] = [&left, &right].map(|table| table.lookup(collective, ranks, size));
            let expected = if one == other { Vec::new() } else { vec![(one.into(), other.into())] };
            prop_assert_eq!(covering, expected);
        }
    }
}
