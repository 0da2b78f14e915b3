//! Output of the readers of every format: timings with the facts of their file.

use super::facts::{Facts, TimeStatistics};
use super::finding::FindingCode;
use collrules_record::sample::check_time;
use collrules_record::units::{Bytes, Seconds};

/// A timing as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Raw {
    /// Line in the file, from 1.
    pub(super) line: u64,
    /// Index of its output within the file, from 0: a benchmark may write twice into one file.
    pub(super) block: u32,
    /// Facts in the file.
    pub(super) facts: Facts,
    pub(super) bytes: Bytes,
    /// The call within the launch, from 0; 0 where calls were averaged.
    pub(super) round: u32,
    pub(super) times: TimeStatistics,
    pub(super) digits: Option<Digits>,
}

/// Result of reading a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) raws: Vec<Raw>,
    pub(super) faults: Vec<(Option<u64>, ImportFault)>,
}

/// Reason for leaving out a row or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImportFault {
    pub(super) code: FindingCode,
    pub(super) what: String,
    /// Number of timings that are lost.
    pub(super) timings: usize,
    /// Facts and size of the lost timing, if the file has them.
    pub(super) lost: Option<(Facts, Bytes)>,
}

pub(super) fn fault(code: FindingCode, what: impl Into<String>) -> ImportFault {
    let timings = match code {
        FindingCode::StrayLines | FindingCode::UnusableFile => 0,
        _ => 1,
    };
    ImportFault { code, what: without_middle(what.into()), timings, lost: None }
}

/// Shortens a message that quotes a line, which may have megabytes, to its beginning and end.
fn without_middle(what: String) -> String {
    const KEPT: usize = 500;
    let from = what.char_indices().nth(KEPT).map(|(at, _)| at);
    let to = what.char_indices().rev().nth(KEPT).map(|(at, _)| at);
    match (from, to) {
        (Some(from), Some(to)) if from < to => format!("{} … {}", &what[..from], &what[to..]),
        _ => what,
    }
}

impl ImportFault {
    /// Adds the facts of the lost timing.
    pub(super) fn about(self, facts: Facts, bytes: Bytes) -> Self {
        Self { lost: Some((facts, bytes)), ..self }
    }

    /// Sets the number of timings that are lost.
    pub(super) fn of_timings(self, timings: usize) -> Self {
        Self { timings, ..self }
    }
}

impl Parsed {
    pub(super) fn fault(&mut self, line: u64, code: FindingCode, what: impl Into<String>) {
        self.faults.push((Some(line), fault(code, what)));
    }
}

/// The significant digits of a decimal number as written, without zeros at either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) significant: u64,
    /// Digits behind the decimal point.
    pub(super) decimals: u8,
}

impl Digits {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (mut significant, mut decimals, mut point) = (0u64, 0u8, false);
        for byte in text {
            match byte {
                b'0'..=b'9' => {
                    significant = significant.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                    decimals = if point { decimals.checked_add(1)? } else { 0 };
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        while significant > 0 && significant % 10 == 0 {
            significant /= 10;
        }
        Some(Self { significant, decimals })
    }
}

/// Parses a positive time, given its number of units per second.
pub(super) fn time(text: &str, per_second: f64) -> Result<Seconds, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if !number.is_finite() {
        return Err(format!("`{text}` is not finite"));
    }
    let seconds = number / per_second;
    match seconds {
        _ if number < 0.0 => Err(format!("`{text}` is negative")),
        // What is too small for a number counts as zero.
        0.0 => Err(format!("`{text}` is zero: no call takes no time")),
        // What it is the time of is not known here.
        _ => check_time(Seconds(seconds), Bytes(0)).map(|()| Seconds(seconds)),
    }
}
