//! The rows of comparisons.

use collrules_record::estimate::geometric_mean;
use collrules_record::validation::Outcome;
use collrules_tuner::results::comparison::{CellChange, RunComparison};

use crate::document::Block;
use crate::facts::name_candidate;
use crate::summary::sizes;
use crate::words::{number, percent, ratio, tenths, times};

/// Numbers of sizes, and what counts as a change.
pub(super) fn numbers(comparison: &RunComparison) -> Block {
    let all = comparison.cells.len();
    let changed = |outcome| comparison.count(outcome).to_string();
    let speedup = if all == 0 { "-".to_owned() } else { format!("{:.3}x", comparison.builtin()) };
    let (before, after) = comparison.left_out;
    let criteria = comparison.criteria;
    let rows = [
        ("sizes in both runs", all.to_string()),
        ("speed of the default, now over then (geometric mean)", speedup),
        ("sizes with a faster default", changed(Outcome::Faster)),
        ("sizes with a slower default", changed(Outcome::Slower)),
        ("sizes with another rule", comparison.changed_choices().count().to_string()),
        ("sizes without a time of the earlier rule", (all - comparison.judged().count()).to_string()),
        ("sizes of the earlier run alone", before.to_string()),
        ("sizes of the later run alone", after.to_string()),
        ("smallest change that counts", percent(criteria.min_difference)),
        ("false discovery rate over all sizes", percent(criteria.error_rate)),
        ("confidence of intervals", percent(criteria.level)),
    ];
    Block::table(["over all", "number:"], rows.map(|(what, number)| [what.to_owned(), number]))
}

/// The sizes of neighbouring cells in words.
fn span(cells: &[CellChange]) -> String {
    let (first, last) = (cells[0].cell, cells[cells.len() - 1].cell);
    sizes(first.collective, first.bytes, last.bytes)
}

fn neighbours(a: &CellChange, b: &CellChange) -> bool {
    (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)
}

/// Lists the changes of the builtin, neighbouring sizes on one line.
pub(super) fn changed(comparison: &RunComparison) -> Block {
    let alike = |a: &CellChange, b: &CellChange| neighbours(a, b) && a.change == b.change;
    let runs = comparison.cells.chunk_by(alike).filter(|cells| cells[0].change != Outcome::Same);
    let row = |cells: &[CellChange]| {
        let change = if cells[0].change == Outcome::Faster { "faster" } else { "slower" };
        let ratio = match cells {
            [one] => ratio(one.builtin),
            several => {
                let ratios = several.iter().map(|cell| cell.builtin.point);
                let (least, most) =
                    ratios.clone().fold((f64::INFINITY, 0.0f64), |(low, high), it| (low.min(it), high.max(it)));
                format!(
                    "{} ({} to {} by size)",
                    times(geometric_mean(ratios).unwrap_or(1.0)),
                    number(least),
                    number(most)
                )
            }
        };
        let cell = cells[0].cell;
        [cell.collective.to_string(), cell.ranks.to_string(), span(cells), change.to_owned(), ratio]
    };
    Block::table(["collective", "ranks:", "message sizes", "change", "as fast as before"], runs.map(row))
}

/// Lists the changes of the choice, neighbouring sizes on one line.
pub(super) fn changed_choices(comparison: &RunComparison) -> Block {
    let alike = |a: &CellChange, b: &CellChange| neighbours(a, b) && a.in_use == b.in_use;
    let runs = comparison.cells.chunk_by(alike).filter(|cells| cells[0].in_use.0 != cells[0].in_use.1);
    let row = |cells: &[CellChange]| {
        let cell = cells[0].cell;
        let (before, after) = cells[0].in_use;
        [
            cell.collective.to_string(),
            cell.ranks.to_string(),
            span(cells),
            name_candidate(comparison.before.release, cell.collective, before),
            name_candidate(comparison.after.release, cell.collective, after),
            loss(cells),
        ]
    };
    Block::table(
        ["collective", "ranks:", "message sizes", "before", "after", "loss of the earlier rules:"],
        runs.map(row),
    )
}

/// Describes the loss of the earlier rules on these cells.
fn loss(cells: &[CellChange]) -> String {
    let judged = || cells.iter().filter_map(|cell| cell.old_rules);
    if judged().any(|old| old.failed) {
        return "fails".to_owned();
    }
    let regrets = cells.iter().filter_map(|cell| Some(1.0 + cell.old_rules?.regret?));
    if regrets.clone().next().is_none() {
        return "not timed".to_owned();
    }
    let slower = if judged().any(|old| old.slower) { ", slower than the default" } else { "" };
    tenths(geometric_mean(regrets).unwrap_or(1.0) - 1.0) + slower
}
