//! Tables of a validation, in words that every format uses.

use collrules_record::Cell;
use collrules_record::findings::{Findings, Middle};
use collrules_record::units::Seconds;
use collrules_record::validation::{Outcome, Round, ValidatedCell, Validation};

use super::sentences::sentences;
use crate::cells::describe_outcome;
use crate::document::{Block, Table};
use crate::facts::name;
use crate::words::{percent, ratio, times};

/// The comparison in numbers, with a drawing of its outcomes.
pub(crate) fn outcomes(validation: &Validation) -> Table {
    let heads = ["pairs:", "sizes:", "faster:", "same:", "slower:", "failed:", "mean of all:", "lowest", "removed:"];
    let row = |round: &Round| {
        let [faster, same, slower] = [Outcome::Faster, Outcome::Same, Outcome::Slower].map(|it| round.count(it));
        let counts = [round.pairs as usize, round.cells.len(), faster, same, slower, round.failed.len()];
        let mean = times(round.speedup.map_or_else(|| round.geometric_mean(), |speedup| speedup.point));
        let lowest =
            round.worst().map_or("-".to_owned(), |cell| format!("{} ({})", cell.cell, times(cell.speedup.point)));
        let counts = counts.map(|count| count.to_string());
        let ends = [mean, lowest, round.repaired.len().to_string()];
        counts.into_iter().chain(ends).collect::<Vec<_>>()
    };
    let drawings = validation.round.iter().map(draw).collect();
    Table::new(heads, validation.round.iter().map(row)).drawn(1, drawings)
}

/// The shares of the outcomes of a comparison.
fn draw(round: &Round) -> String {
    let share = |(outcome, class): (Outcome, &str)| {
        let percent = round.count(outcome) as f64 * 100.0 / round.cells.len().max(1) as f64;
        format!("<i class=\"{class}\" style=\"width:{percent}%\"></i>")
    };
    let shares = [(Outcome::Faster, "d8"), (Outcome::Same, "d4"), (Outcome::Slower, "d1")].map(share);
    format!("<span class=\"stack\">{}</span>", shares.concat())
}

/// Describes the result in whole sentences, and the criteria.
pub(crate) fn paragraphs(validation: &Validation) -> Vec<String> {
    let mut said = sentences(validation);
    let criteria = validation.criteria;
    said.push(format!(
        "A size counts as faster or slower if the {} of its calls differ by {} or more, at a false discovery rate of \
         {}. Intervals have a confidence of {}.",
        match criteria.middle {
            Middle::Median => "medians",
            Middle::Mean => "means",
        },
        percent(criteria.min_difference),
        percent(criteria.error_rate),
        percent(criteria.level),
    ));
    said
}

/// Cells that were slower, failed, or were reverted.
pub(crate) fn telling(findings: &Findings, validation: &Validation) -> Block {
    let mut rows = Vec::new();
    if let Some(round) = &validation.round {
        let told = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower || round.repaired.contains(&cell.cell);
        rows.extend(round.cells.iter().filter(told).map(|cell| cell_row(findings, round, cell)));
        rows.extend(round.failed.iter().map(|failed| {
            let side = if failed.with { "with" } else { "without" };
            let blank = || "-".to_owned();
            let repaired = revert_note(round, failed.cell);
            let why = format!("failed {side} the file: {}{repaired}", failed.why);
            [failed.cell.to_string(), blank(), blank(), blank(), blank(), why]
        }));
    }
    Block::table(HEADS, rows)
}

/// The heads of a table of cells.
const HEADS: [&str; 6] = ["size", "rule", "without:", "with:", "speedup", "verdict"];

/// Returns the note for a reverted cell.
fn revert_note(round: &Round, cell: Cell) -> &'static str {
    if round.repaired.contains(&cell) { ", rule removed" } else { "" }
}

/// A cell in words: cell, rule, times without and with it, speedup, verdict.
fn cell_row(findings: &Findings, round: &Round, cell: &ValidatedCell) -> [String; 6] {
    let verdict = describe_outcome(cell.verdict);
    let repaired = revert_note(round, cell.cell);
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
