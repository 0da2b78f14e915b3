//! Changes from one run to a later one, and advice on tuning again.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | the advice, with its reasons |
//! | `tables` | rows, and CSV |

mod sentences;
mod tables;

use collrules_tuner::results::comparison::{Advice, RunComparison};

use crate::document::{Block, Document};

pub use sentences::{describe_limitation, property};

/// The advice, and everything that changed.
pub fn document(comparison: &RunComparison) -> Document {
    let RunComparison { before, after, differences, cells, .. } = comparison;
    let differences = differences.iter().map(|it| [property(it.what).to_owned(), it.before.clone(), it.after.clone()]);
    let blocks = vec![
        tables::numbers(comparison),
        Block::open("differences", "What differs", vec![Block::table(["what", "before", "after"], differences)]),
        Block::open("default", "The default changed", vec![tables::changed(comparison)]),
        Block::open("rules", "The choice changed", vec![tables::changed_choices(comparison)]),
    ];
    let (headline, class) = match comparison.advice() {
        Advice::Unknown if cells.is_empty() => ("The runs cannot be compared", "open"),
        Advice::Unknown => ("Undecided", "open"),
        Advice::Replace => ("Retuning is worthwhile", "open"),
        Advice::Keep => ("The earlier rules still suit", ""),
    };
    Document {
        subject: "changes since an earlier run".to_owned(),
        simulated: before.simulated || after.simulated,
        headline: headline.to_owned(),
        class,
        answer: sentences::sentences(comparison),
        origin: [("Before", before), ("After", after)]
            .map(|(when, run)| format!("{when}: {}", sentences::side(run)))
            .into(),
        blocks,
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};
    use collrules_record::validation::{Outcome, ValidationCriteria};
    use collrules_record::{Candidate, Cell, Estimate};
    use collrules_rules::{Choice, Collective, Release};
    use collrules_tuner::results::comparison::{Advice, CellChange, ComparedRun, FORMAT, OldRules, RunComparison};

    use super::sentences::answer;
    use super::*;

    /// Speedup of the builtin over the earlier one, its verdict, and the loss of the earlier rules (true if they harm).
    type TestCell = (f64, Outcome, Option<(f64, bool)>);

    /// A comparison of bcast on 4 ranks with these changes.
    fn comparison(cells: &[TestCell]) -> RunComparison {
        let side = |source: &str, rules| ComparedRun {
            source: source.to_owned(),
            release: Release::V5_0,
            version: None,
            started: None,
            rules,
            simulated: false,
        };
        let cell = |(place, (ratio, change, old)): (usize, &TestCell)| CellChange {
            cell: Cell { collective: Collective::Bcast, ranks: Ranks(4), bytes: Bytes(1 << place) },
            builtin: Estimate { point: *ratio, low: None, high: None, level: 0.95, samples: 3 },
            q_value: None,
            change: *change,
            in_use: (Candidate::Tuned(Choice::plain(6)), Candidate::Builtin),
            old_rules: old.map(|(regret, slower)| OldRules {
                gives: Candidate::Tuned(Choice::plain(6)),
                gain: None,
                regret: Some(regret),
                slower,
                failed: false,
            }),
        };
        RunComparison {
            format: FORMAT,
            before: side("a|b", 3),
            after: side("<later>", 2),
            differences: Vec::new(),
            obstacles: Vec::new(),
            criteria: ValidationCriteria::default(),
            cells: cells.iter().enumerate().map(cell).collect(),
            left_out: (0, 1),
        }
    }

    #[test]
    fn the_answer_follows_from_harm_and_loss() {
        let same = Outcome::Same;
        let keep = comparison(&[(1.0, same, Some((0.0, false))), (1.0, same, Some((-0.0004, false)))]);
        assert_eq!(keep.advice(), Advice::Keep);
        assert!(answer(&keep).contains("No need") && answer(&keep).contains(" 0.0 % slower"), "{}", answer(&keep));
        let wins = answer(&comparison(&[(1.0, same, Some((-0.0014, false)))]));
        assert!(wins.contains("Over 1 size, the earlier rules are 0.1 % faster than the new ones"), "{wins}");
        let loses = comparison(&[(1.0, same, Some((0.05, false))), (1.0, same, Some((0.03, false)))]);
        assert!(
            answer(&loses).contains("are 4.0 % slower than the new ones. Install the new rules."),
            "{}",
            answer(&loses)
        );
        let harms = comparison(&[(1.0, same, Some((0.0, true))), (1.0, same, Some((0.0, false)))]);
        assert!(answer(&harms).contains("For 1 size of 2"), "{}", answer(&harms));
        let mut nothing_left = harms.clone();
        nothing_left.after.rules = 0;
        assert!(answer(&nothing_left).contains("Switch the earlier rules off"), "{}", answer(&nothing_left));
        let unknown = comparison(&[(1.0, same, None)]);
        assert!(answer(&unknown).contains("Undecided: the later run"), "{}", answer(&unknown));
        assert_eq!(document(&unknown).headline, "Undecided");
    }

    #[test]
    fn neighbours_share_a_line_in_every_format() {
        let faster = Outcome::Faster;
        let found = comparison(&[
            (2.0, faster, Some((0.5, true))),
            (8.0, faster, Some((0.5, true))),
            (1.0, Outcome::Same, Some((0.5, false))),
        ]);
        let text = document(&found).text(120);
        assert!(text.contains("4.00x (2.00 to 8.00 by size)") && text.contains("1 B to 2 B"), "{text}");
        assert!(text.contains("50.0 %, slower than the default"), "{text}");
        let of_later = |line: &str| line.contains("sizes of the later run alone") && line.ends_with('1');
        assert!(text.lines().any(of_later), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        let mut hostile = found.clone();
        hostile.after.rules = 1;
        hostile.after.source = "x\n# y\u{1b}[2J<b>".to_owned();
        assert!(document(&hostile).markdown().contains("\nAfter: x # y [2J&lt;b> (Open MPI 5.0, 1 rule)\n"));
        let markdown = document(&found).markdown();
        assert!(markdown.contains("| bcast | 4 | 1 B to 4 B | binomial | default | 50.0 %"), "{markdown}");
        let page = document(&found).page("collrules");
        assert!(page.contains("&#60;later&#62;") || page.contains("&lt;later&gt;"), "escaped");
    }
}
