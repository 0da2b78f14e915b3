//! The rows of comparisons.

use std::io;

use collrules_record::estimate::geometric_mean;
use collrules_record::validation::Outcome;
use collrules_tuner::results::comparison::{CellChange, RunComparison};

use crate::document::Block;
use crate::facts::name_candidate;
use crate::summary::sizes;
use crate::tables::of_rows;
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
    let alike = |a: &CellChange, b: &CellChange| neighbours(a, b) && a.served == b.served;
    let runs = comparison.cells.chunk_by(alike).filter(|cells| cells[0].served.0 != cells[0].served.1);
    let row = |cells: &[CellChange]| {
        let cell = cells[0].cell;
        let (before, after) = cells[0].served;
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

/// The columns of the CSV. The ratio of times is the builtin's earlier time over its present one.
const COLUMNS: &str = "collective,comm_size,message_bytes,builtin_ratio,builtin_ratio_low,builtin_ratio_high,q_value,change,\
                       served_before,served_after,old_rules_give,old_rules_gain,old_rules_regret,old_rules_slower,\
                       old_rules_failed";

/// One row per cell as CSV, with a head.
pub fn csv(comparison: &RunComparison) -> io::Result<String> {
    let row = |it: &CellChange| {
        let CellChange { cell, builtin, served, old_rules: old, .. } = it;
        let gain = old.and_then(|old| old.gain).map(|gain| gain.point);
        (
            (cell.collective.to_string(), cell.ranks.0, cell.bytes.0),
            (builtin.point, builtin.low, builtin.high, it.q_value, it.change),
            (served.0.to_string(), served.1.to_string(), old.map(|old| old.gives.to_string()), gain),
            (old.and_then(|old| old.regret), old.map(|old| old.slower), old.map(|old| old.failed)),
        )
    };
    of_rows(COLUMNS, comparison.cells.iter().map(row))
}
