//! Rows of numbers in columns, as OSU and IMB print them.

use collrules_record::units::Bytes;
use collrules_rules::Collective;

use super::facts::{Facts, TimeStatistics};
use super::finding::FindingCode;
use super::headers::{Role, meaning};
use super::raw::{Digits, Parsed, Raw, fault, time};
use super::stray::{fields, short};

/// Content of a column that is read.
#[derive(Clone, Copy)]
pub(super) enum PrintedColumn {
    Bytes,
    /// A time, with its number of units per second.
    Time(Role, f64),
    /// The outcome of a check of the data: returns what is wrong, if anything is.
    Check(fn(&str) -> Option<String>),
}

impl PrintedColumn {
    /// The column of a name, if it is read. Times without a unit in their name have `unit`.
    pub(super) fn from_name(name: &str, unit: Option<f64>) -> Option<Self> {
        let meaning = meaning(name)?;
        match meaning.role {
            Role::Bytes => Some(Self::Bytes),
            role @ (Role::Mean | Role::Min | Role::Max) => Some(Self::Time(role, meaning.per_second.or(unit)?)),
            _ => None,
        }
    }
}

/// Reads a row with these columns; `facts` are those of its block.
pub(super) fn row(
    content: &str,
    line: u64,
    block: u32,
    facts: Facts,
    columns: &[Option<PrintedColumn>],
    parsed: &mut Parsed,
) {
    let fields: Vec<&str> = fields(content).collect();
    if fields.len() != columns.len() {
        let what = format!("{} values instead of {}: {}", fields.len(), columns.len(), short(content));
        return parsed.fault(line, FindingCode::BadRow, what);
    }
    let (mut times, mut bytes, mut digits) = (TimeStatistics::default(), Bytes(0), None);
    for (column, field) in columns.iter().zip(&fields) {
        match column {
            None => {}
            Some(PrintedColumn::Bytes) => match field.parse() {
                Ok(size) => bytes = Bytes(size),
                Err(_) => return parsed.fault(line, FindingCode::BadRow, format!("`{field}` is not a size in bytes")),
            },
            Some(PrintedColumn::Check(wrong)) => {
                if let Some(wrong) = wrong(field) {
                    let what = format!("{wrong}: the timing is of wrong data");
                    let fault = fault(FindingCode::ValidationFailed, what).about(facts, bytes);
                    return parsed.faults.push((Some(line), fault));
                }
            }
            // Nothing to send takes no measurable time; such rows are passed over for their size.
            Some(PrintedColumn::Time(..)) if bytes.0 == 0 && facts.collective.is_some_and(Collective::has_sizes) => {}
            Some(PrintedColumn::Time(role, per_second)) => {
                let seconds = match time(field, *per_second) {
                    Ok(seconds) => Some(seconds),
                    // Printed with two decimals, the fastest rank's time may well be 0.00.
                    Err(_) if *role == Role::Min => None,
                    Err(what) => return parsed.fault(line, FindingCode::BadTime, what),
                };
                match role {
                    Role::Max => times.max = seconds,
                    Role::Min => times.min = seconds,
                    _ => (times.mean, digits) = (seconds, Digits::parse(field.as_bytes())),
                }
            }
        }
    }
    parsed.raws.push(Raw { line, block, facts, bytes, round: 0, times, digits });
}
