//! Tables of a validation, in words that every format uses.

use collrules_record::Cell;
use collrules_record::findings::Findings;
use collrules_record::units::Seconds;
use collrules_record::validation::{Outcome, ValidatedCell, Validation};

use super::sentences::sentences;
use crate::cells::describe_outcome;
use crate::document::Block;
use crate::facts::name;
use crate::gains::Gains;
use crate::words::{percent, ratio};

/// Describes the result in whole sentences, and the criteria.
pub(crate) fn paragraphs(validation: &Validation) -> Vec<String> {
    let mut said = sentences(validation);
    let criteria = validation.criteria;
    said.push(format!(
        "Criteria: {}s that differ by {} or more; false discovery rate {}; confidence {}.",
        criteria.middle,
        percent(criteria.min_difference),
        percent(criteria.error_rate),
        percent(criteria.level),
    ));
    said
}

/// Cells that were slower, failed, or were reverted.
pub(crate) fn telling(findings: &Findings, validation: &Validation, gains: &Gains<'_>) -> Block {
    let mut rows = Vec::new();
    if let Some(round) = &validation.round {
        let told = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower || gains.removal(cell.cell).is_some();
        rows.extend(round.cells.iter().filter(told).map(|cell| cell_row(findings, gains, cell)));
        rows.extend(round.failed.iter().map(|failed| {
            let side = if failed.with { "with" } else { "without" };
            let blank = || "-".to_owned();
            let repaired = revert_note(gains, failed.cell);
            let why = format!("failed {side} the file: {}{repaired}", failed.why);
            [failed.cell.to_string(), blank(), blank(), blank(), blank(), why]
        }));
    }
    Block::table(HEADS, rows)
}

/// The heads of a table of cells.
const HEADS: [&str; 6] = ["size", "rule", "without:", "with:", "speedup", "verdict"];

/// Returns the note for a reverted cell.
fn revert_note(gains: &Gains<'_>, cell: Cell) -> String {
    gains.removal(cell).map_or(String::new(), |why| format!("; rule removed: {}", why.describe()))
}

/// A cell in words: cell, rule, times without and with it, speedup, verdict.
fn cell_row(findings: &Findings, gains: &Gains<'_>, cell: &ValidatedCell) -> [String; 6] {
    let verdict = describe_outcome(cell.verdict);
    let repaired = revert_note(gains, cell.cell);
    let between = if cell.tuned { "" } else { ", not tuned" };
    [
        format!("{}{between}", cell.cell),
        name(findings, cell.cell.collective, cell.served),
        Seconds(cell.without.point).to_string(),
        Seconds(cell.with.point).to_string(),
        ratio(cell.speedup),
        format!("{verdict}{repaired}"),
    ]
}
