//! Findings of an importer: always reported, never repaired.

use std::fmt;

use serde::{Deserialize, Serialize};

use collrules_record::{Candidate, Cell};
use collrules_rules::names;

use super::facts::Facts;
use super::formats::Size;

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
        /// Content that is skipped on purpose: another datatype, another benchmark, a derived table.
        PassedOver "passed-over",
        /// The buffers of a benchmark are in the memory of a device.
        DeviceMemory "device-memory",
        /// A column that is not read has several values.
        VaryingColumn "varying-column",
        /// A file has several outputs, and options that hold for all of them.
        SeveralOutputs "several-outputs",
        /// A file has the content of another one, but a name with other facts.
        SameContent "same-content",
        /// A file that cannot be used at all.
        UnusableFile "unusable-file",
        /// A size that the other candidates have is missing.
        Gap "gap",
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
    /// Facts and size of the lost timing of a row, if the file has them.
    #[serde(skip)]
    pub(super) lost: Option<(Facts, Size)>,
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
        let (severity, file) = (code.severity(), String::new());
        Self {
            code,
            severity,
            file,
            line: None,
            message,
            timings,
            left_out: timings > 0,
            points: Vec::new(),
            lost: None,
        }
    }

    /// Names the line.
    pub(super) fn at(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// Sets the number of timings, which are left out.
    pub(super) fn of_timings(self, timings: usize) -> Self {
        Self { timings, left_out: timings > 0, ..self }
    }

    /// Adds facts and size of the lost timing.
    pub(super) fn about(self, facts: Facts, size: Size) -> Self {
        Self { lost: Some((facts, size)), ..self }
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
        self >= Self::Gap
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
