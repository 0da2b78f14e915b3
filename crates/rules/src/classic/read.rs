//! Reading as Open MPI reads: what it accepts is accepted, what it rejects is rejected with the reason.

use super::tokens::Tokens;
use super::{ClassicCollective, ClassicCommRule, ClassicFile, ClassicRule, Rejection};
use crate::file::{Block, CollectiveRules, Rule, read_classic};

/// Reads a classic file of version 1.
///
/// Algorithm ids, order and repetition of sizes, and whatever follows the counted fields are not looked at, as in
/// Open MPI. Of a collective that comes twice the later rules replace the earlier. Comments are dropped. Takes linear
/// time and memory whatever the counts say. See [`crate::file::load`] for what one version makes of any file.
pub fn read(text: &str) -> Result<ClassicFile, Rejection> {
    let mut start = Tokens::new(text.as_bytes());
    if let Some(version) = start.skip_prefix(b"rule-file-version-").then(|| start.scan_decimal()).flatten() {
        return Err(Rejection::Version { version });
    }
    let (_, read) = read_classic(text.as_bytes(), false, false, 0).map_err(|fault| fault.rejection)?;
    let mut collectives: Vec<ClassicCollective> = Vec::new();
    for collective in read {
        collectives.retain(|earlier| earlier.id != collective.id);
        collectives.push(collective.into());
    }
    Ok(ClassicFile { header: Vec::new(), collectives })
}

impl From<CollectiveRules> for ClassicCollective {
    fn from(rules: CollectiveRules) -> Self {
        Self { id: rules.id, notes: Vec::new(), sizes: rules.blocks.into_iter().map(Into::into).collect() }
    }
}

impl From<Block> for ClassicCommRule {
    fn from(block: Block) -> Self {
        let rules = block.rules.into_iter().map(Into::into).collect();
        Self { comm_size: block.listed.unwrap_or(0) as u32, notes: Vec::new(), rules }
    }
}

