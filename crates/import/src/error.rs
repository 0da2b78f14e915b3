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
    /// The format is unknown.
    #[error(
        "its format is unknown: it is neither text of OSU, IMB-MPI1 or ReproMPI, nor detail.out or best.out of \
         ompi-collectives-tuning, nor a table with named columns; it begins {0}"
    )]
    Unknown(String),
    /// A file of a known format without a timing, used or not.
    #[error("it has no timings")]
    NoTimings,
    /// A header, a line or a value leaves in doubt what all timings of the file mean.
    #[error("{0}")]
    Doubtful(String),
    /// An error at a line.
    #[error("line {line}: {cause}")]
    At {
        /// The line.
        line: u64,
        /// The error.
        cause: Box<ImportError>,
    },
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
