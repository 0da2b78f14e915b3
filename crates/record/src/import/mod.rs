//! What others measured: timings with a file and a line each, and what is wrong with them.
//!
//! An [`Importer`] takes files of many formats, known by their content, completes what they say by what their names and
//! the user say, and looks for what is not plausible. [`timing_table`] reads a single table. What cannot be used is
//! reported with its line and left out; nothing is repaired, and nothing is made up.
//!
//! | module | job |
//! |---|---|
//! | `osu`, `imb`, `reprompi`, `predecessor` | one text format each |
//! | `rows`, `columns`, `headers` | tables with named columns |
//! | `format` | which of them a file is |
//! | `names`, `pattern` | what the names of files say |
//! | `facts` | bringing content, names and options together |
//! | `collect`, `walk` | many files to one set of timings |
//! | `duplicates` | rows about the same |
//! | `plausible` | numbers that can hardly be |
//! | `finding`, `manifest` | what is kept of it all |

mod collect;
mod columns;
mod duplicates;
mod error;
mod facts;
mod finding;
mod format;
mod headers;
mod imb;
mod manifest;
mod names;
mod osu;
mod pattern;
mod plausible;
mod predecessor;
mod raw;
mod reprompi;
mod rows;
mod stray;
#[cfg(test)]
mod tests;
mod walk;

use std::fmt;
use std::io::{self, Cursor, Read};

use collrules_rules::Release;
use flate2::read::MultiGzDecoder;

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::Seconds;

pub use collect::{Import, Imported, Importer, Options, Source, TimeWanted};
use columns::Columns;
pub use error::ImportError;
pub use facts::{Algorithm, Facts, Times};
pub use finding::{Code, Finding, Severity};
pub use format::Format;
pub use manifest::{BACKEND, ImportManifest, ImportReport, doubted, remarks, suspicions};
pub use pattern::{BadPattern, NamePattern};
pub use plausible::Limits;
use raw::{Fault, Parsed, Raw};
use rows::Rows;
pub use walk::{CannotRead, add_all};

const EMPTY_ROW: &str = "the row is empty";

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
    let Parsed { raws, faults } = csv_table(start.chain(rest), b',', &Facts::default(), None, release)?;
    let problem = |(line, fault): (Option<u64>, Fault)| Problem { line: line.unwrap_or(1), what: fault.what };
    let mut problems: Vec<Problem> = faults.into_iter().map(problem).collect();
    let timings = duplicates::settle(
        raws.iter().filter_map(Timing::of).collect(),
        |timing| Point(timing.cell, timing.candidate, timing.launch, 0),
        |a, b| a.time == b.time,
        |timing| timing.line.to_string(),
        |timing, _, what| problems.push(Problem { line: timing.line, what }),
    );
    problems.sort_by_key(|problem| problem.line);
    if timings.is_empty() { Err(ImportError::NoTimings { problems }) } else { Ok(Table { timings, problems }) }
}

/// Reads a table with a header. What `facts` say needs no column.
fn csv_table(
    text: impl Read,
    delimiter: u8,
    facts: &Facts,
    unit: Option<f64>,
    release: Release,
) -> Result<Parsed, ImportError> {
    let mut rows = Rows::new(text, delimiter);
    let header = rows.next()?.ok_or(ImportError::Empty)?;
    let columns = Columns::of(&header.record, facts, unit)?;
    let mut parsed = Parsed::default();
    while let Some(row) = rows.next()? {
        row.blank_lines.clone().for_each(|line| parsed.fault(line, Code::EmptyValue, EMPTY_ROW));
        match columns.read(&row, facts, release) {
            Ok(raw) => parsed.raws.push(raw),
            Err(fault) => parsed.faults.push((Some(row.line), fault)),
        }
    }
    Ok(parsed)
}

impl Timing {
    fn of(raw: &Raw) -> Option<Self> {
        let Some(Algorithm::Candidate(candidate)) = raw.facts.algorithm else { return None };
        let cell = Cell { collective: raw.facts.collective?, ranks: raw.facts.ranks?, bytes: raw.bytes };
        let time = raw.times.mean.or(raw.times.max)?;
        Some(Self { line: raw.line, cell, candidate, launch: raw.facts.launch.unwrap_or(0), time })
    }
}

/// What two rows of one measurement cannot share: cell, candidate, launch, round.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Point(Cell, Candidate, u32, u32);

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.0, self.1)
    }
}
