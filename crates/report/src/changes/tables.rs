//! The rows of comparisons.

use std::io;

use collrules_record::comparison::{CellChange, Comparison};
use collrules_record::estimate::geometric_mean;
use collrules_record::validation::Outcome;
use serde::Serialize;

use crate::document::Block;
use crate::facts::name_candidate;
use crate::summary::sizes;
use crate::words::{number, ratio, tenths, times};

/// The sizes of neighbouring cells in words.
fn span(cells: &[CellChange]) -> String {
    let (first, last) = (cells[0].cell, cells[cells.len() - 1].cell);
    sizes(first.collective, first.bytes, last.bytes)
}

fn neighbours(a: &CellChange, b: &CellChange) -> bool {
    (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks)
}

/// Lists the changes of the builtin, neighbouring sizes on one line.
pub(super) fn changed(comparison: &Comparison) -> Block {
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
pub(super) fn reserved(comparison: &Comparison) -> Block {
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

/// One cell. The ratio of times is the builtin's earlier time over its present one.
#[derive(Serialize)]
struct CellRecord {
    collective: String,
    comm_size: u32,
    message_bytes: u64,
    builtin_ratio: f64,
    builtin_ratio_low: Option<f64>,
    builtin_ratio_high: Option<f64>,
    q_value: Option<f64>,
    change: Outcome,
    served_before: String,
    served_after: String,
    old_rules_give: Option<String>,
    old_rules_gain: Option<f64>,
    old_rules_regret: Option<f64>,
    old_rules_slower: Option<bool>,
    old_rules_failed: Option<bool>,
}

/// One row per cell as CSV, with a head.
pub fn csv(comparison: &Comparison) -> io::Result<String> {
    crate::tables::of_rows(comparison.cells.iter().map(|cell| CellRecord {
        collective: cell.cell.collective.to_string(),
        comm_size: cell.cell.ranks.0,
        message_bytes: cell.cell.bytes.0,
        builtin_ratio: cell.builtin.point,
        builtin_ratio_low: cell.builtin.low,
        builtin_ratio_high: cell.builtin.high,
        q_value: cell.q_value,
        change: cell.change,
        served_before: cell.served.0.to_string(),
        served_after: cell.served.1.to_string(),
        old_rules_give: cell.old_rules.map(|old| old.gives.to_string()),
        old_rules_gain: cell.old_rules.and_then(|old| old.gain).map(|gain| gain.point),
        old_rules_regret: cell.old_rules.and_then(|old| old.regret),
        old_rules_slower: cell.old_rules.map(|old| old.slower),
        old_rules_failed: cell.old_rules.map(|old| old.failed),
    }))
}
