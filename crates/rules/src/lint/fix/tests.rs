//! What is mended, what is left alone, and that no file that is in force changes its meaning.

use proptest::prelude::*;

use super::*;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::emit::{self, Notes};
use crate::lint::Fate;
use crate::steps::Steps;
use crate::table::all_builtin;

fn versions(names: &str) -> Vec<Behaviour> {
    names.split_whitespace().map(|name| name.parse().expect(name)).collect()
}

fn mended(text: &str, names: &str) -> String {
    String::from_utf8(fix(text.as_bytes(), &versions(names)).text).expect("text stays text")
}

/// Files, who shall read them, and what they become.
const MENDED: &[(&str, &str, &str)] = &[
    // Numbers and words of classic files.
    ("1\n7 1\n0 2\n 0 1 0 0\n 0144 1 0 +8\n", "", "1\n7 1\n0 2\n 0 1 0 0\n 100 1 0 8\n"),
    ("1\n7 1\n0 2\n 0 1 0 0\n 8K 1 0 0x10 9\n", "", "1\n7 1\n0 2\n 0 1 0 0\n 8K 1 0 16 9\n"),
    ("1\n7 1\n4 1\n 8K 1 0 0\n", "", "1\n7 1\n4 2\n 0 0 0 0\n 8192 1 0 0\n"),
    ("1 collective only\n7 1\n0 1\n 0 1 0 0\n", "", "1 # collective only\n7 1\n0 1\n 0 1 0 0\n"),
    ("1\nbcast 7 has 1 # one\n0 1\n 0 1 0 0\n", "", "1\n7 1 # has # bcast # one\n0 1\n 0 1 0 0\n"),
    ("1\n7 1\nranks=0 1\n 0, 1, 0, 0\r\n", "", "1\n7 1\n0 1 # ranks\n 0 1 0 0\r\n"),
    ("\u{feff}1\n7 1\n0 1\n 0 1 0 0\n", "", "1\n7 1\n0 1\n 0 1 0 0\n"),
    ("made by tool-2\n1\n7 1\n0 1\n 0 1 0 0\n", "", "# made by tool-2\n1\n7 1\n0 1\n 0 1 0 0\n"),
    // Version lines.
    (
        "# ours\nrule-file-version-2\n1\n7 1\n0 1\n 0 1 0 0 4\n",
        "",
        "rule-file-version-2\n# ours\n1\n7 1\n0 1\n 0 1 0 0 4\n",
    ),
    ("\u{feff}rule-file-version-2\n0\n", "", "rule-file-version-2\n0\n"),
    ("rule-file-version-9\n0\n", "", "rule-file-version-2\n0\n"),
    ("rule-file-version-1\n1\n7 0\n", "", "1\n7 0\n"),
    // To 6.0 a lone 0 is JSON, and no rules file.
    ("rule-file-version-1\n0\n", "", "rule-file-version-1\n0\n"),
    ("rule-file-version-1\n0\n", "5.0", "0\n"),
    ("1\n7 1\n0 2\n 0 1 0 0 9\n 64 1 0 0 9\n -\n", "4.0", "1\n7 1\n0 2\n 0 1 0 0 9\n 64 1 0 0 9\n # -\n"),
    // Counts, first sizes, collectives that cannot be tuned.
    ("1\n7 1\n0 3\n 0 1 0 0\n 64 6 0 0\n", "", "1\n7 1\n0 2\n 0 1 0 0\n 64 6 0 0\n"),
    ("1\n7 1\n4 1\n\t8 1 0 0\n", "", "1\n7 1\n4 2\n\t0 0 0 0\n\t8 1 0 0\n"),
    ("1 7 1 4 1 8 1 0 0\n", "", "1 7 1 4 2 0 0 0 0\n 8 1 0 0\n"),
    ("2\n10 1\n0 1\n 0 1 0 0\n7 1\n0 1\n 0 1 0 0\n", "", "1\n# 10 1\n# 0 1\n # 0 1 0 0\n7 1\n0 1\n 0 1 0 0\n"),
    ("3\n10 0\n18 0\n7 1\n0 1\n 0 1 0 0\n", "", "1\n# 10 0\n# 18 0\n7 1\n0 1\n 0 1 0 0\n"),
    // JSON.
    (
        r#"{"collectives": {"bcast": [{"rules": [{"alg": 1},]}],}}"#,
        "6.0",
        r#"{"collectives": {"bcast": [{"rules": [{"alg": 1}]}]}}"#,
    ),
    (r#"{"collectives": {"MPI_Reducescatter": []}}"#, "6.0", r#"{"collectives": {"reduce_scatter": []}}"#),
    (
        r#"{"collectives": {"Bcast": [{"comm_size_min": "4", "rules": [{"msg_size_min": 1e3, "alg": 3, "segsize": 1024}]}]}}"#,
        "6.0",
        r#"{"collectives": {"bcast": [{"comm_size_min": 4, "rules": [{"msg_size_min": 1000, "alg": 3, "seg_size": 1024}]}]}}"#,
    ),
    (
        r#"{"collectives": {"bcast": [], "gatherv": [{"rules": [{"alg": 1}]}]}}"#,
        "6.0",
        r#"{"collectives": {"bcast": []}}"#,
    ),
    // HAN.
    ("1 MPI_Bcast\n1 inter-node\n1\n1 1\n 0 TUNED [ 8 16 ]\n", "5.0", "1 bcast\n1 inter_node\n1\n1 1\n 0 tuned\n"),
    ("1 bcast\n1 2\n1\n1 1\n 0 han@simple\n", "5.0", "1 bcast\n1 2\n1\n1 1\n 0 han @simple\n"),
    ("1 allgatherv\n1 2\n1\n1 1\n 0 han @simple\n", "5.0", "1 allgatherv\n1 2\n1\n1 1\n 0 han\n"),
    // What every version would still ignore.
    ("2 things\n7 1\n0 1\n 0 -1 0 0\n", "", "2 things\n7 1\n0 1\n 0 -1 0 0\n"),
    // What would change what a version does, or takes a decision.
    ("1\n7 1\n0 1\n 0 1 0 0\n64 6 0 0\n", "", "1\n7 1\n0 1\n 0 1 0 0\n64 6 0 0\n"),
    ("1\n7 1\n0 2\n 0 1 0 0\n 0800 1 0 0\n", "", "1\n7 1\n0 2\n 0 1 0 0\n 0800 1 0 0\n"),
    ("1\n7 1\n0 2\n 0 1 0 0\n 64 0 0 0\n 64 5 0 0\n", "", "1\n7 1\n0 2\n 0 1 0 0\n 64 0 0 0\n 64 5 0 0\n"),
    (
        r#"{"collectives": {"bcast": [{"rules": [{"alg": 3, "segsize": 1024}]}]}}"#,
        "6.0",
        r#"{"collectives": {"bcast": [{"rules": [{"alg": 3, "segsize": 1024}]}]}}"#,
    ),
];

#[test]
fn plain_problems_are_mended_and_others_left_alone() {
    for (text, names, wanted) in MENDED {
        assert_eq!(mended(text, names), *wanted, "{text}");
    }
}

#[test]
fn a_remedy_that_would_change_what_runs_is_named_and_not_carried_out() {
    let fixed = fix(b"1\n7 1\n0 1\n 0 1 0 0\n64 06 0 0\n", &[]);
    assert_eq!(fixed.mended, BTreeMap::from([(Code::OddNumber, 1)]));
    assert_eq!(fixed.left, BTreeMap::from([(Code::WrongCount, 1)]));
}

/// Ways to spoil a classic file so that every version ignores it, or reads the same in it as before.
const SPOILS: &[fn(&str) -> String] = &[
    |text| text.replacen("\n0 1", "\n00 0x1", 1),
    |text| text.replacen(" 0 ", " +0 ", 3),
    |text| format!("\u{feff}{text}"),
    |text| format!("rules of our-2 machines\n{text}"),
    |text| text.replacen('\n', " (counted)\n", 1),
    |text| text.replacen("\n 0 ", "\n from 0 ", 1),
    |text| {
        // One rule more is announced than there is, at the end of the file, which ends too early then.
        let (count, _) = text.match_indices('\n').rev().nth(1).expect("lines");
        let (before, last) = text.split_at(count);
        let begin = before.rfind('\n').expect("a line before");
        let words: Vec<&str> = before[begin..].split_whitespace().collect();
        match &words[..] {
            [size, count] => {
                format!("{}\n{size} {}{last}", &before[..begin], count.parse::<u32>().expect("a count") + 1)
            }
            _ => text.to_owned(),
        }
    },
];

fn rules() -> impl Strategy<Value = RuleTable> {
    let sizes = prop::collection::btree_map(1u64..1 << 20, 0u32..7, 0..4);
    let comm_rules = prop::collection::btree_map(2u64..200, sizes, 1..4);
    prop::collection::btree_map(prop::sample::select(vec![Collective::Bcast, Collective::Reduce]), comm_rules, 1..3)
        .prop_map(|collectives| {
            let mut table = RuleTable::new();
            for (collective, comm_rules) in collectives {
                let mut ranks = all_builtin();
                for (size, rules) in comm_rules {
                    let mut steps = Steps::constant(Choice::BUILTIN);
                    rules.into_iter().for_each(|(from, id)| steps.set(from, None, Choice::plain(id)));
                    ranks.set(size, Some(size + 3), steps);
                }
                table.set(collective, ranks);
            }
            table
        })
}

/// Who accepts a file, and what it means to them.
fn accepted(text: &[u8]) -> Vec<(Behaviour, Vec<RuleTable>)> {
    let readings = Behaviour::distinct().into_iter().zip(Meaning::of(text, &[]).0);
    readings
        .filter_map(|(version, said)| match said {
            Said::Tuned(tables) => Some((version, tables)),
            _ => None,
        })
        .collect()
}

proptest! {
    /// A file that was spoilt in a way that takes no decision gets its meaning back.
    #[test]
    fn what_is_mended_means_what_it_meant(
        table in rules(),
        spoils in prop::sample::subsequence((0..SPOILS.len()).collect::<Vec<_>>(), 0..=SPOILS.len()),
    ) {
        let good = emit::classic(&table, &Notes::default(), |_| true).expect("written with all hazards");
        let spoilt = spoils.iter().fold(good.clone(), |text, spoil| SPOILS[*spoil](&text));
        let before = accepted(spoilt.as_bytes());
        let fixed = fix(spoilt.as_bytes(), &[]);
        let after = accepted(&fixed.text);
        let shown = String::from_utf8_lossy(&fixed.text).into_owned();
        for one in &before {
            prop_assert!(after.contains(one), "{spoilt}\n->\n{shown}");
        }
        if before.is_empty() {
            prop_assert_eq!(&after, &accepted(good.as_bytes()), "{}\n->\n{}", &spoilt, &shown);
        }
        // All that is left is what was there before.
        let left = check(&fixed.text, &[]);
        prop_assert!(left.problems.iter().all(|problem| problem.edits.is_empty()) || !fixed.left.is_empty(), "{shown}");
        prop_assert_eq!(&fix(&fixed.text, &[]).text, &fixed.text, "{}", shown);
    }

    /// Whatever the bytes: who accepts the file reads the same in it afterwards, and nobody crashes who did not.
    #[test]
    fn no_meaning_changes(
        text in "(rule-file-version-[0-9]\n)?([0-9]{1,3}[ \n]|[-x#.Kab]|[0-9] [0-9] 0 0( 4)?\n|7 1\n|0 2\n| 0 0?[1-6] 0 0\n){0,40}",
    ) {
        keeps(text.as_bytes())?;
    }

    /// The same for JSON.
    #[test]
    fn no_meaning_of_json_changes(
        text in "\\{\"collectives\":\\{(\"(bcast|Bcast|gatherv|reducescatter)\":\\[\
         (\\{(\"(alg|comm_size_max|comm_size_min)\":(1|\"4\"|4.0|\"inf\"),)?\"rules\":\\[(\\{\"(alg|segsize|reqs)\":(1|\"2\"|3.0)\\},?){0,3}\\]\\},?){0,3}\\],?){0,4}\\}\\}",
    ) {
        keeps(text.as_bytes())?;
    }

    /// The same for HAN's files.
    #[test]
    fn no_meaning_of_han_changes(
        text in "[12] (bcast|Bcast|7|allgatherv)\n1 (0|2|inter-node|inter_node)\n1\n1 [12]\n 0 (tuned|han|han@simple|han @simple|Tuned)( \\[ 8 \\])?\n( 64 han\n)?",
    ) {
        keeps(text.as_bytes())?;
    }
}

fn keeps(text: &[u8]) -> Result<(), TestCaseError> {
    let before = Meaning::of(text, &[]);
    let fixed = fix(text, &[]);
    let after = Meaning::of(&fixed.text, &[]);
    let shown = (String::from_utf8_lossy(text), String::from_utf8_lossy(&fixed.text));
    for (before, after) in before.0.iter().zip(&after.0) {
        prop_assert!(!before.is_in_force() || before == after, "{}\n->\n{}", shown.0, shown.1);
    }
    let crashes = |text: &[u8]| check(text, &[]).readings.iter().filter(|one| one.fate == Fate::Crashes).count();
    prop_assert!(crashes(&fixed.text) <= crashes(text), "{}\n->\n{}", shown.0, shown.1);
    prop_assert!(fixed.mended.is_empty() == (fixed.text == text), "{}", shown.0);
    Ok(())
}
