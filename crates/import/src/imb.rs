//! The text that IMB-MPI1 of the Intel MPI Benchmarks prints: a block per benchmark and number of processes.
//!
//! Times are means over calls, over which IMB moves the root; `t_avg` is the mean over ranks, `t_min` and `t_max` are
//! over ranks.

use collrules_rules::Collective;

use super::facts::{Facts, collective_named};
use super::finding::FindingCode;
use super::printed::{PrintedColumn, row};
use super::raw::{Parsed, fault};
use super::stray::{Stray, is_row, short};
use collrules_record::units::Ranks;

const BLOCK: &str = "# Benchmarking ";

/// Returns true if text has the marks of this format.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(BLOCK))
}

#[derive(Default)]
struct ImbBlock {
    collective: Option<Collective>,
    ranks: Option<Ranks>,
    /// Reason why its rows are skipped.
    unusable: Option<String>,
    line: u64,
    rows: usize,
    columns: Option<Vec<Option<PrintedColumn>>>,
    number: u32,
}

/// Reads text.
pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut stray = Stray::default();
    let mut block: Option<ImbBlock> = None;
    let mut number = 0;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if let Some(name) = content.strip_prefix(BLOCK) {
            close(block.take(), &mut parsed);
            let name = name.trim();
            let collective = collective_named(name);
            let unusable = collective
                .is_none()
                .then(|| format!("{} is not a benchmark of a collective that can be tuned", short(name)));
            block = Some(ImbBlock { collective, unusable, line, number, ..ImbBlock::default() });
            number += 1;
        } else if content.starts_with('#') {
            stray.end(&mut parsed);
            if let Some(block) = &mut block {
                comment(content, block);
            }
        } else if content.is_empty() {
            // A table ends with a blank line; what follows belongs to no block.
            if block.as_ref().is_some_and(|block| block.rows > 0) {
                close(block.take(), &mut parsed);
            }
        } else {
            match &mut block {
                Some(ImbBlock { columns: Some(columns), rows, unusable, collective, ranks, number, .. })
                    if is_row(content) =>
                {
                    stray.end(&mut parsed);
                    *rows += 1;
                    if unusable.is_none() {
                        let facts = Facts { collective: *collective, ranks: *ranks, ..Facts::default() };
                        row(content, line, *number, facts, columns, &mut parsed);
                    }
                }
                _ => stray.line(line, content),
            }
        }
    }
    stray.end(&mut parsed);
    close(block, &mut parsed);
    parsed
}

/// Says why the rows of a block were passed over.
fn close(block: Option<ImbBlock>, parsed: &mut Parsed) {
    let Some(ImbBlock { unusable: Some(why), line, rows, .. }) = block else { return };
    parsed.faults.push((Some(line), fault(FindingCode::PassedOver, why).of_timings(rows)));
}

fn comment(content: &str, block: &mut ImbBlock) {
    let text = content.trim_start_matches('#').trim();
    let ranks = text.strip_prefix("processes =").or_else(|| Some(content.split_once("#processes =")?.1));
    if let Some(ranks) = ranks.map(str::trim) {
        match ranks.parse() {
            Ok(ranks) => block.ranks = Some(ranks),
            Err(_) => block.unusable = Some(format!("{} is not a number of processes", short(ranks))),
        }
    } else if text.contains(" groups of ") {
        block.unusable = Some(format!("several groups ran at the same time: {}", short(text)));
    } else if content.contains("repetitions") {
        block.columns = Some(content.split_whitespace().map(column).collect());
    }
}

fn column(name: &str) -> Option<PrintedColumn> {
    if name == "defects" {
        let wrong = |field: &str| (field.parse::<f64>().ok() != Some(0.0)).then(|| format!("{field} defects"));
        return Some(PrintedColumn::Check(wrong));
    }
    PrintedColumn::from_name(name, None)
}
