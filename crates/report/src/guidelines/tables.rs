//! The heatmap as text, and every comparison for programs.

use std::collections::BTreeSet;
use std::io;

use collrules_lab::guidelines::{Checked, CheckedCell, GuidelineVerdict};
use collrules_record::{Bytes, Cell, Ranks};
use collrules_rules::Collective;

/// Meaning of the marks of the map.
pub(super) const KEY: &str = "Each mark is a message size: +52 % is slower than the best mock-up by 52 %, ok is a kept \
                              guideline, ? is undecided, and a dot was not measured.";

/// Columns of the names of collectives, the longest of which is reduce_scatter_block.
const NAMES: usize = 21;
/// Columns of a mark.
const MARK: usize = 7;

/// The message sizes of a check; 0 bytes for collectives without sizes.
pub(super) fn sizes(checked: &Checked) -> Vec<Bytes> {
    let sizes: BTreeSet<Bytes> = checked.cells.iter().map(|cell| cell.cell.bytes).collect();
    sizes.into_iter().collect()
}

/// The collectives of a check, in their order.
pub(super) fn collectives(checked: &Checked) -> Vec<Collective> {
    let all: BTreeSet<Collective> = checked.cells.iter().map(|cell| cell.cell.collective).collect();
    all.into_iter().collect()
}

/// The label of a column.
pub(super) fn label(bytes: Bytes) -> String {
    if bytes == Bytes(0) { "none".to_owned() } else { bytes.to_string() }
}

/// The mark of a cell.
pub(super) fn mark(cell: Option<&CheckedCell>) -> String {
    let Some(cell) = cell else { return ".".to_owned() };
    match cell.verdict() {
        GuidelineVerdict::Violated(_) => {
            let percent = cell.slowdown() * 100.0;
            if percent < 1000.0 { format!("+{percent:.0} %") } else { format!("{:.0}x", 1.0 + cell.slowdown()) }
        }
        GuidelineVerdict::Undecided(_) => "?".to_owned(),
        GuidelineVerdict::Kept => "ok".to_owned(),
    }
}

/// A map for each communicator size, in blocks of as many columns as fit.
pub(super) fn maps(checked: &Checked, width: usize) -> Vec<String> {
    let room = (width.saturating_sub(NAMES) / MARK).max(1);
    let (sizes, collectives) = (sizes(checked), collectives(checked));
    let mut lines = Vec::new();
    for ranks in checked.ranks() {
        for block in sizes.chunks(room) {
            let labels: String = block.iter().map(|bytes| format!("{:>MARK$}", label(*bytes))).collect();
            lines.push(format!("{:<NAMES$}{labels}", format!("{ranks} ranks")));
            lines.extend(collectives.iter().map(|collective| row(checked, *collective, ranks, block)));
            lines.push(String::new());
        }
    }
    lines
}

fn row(checked: &Checked, collective: Collective, ranks: Ranks, sizes: &[Bytes]) -> String {
    let cell = |bytes: &Bytes| checked.cell(Cell { collective, ranks, bytes: *bytes });
    let marks: String = sizes.iter().map(|bytes| format!("{:>MARK$}", mark(cell(bytes)))).collect();
    format!("{:<NAMES$}{marks}", collective.name())
}

/// Every comparison as CSV.
pub fn csv(checked: &Checked) -> io::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "collective",
        "comm_size",
        "message_bytes",
        "served_by",
        "builtin_s",
        "candidate",
        "time_s",
        "gain",
        "gain_low",
        "gain_high",
        "p_value",
        "q_value",
        "violated",
        "severity",
        "severity_low",
        "severity_high",
        "under_rules",
    ])?;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let under = checked.under_rules.iter().flat_map(|under| &under.cells);
    for (cell, under_rules) in checked.cells.iter().map(|cell| (cell, false)).chain(under.map(|cell| (cell, true))) {
        let severity = |end: fn(collrules_record::Estimate) -> Option<f64>| number(cell.severity.and_then(end));
        for found in &cell.mockups {
            let gain = |end: fn(collrules_record::Estimate) -> Option<f64>| number(found.gain.and_then(end));
            writer.write_record([
                cell.cell.collective.name().to_owned(),
                cell.cell.ranks.to_string(),
                cell.cell.bytes.0.to_string(),
                cell.served_by.map_or(String::new(), |component| component.to_string()),
                number(cell.builtin.map(|builtin| builtin.point)),
                found.mockup.to_string(),
                found.time.point.to_string(),
                gain(|it| Some(it.point)),
                gain(|it| it.low),
                gain(|it| it.high),
                number(found.p_value),
                number(found.q_value),
                found.violated.to_string(),
                severity(|it| Some(it.point)),
                severity(|it| it.low),
                severity(|it| it.high),
                under_rules.to_string(),
            ])?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}
