//! The text that IMB-MPI1 of the Intel MPI Benchmarks prints: a block per benchmark and number of processes.
//!
//! Times are means over calls, over which IMB moves the root; `t_avg` is the mean over ranks, `t_min` and `t_max` are
//! over ranks.

use collrules_rules::Collective;

use super::facts::{Facts, collective_named};
use super::finding::Code;
use super::headers::{Role, meaning};
use super::printed::{Column, row};
use super::raw::{Parsed, fault};
use super::stray::{Stray, is_row, short};
use collrules_record::units::Ranks;

const BLOCK: &str = "# Benchmarking ";

/// Whether text has the marks of this format.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(BLOCK))
}

#[derive(Default)]
struct Block {
    collective: Option<Collective>,
    ranks: Option<Ranks>,
    /// Why its rows are passed over.
    unusable: Option<String>,
    line: u64,
    rows: usize,
    columns: Option<Vec<Option<Column>>>,
    number: u32,
}

/// Reads text.
pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut stray = Stray::default();
    let mut block: Option<Block> = None;
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
            block = Some(Block { collective, unusable, line, number, ..Block::default() });
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
                Some(Block { columns: Some(columns), rows, unusable, collective, ranks, number, .. })
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
fn close(block: Option<Block>, parsed: &mut Parsed) {
    let Some(Block { unusable: Some(why), line, rows, .. }) = block else { return };
    parsed.faults.push((Some(line), fault(Code::PassedOver, why).of_timings(rows)));
}

fn comment(content: &str, block: &mut Block) {
    let text = content.trim_start_matches('#').trim();
    if let Some(ranks) = text.strip_prefix("processes =") {
        read_ranks(ranks, block);
    } else if let Some((_, ranks)) = content.split_once("#processes =") {
        read_ranks(ranks, block);
    } else if text.contains(" groups of ") {
        block.unusable = Some(format!("several groups ran at the same time: {}", short(text)));
    } else if content.contains("repetitions") {
        block.columns = Some(content.split_whitespace().map(column).collect());
    }
}

fn read_ranks(text: &str, block: &mut Block) {
    match text.trim().parse() {
        Ok(ranks) => block.ranks = Some(ranks),
        Err(_) => block.unusable = Some(format!("{} is not a number of processes", short(text.trim()))),
    }
}

fn column(name: &str) -> Option<Column> {
    if name == "defects" {
        let wrong = |field: &str| (field.parse::<f64>().ok() != Some(0.0)).then(|| format!("{field} defects"));
        return Some(Column::Check(wrong));
    }
    let meaning = meaning(name)?;
    match (meaning.role, meaning.per_second) {
        (Role::Bytes, _) => Some(Column::Bytes),
        (role @ (Role::Mean | Role::Min | Role::Max), Some(per_second)) => Some(Column::Time(role, per_second)),
        _ => None,
    }
}
