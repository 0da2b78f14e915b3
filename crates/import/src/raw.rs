//! What the readers of every format give: timings with what their file says of them.

use super::facts::{Facts, Times};
use super::finding::Code;
use collrules_record::units::{Bytes, Seconds};

/// A timing as a file tells it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Raw {
    /// Where it stands in the file, from 1.
    pub(super) line: u64,
    /// Which of the outputs in the file it belongs to, from 0: a benchmark that ran twice into one file.
    pub(super) block: u32,
    /// What the file says of it.
    pub(super) facts: Facts,
    pub(super) bytes: Bytes,
    /// The call within the launch, from 0; 0 where calls were averaged.
    pub(super) round: u32,
    pub(super) times: Times,
    pub(super) digits: Option<Digits>,
}

/// What a reader makes of a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) raws: Vec<Raw>,
    pub(super) faults: Vec<(Option<u64>, Fault)>,
}

/// Why a row, or a file, is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) what: String,
    /// How many timings are lost.
    pub(super) timings: usize,
    /// What the file says of the one that is lost, where it says that much.
    pub(super) lost: Option<(Facts, Bytes)>,
}

pub(super) fn fault(code: Code, what: impl Into<String>) -> Fault {
    let timings = match code {
        Code::StrayLines | Code::UnusableFile => 0,
        _ => 1,
    };
    Fault { code, what: without_middle(what.into()), timings, lost: None }
}

/// What is said of a line quotes from it, and a line may have megabytes: beginning and end are enough to find it.
fn without_middle(what: String) -> String {
    const KEPT: usize = 500;
    let from = what.char_indices().nth(KEPT).map(|(at, _)| at);
    let to = what.char_indices().rev().nth(KEPT).map(|(at, _)| at);
    match (from, to) {
        (Some(from), Some(to)) if from < to => format!("{} … {}", &what[..from], &what[to..]),
        _ => what,
    }
}

impl Fault {
    /// The same, knowing which timing is lost.
    pub(super) fn about(self, facts: Facts, bytes: Bytes) -> Self {
        Self { lost: Some((facts, bytes)), ..self }
    }

    /// The same about a number of timings.
    pub(super) fn of_timings(self, timings: usize) -> Self {
        Self { timings, ..self }
    }
}

impl Parsed {
    pub(super) fn fault(&mut self, line: u64, code: Code, what: impl Into<String>) {
        self.faults.push((Some(line), fault(code, what)));
    }
}

/// The significant digits of a decimal number as it was written, without zeros at either end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) significant: u64,
    /// Digits behind the decimal point.
    pub(super) decimals: u8,
}

impl Digits {
    pub(super) fn of(text: &[u8]) -> Option<Self> {
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

/// A positive time in units of which this many make a second.
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
        _ => Ok(Seconds(seconds)),
    }
}
