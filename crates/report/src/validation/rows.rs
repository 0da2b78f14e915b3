//! Tables of a validation, in words that every format uses.

use collrules_record::Cell;
use collrules_record::findings::{Findings, Middle};
use collrules_record::units::Seconds;
use collrules_record::validation::{Outcome, Round, ValidatedCell, Validation};

use super::sentences::sentences;
use crate::cells::describe_outcome;
use crate::facts::name;
use crate::words::{percent, ratio, times};

/// A comparison in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundRow {
    /// The compared file, in words.
    pub(crate) name: String,
    pub(crate) pairs: u32,
    pub(crate) cells: usize,
    pub(crate) faster: usize,
    pub(crate) same: usize,
    pub(crate) slower: usize,
    /// Cells that could not be compared.
    pub(crate) failed: usize,
    pub(crate) mean: String,
    pub(crate) worst: String,
    pub(crate) repaired: usize,
}

/// All comparisons, in order.
pub(crate) fn rounds(validation: &Validation) -> Vec<RoundRow> {
    validation.rounds.iter().enumerate().map(|(number, round)| row(number, round)).collect()
}

fn row(number: usize, round: &Round) -> RoundRow {
    RoundRow {
        name: round_name(number),
        pairs: round.pairs,
        cells: round.cells.len(),
        faster: round.count(Outcome::Faster),
        same: round.count(Outcome::Same),
        slower: round.count(Outcome::Slower),
        failed: round.failed.len(),
        mean: times(round.speedup.map_or_else(|| round.geometric_mean(), |speedup| speedup.point)),
        worst: round.worst().map_or("-".to_owned(), |cell| format!("{} ({})", cell.cell, times(cell.speedup.point))),
        repaired: round.repaired.len(),
    }
}

fn round_name(number: usize) -> String {
    match number {
        0 => "as decided".to_owned(),
        1 => "after the repair".to_owned(),
        number => format!("after repair {number}"),
    }
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

/// Cells that were slower, failed, or were reverted: file, cell, rule, times without and with it, speedup, verdict.
pub(crate) fn telling(findings: &Findings, validation: &Validation) -> Vec<[String; 7]> {
    let mut rows = Vec::new();
    for (number, round) in validation.rounds.iter().enumerate() {
        let told = |cell: &&ValidatedCell| cell.verdict == Outcome::Slower || round.repaired.contains(&cell.cell);
        rows.extend(round.cells.iter().filter(told).map(|cell| cell_row(findings, number, round, cell)));
        rows.extend(round.failed.iter().map(|failed| {
            let side = if failed.with { "with" } else { "without" };
            let blank = || "-".to_owned();
            let repaired = revert_note(round, failed.cell);
            let why = format!("failed {side} the file: {}{repaired}", failed.why);
            [round_name(number), failed.cell.to_string(), blank(), blank(), blank(), blank(), why]
        }));
    }
    rows
}

/// Returns the note for a reverted cell.
fn revert_note(round: &Round, cell: Cell) -> &'static str {
    if round.repaired.contains(&cell) { ", rule removed" } else { "" }
}

/// A cell in words: file, cell, rule, times without and with it, speedup, verdict.
pub(crate) fn cell_row(findings: &Findings, number: usize, round: &Round, cell: &ValidatedCell) -> [String; 7] {
    let verdict = describe_outcome(cell.verdict);
    let repaired = revert_note(round, cell.cell);
    let between = if cell.tuned { "" } else { ", not tuned" };
    [
        round_name(number),
        format!("{}{between}", cell.cell),
        name(findings, cell.cell.collective, cell.served),
        Seconds(cell.without.point).to_string(),
        Seconds(cell.with.point).to_string(),
        ratio(cell.speedup),
        format!("{verdict}{repaired}"),
    ]
}
