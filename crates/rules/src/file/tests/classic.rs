//! Classic files.

use super::*;
use crate::call::Call;
use crate::choice::Choice;
use crate::units::Bytes;

/// Bcast rules for these communicator sizes; the algorithm is the place in the list, from 1 on.
fn sizes(listed: &[u32]) -> String {
    let rule = |(size, algorithm): (&u32, u32)| format!("{size} 1\n0 {algorithm} 0 0\n");
    let rules: String = listed.iter().zip(1..).map(rule).collect();
    format!("1 7 {}\n{rules}", listed.len())
}

/// Returns the listed sizes that apply to these numbers of ranks; 0 for none.
fn in_use<const N: usize>(by: &str, listed: &[u32], ranks: [u32; N]) -> [u32; N] {
    let loaded = accepted(sizes(listed), by);
    ranks.map(|ranks| algorithm(&loaded, ranks, 0).map_or(0, |place| listed[place as usize - 1]))
}

#[test]
fn up_to_5_0_the_walk_keeps_the_last_size_that_is_not_larger() {
    let ranks = [2, 3, 4, 5, 6, 7, 8];
    for by in OLD {
        for (listed, expected) in [
            (&[2, 4, 8][..], [2, 2, 4, 4, 4, 4, 8]),
            (&[4, 8], [4, 4, 4, 4, 4, 4, 8]),
            (&[6], [6; 7]),
            (&[8, 2, 4], [8, 8, 8, 8, 8, 8, 4]),
            (&[2, 8, 4], [2, 2, 2, 2, 2, 2, 4]),
        ] {
            assert_eq!(in_use(by, listed, ranks), expected, "{by} {listed:?}");
        }
        let twice = accepted(sizes(&[4, 4]), by);
        assert_eq!([2, 3, 4, 8].map(|ranks| algorithm(&twice, ranks, 0)), [Some(1), Some(1), Some(2), Some(2)]);
    }
}

#[test]
fn in_6_0_each_size_ends_its_own_range() {
    let ranks = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1000];
    assert_eq!(in_use("6.0", &[2, 4, 8], ranks), [2, 4, 4, 8, 8, 8, 8, 8, 8, 8]);
    assert_eq!(in_use("6.0", &[6], ranks), [6; 10]);
    assert_eq!(in_use("6.0", &[0, 4, 8], [1, 3, 4, 8]), [4, 4, 8, 8]);
    assert_eq!(in_use("6.0", &[8, 2, 4], [1, 7, 8, 9]), [8, 8, 4, 4]);
    assert_eq!(in_use("6.0", &[4, 0, 9], [3, 4, 5]), [4, 9, 9]);
    let comm_rules = accepted(sizes(&[2, 4, 8]), "6.0").collectives.remove(0).comm_rules;
    let ranges: Vec<_> = comm_rules.iter().map(|comm_rule| (comm_rule.listed, comm_rule.min, comm_rule.max)).collect();
    assert_eq!(ranges, [(Some(2), 0, 1), (Some(4), 2, 3), (Some(8), 4, i32::MAX)]);
}

#[test]
fn boundaries_listed_twice_read_alike_everywhere() {
    let text = "1 7 5  2 1 0 1 0 0  4 1 0 1 0 0  4 1 0 2 0 0  8 1 0 2 0 0  8 1 0 3 0 0";
    for by in OLD.into_iter().chain(["6.0"]) {
        let loaded = accepted(text, by);
        let found = [2, 3, 4, 5, 7, 8, 9].map(|ranks| algorithm(&loaded, ranks, 0));
        assert_eq!(found, [1, 1, 2, 2, 2, 3, 3].map(Some), "{by}");
    }
}

#[test]
fn sizes_beyond_int_wrap_as_in_c() {
    assert_eq!(in_use("5.0", &[u32::MAX, 4], [2, 3, 4]), [u32::MAX, u32::MAX, 4]);
    assert_eq!(in_use("6.0", &[u32::MAX, 4], [2, 3, 4]), [4, 4, 4]);
    let loaded = accepted("1 7 1 4294967300 1 0 4294967299 9223372036854775807 4294967296", "5.0");
    let comm_rule = &loaded.collectives[0].comm_rules[0];
    assert_eq!(
        (comm_rule.listed, comm_rule.rules[0].choice),
        (Some(4), "3/4294967295/4294967296/0".parse().expect("a choice"))
    );
}

