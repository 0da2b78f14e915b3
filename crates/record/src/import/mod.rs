//! Foreign timing tables as timings with a line number each.
//!
//! A table is CSV, plain or packed with gzip, with the columns `collective`, `algorithm_id`, `comm_size`,
//! `message_bytes`, `avg_latency_us` and perhaps `launch`, in any order; others are ignored. What cannot be used is
//! reported with its line and left out, and nothing is made up for it.

mod columns;
mod duplicates;
mod error;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Cursor, Read};

use collrules_rules::Release;
use flate2::read::MultiGzDecoder;

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::Seconds;

use columns::Columns;
pub use error::ImportError;
use rows::Rows;

/// One usable row.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Where it stands in the file; the header is line 1.
    pub line: u64,
    /// What was timed.
    pub cell: Cell,
    /// How it was carried out.
    pub candidate: Candidate,
    /// The launch of the MPI job; 0 where the table has no such column.
    pub launch: u32,
    /// The time.
    pub time: Seconds,
}

/// One row that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands in the file; the header is line 1.
    pub line: u64,
    /// Why.
    pub what: String,
}

/// What a table holds, both lists in the order of the lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The rows that can be used.
    pub timings: Vec<Timing>,
    /// The rows that were left out.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reads a table, plain or packed with gzip, whose algorithm ids are those of a release.
///
/// A table that cannot be read to its end is an error as a whole: a part of it would pass for all of it.
pub fn timing_table(reader: impl Read, release: Release) -> Result<Table, ImportError> {
    let (start, rest) = split_start(reader, GZIP_MAGIC.len()).map_err(ImportError::Read)?;
    let packed = start == GZIP_MAGIC;
    let whole = Cursor::new(start).chain(rest);
    if packed {
        plain_table(MultiGzDecoder::new(whole), release).map_err(ImportError::while_unpacking)
    } else {
        plain_table(whole, release)
    }
}

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The first bytes, fewer where there are no more, and the reader of what follows them.
fn split_start<R: Read>(mut reader: R, count: usize) -> io::Result<(Vec<u8>, R)> {
    let mut start = Vec::with_capacity(count);
    reader.by_ref().take(count as u64).read_to_end(&mut start)?;
    Ok((start, reader))
}

fn plain_table(reader: impl Read, release: Release) -> Result<Table, ImportError> {
    let (start, rest) = split_start(reader, BYTE_ORDER_MARK.len()).map_err(ImportError::Read)?;
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
    let mut rows = Rows::new(start.chain(rest));

    let header = rows.next()?.ok_or(ImportError::Empty)?;
    let columns = Columns::of(&header.record)?;
    let mut timings = Vec::new();
    let mut problems = Vec::new();
    while let Some(row) = rows.next()? {
        problems.extend(row.blank_lines.clone().map(|line| Problem { line, what: columns::EMPTY_ROW.to_owned() }));
        match columns.read(&row, release) {
            Ok(timing) => timings.push(timing),
            Err(what) => problems.push(Problem { line: row.line, what }),
        }
    }
    let timings = duplicates::settle(timings, &mut problems);
    problems.sort_by_key(|problem| problem.line);
    if timings.is_empty() { Err(ImportError::NoTimings { problems }) } else { Ok(Table { timings, problems }) }
}
