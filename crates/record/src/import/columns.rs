//! What the fields of a row mean.

use std::str::FromStr;

use collrules_rules::{Collective, Release, registry};
use csv::ByteRecord;

use super::Timing;
use super::error::ImportError;
use super::rows::Row;
use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::{Bytes, Ranks, Seconds};

pub(super) const EMPTY_ROW: &str = "the row is empty";

const COLLECTIVE: &str = "collective";
const ALGORITHM: &str = "algorithm_id";
const RANKS: &str = "comm_size";
const BYTES: &str = "message_bytes";
const TIME: &str = "avg_latency_us";
const LAUNCH: &str = "launch";

/// Where each column is.
pub(super) struct Columns {
    collective: usize,
    algorithm: usize,
    ranks: usize,
    bytes: usize,
    time: usize,
    launch: Option<usize>,
    count: usize,
}

impl Columns {
    /// Finds the columns by their names.
    pub(super) fn of(header: &ByteRecord) -> Result<Self, ImportError> {
        // UTF-16, archives and the like have zero bytes in what would be their header.
        if header.as_slice().contains(&0) {
            return Err(ImportError::NotText);
        }
        let found: Option<Vec<String>> =
            header.iter().map(|name| std::str::from_utf8(name).ok().map(|name| name.trim().to_lowercase())).collect();
        let found = found.ok_or(ImportError::NotText)?;
        for name in [COLLECTIVE, ALGORITHM, RANKS, BYTES, TIME, LAUNCH] {
            if found.iter().filter(|found| *found == name).count() > 1 {
                return Err(ImportError::RepeatedColumn(name));
            }
        }
        let mut missing = Vec::new();
        let place = |name: &str| found.iter().position(|found| found == name);
        let mut needed = |name: &'static str| {
            place(name).unwrap_or_else(|| {
                missing.push(name);
                usize::MAX
            })
        };
        let columns = Self {
            collective: needed(COLLECTIVE),
            algorithm: needed(ALGORITHM),
            ranks: needed(RANKS),
            bytes: needed(BYTES),
            time: needed(TIME),
            launch: place(LAUNCH),
            count: found.len(),
        };
        if missing.is_empty() { Ok(columns) } else { Err(ImportError::MissingColumns { missing, found }) }
    }

    /// The timing of a row, or why there is none.
    pub(super) fn read(&self, row: &Row, release: Release) -> Result<Timing, String> {
        let fields = &row.record;
        if fields.iter().all(|field| field.trim_ascii().is_empty()) {
            return Err(EMPTY_ROW.to_owned());
        }
        if let Some(end) = row.runs_on_to {
            // No value of a timing table has several lines, but a stray quote swallows rows without end.
            return Err(format!("a quoted value runs on to line {end}"));
        }
        if fields.len() != self.count {
            return Err(format!("{} fields instead of {}", fields.len(), self.count));
        }
        if let Some(place) = fields.iter().position(|field| std::str::from_utf8(field).is_err()) {
            return Err(format!("field {} is not UTF-8", place + 1));
        }
        let collective: Collective = parsed(COLLECTIVE, field(fields, COLLECTIVE, self.collective)?)?;
        let id = whole(ALGORITHM, field(fields, ALGORITHM, self.algorithm)?)?;
        let choice = registry::forced(release, collective, id).map_err(|error| error.to_string())?;
        let ranks: Ranks = parsed(RANKS, field(fields, RANKS, self.ranks)?)?;
        let bytes: Bytes = parsed(BYTES, field(fields, BYTES, self.bytes)?)?;
        if !collective.has_sizes() && bytes.0 != 0 {
            return Err(format!("{collective} carries no data, but {BYTES} is {}", bytes.0));
        }
        let launch = match self.launch {
            Some(place) => whole(LAUNCH, field(fields, LAUNCH, place)?)?,
            None => 0,
        };
        let time = time(field(fields, TIME, self.time)?)?;
        let cell = Cell { collective, ranks, bytes };
        Ok(Timing { line: row.line, cell, candidate: Candidate::of(choice), launch, time })
    }
}

fn field<'a>(fields: &'a ByteRecord, name: &str, place: usize) -> Result<&'a str, String> {
    let text = fields.get(place).and_then(|field| std::str::from_utf8(field).ok()).unwrap_or_default().trim();
    if text.is_empty() { Err(format!("{name} is empty")) } else { Ok(text) }
}

fn parsed<T: FromStr>(name: &str, text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error| format!("{name}: {error}"))
}

fn whole(name: &str, text: &str) -> Result<u32, String> {
    // The standard library takes a leading plus sign, which is a slip here.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| format!("{name}: `{text}` is not a whole number from 0 to {}", u32::MAX))
}

fn time(text: &str) -> Result<Seconds, String> {
    let microseconds: f64 = text.parse().map_err(|_| format!("{TIME}: `{text}` is not a number"))?;
    if !microseconds.is_finite() {
        return Err(format!("{TIME}: `{text}` is not finite"));
    }
    let seconds = microseconds / 1e6;
    match seconds {
        _ if microseconds < 0.0 => Err(format!("{TIME}: `{text}` is negative")),
        // What is too small for a number counts as zero.
        0.0 => Err(format!("{TIME}: `{text}` is zero: no call takes no time")),
        _ => Ok(Seconds(seconds)),
    }
}
