//! Findings of an importer, always reported, never repaired; and errors about files that cannot be used at all.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use collrules_record::{Candidate, Cell};
use collrules_rules::words::first_lines;
use collrules_rules::{Collective, names};

names! {
    /// Kind of finding, rows first, then suspicious numbers. Text forms are stable: programs may look for them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FindingCode {
        /// A row, or a value that every row needs, is empty.
        EmptyValue "empty-value",
        /// A row cannot be read.
        BadRow "bad-row",
        /// A time is not a positive finite number.
        BadTime "bad-time",
        /// A row repeats another one.
        Duplicate "duplicate",
        /// Rows contradict each other about the same point and launch.
        Contradiction "contradiction",
        /// The benchmark found wrong data.
        ValidationFailed "validation-failed",
        /// The benchmark itself marked the measurement as invalid.
        InvalidMeasurement "invalid-measurement",
        /// Lines that are no part of the benchmark's output, such as warnings.
        StrayLines "stray-lines",
        /// A message of no bytes, for which no algorithm runs.
        NoData "no-data",
        /// Content that is skipped on purpose: another datatype, another benchmark, a column, another file of a directory.
        PassedOver "passed-over",
        /// A file has several outputs, and options that hold for all of them.
        SeveralOutputs "several-outputs",
        /// An algorithm was forced without the setting that Open MPI needs for it.
        NotForced "not-forced",
        /// A file that cannot be used at all.
        UnusableFile "unusable-file",
        /// A value far from those of all its neighbours.
        Outlier "outlier",
        /// A value, or a series, that is off by a power of a thousand.
        UnitSlip "unit-slip",
        /// A time whose digits are those of the message size.
        DigitSlip "digit-slip",
        /// Times that do not grow with the size of large messages.
        Flat "flat",
        /// More data through one process than any link carries in that time.
        Bandwidth "bandwidth",
        /// A column that equals the column of a collective which has to move less data.
        TwinColumn "twin-column",
    }
}

names! {
    /// Severity of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum FindingSeverity {
        /// For information.
        Note "note",
        /// The numbers may not mean what they seem to.
        Warning "warning",
        /// Something could not be used.
        Error "error",
    }
}

/// Something noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Kind of finding.
    pub code: FindingCode,
    /// Severity of the finding.
    pub severity: FindingSeverity,
    /// The file, as the manifest names it.
    pub file: String,
    /// The line in the unpacked file, from 1; missing if it concerns the whole file.
    pub line: Option<u64>,
    /// In words, with values and units.
    pub message: String,
    /// Number of timings that it is about; they were left out if `left_out` is true.
    pub timings: usize,
    /// True if those timings were left out.
    pub left_out: bool,
    /// The points of those timings, if they are implausible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<(Cell, Candidate)>,
}

/// Number of characters at each end of a message that are kept if it is longer: lines that it quotes may have megabytes.
const KEPT: usize = 500;

impl Finding {
    /// A finding about the timing of a row, which is left out, or about lines and files.
    pub(super) fn new(code: FindingCode, what: impl Into<String>) -> Self {
        let mut message = what.into();
        let from = message.char_indices().nth(KEPT).map(|(place, _)| place);
        let to = message.char_indices().rev().nth(KEPT).map(|(place, _)| place);
        if let (Some(from), Some(to)) = (from, to)
            && from < to
        {
            message.replace_range(from..to, " … ");
        }
        let timings = usize::from(code.is_of_row());
        let (severity, file, points) = (code.severity(), String::new(), Vec::new());
        Self { code, severity, file, line: None, message, timings, left_out: timings > 0, points }
    }

