//! Result of a comparison without and with a rules file.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | the result |
//! | `terminal` | each cell of the last comparison, for a terminal of 80 columns |
//! | `rows` | tables of all formats |

pub(crate) mod rows;
mod sentences;
mod terminal;

pub use sentences::{sentences, verdict};
pub use terminal::text;

#[cfg(test)]
pub(crate) mod fixture {
    use std::collections::BTreeMap;

    use collrules_record::Estimate;
    use collrules_record::validation::{FORMAT, Outcome, Round, ValidatedCell, Validation, ValidationCriteria};
    use collrules_record::{Bytes, Cell, Ranks};
    use collrules_rules::{Choice, Collective};

    /// A validation of one cell, not tuned, with this verdict.
    pub(crate) fn validation(verdict: Outcome, speedup: f64) -> Validation {
        let estimate =
            |point: f64| Estimate { point, low: Some(point * 0.9), high: Some(point * 1.1), level: 0.95, samples: 4 };
        let cell = ValidatedCell {
            cell: Cell { collective: Collective::ReduceScatterBlock, ranks: Ranks(1024), bytes: Bytes(5793) },
            tuned: false,
            served: Choice::plain(3).with_segsize(65536).with_faninout(4),
            control: false,
            handed: false,
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
            rounds: vec![Round { pairs: 4, cells: vec![cell], ..Round::default() }],
            reverted: Vec::new(),
            not_again: None,
            checks: Vec::new(),
        }
    }
}
