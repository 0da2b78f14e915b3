//! Findings of an importer: always reported, never repaired.

use std::fmt;

use serde::{Deserialize, Serialize};

use collrules_record::{Candidate, Cell};

/// Kind of finding. Text forms are stable: programs may look for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingCode {
    /// A row, or a value that every row needs, is empty.
    EmptyValue,
    /// A row cannot be read.
    BadRow,
    /// A time is not a positive finite number.
    BadTime,
    /// A row repeats another one.
    Duplicate,
    /// Rows contradict each other about the same point and launch.
    Contradiction,
    /// The benchmark found wrong data.
    ValidationFailed,
    /// The benchmark itself marked the measurement as invalid.
    InvalidMeasurement,
    /// Lines that are no part of the benchmark's output, such as warnings.
    StrayLines,
    /// A message of no bytes, for which no algorithm runs.
    NoData,
    /// Content that is skipped on purpose: another datatype, another benchmark, a derived table.
    PassedOver,
    /// A file has the content of another one, but a name with other facts.
    SameContent,
    /// A file that cannot be used at all.
    UnusableFile,
    /// A size that the other candidates have is missing.
    Gap,
    /// A value far from those of all its neighbours.
    Outlier,
    /// A value, or a series, that is off by a power of a thousand.
    UnitSlip,
    /// A time whose digits are those of the message size.
    DigitSlip,
    /// More data through one process than any link carries in that time.
    Bandwidth,
    /// A column that equals the column of a collective which has to move less data.
    TwinColumn,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// For information.
    Note,
    /// The numbers may not mean what they seem to.
    Warning,
    /// Something could not be used.
    Error,
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

impl FindingCode {
    /// The text form, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::EmptyValue => "empty-value",
            Self::BadRow => "bad-row",
            Self::BadTime => "bad-time",
            Self::Duplicate => "duplicate",
            Self::Contradiction => "contradiction",
            Self::ValidationFailed => "validation-failed",
            Self::InvalidMeasurement => "invalid-measurement",
            Self::StrayLines => "stray-lines",
            Self::NoData => "no-data",
            Self::PassedOver => "passed-over",
            Self::SameContent => "same-content",
            Self::UnusableFile => "unusable-file",
            Self::Gap => "gap",
            Self::Outlier => "outlier",
            Self::UnitSlip => "unit-slip",
            Self::DigitSlip => "digit-slip",
            Self::Bandwidth => "bandwidth",
            Self::TwinColumn => "twin-column",
        }
    }

    /// Returns the severity of findings of this kind.
    pub fn severity(self) -> FindingSeverity {
        match self {
            Self::StrayLines | Self::NoData | Self::PassedOver | Self::Duplicate => FindingSeverity::Note,
            Self::EmptyValue
            | Self::InvalidMeasurement
            | Self::SameContent
            | Self::Gap
            | Self::Outlier
            | Self::UnitSlip
            | Self::DigitSlip
            | Self::Bandwidth
            | Self::TwinColumn => FindingSeverity::Warning,
            Self::BadRow | Self::BadTime | Self::Contradiction | Self::ValidationFailed | Self::UnusableFile => {
                FindingSeverity::Error
            }
        }
    }
}

impl FindingSeverity {
    /// The text form, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} ({}): {}", self.severity.name(), self.code.name(), self.message)?;
        if self.left_out && self.timings > 0 { f.write_str("; left out") } else { Ok(()) }
    }
}
