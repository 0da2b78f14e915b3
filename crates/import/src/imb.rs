//! The text that IMB-MPI1 of the Intel MPI Benchmarks prints: a block per benchmark and number of processes.
//!
//! Times are means over calls, over which IMB moves the root; `t_avg` is the mean over ranks, `t_min` and `t_max` are
//! over ranks.

use collrules_rules::Collective;

use super::facts::{Facts, Times, collective_named};
use super::finding::Code;
use super::headers::{Role, meaning};
use super::raw::{Digits, Parsed, Raw, fault, time};
use super::stray::{Stray, is_row, short};
use collrules_record::units::{Bytes, Ranks};

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
    columns: Option<Vec<Column>>,
    number: u32,
}

#[derive(Clone, Copy)]
enum Column {
    Bytes,
    Time(Role, f64),
    Defects,
    Other,
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
            let unusable =
                collective.is_none().then(|| format!("{} is no benchmark of a tunable collective", short(name)));
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
                Some(block) if block.columns.is_some() && is_row(content) => {
                    stray.end(&mut parsed);
                    block.rows += 1;
                    if block.unusable.is_none() {
                        row(content, line, block, &mut parsed);
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
    parsed.fault(line, Code::PassedOver, why);
    if let Some((_, fault)) = parsed.faults.last_mut() {
        fault.timings = rows;
    }
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

fn column(name: &str) -> Column {
    match (name, meaning(name)) {
        ("defects", _) => Column::Defects,
        (_, Some(meaning)) => match (meaning.role, meaning.per_second) {
            (Role::Bytes, _) => Column::Bytes,
            (role @ (Role::Mean | Role::Min | Role::Max), Some(per_second)) => Column::Time(role, per_second),
            _ => Column::Other,
        },
        _ => Column::Other,
    }
}

fn row(content: &str, line: u64, block: &Block, parsed: &mut Parsed) {
    let Some(columns) = &block.columns else { return };
    let fields: Vec<&str> = content.split_whitespace().collect();
    if fields.len() != columns.len() {
        let what = format!("{} values instead of {}: {}", fields.len(), columns.len(), short(content));
        return parsed.fault(line, Code::BadRow, what);
    }
    let (mut times, mut bytes, mut digits) = (Times::default(), Bytes(0), None);
    for (column, field) in columns.iter().zip(&fields) {
        match column {
            Column::Other => {}
            Column::Bytes => match field.parse() {
                Ok(size) => bytes = Bytes(size),
                Err(_) => return parsed.fault(line, Code::BadRow, format!("`{field}` is not a size in bytes")),
            },
            Column::Defects => {
                if field.parse::<f64>().ok() != Some(0.0) {
                    let what = format!("{field} defects: the timing is of wrong data");
                    let facts = Facts { collective: block.collective, ranks: block.ranks, ..Facts::default() };
                    let fault = fault(Code::ValidationFailed, what).about(facts, bytes);
                    return parsed.faults.push((Some(line), fault));
                }
            }
            // Nothing to send takes no measurable time; such rows are passed over for their size.
            Column::Time(..) if bytes.0 == 0 && block.collective.is_some_and(Collective::has_sizes) => {}
            Column::Time(role, per_second) => {
                let seconds = match time(field, *per_second) {
                    Ok(seconds) => Some(seconds),
                    Err(_) if *role == Role::Min => None,
                    Err(what) => return parsed.fault(line, Code::BadTime, what),
                };
                match role {
                    Role::Max => times.max = seconds,
                    Role::Min => times.min = seconds,
                    _ => (times.mean, digits) = (seconds, Digits::of(field.as_bytes())),
                }
            }
        }
    }
    let facts = Facts { collective: block.collective, ranks: block.ranks, ..Facts::default() };
    parsed.raws.push(Raw { line, block: block.number, facts, bytes, round: 0, times, digits });
}