#[test]
fn message_sizes_out_of_order() {
    let text = "1 7 1 0 4  0 1 0 0  100 2 0 0  50 3 0 0  1000 4 0 0";
    let sizes = [0, 99, 100, 999, 1000, u64::MAX];
    for by in OLD {
        let loaded = accepted(text, by);
        assert_eq!(sizes.map(|bytes| algorithm(&loaded, 4, bytes)), [1, 1, 3, 3, 4, 4].map(Some), "{by}");
    }
    // 0..=99, 100..=49, 50..=999, 1000.. in 6.0, where a later 0 would wrap.
    let loaded = accepted(text, "6.0");
    assert_eq!(sizes.map(|bytes| algorithm(&loaded, 4, bytes)), [1, 1, 3, 3, 4, 4].map(Some));
    let wraps = "1 7 1 0 2  0 1 0 0  0 2 0 0";
    assert_eq!(algorithm(&accepted(wraps, "5.0"), 4, 5), Some(2));
    assert_eq!(algorithm(&accepted(wraps, "6.0"), 4, 5), Some(1));
}

#[test]
fn lookups_say_why() {
    let text = "2\n7 1 4 2\n0 0 4 8192\n1024 3 0 512\n6 1 2 0\n";
    for by in ["4.1", "5.0", "6.0"] {
        let loaded = accepted(text, by);
        let at = |collective, ranks, bytes| look_up(&loaded, collective, ranks, bytes);
        assert_eq!(at(Collective::Scatter, 4, 0).reason, Reason::NoRules);
        let empty = loaded.rules_for(Collective::Barrier).expect("rules").comm_rules[0].span;
        assert_eq!(at(Collective::Barrier, 4, 0).reason, Reason::EmptyCommRule { comm_rule: 0, span: empty });
        let builtin = at(Collective::Bcast, 4, 1023);
        assert_eq!((builtin.reason, builtin.choice), (Reason::RuleBuiltin, Choice::BUILTIN));
        let rule = at(Collective::Bcast, 4, 1024);
        assert_eq!((rule.reason, rule.choice), (Reason::Rule, Choice::plain(3).with_segsize(512)));
        let place = rule.rule.expect("a rule");
        assert_eq!((place.comm_rule, place.rule), (0, 1));
        assert_eq!((place.span.of(text.as_bytes()), place.span.line(text.as_bytes())), (&b"1024 3 0 512"[..], 4));
        let below = if by == "6.0" { Reason::Rule } else { Reason::BelowFirst };
        assert_eq!(at(Collective::Bcast, 3, 1024).reason, below, "{by}");
    }
    let lookup = accepted(text, "5.0").lookup(&Call::new(Collective::Bcast, Ranks(4), Bytes(4096)).with_type_size(8));
    assert_eq!((lookup.lookup_bytes, lookup.choice.algorithm), (4096, 3));
}

#[test]
fn everything_has_its_place() {
    let text = "2 # two\n7 # bcast\n1\n4 2 # four\n  0 1 0 0\n  64 2 4 8 # chain\n6 0\n";
    let loaded = accepted(text, "5.0");
    let said = |span: crate::Span| String::from_utf8_lossy(span.of(text.as_bytes())).into_owned();
    let bcast = &loaded.collectives[0];
    assert_eq!((said(bcast.name), bcast.collective), ("7".to_owned(), Some(Collective::Bcast)));
    assert_eq!(said(bcast.comm_rules[0].size), "4");
    assert_eq!(
        bcast.comm_rules[0].rules.iter().map(|rule| said(rule.span)).collect::<Vec<_>>(),
        ["0 1 0 0", "64 2 4 8"]
    );
}

#[test]
fn the_header_counts_at_the_very_beginning_only() {
    let rules = "1\n7\n1\n4 2\n0 1 0 0\n1024 3 0 512 8\n";
    let text = format!("rule-file-version-2\n{rules}");
    for by in ["4.0.7", "4.1.4", "4.1.7", "5.0.0", "5.0.6"] {
        assert_eq!(fault_of(&text, by), (Some(1), FaultKind::Negative(Field::Collectives, -2)), "{by}");
    }
    for by in ["4.1.8", "5.0.7", "5.0.11", "6.0.0"] {
        let loaded = accepted(&text, by);
        assert_eq!(loaded.format, Format::Classic { header: Some(2) });
        let rules = &loaded.collectives[0].comm_rules[0].rules;
        assert_eq!(rules[1].choice, "3/0/512/8".parse().expect("a choice"), "{by}");
        assert_eq!([rules[0].says_requests, rules[1].says_requests], [false, true]);
        for before in ["# rules\n", "\n", " "] {
            let line = 1 + before.matches('\n').count();
            let expected = (Some(line), FaultKind::Negative(Field::Collectives, -2));
            assert_eq!(fault_of(&format!("{before}{text}"), by), expected, "{by} {before:?}");
        }
        // Any larger number means the same.
        let nine = accepted(text.replace("version-2", "version-9"), by);
        assert_eq!(nine.to_table(), loaded.to_table());
    }
    // The part of the header that fits is consumed, and the sign with it.
    assert_eq!(accepted("rule-file-0", "4.1.8").format, Format::Classic { header: None });
    assert!(load(b"rule-file-0 7", &version("4.1.7")).is_ok());
    assert_eq!(accepted("rule-file-version-x 0", "5.0").format, Format::Classic { header: None });
}

