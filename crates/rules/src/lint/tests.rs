//! Tests with a fixture for each code, files without problems, and any bytes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::emit::{self, Notes, TargetFormat};
use crate::steps::Steps;
use crate::table::{RuleTable, all_builtin};

/// For each code a file and the marked text, with the version that reads it if not all do.
const FIXTURES: &[(Code, &str, &str, &str)] = &[
    (Code::Rejected, "1\n7 1\n4 1\n 8 1 0 0\n", "8", ""),
    (Code::Crashes, r#"{"collectives": {"bcast": [{"rules": []}], "Scatter": []}}"#, "\"Scatter\"", ""),
    (Code::Misread, "1\n7 1\n0 2\n 0 1 0 0 9\n 64 1 0 0 9\n", "9", ""),
    (Code::HeaderUnread, "rule-file-version-2\n0\n", "rule-file-version-2", ""),
    (Code::JsonUnread, r#"{"collectives": {}}"#, "{", ""),
    (Code::CrashesVerbose, r#"{"collectives": {"gatherv": [{"rules": [{}]}]}}"#, "\"gatherv\"", "6.0"),
    (Code::CrashesVerbose, "1\n10 1\n0 1\n 0 1 0 0\n", "10", ""),
    (Code::BrokenNumber, "1\n7 1\n0 2\n 0 1 0 0\n 0800 1 0 0\n", "0800", ""),
    (Code::BrokenNumber, "1\n7 1\n0 2\n 0 1 0 0\n 1e3 1 0 0\n", "1e3", ""),
    (Code::BrokenNumber, "1\n7 1\n0 2\n 0 1 0 0\n 1.5 1 0 0\n", "1.5", ""),
    (Code::BrokenNumber, "1\n7 1\n0 2\n 0 1 0 0\n 1K 1 0 0\n", "1K", ""),
    (Code::OddNumber, "1\n7 1\n0 2\n 0 1 0 0\n 0144 1 0 0\n", "0144", ""),
    (Code::OddNumber, "1\n7 1\n0 2\n 0 1 0 0\n 0x64 1 0 0\n", "0x64", ""),
    (Code::OddNumber, "1\n7 1\n0 2\n 0 1 0 0\n +100 1 0 0\n", "+100", ""),
    (Code::Negative, "1\n7 1\n0 1\n 0 -1 0 0\n", "-1", ""),
    (Code::DigitsInText, "coll-7\n1\n7 1\n0 1\n 0 1 0 0\n", "coll-7", ""),
    (Code::DigitsInText, "1\n7 1\n0 1\n 0 alg2 0 0\n", "alg2", ""),
    (Code::StrayText, "1 collective only\n7 1\n0 1\n 0 1 0 0\n", "collective only", ""),
    (Code::StrayText, "\u{feff}1\n7 1\n0 1\n 0 1 0 0\n", "\u{feff}", ""),
    (Code::HugeNumber, "1\n7 1\n0 1\n 0 1 0 4294967296\n", "4294967296", ""),
    (Code::LateHeader, "# rules\nrule-file-version-2\n0\n", "rule-file-version-2", ""),
    (Code::OddHeader, "rule-file-version-9\n0\n", "rule-file-version-9", ""),
    (Code::FifthColumn, "1\n7 1\n0 2\n 0 1 0 0 9\n 64 1 0 0\n", "9", ""),
    (Code::RulesOnALine, "rule-file-version-2\n1\n7 1\n0 2\n 0 1 0 0 64 6 0 0\n", "0 1 0 0 64 6 0 0", ""),
    (Code::WrongCount, "1\n7 # bcast\n1\n0 3 # rules\n 0 1 0 0\n 64 6 0 0\n", "3", ""),
    (Code::WrongCount, "2\n7 1\n0 1\n 0 1 0 0\n 64 6 0 0\n6 1\n0 1\n 0 1 0 0\n", "1", ""),
    (Code::WrongCount, "1\n7 3\n0 1\n 0 1 0 0\n4 1\n 0 6 0 0\n", "3", ""),
    (Code::WrongCount, "1\n7 1\n0 1\n 0 1 0 0\n4 1\n 0 6 0 0\n", "1", ""),
    (Code::WrongCount, "1\n7 1\n0 1\n 0 1 0 0\n6 1\n0 1\n 0 1 0 0\n", "1", ""),
    (Code::EndsEarly, "1 7 1\n", "1", ""),
    (Code::FirstSize, "1\n7 1\n4 1\n 8 1 0 0\n", "8", ""),
    (Code::Trailing, "1\n7 1\n0 1\n 0 1 0 0\n99 98\n", "99 98", ""),
    (Code::Unsorted, "1\n7 1\n0 3\n 0 1 0 0\n 64 6 0 0\n 32 5 0 0\n", "32", ""),
    (Code::Duplicate, "1\n7 1\n0 3\n 0 1 0 0\n 64 6 0 0\n 64 5 0 0\n", "64", ""),
    (Code::NoSuchId, "1\n22 1\n0 1\n 0 1 0 0\n", "22", ""),
    (Code::TooManyCollectives, "23\n7 1\n0 1\n 0 1 0 0\n", "23", ""),
    (Code::Untuned, "1\n10 1\n0 1\n 0 1 0 0\n", "10", ""),
    (Code::CollectiveTwice, "2\n7 1\n0 1\n 0 1 0 0\n7 1\n0 1\n 0 6 0 0\n", "7", ""),
    (Code::LineNumbers, "1 1\n2 7 1\n3 0 1\n4  0 6 0 0\n", "1", ""),
    (Code::LineNumbers, "   1\t1\n   2\t7 1\n   3\t0 2\n   4\t0 6 0 0\n   5\t64 5 0 0\n", "1", ""),
    (Code::Utf16, "1\0\n\x007\0 \x001\0\n\x000\0 \x001\0\n\x000\0 \x006\0 \x000\0 \x000\0", "1\0", ""),
    (Code::Prose, "# Report\n1.2x faster on 4 ranks\nand 3 more\nsizes of 2020\n", "1.2x", ""),
    (Code::NotJson, "{\"collectives\": { // all\n}}", "/", ""),
    (Code::UnknownKey, r#"{"collectives": {}, "author": "me"}"#, "\"author\"", "6.0"),
    (
        Code::MisspeltKey,
        r#"{"collectives": {"bcast": [{"rules": [{"alg": 3, "segsize": 1024}]}]}}"#,
        "\"segsize\"",
        "6.0",
    ),
    (Code::InfiniteRanks, r#"{"collectives": {"bcast": [{"comm_size_max": "inf", "rules": []}]}}"#, "\"inf\"", "6.0"),
    (Code::WrongType, r#"{"collectives": {"bcast": [{"comm_size_min": 4.0, "rules": []}]}}"#, "4.0", "6.0"),
    (Code::MissingMember, r#"{"collectives": {"bcast": [{"comm_size_min": 4}]}}"#, "{", "6.0"),
    (Code::UnknownCollective, r#"{"collectives": {"reducescatter": []}}"#, "\"reducescatter\"", "6.0"),
    (Code::UnknownName, r#"{"collectives": {"bcast": [{"rules": [{"alg": "binomal"}]}]}}"#, "\"binomal\"", "6.0"),
    (Code::UntunedAlgorithm, r#"{"collectives": {"gatherv": [{"rules": [{"alg": 1}]}]}}"#, "\"gatherv\"", "6.0"),
    (Code::TrailingComma, r#"{"collectives": {"bcast": [],}}"#, ",", "6.0"),
    (Code::RepeatedKey, r#"{"collectives": {"bcast": [], "bcast": []}}"#, "\"bcast\"", "6.0"),
    (Code::NumberRange, r#"{"collectives": {"bcast": [{"comm_size_min": -4, "rules": []}]}}"#, "-4", "6.0"),
    (
        Code::UnknownDistribution,
        r#"{"collectives": {"bcast": [{"comm_rank_distribution": "some", "rules": []}]}}"#,
        "\"some\"",
        "6.0",
    ),
    (Code::NoAlgorithm, r#"{"collectives": {"bcast": [{"rules": [{"alg": null}]}]}}"#, "null", "6.0"),
    (Code::DeadRule, r#"{"collectives": {"bcast": [{"rules": [{"alg": 1}, {"alg": 6}]}]}}"#, r#"{"alg": 6}"#, "6.0"),
    (
        Code::DeadCommRule,
        r#"{"collectives": {"bcast": [{"rules": [{"alg": 1}]}, {"rules": [{"alg": 6}]}]}}"#,
        r#"{"rules": [{"alg": 6}]}"#,
        "6.0",
    ),
    (Code::BelowFirst, "1\n7 2\n4 1\n 0 1 0 0\n8 1\n 0 6 0 0\n", "4", "5.0"),
    (Code::LoneSize, "1\n7 1\n64 1\n 0 1 0 0\n", "64", ""),
    (Code::ShiftedSizes, "1\n7 2\n0 1\n 0 1 0 0\n8 1\n 0 6 0 0\n", "7", ""),
    (Code::ShiftedSizes, "1\n7 2\n0 1\n 0 1 0 0\n8 1\n 0 6 0 0\n", "7", "6.0"),
    (Code::Disagreement, "1\n7 1\n0 3\n 0 1 0 0\n 64 6 0 0\n 0 5 0 0\n", "7", "5.0 6.0"),
    (Code::OtherMetric, "1\n1 1\n0 2\n 0 1 0 0\n 64 3 0 0\n", "64 3 0 0", "4.0"),
    (Code::SizeUnseen, "1\n14 1\n0 2\n 0 1 0 0\n 64 2 0 0\n", "64 2 0 0", ""),
    (Code::PerRankSizes, "1\n3 2\n0 1\n 0 0 0 0\n8 3\n 0 1 0 0\n 4 3 0 0\n 512 2 0 0\n", "4 3 0 0", "5.0"),
    (
        Code::Gap,
        r#"{"collectives": {"bcast": [{"comm_size_min": 4, "rules": [{"msg_size_min": 64, "alg": 6}]}]}}"#,
        "4",
        "6.0",
    ),
    (Code::TwoProcesses, "1\n6 1\n0 1\n 0 5 0 0\n", "0 5 0 0", ""),
    (Code::SizeDependent, "1\n15 1\n0 2\n 0 1 0 0\n 64 2 0 0\n", "0", "5.0"),
    (Code::EndlessLoop, "1\n0 1\n0 1\n 0 2 0 0\n", "0 2 0 0", "6.0"),
    (Code::NonCommutative, "1\n2 1\n0 1\n 0 4 0 0\n", "0 4 0 0", ""),
    (Code::MixedTypes, "1\n7 1\n0 1\n 0 3 0 1024\n", "0 3 0 1024", ""),
    (Code::NeverItself, "1\n0 4\n0 1\n 0 0 0 0\n5 1\n 0 0 0 0\n5 1\n 0 5 0 0\n6 1\n 0 0 0 0\n", "0 5 0 0", "5.0"),
    (Code::NeverItself, "1\n2 1\n0 1\n 0 5 0 0\n", "0 5 0 0", ""),
    (Code::UnknownAlgorithm, "1\n7 1\n0 1\n 0 99 0 0\n", "0 99 0 0", ""),
    (Code::IgnoredParameter, "1\n7 1\n0 1\n 0 6 4 0\n", "0 6 4 0", ""),
    (Code::SometimesInstead, "1\n0 1\n0 1\n 0 5 0 0\n", "0 5 0 0", ""),
    (Code::CountOverflow, "1\n13 3\n0 1\n0 0 0 0\n64 2\n 0 1 0 0\n 64 2 0 0\n65 1\n0 0 0 0\n", "64", "5.0"),
    (
        Code::ActsInsideHan,
        r#"{"collectives": {"bcast": [{"comm_size_min": 4, "comm_rank_distribution": "one-per-node", "rules": [{"alg": 6}]}]}}"#,
        "4",
        "6.0",
    ),
    (Code::Rejected, "1 bcast\n1 2\n1\n2 1\n 0 tuned\n", "2", "5.0"),
    (Code::Rejected, "1 bcast\n1 2\n1\n1 2\n 0 tuned\n 8 3\n", "3", ""),
    (Code::Crashes, "1 allgatherv\n1 2\n1\n1 1\n 0 han @simple\n", "simple", "5.0"),
    (Code::HanCircle, "1 bcast\n1 0\n1\n1 1\n 0 han\n", "0 han", "5.0"),
    (Code::HanCannotRun, "1 bcast\n1 2\n1\n1 1\n 0 libnbc\n", "0 libnbc", ""),
    (Code::OrderOfSums, "1\n2\n1\n8\n1\n0 4 0 0\n", "0 4 0 0", "5.0"),
    (Code::OrderOfSums, "1\n2\n1\n8\n1\n0 3 0 0\n", "0 3 0 0", "4.0"),
    (Code::HanCannotRun, "1 gatherv\n1 2\n1\n1 1\n 0 tuned\n", "0 tuned", "6.0"),
    (Code::HanCannotRun, "1 bcast\n1 2\n1\n1 1\n 0 xhc\n", "0 xhc", "6.0"),
    (Code::HanCannotRun, "1 bcast\n1 0\n1\n1 1\n 0 xhc\n", "0 xhc", "6.0"),
    (Code::Rejected, "1 alltoall\n1 2\n1\n1 1\n 0 han @disqualify\n", "disqualify", "6.0"),
    (Code::HanUnsorted, "1 bcast\n1 2\n1\n1 3\n 0 han\n 64 tuned\n 32 han\n", "32 han", ""),
    (Code::HanDead, "1 bcast\n1 2\n1\n1 2\n 0 han\n 0 tuned\n", "0 han", ""),
    (Code::HanDead, "2 bcast 0\n7\n1 2\n1\n1 1\n 0 tuned\n", "bcast", ""),
    (Code::HanUnruled, "1 scan\n1 2\n1\n1 1\n 0 tuned\n", "scan", ""),
    (Code::HanSegments, "1 bcast\n1 2\n1\n1 1\n 0 tuned [ 8 ]\n", " [ 8", ""),
    (Code::Trailing, "1 bcast\n1 2\n1\n1 1\n 0 tuned\n 64 han\n", "64", ""),
    (Code::HanGap, "1 bcast\n1 2\n2\n1 1\n 0 tuned\n8 0\n", "8", ""),
    (Code::HanDisagreement, "1 bcast\n1 global_communicator\n1\n1 1\n 0 tuned\n", "", ""),
    (Code::HanAbsent, "1 bcast\n1 2\n1\n1 1\n 0 tuned\n", "", ""),
];

fn versions(names: &str) -> Vec<Behaviour> {
    names.split_whitespace().map(|name| name.parse().expect(name)).collect()
}

#[test]
fn every_code_has_its_fixture() {
    for (code, text, marked, names) in FIXTURES {
        let report = check(text.as_bytes(), &versions(names));
        let found = report.problems.iter().filter(|problem| problem.code == *code);
        let places: Vec<_> = found.map(|problem| String::from_utf8_lossy(problem.span.of(text.as_bytes()))).collect();
        let all: Vec<_> = report.problems.iter().map(|problem| (problem.code, &problem.message)).collect();
        assert!(places.iter().any(|place| place == marked), "{code}: {places:?} in\n{text}\n{all:#?}");
    }
    let tried: BTreeSet<Code> = FIXTURES.iter().map(|(code, ..)| *code).collect();
    let missing: Vec<_> = Code::ALL.iter().filter(|code| !tried.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn codes_ascend_and_speak_in_sentences() {
    assert!(Code::ALL.windows(2).all(|pair| pair[0].number() < pair[1].number()));
    for code in Code::ALL {
        assert!(code.explanation().ends_with('.') && code.remedy().ends_with('.'), "{code}");
        assert!(!code.title().ends_with('.'), "{code}");
    }
    assert_eq!(Code::Rejected.to_string(), "CR001");
}

/// The codes of a file's problems.
fn codes(text: &str, names: &str) -> BTreeSet<Code> {
    check(text.as_bytes(), &versions(names)).problems.iter().map(|problem| problem.code).collect()
}

/// Once everything behind the first oddity was silent, and faults were invented.
#[test]
fn what_open_mpi_does_is_said_whatever_the_text_looks_like() {
    let counted = "1\n2 1\n0 1\n0 13 0 0\n7 1\n0 1\n0 1 0 0\n";
    let found = codes(counted, "5.0");
    assert!(found.contains(&Code::WrongCount) && found.contains(&Code::UnknownAlgorithm), "{found:?}");
    let signs = codes(">1\n>4 1\n>0 2\n>0 1 0 0\n>1024 2 0 0\n", "5.0");
    assert_eq!(signs, BTreeSet::from([Code::StrayText, Code::SizeUnseen]));
    assert_eq!(codes("1\n7 1\n0 1\n0 0 8 0\n", "5.0"), BTreeSet::from([Code::IgnoredParameter]));
    let disjoint = "1\n2 1\n0 1\n0@disjoint 7 16 0\n";
    assert_eq!(codes(disjoint, "5.0"), BTreeSet::from([Code::BrokenNumber, Code::UnknownAlgorithm]));
    assert!(!codes(disjoint, "6.0").contains(&Code::UnknownAlgorithm));
}

/// 8192 bytes in all are 128 for each of 64 ranks.
#[test]
fn thresholds_in_totals_are_said_per_rank() {
    let alltoall = |sizes: &str| format!("1\n3 3\n0 1\n0 0 0 0\n64 2\n0 1 0 0\n{sizes} 2 0 0\n65 1\n0 0 0 0\n");
    let report = check(alltoall("8192").as_bytes(), &versions("5.0"));
    let found: Vec<_> = report.problems.iter().filter(|it| it.code == Code::PerRankSizes).collect();
    assert_eq!(found.iter().map(|it| it.severity).collect::<Vec<_>>(), [Severity::Note]);
    assert!(found[0].message.contains("is 128 bytes per rank"), "{}", found[0].message);
    assert!(!codes(&alltoall("8192").replace("3 3", "2 3"), "5.0").contains(&Code::PerRankSizes), "allreduce");
}

/// The example in `coll_han_dynamic_file.h` has numbers for components, which the reader does not know.
#[test]
fn files_of_han_are_known_by_their_structure() {
    for text in ["1\n7\n1\n2\n1\n1 2\n0 6\n2048 3\n", "1 bcast 1 2 1 1 1 0 tunde\n"] {
        let report = check(text.as_bytes(), &versions("5.0"));
        assert_eq!(report.kind, FileKind::Han, "{text}");
        assert_eq!(report.problems.iter().map(|it| it.code).collect::<Vec<_>>(), [Code::Rejected], "{text}");
        assert!(report.problems[0].remedy.contains("tuned"), "{}", report.problems[0].remedy);
    }
    for text in ["1\n7 1\n0 1\n0 6 0 0\n", "1\n7 1\n1 1\n0 6 0 0\n", "0\n", "", "1 7 0"] {
        assert_eq!(check(text.as_bytes(), &versions("5.0")).kind, FileKind::Tuned, "{text}");
    }
}

/// A table as the tuner makes them.
fn table() -> RuleTable {
    let mut table = RuleTable::new();
    let mut steps = Steps::constant(Choice::BUILTIN);
    steps.set(1024, Some(65536), Choice::plain(6));
    steps.set(65536, None, Choice::plain(3).with_segsize(8192));
    let mut comm_rules = all_builtin();
    comm_rules.set(4, Some(5), steps.clone());
    comm_rules.set(8, Some(65), steps);
    table.set(Collective::Bcast, comm_rules);
    let mut comm_rules = all_builtin();
    comm_rules.set(2, Some(3), Steps::constant(Choice::plain(5)));
    comm_rules.set(8, Some(9), Steps::constant(Choice::plain(4)));
    table.set(Collective::Barrier, comm_rules);
    let mut comm_rules = all_builtin();
    comm_rules.set(4, Some(5), Steps::constant(Choice::plain(2)));
    table.set(Collective::Scatter, comm_rules.clone());
    let mut steps = Steps::constant(Choice::plain(2));
    steps.set(4, Some(64), Choice::plain(3));
    steps.set(64, None, Choice::BUILTIN);
    comm_rules.set(4, Some(5), steps);
    table.set(Collective::Alltoall, comm_rules);
    table
}

fn above_notes(report: &LintReport) -> Vec<String> {
    let bad = report.problems.iter().filter(|problem| problem.severity > Severity::Note);
    bad.map(|problem| format!("{} {}", problem.code, problem.message)).collect()
}

#[test]
fn files_that_we_write_have_no_problems() {
    let text = emit::classic(&table(), &Notes::default(), |_| false).expect("no hazards");
    assert_eq!(above_notes(&check(text.as_bytes(), &[])), [""; 0], "{text}");
    for format in TargetFormat::ALL {
        let text = emit::write(&table(), &Notes::default(), format).expect("it can be said");
        assert_eq!(above_notes(&check(text.as_bytes(), &format.readers())), [""; 0], "{text}");
        for version in format.readers() {
            assert_eq!(above_notes(&check(text.as_bytes(), &[version])), [""; 0], "{version}\n{text}");
        }
    }
}

#[test]
fn layouts_that_counts_explain_are_left_alone() {
    for text in [
        "1 7 1 0 2 0 1 0 0 64 6 0 0",
        "1\n7\n1\n0\n2\n0 1\n0 0\n64 6\n0 0\n",
        "1\n7 1 0 2\n0 1 0 0\n64 6 0 0\n",
        "1 7 1\n0 2\n0 1 0 0\n64 6 0 0\n",
        "3\n2 0\n6 1\n0 0\n7 1\n0 2\n0 1 0 0\n64 6 0 0\n",
    ] {
        assert_eq!(above_notes(&check(text.as_bytes(), &[])), [""; 0], "{text}");
    }
}

#[test]
fn all_problems_are_told_at_once_and_in_order() {
    let text = "1\n7 2\n4 1\n 0 1 0 -1\n8 2\n 0 6 0 0x\n 1K 99 junk 0\n";
    let report = check(text.as_bytes(), &[]);
    assert!(report.problems.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start));
    let codes: BTreeSet<_> = report.problems.iter().map(|problem| problem.code).collect();
    for code in [Code::Rejected, Code::Negative, Code::BrokenNumber, Code::StrayText] {
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
}

/// A note made a file that no version reads pass.
#[test]
fn a_han_file_that_all_versions_reject_is_an_error() {
    let wrong = "1 bcast\n1 2\n1\n1 1\n 0 nosuch\n";
    assert_eq!(check(wrong.as_bytes(), &[]).worst(), Some(Severity::Error));
    let names = "1 bcast\n1 global_communicator\n1\n1 1\n 0 tuned\n";
    assert!(check(names.as_bytes(), &[]).worst() < Some(Severity::Error));
    for release in ["4.0", "4.0 5.0"] {
        assert_eq!(check(names.as_bytes(), &versions(release)).worst(), Some(Severity::Error), "{release}");
    }
}

/// 4.1 reads numbers for levels; to name a collective in place of `han` would spoil the file for 5.0.
#[test]
fn han_files_for_later_versions_pass_unless_4_1_is_named() {
    for text in [
        "2\nbcast\n1\nglobal_communicator\n1\n1 1\n0 han\nallreduce\n1\nglobal_communicator\n1\n1 1\n0 han\n",
        "2 # two\nbcast # op\n1 # levels\nintra_node\n1\n1 1\n0 sm\nreduce\n1\nintra_node\n1\n1 1\n0 tuned\n",
        "2\nbcast 1 global_communicator 1 1 1 0 han\ngather 1 global_communicator 1 1 1 0 tuned\n",
        "1\nallreduce\n2\nintra_node\n1\n1 1\n0 tuned\ninter_node\n1\n1 2\n0 tuned\n1024 adapt\n",
    ] {
        let report = check(text.as_bytes(), &[]);
        assert!(report.worst() < Some(Severity::Error), "{text}");
        assert!(report.problems.iter().all(|it| !it.remedy.contains("Write a name")), "{text}");
        assert_eq!(check(text.as_bytes(), &versions("4.1")).worst(), Some(Severity::Error), "{text}");
        assert!(check(text.as_bytes(), &versions("5.0")).worst() < Some(Severity::Error), "{text}");
    }
    // What all versions reject begins with its fault.
    let wrong = check(b"1 bcast\n1 global_communicator\n1\n4 1\n0 han\n", &[]);
    let errors: Vec<_> = wrong.problems.iter().filter(|it| it.severity == Severity::Error).map(|it| it.code).collect();
    assert!(!errors.is_empty() && errors.iter().all(|code| *code == Code::Rejected), "{errors:?}");
}

#[test]
fn remedies_name_what_is_there() {
    let remedy = |text: &str, code: Code| {
        let report = check(text.as_bytes(), &[]);
        report.problems.into_iter().find(|it| it.code == code).map(|it| it.remedy.into_owned()).expect("found")
    };
    assert!(remedy("1\n7\n1\n16\n2\n65536 3 0 0\n0 6 0 0\n", Code::FirstSize).contains("Sort"));
    assert!(!remedy("1\n7\n1\n16\n1\n65536 3 0 0\n", Code::FirstSize).contains("Sort"));
    let parameters =
        "# installed\ncoll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = /x/rules.conf\n";
    assert!(remedy(parameters, Code::Prose).contains("/x/rules.conf"));
    assert!(remedy("btl = self,tcp\n", Code::Prose).contains("coll_tuned_dynamic_rules_filename"));
}

/// The first problem is the first that Open MPI meets, and nothing is said that its reading denies.
#[test]
fn faults_come_in_the_order_of_reading() {
    let three = "2\n7 3\n0 1\n 0 1 0 0\n8 1\n 0 6 0 0\n6 1\n0 1\n 0 1 0 0\n3 1\n0 1\n 0 1 0 0\n";
    let report = check(three.as_bytes(), &[]);
    let counts: Vec<_> = report.problems.iter().filter(|problem| problem.code == Code::WrongCount).collect();
    assert_eq!(counts.iter().map(|it| it.span.of(three.as_bytes())).collect::<Vec<_>>(), [b"3", b"2"]);
    assert!(counts[1].remedy.contains("line 2 first"), "{}", counts[1].remedy);
    for text in ["1\n7 1\n0 2\n 0;99;0;0;\n 64 1 0 0\n", "1\n7 1\n0 1\n 0\u{a0}6\u{a0}0\u{a0}0\n"] {
        let report = check(text.as_bytes(), &[]);
        assert!(report.readings.iter().all(|reading| reading.fate == FileFate::Accepted), "{text}");
        assert!(!codes(text, "").contains(&Code::EndsEarly), "{text}");
    }
    let word = check(b"1\n7 1\n0 1\n 0 6 tuned 0 0\n", &[]);
    assert_eq!((word.kind, word.worst()), (FileKind::Tuned, Some(Severity::Warning)));
    let unsorted = check(b"1\n7 3\n16 1\n 0 1 0 0\n2 1\n 0 6 0 0\n64 1\n 0 5 0 0\n", &versions("5.0"));
    let said = |code: Code, what: &str| unsorted.problems.iter().any(|it| it.code == code && it.message.contains(what));
    assert!(said(Code::BelowFirst, "2 to 15 ranks instead") && said(Code::Unsorted, "16 to 63 ranks, not their own"));
}

#[test]
fn formats_that_a_named_version_cannot_read_are_errors() {
    let text = b"{\"collectives\": {}}";
    assert_eq!(check(text, &[]).worst(), Some(Severity::Warning));
    assert_eq!(check(text, &versions("5.0 6.0")).worst(), Some(Severity::Error));
    assert_eq!(check(text, &versions("6.0")).worst(), None);
    let text = b"rule-file-version-2\n0\n";
    assert_eq!(check(text, &[]).worst(), Some(Severity::Warning));
    assert_eq!(check(text, &versions("4.1.7")).worst(), Some(Severity::Error));
    assert_eq!(check(text, &versions("4.1.8")).worst(), None);
}

#[test]
fn a_report_is_data() {
    let report = check(b"1\n7 1\n0 1\n 0 99 0 0\n", &[]);
    let value = serde_json::to_value(&report).expect("serialises");
    assert_eq!(value["problems"][0]["code"], "CR407");
    assert_eq!(value["problems"][0]["severity"], "error");
    assert_eq!(value["outcomes"][0]["version"], "4.0");
}

proptest! {
    #[test]
    fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let report = check(&bytes, &[]);
        prop_assert!(report.problems.iter().all(|problem| problem.span.start <= problem.span.end));
    }

    #[test]
    fn any_numbers_are_judged(text in "(rule-file-version-[0-9]\n)?([0-9]{1,2}[ \n]|[-x#.K]|[0-9] [0-9] 0 0\n){0,40}") {
        let report = check(text.as_bytes(), &[]);
        // What no version takes is explained.
        let taken = report.readings.iter().any(|reading| reading.fate == FileFate::Accepted);
        prop_assert!(taken || report.worst() == Some(Severity::Error), "{text}");
    }

    #[test]
    fn any_json_is_judged(
        text in "\\{\"collectives\":\\{(\"(bcast|gatherv|x)\":(\\[\
         (\\{(\"(rules|alg|comm_size_max|msg_size_min)\":(1|\"inf\"|\\[|\\{),?)*|\\]|\\}){0,9}|3),?){0,4}",
    ) {
        let _ = check(text.as_bytes(), &[]);
    }
}
