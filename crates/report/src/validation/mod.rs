//! Result of a comparison without and with a rules file.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | the result |
//! | `rows` | tables of all formats |

pub(crate) mod rows;
mod sentences;

use collrules_record::HanRule;
use collrules_record::validation::{Round, ValidatedCell, Validation};
use collrules_rules::{Release, registry};

use crate::cells::{SideBySide, side_by_side};
use crate::document::{Block, Document};
use crate::gains::Gains;

pub use sentences::sentences;

/// Each cell of the last comparison, and the result.
pub fn document(validation: &Validation, release: Release) -> Document {
    let compared = compared_cells(&validation.round, release);
    Document {
        subject: "validation in fresh launches".to_owned(),
        answer: sentences(validation, &Gains::of_comparison(validation)),
        blocks: compared.into_iter().chain([rows::numbers(validation)]).collect(),
        ..Document::default()
    }
}

/// The cells of a comparison, a table for each collective.
pub(crate) fn compared_cells(round: &Round, release: Release) -> Vec<Block> {
    let row = |found: &ValidatedCell| {
        let algorithm = registry::algorithm(release, found.cell.collective, found.in_use.algorithm);
        let by = match (found.in_use.is_builtin(), found.han) {
            _ if round.repaired.contains(&found.cell) => "removed",
            (true, HanRule::Default) => "-",
            (true, _) => "HAN's file",
            (false, _) => algorithm.map_or("?", |algorithm| algorithm.name),
        };
        let times = [found.without.point, found.with.point];
        SideBySide { cell: found.cell, times, ratio: found.speedup, outcome: found.verdict, by: by.to_owned() }
    };
    let rows: Vec<SideBySide> = round.cells.iter().map(row).collect();
    side_by_side(["without:", "with:", "speedup:", "rule"], &rows)
}

#[cfg(test)]
mod tests {
    use collrules_record::validation::Outcome;

    use super::fixture::validation;
    use super::*;

    #[test]
    fn a_rule_that_is_gone_is_named_so() {
        let mut found = validation(Outcome::Slower, 0.5);
        let text = |found: &Validation| document(found, Release::V5_0).text(80);
        assert!(!text(&found).contains("removed"));
        found.round.repaired.push(found.round.cells[0].cell);
        assert!(text(&found).contains("removed"));
    }

    #[test]
    fn lines_fit_into_eighty_columns_and_say_what_was_found() {
        for (verdict, speedup) in [(Outcome::Faster, 12345.6), (Outcome::Slower, 0.0123), (Outcome::Same, 123.4)] {
            let text = document(&validation(verdict, speedup), Release::V5_0).text(80);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert_eq!(text.contains("SLOWER"), verdict == Outcome::Slower, "{text}");
        }
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use std::collections::BTreeMap;

    use collrules_record::Estimate;
    use collrules_record::validation::{FORMAT, Outcome, Round, ValidatedCell, Validation, ValidationCriteria};
    use collrules_record::{Bytes, Cell, HanRule, Ranks};
    use collrules_rules::{Choice, Collective};

    /// A validation of one cell, not tuned, with this verdict.
    pub(crate) fn validation(verdict: Outcome, speedup: f64) -> Validation {
        let estimate =
            |point: f64| Estimate { point, low: Some(point * 0.9), high: Some(point * 1.1), level: 0.95, samples: 4 };
        let cell = ValidatedCell {
            cell: Cell { collective: Collective::ReduceScatterBlock, ranks: Ranks(1024), bytes: Bytes(5793) },
            tuned: false,
            in_use: Choice::plain(3).with_segsize(65536).with_faninout(4),
            control: false,
            han: HanRule::Default,
            without: estimate(1.234e-3 * speedup),
            with: estimate(1.234e-3),
            speedup: estimate(speedup),
            q_value: Some(0.001),
            verdict,
        };
        Validation {
            format: FORMAT,
            rules: "rules.conf".to_owned(),
            version: "5.0.11".parse().expect("a version"),
            settings: BTreeMap::new(),
            digests: Default::default(),
            criteria: ValidationCriteria::default(),
            round: Round { pairs: 4, cells: vec![cell], ..Round::default() },
            reverted: Vec::new(),
            withdrawn: Vec::new(),
            checks: Vec::new(),
        }
    }
}
