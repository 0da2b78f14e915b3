//! Result of fresh launches, before and after the repair.

use collrules_record::findings::Findings;
use collrules_record::validation::Validation;

use crate::validation::rows::{self, RoundRow};

/// The section.
pub(super) struct ValidationView {
    pub(super) sentences: Vec<String>,
    pub(super) rounds: Vec<RoundBar>,
    pub(super) telling: Vec<[String; 7]>,
    /// All cells of the last comparison.
    pub(super) cells: Vec<[String; 7]>,
}

/// A comparison with the shares of its outcomes, in percent.
pub(super) struct RoundBar {
    pub(super) row: RoundRow,
    pub(super) faster: f64,
    pub(super) same: f64,
    pub(super) slower: f64,
}

impl ValidationView {
    pub(super) fn new(findings: &Findings, validation: &Validation) -> Self {
        let bar = |row: RoundRow| {
            let share = |count: usize| count as f64 * 100.0 / row.cells.max(1) as f64;
            RoundBar { faster: share(row.faster), same: share(row.same), slower: share(row.slower), row }
        };
        let number = validation.rounds.len().saturating_sub(1);
        let cells = validation.last().map_or_else(Vec::new, |round| {
            round.cells.iter().map(|cell| rows::cell_row(findings, number, round, cell)).collect()
        });
        Self {
            sentences: rows::paragraphs(validation),
            rounds: rows::rounds(validation).into_iter().map(bar).collect(),
            telling: rows::telling(findings, validation),
            cells,
        }
    }
}
