//! Files that cannot be used at all.

use std::io;

use collrules_rules::Collective;
use collrules_rules::words::first_lines;

use super::finding::{Finding, FindingSeverity};

/// Reason why nothing can be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Reading failed, perhaps after some rows.
    #[error("the table cannot be read to its end, and no part of it is used: {0}")]
    Read(io::Error),
    /// Unpacking failed, perhaps after some rows.
    #[error("the gzip data is damaged or cut off, and no part of the table is used: {0}")]
    Gzip(io::Error),
    /// The header is not text: another kind of file, or not UTF-8.
    #[error("this is no table: it begins with neither UTF-8 text nor gzip data")]
    NotText,
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The header lacks columns.
    #[error("the header lacks {}; it has {}", missing.join(", "), found.join(", "))]
    MissingColumns {
        /// The required columns that are missing.
        missing: Vec<&'static str>,
        /// The columns that are there.
        found: Vec<String>,
    },
    /// The header has a column twice, so it is unknown which one counts.
    #[error("the header has the column {column} more than once: {header}")]
    RepeatedColumn {
        /// The column.
        column: &'static str,
        /// The line.
        header: String,
    },
    /// The header has a column that tables of MPI benchmarks do not have.
    #[error(
        "the column {column} is of another kind of benchmark, and nothing says what its sizes and times are: {header}"
    )]
    ForeignTable {
        /// The column.
        column: String,
        /// The line.
        header: String,
    },
    /// A column of times without a unit.
    #[error("the column {0} has no unit; name it {0}_us (or _ms, _s, _ns), or give --unit")]
    NoUnit(String),
    /// A line of a table that resembles a header.
    #[error("{0} resembles a header, but its columns are unknown, so that nothing behind it can be read")]
    UnknownHeader(String),
    /// A column that is not read has several values in one comparison.
    #[error(
        "column {column} is not read, but differs among times that would be compared ({one} and, on line {line}, \
         {other}); import the rows of one value, or remove the column if times do not depend on it"
    )]
    SplitComparison {
        /// The column.
        column: String,
        /// The line of the second value.
        line: u64,
        /// The first value.
        one: String,
        /// The second value.
        other: String,
    },
    /// A line contradicts what is assumed about an output.
    #[error("the file contradicts what is assumed about it: {why}: {text}")]
    Contradicted {
        /// Both claims.
        why: String,
        /// The line.
        text: String,
    },
    /// Times are impossible or contradict each other.
    #[error("{why}; no time of the file is used, since a unit and a statistic hold for a column: {remedy}")]
    Impossible {
        /// The line of the first such time, and what is wrong with it.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// An error at a line.
    #[error("line {line}: {cause}")]
    At {
        /// The line.
        line: u64,
        /// The error.
        cause: Box<ImportError>,
    },
    /// A maximum, and no other time.
    #[error(
        "nothing says whether the column {0} is the maximum over ranks or over calls, and there is no median or mean; \
         --time slowest says that it is the time of the slowest rank"
    )]
    UnknownMaximum(String),
    /// Some timings are of the slowest rank only, and others are averages only.
    #[error(
        "some timings are of the slowest rank and others are averaged over ranks, and they cannot be compared; import \
         them separately"
    )]
    MixedTimes,
    /// Some times are medians over calls, and others are means.
    #[error(
        "some times are medians over calls and others are means, and they cannot be compared; import them separately"
    )]
    MixedMedians,
    /// Buffers of some timings are in the memory of a device, and those of others are not.
    #[error(
        "{device} was measured with buffers in the memory of a device and {host} was not, and they cannot be compared; \
         import them separately"
    )]
    MixedMemory {
        /// The place of a timing with buffers in the memory of a device.
        device: String,
        /// The place of a timing with other buffers.
        host: String,
    },
    /// The wanted time is missing somewhere.
    #[error("not every timing has a time {0}; leave out --time, or import the files that have it separately")]
    NoSuchTime(&'static str),
    /// No file name matches the user's pattern.
    #[error(
        "no file has a name as --name-pattern describes it; a pattern has to match the end of the path, with its \
         directories and its ending"
    )]
    NoMatch,
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
    /// The format is unknown.
    #[error(
        "its format is unknown: it is neither text of OSU, IMB-MPI1 or ReproMPI, nor detail.out or best.out of \
         ompi-collectives-tuning, nor a table with named columns; it begins {0}"
    )]
    Unknown(String),
    /// A file of a known format without a timing, used or not.
    #[error("it has no timings")]
    NoTimings,
}

impl ImportError {
    /// Adds the line, unless it is the first.
    pub(super) fn at(self, line: u64) -> Self {
        if line == 1 { self } else { Self::At { line, cause: Box::new(self) } }
    }

    /// The line, if there is one, and the error.
    pub(super) fn split(self) -> (Option<u64>, Self) {
        match self {
            Self::At { line, cause } => (Some(line), *cause),
            other => (None, other),
        }
    }
}

/// The worst findings, each on a line of its own.
fn reasons(findings: &[Finding]) -> String {
    const NAMED: usize = 5;
    let mut worst: Vec<&Finding> = findings.iter().filter(|finding| finding.severity > FindingSeverity::Note).collect();
    if worst.is_empty() {
        worst = findings.iter().collect();
    }
    let lines = first_lines(Finding::describe_all(worst), NAMED);
    if lines.is_empty() { String::new() } else { format!(":\n  {}", lines.join("\n  ")) }
}