impl From<Rule> for ClassicRule {
    fn from(rule: Rule) -> Self {
        Self { size: rule.min, choice: rule.choice, note: None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::choice::Choice;
    use crate::classic::Field;

    /// One bcast rule for every size, and the fields behind the first message size.
    fn bcast(rest: &str) -> String {
        format!("1 # collective\n7 # bcast\n1 # communicator size\n0 1\n{rest}")
    }

    fn rejected(text: &str) -> Rejection {
        read(text).expect_err(text)
    }

    #[test]
    fn a_file_is_read_field_by_field() {
        let text = "2\n6 1\n 2 1\n  0 5 0 0\n7 2\n 0 1\n  0 0 0 0\n 4 2\n  0 6 0 0\n  65536 2 4 8192 # chain\n";
        let file = read(text).expect("a good file");
        assert_eq!(file.collectives.iter().map(|collective| collective.id).collect::<Vec<_>>(), [6, 7]);
        let sizes = &file.collectives[1].sizes;
        assert_eq!(sizes.iter().map(|rule| rule.comm_size).collect::<Vec<_>>(), [0, 4]);
        let choice = Choice::plain(2).with_faninout(4).with_segsize(8192);
        assert_eq!(sizes[1].rules[1], ClassicRule { size: 65536, choice, note: None });
    }

    #[test]
    fn every_reason_for_rejection_is_told_with_its_line() {
        let end = |line, field| Rejection::End { line, field };
        assert_eq!(rejected(""), end(1, Field::Collectives));
        assert_eq!(rejected("# 1 7 1\n"), end(2, Field::Collectives));
        assert_eq!(rejected("1"), end(1, Field::CollectiveId));
        assert_eq!(rejected("1\n7"), end(2, Field::CommRules));
        assert_eq!(rejected("1\n7 1"), end(2, Field::CommSize));
        assert_eq!(rejected("1\n7 1\n4"), end(3, Field::MessageRules));
        assert_eq!(rejected(&bcast("")), end(5, Field::MessageSize));
        assert_eq!(rejected(&bcast("0")), end(5, Field::Algorithm));
        assert_eq!(rejected(&bcast("0 1")), end(5, Field::Faninout));
        assert_eq!(rejected(&bcast("0 1 0 # 0\n\n")), end(7, Field::Segsize));
        assert_eq!(rejected(&bcast("0 1\n-4 0")), Rejection::Negative { line: 6, field: Field::Faninout, value: -4 });
        assert_eq!(rejected("coll-7"), Rejection::Negative { line: 1, field: Field::Collectives, value: -7 });
        assert_eq!(rejected("\n23"), Rejection::TooManyCollectives { line: 2, count: 23 });
        assert_eq!(rejected("1\n22 0"), Rejection::NoSuchCollective { line: 2, id: 22 });
        assert_eq!(rejected(&bcast("8 1 0 0")), Rejection::FirstSize { line: 5, size: 8 });
        assert_eq!(rejected("rule-file-version-2\n0"), Rejection::Version { version: 2 });
        // Behind anything else the same header is a negative number.
        let negative = Rejection::Negative { line: 2, field: Field::Collectives, value: -2 };
        assert_eq!(rejected("# rules\nrule-file-version-2\n0"), negative);
        assert_eq!(negative.line(), 2);
        assert_eq!(negative.to_string(), "line 2: the number of collectives is -2, and no number may be negative");
    }

    #[test]
    fn counts_are_never_believed() {
        // As a C int, LONG_MAX is -1, for which there is never room.
        let (huge, count) = ("99999999999999999999", i64::MAX as u64);
        let too_many = |field| Rejection::TooMany { line: 1, field, count };
        assert_eq!(rejected(&format!("1 7 {huge} 2")), too_many(Field::CommRules));
        assert_eq!(rejected(&format!("1 7 1 2 {huge}")), too_many(Field::MessageRules));
        let int_max = i32::MAX;
        assert_eq!(rejected(&format!("1 7 {int_max} 2")), Rejection::End { line: 1, field: Field::MessageRules });
        assert_eq!(rejected(&format!("1 7 1 2 {int_max}")), Rejection::End { line: 1, field: Field::MessageSize });
    }

    #[test]
    fn what_open_mpi_does_not_check_is_accepted() {
        for text in [
            "0",
            "0 behind the last field anything goes: -1 -2",
            "22 0 0 1 0 2 0 3 0 4 0 5 0 6 0 7 0 8 0 9 0 10 0 11 0 12 0 13 0 14 0 15 0 16 0 17 0 18 0 19 0 20 0 21 0",
            "1 7 1 4 0",
            "1 7 1 4 1 0 99 0 0",
            "1 10 1 4 1 0 1 0 0",
            "1 7 3 8 1 0 1 0 0 2 1 0 1 0 0 2 3 0 1 0 0 100 1 0 0 50 1 0 0",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn of_a_collective_twice_the_later_counts() {
        let file = read("3\n7 1 0 1 0 1 0 0\n6 0\n7 1 0 1 0 6 0 0").expect("accepted");
        assert_eq!(file.collectives.iter().map(|collective| collective.id).collect::<Vec<_>>(), [6, 7]);
        assert_eq!(file.collectives[1].sizes[0].rules[0].choice, Choice::plain(6));
        let emptied = read("2\n7 1 0 1 0 1 0 0\n7 0").expect("accepted");
        assert_eq!(emptied.collectives.len(), 1);
        assert_eq!(emptied.collectives[0].sizes, []);
    }

    #[test]
    fn a_fifth_column_shifts_everything() {
        let file = read(&bcast("0 1 0 0 8\n")).expect("the fifth column is trailing text here");
        assert_eq!(file.collectives[0].sizes[0].rules.len(), 1);
        let file = read("1 7 1 0 2\n0 1 0 0 0\n1024 6 0 0 0").expect("accepted with garbage");
        let second = &file.collectives[0].sizes[0].rules[1];
        assert_eq!((second.size, second.choice.algorithm, second.choice.faninout), (0, 1024, 6));
    }

    #[test]
    fn ints_keep_the_lower_half_of_a_long() {
        let file = read("1 7 1 4294967300 1 0 4294967299 9223372036854775807 4294967296").expect("accepted");
        let comm_rule = &file.collectives[0].sizes[0];
        assert_eq!(comm_rule.comm_size, 4);
        let choice = comm_rule.rules[0].choice;
        assert_eq!((choice.algorithm, choice.faninout, choice.segsize), (3, u32::MAX, 1 << 32));
    }

    proptest! {
        #[test]
        fn any_text_is_judged(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&String::from_utf8_lossy(&bytes));
        }

        /// Texts of the characters that matter, which get further than random bytes do.
        #[test]
        fn any_text_of_numbers_is_judged_alike_with_comments(text in "[0-2x# \n-]{0,80}") {
            let commented = text.replace('\n', " \n# 7 -1\n");
            // A comment that the text opened itself swallows the rest of its line, and the new lines still close it.
            let judge = |text: &str| read(text).map_err(|rejection| std::mem::discriminant(&rejection));
            prop_assert_eq!(judge(&text), judge(&commented));
        }
    }
}
