//! Slowdowns by collective and message size, in colour and as marks.

use std::collections::BTreeSet;

use collrules_record::units::Seconds;
use collrules_record::{Bytes, Cell, Ranks};
use collrules_report::document::{Block, Fill, Heatmap, Table, Tile, slownesses};
use collrules_rules::Collective;

use super::sentences;
use crate::guidelines::found::{Checked, CheckedCell};

/// Meaning of the marks of the map.
pub(super) const KEY: &str = "Each mark is a message size: +52 % is slower than the best mock-up by 52 %, 12x takes 12 times \
                              as long, ok is a kept guideline, ? is undecided, and a dot was not measured.";

const CAPTION: &str = "Slowdown of the default against the best mock-up, by collective (rows) and message size (columns); \
                       blank: not measured; ok: no violation, colour as measured; ?: undecided; 12x: takes 12 times as long";

/// Columns of marks in a table, so that it fits on a terminal.
const COLUMNS: usize = 7;

/// Collectives in rows, message sizes in columns, in colours or as marks.
pub(super) fn map(checked: &Checked, ranks: Ranks) -> Block {
    let own = checked.cells.iter().filter(|cell| cell.cell.ranks == ranks);
    let rows: BTreeSet<Collective> = own.map(|cell| cell.cell.collective).collect();
    let columns: BTreeSet<Bytes> = checked.cells.iter().map(|cell| cell.cell.bytes).collect();
    let find = |collective, bytes| checked.cell(Cell { collective, ranks, bytes });
    let tile = |collective: &Collective, bytes: &Bytes| {
        let cell = find(*collective, *bytes)?;
        Some(Tile { fill: fill(cell), text: mark(cell), note: note(cell) })
    };
    let marks = |columns: &[&Bytes]| {
        let row = |collective: &Collective| {
            let marks = columns.iter().map(|bytes| find(*collective, **bytes).map_or(".".to_owned(), mark));
            std::iter::once(collective.name().to_owned()).chain(marks).collect::<Vec<_>>()
        };
        let sizes = columns.iter().map(|bytes| label(bytes) + ":");
        Table::new(std::iter::once("collective".to_owned()).chain(sizes), rows.iter().map(row))
    };
    let key = if checked.ranks().first() == Some(&ranks) { KEY } else { "" };
    let tables = columns.iter().collect::<Vec<_>>();
    let tables = tables.chunks(COLUMNS).map(marks).enumerate();
    let tables = tables.map(|(place, table)| table.about(if place == 0 { key } else { "" })).collect();
    Heatmap::new(CAPTION, &rows, &columns, label, tile).block(slownesses(slowdown)).or_rows(tables)
}

/// The colour of a cell: its slowdown, whether or not it is a violation.
fn fill(cell: &CheckedCell) -> Fill {
    match cell.severity {
        Some(severity) if cell.undecided.is_none() => Fill::Slowness(1.0 + severity.point),
        _ => Fill::Open,
    }
}

/// A ratio as a mark: percent, or a factor where they have many digits.
fn slowdown(ratio: f64) -> String {
    if ratio < 10.0 { format!("{:+.0} %", (ratio - 1.0) * 100.0) } else { format!("{ratio:.0}x") }
}

fn note(cell: &CheckedCell) -> String {
    let best = cell.compared().map_or("no mock-up was timed".to_owned(), |found| {
        format!("{} takes {}", found.mockup, Seconds(found.time.point))
    });
    let builtin = cell.builtin.map_or("-".to_owned(), |time| Seconds(time.point).to_string());
    let severity = cell.severity.map_or(String::new(), |it| format!("; slower by {}", sentences::slowdown(it)));
    let verdict = match (&cell.violation, &cell.undecided) {
        (Some(_), _) => "violated",
        (None, Some(_)) => "undecided",
        (None, None) => "kept",
    };
    format!("{}: default {builtin}, {best}{severity}; {verdict}", cell.cell)
}

/// The label of a column.
fn label(bytes: &Bytes) -> String {
    if *bytes == Bytes(0) { "none".to_owned() } else { bytes.to_string() }
}

/// The mark of a cell.
fn mark(cell: &CheckedCell) -> String {
    match (&cell.violation, &cell.undecided) {
        (Some(_), _) => slowdown(1.0 + cell.slowdown()),
        (None, Some(_)) => "?".to_owned(),
        (None, None) => "ok".to_owned(),
    }
}