fn fault_of(text: &str, by: &str) -> (Option<usize>, FaultKind) {
    let Fault { line, kind, .. } = rejected(text, by);
    (line, kind)
}

#[test]
fn the_fifth_column_is_optional_line_by_line() {
    let file = |rules: &str| format!("rule-file-version-2\n1 3 1\n4 2\n{rules}");
    let requests = |rules: &str| {
        let loaded = accepted(file(rules), "5.0.11");
        let rules = &loaded.collectives[0].comm_rules[0].rules;
        [0, 1].map(|rule| (rules[rule].min, rules[rule].choice.max_requests))
    };
    assert_eq!(requests("0 4 0 0 8\n64 4 0 0"), [(0, 8), (64, 0)]);
    assert_eq!(requests("0 4 0 0 \t 8 64 4 0 0 0x10"), [(0, 8), (64, 16)]);
    assert_eq!(requests("0 4 0 0 # 8\n64 4 0 0 3"), [(0, 0), (64, 3)]);
    assert_eq!(requests("0 4 0 0\r\n64 4 0 0"), [(0, 0), (64, 0)]);
    assert_eq!(requests("0 4 0 0 x64 4 0 0"), [(0, 0), (64, 0)]);
    assert_eq!(requests("0 4 0 0 +64 4 0 0"), [(0, 0), (64, 0)]);
    // Two rules of four columns on a line: the size of the second is taken for requests of the first.
    assert!(load(file("0 4 0 0 64 4 0 0").as_bytes(), &version("5.0.11")).is_err_and(|fault| !fault.kind.crashes()));
    // In version 1 the fifth column is the size of the next rule.
    let garbage = accepted("1 7 1 0 2\n0 1 0 0 0\n1024 6 0 0 0", "5.0.11");
    let rule = garbage.collectives[0].comm_rules[0].rules[1];
    assert_eq!((rule.min, rule.choice.algorithm, rule.choice.faninout), (0, 1024, 6));
    let one = accepted("rule-file-version-1\n1 7 1 0 1\n0 1 0 0 5\n", "5.0.11");
    assert_eq!((one.format, one.to_table().rules()), (Format::Classic { header: Some(1) }, 1));
}

#[test]
fn absent_requests_are_inherited_by_newer_versions() {
    let rules = "1\n11\n1\n0 2\n0 2 0 64\n1024 2 0 64 5\n";
    for (text, by, expected) in [
        (format!("rule-file-version-2\n{rules}"), "5.0.7", [7, 5]),
        (format!("rule-file-version-2\n{rules}"), "6.0.0", [7, 5]),
        (rules.replace(" 5\n", "\n"), "4.1.8", [7, 7]),
        (rules.replace(" 5\n", "\n"), "4.1.7", [0, 0]),
        (rules.replace(" 5\n", "\n"), "5.0.6", [0, 0]),
    ] {
        let loaded = load_inheriting(text.as_bytes(), &version(by), 7).expect("accepted");
        let rules = &loaded.collectives[0].comm_rules[0].rules;
        assert_eq!([0, 1].map(|rule| rules[rule].choice.max_requests), expected, "{by}");
    }
}

#[test]
fn of_a_collective_twice_the_later_counts() {
    for by in OLD.into_iter().chain(["6.0"]) {
        let loaded = accepted("3\n7 1 0 1 0 1 0 0\n6 0\n7 1 0 1 0 6 0 0", by);
        let replaced: Vec<_> = loaded.collectives.iter().map(|rules| (rules.id, rules.replaced)).collect();
        assert_eq!(replaced, [(7, true), (6, false), (7, false)]);
        let lookup = look_up(&loaded, Collective::Bcast, 4, 0);
        assert_eq!(lookup.choice.algorithm, 6);
        assert!(accepted("2\n7 1 0 1 0 1 0 0\n7 0", by).to_table().is_empty());
    }
}