    /// Names the line.
    pub(super) fn at(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Sets the number of timings, which are left out.
    pub(super) fn of_timings(self, timings: usize) -> Self {
        Self { timings, left_out: timings > 0, ..self }
    }

    /// Findings as text; those that differ in their lines alone are one, with a count.
    pub fn describe_all<'a>(findings: impl IntoIterator<Item = &'a Self>) -> Vec<String> {
        let mut described: Vec<(&Self, usize)> = Vec::new();
        for finding in findings {
            let same = |(other, _): &&mut (&Self, usize)| {
                (other.code, &other.file, &other.message) == (finding.code, &finding.file, &finding.message)
            };
            match described.iter_mut().rev().find(same) {
                Some((_, count)) => *count += 1,
                None => described.push((finding, 1)),
            }
        }
        let text = |(finding, count): (&Self, usize)| match count {
            1 => finding.to_string(),
            _ => format!("{finding} ({count} such lines)"),
        };
        described.into_iter().map(text).collect()
    }
}

impl FindingCode {
    /// Returns true if the finding is about a row.
    fn is_of_row(self) -> bool {
        self <= Self::InvalidMeasurement
    }

    /// Returns true if the finding is about a suspicious number rather than about a row.
    pub fn is_suspicion(self) -> bool {
        self >= Self::Outlier
    }

    /// Returns the severity of findings of this kind.
    pub fn severity(self) -> FindingSeverity {
        match self {
            Self::StrayLines | Self::NoData | Self::PassedOver | Self::Duplicate => FindingSeverity::Note,
            Self::BadRow | Self::BadTime | Self::Contradiction | Self::ValidationFailed | Self::UnusableFile => {
                FindingSeverity::Error
            }
            _ => FindingSeverity::Warning,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} ({}): {}", self.severity, self.code, self.message)?;
        match self.timings {
            1 if self.left_out => f.write_str("; left out"),
            count if self.left_out && count > 1 => write!(f, "; {count} timings left out"),
            _ => Ok(()),
        }
    }
}

/// Reason why nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Unpacking failed, perhaps after some rows.
    #[error("the gzip data is damaged, cut off or too large, and no part of the table is used: {0}")]
    Gzip(io::Error),
    /// The header is not text: another kind of file, or another encoding.
    #[error("this is no table: it is neither text in UTF-8 or UTF-16 nor gzip data")]
    NotText,
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The format is unknown.
    #[error(
        "its format is unknown: it is neither text of OSU, IMB-MPI1 or ReproMPI nor a table with named columns; it begins {0}"
    )]
    Unknown(String),
    /// A file of a known format without a timing, used or not.
    #[error("it has no timings")]
    NoTimings,
    /// A header, a line or a value leaves in doubt what all timings of the file mean.
    #[error("{}{what}", line.map_or(String::new(), |line| format!("line {line}: ")))]
    Doubtful {
        /// The line, unless it is the first.
        line: Option<u64>,
        /// The doubt.
        what: String,
    },
    /// Times of two kinds.
    #[error("{0}, and they cannot be compared; import them separately")]
    Mixed(String),
    /// Not one timing is left.
    #[error("no timing can be used{}", reasons(findings))]
    Nothing {
        /// Findings about the timings that cannot be used.
        findings: Vec<Finding>,
    },
    /// Not one timing of the default is left, so that nothing can be compared with it.
    #[error("no timing of Open MPI's default {collective} can be used{}", reasons(findings))]
    NoDefault {
        /// The collective.
        collective: Collective,
        /// Findings about the timings that cannot be used.
        findings: Vec<Finding>,
    },
}

impl ImportError {
    pub(super) fn doubtful(what: impl Into<String>) -> Self {
        Self::Doubtful { line: None, what: what.into() }
    }

    /// Adds the line, unless it is the first.
    pub(super) fn at(self, line: u64) -> Self {
        match self {
            Self::Doubtful { line: None, what } if line > 1 => Self::Doubtful { line: Some(line), what },
            other => other,
        }
    }
}

/// The worst findings, each on a line of its own.
fn reasons(findings: &[Finding]) -> String {
    let mut worst: Vec<&Finding> = findings.iter().filter(|finding| finding.severity > FindingSeverity::Note).collect();
    if worst.is_empty() {
        worst = findings.iter().collect();
    }
    let lines = first_lines(Finding::describe_all(worst), 5);
    if lines.is_empty() { String::new() } else { format!(":\n  {}", lines.join("\n  ")) }
}
