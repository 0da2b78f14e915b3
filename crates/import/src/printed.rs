//! Rows of numbers in columns, as OSU and IMB print them.

use collrules_record::units::Bytes;
use collrules_rules::Collective;

use super::facts::{Facts, Times};
use super::finding::Code;
use super::headers::Role;
use super::raw::{Digits, Parsed, Raw, fault, time};
use super::stray::short;

/// What a column holds that is looked at.
#[derive(Clone, Copy)]
pub(super) enum Column {
    Bytes,
    /// A time, with how many of its units make a second.
    Time(Role, f64),
    /// The outcome of a check of the data: says what is wrong with it, if anything is.
    Check(fn(&str) -> Option<String>),
}

/// Reads a row with these columns; `facts` are those of its block.
pub(super) fn row(content: &str, line: u64, block: u32, facts: Facts, columns: &[Option<Column>], parsed: &mut Parsed) {
    let fields: Vec<&str> = content.split_whitespace().collect();
    if fields.len() != columns.len() {
        let what = format!("{} values instead of {}: {}", fields.len(), columns.len(), short(content));
        return parsed.fault(line, Code::BadRow, what);
    }
    let (mut times, mut bytes, mut digits) = (Times::default(), Bytes(0), None);
    for (column, field) in columns.iter().zip(&fields) {
        match column {
            None => {}
            Some(Column::Bytes) => match field.parse() {
                Ok(size) => bytes = Bytes(size),
                Err(_) => return parsed.fault(line, Code::BadRow, format!("`{field}` is not a size in bytes")),
            },
            Some(Column::Check(wrong)) => {
                if let Some(wrong) = wrong(field) {
                    let what = format!("{wrong}: the timing is of wrong data");
                    let fault = fault(Code::ValidationFailed, what).about(facts, bytes);
                    return parsed.faults.push((Some(line), fault));
                }
            }
            // Nothing to send takes no measurable time; such rows are passed over for their size.
            Some(Column::Time(..)) if bytes.0 == 0 && facts.collective.is_some_and(Collective::has_sizes) => {}
            Some(Column::Time(role, per_second)) => {
                let seconds = match time(field, *per_second) {
                    Ok(seconds) => Some(seconds),
                    // Printed with two decimals, the fastest rank's time may well be 0.00.
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
    parsed.raws.push(Raw { line, block, facts, bytes, round: 0, times, digits });
}