#[test]
fn what_is_no_json_to_6_0_is_read_as_classic() {
    assert_eq!(accepted("0 # nothing", "6.0").format, Format::Classic { header: None });
    // A single number is JSON, and then no rules file.
    assert_eq!(rejected("0", "6.0").kind, FaultKind::NoMember);
    assert_eq!(accepted("0", "5.0").format, Format::Classic { header: None });
    // JSON with a comment is not, and the digits in it make no rules.
    let commented = rejected("{ // rules\n \"collectives\": { \"bcast\": [] } }", "6.0");
    assert!(commented.not_json.is_some() && commented.line.is_some());
}

#[test]
fn bytes_that_are_no_text_are_junk() {
    for by in ["4.0", "5.0", "6.0"] {
        let loaded = accepted(b"\xef\xbb\xbf1 \xff\xfe7 \x001\n0 1\n0 6 0 0 \x80", by);
        assert_eq!(algorithm(&loaded, 4, 0), Some(6), "{by}");
    }
}

#[test]
fn every_reason_for_rejection_is_told_with_its_line() {
    /// One bcast rule for every size, with these fields after the first message size.
    fn bcast(rest: &str) -> String {
        format!("1 # collective\n7 # bcast\n1 # communicator size\n0 1\n{rest}")
    }
    let fault = |text: &str| fault_of(text, "5.0");
    let fault_at = |line, kind| (Some(line), kind);
    let end = |line, field| fault_at(line, FaultKind::End(field));
    assert_eq!(fault(""), end(1, Field::Collectives));
    assert_eq!(fault("# 1 7 1\n"), end(2, Field::Collectives));
    assert_eq!(fault("1"), end(1, Field::Collective));
    assert_eq!(fault("1\n7"), end(2, Field::CommRules));
    assert_eq!(fault("1\n7 1"), end(2, Field::CommSize));
    assert_eq!(fault("1\n7 1\n4"), end(3, Field::MessageRules));
    assert_eq!(fault(&bcast("")), end(5, Field::MessageSize));
    assert_eq!(fault(&bcast("0")), end(5, Field::Algorithm));
    assert_eq!(fault(&bcast("0 1")), end(5, Field::Faninout));
    assert_eq!(fault(&bcast("0 1 0 # 0\n\n")), end(7, Field::Segsize));
    let negative = fault_at(6, FaultKind::Negative(Field::Faninout, -4));
    assert_eq!(fault(&bcast("0 1\n-4 0")), negative);
    assert_eq!(
        rejected(bcast("0 1\n-4 0"), "5.0").to_string(),
        "line 6: a fan-in and fan-out is -4, and no number may be negative"
    );
    assert_eq!(fault("\n23"), fault_at(2, FaultKind::TooManyCollectives(23)));
    assert_eq!(fault("1\n22 0"), fault_at(2, FaultKind::NoSuchCollective("22".to_owned())));
    assert_eq!(fault(&bcast("8 1 0 0")), fault_at(5, FaultKind::FirstSize(8)));
    // As a C int, LONG_MAX is -1, for which there is never room.
    let (huge, count) = ("99999999999999999999", i64::MAX as u64);
    let too_many = |field| fault_at(1, FaultKind::TooMany(field, count));
    assert_eq!(fault(&format!("1 7 {huge} 2")), too_many(Field::CommRules));
    assert_eq!(fault(&format!("1 7 1 2 {huge}")), too_many(Field::MessageRules));
    assert_eq!(fault(&format!("1 7 {} 2", i32::MAX)), end(1, Field::MessageRules));
}

#[test]
fn what_open_mpi_does_not_check_is_accepted() {
    for text in [
        "0",
        "0 after the last field anything goes: -1 -2",
        "22 0 0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8 0 9 0 10 0 11 0 12 0 13 0 14 0 15 0 16 0 17 0 18 0 19 0 20 0 21 0",
        "1 7 1 4 1 0 99 0 0",
        "1 10 1 4 1 0 1 0 0",
        "1 7 3 8 1 0 1 0 0 2 1 0 1 0 0 2 3 0 1 0 0 100 1 0 0 50 1 0 0",
    ] {
        OLD.into_iter().for_each(|by| drop(accepted(text, by)));
    }
}
