//! CSV records with their line numbers in the file.

use std::io::{Chain, Read};
use std::ops::Range;

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

use super::error::ImportError;

/// A record and its place.
pub(super) struct Record {
    /// The line it starts on, counted from 1.
    pub(super) line: u64,
    /// The line it ends on, where a quoted value holds line breaks.
    pub(super) runs_on_to: Option<u64>,
    /// The blank lines before it.
    pub(super) blank_lines: Range<u64>,
    /// The fields.
    pub(super) record: ByteRecord,
}

/// Reads records one by one.
///
/// The csv reader reports a record's position before the blank lines in front of it, so lines are counted from the
/// record's end, where a line feed is certain. A carriage return stays in the last field and is trimmed there.
pub(super) struct Rows<R> {
    reader: Reader<Chain<R, &'static [u8]>>,
}

impl<R: Read> Rows<R> {
    pub(super) fn new(text: R, delimiter: u8) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(text.chain(&b"\n"[..]));
        Self { reader }
    }

    /// The next record; none at the end. Blank lines at the end belong to no record and are passed over.
    pub(super) fn next(&mut self) -> Result<Option<Record>, ImportError> {
        let begin = self.reader.position().line();
        let mut record = ByteRecord::new();
        loop {
            let look = self.reader.position().line();
            if !self.reader.read_byte_record(&mut record).map_err(|error| ImportError::Read(error.into()))? {
                return Ok(None);
            }
            // White space alone, such as the carriage return of a blank line.
            if record.len() == 1 && record[0].trim_ascii().is_empty() {
                continue;
            }
            let breaks = line_breaks(record.as_slice());
            // A quoted value that is never closed ends with the file, not with a line feed of its own.
            let line = (self.reader.position().line() - 1 - breaks).max(look);
            let runs_on_to = (breaks > 0).then(|| line + line_breaks(record.as_slice().trim_ascii_end()));
            return Ok(Some(Record { line, runs_on_to, blank_lines: begin..line, record }));
        }
    }
}

fn line_breaks(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}
