//! Files that cannot be used at all.

use std::io;

use collrules_rules::words::first_lines;

use super::finding::{Finding, Severity};
use super::format::Format;

/// Why nothing is used.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Reading failed, perhaps after some rows.
    #[error("the table cannot be read to its end, and no part of it is used: {0}")]
    Read(io::Error),
    /// Unpacking failed, perhaps after some rows.
    #[error("the gzip data is damaged or cut off, and no part of the table is used: {0}")]
    Gzip(io::Error),
    /// The header is no text: another kind of file, or another encoding than UTF-8.
    #[error("this is no table: it begins with neither UTF-8 text nor gzip data")]
    NotText,
    /// There is nothing in it.
    #[error("the table is empty: it has no header")]
    Empty,
    /// The header lacks columns.
    #[error("the header lacks {}; it has {}", missing.join(", "), found.join(", "))]
    MissingColumns {
        /// The columns that are needed and not there.
        missing: Vec<&'static str>,
        /// The columns that are there.
        found: Vec<String>,
    },
    /// The header has a column more than once, so that it is open which one counts.
    #[error("the header has the column {0} more than once")]
    RepeatedColumn(&'static str),
    /// A column of times without a unit.
    #[error("the column {0} has no unit; name it {0}_us (or _ms, _s, _ns), or give --unit")]
    NoUnit(String),
    /// Some timings are of the slowest rank alone and others are averages alone.
    #[error(
        "some timings are of the slowest rank and others are averaged over ranks, and they cannot be compared; import \
         them apart"
    )]
    MixedTimes,
    /// The wanted time is missing somewhere.
    #[error("not every timing has a time {0}; leave out --time, or import what has it apart")]
    NoSuchTime(&'static str),
    /// No name is as the user describes names.
    #[error(
        "no file has a name as --name-pattern describes it; a pattern has to match the end of the path, with its \
         directories and its ending"
    )]
    NoMatch,
    /// Not one timing is left.
    #[error("no timing can be used{}", reasons(findings))]
    Nothing {
        /// What is wrong with what there is.
        findings: Vec<Finding>,
    },
    /// It is none of what is read.
    #[error("its content is not known: neither {}", Format::NAMES)]
    Unknown,
    /// A file of a known format without a timing, used or not.
    #[error("there is no timing in it")]
    NoTimings,
}

/// The worst findings, each on a line of its own.
fn reasons(findings: &[Finding]) -> String {
    const NAMED: usize = 5;
    let mut worst: Vec<&Finding> = findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    if worst.is_empty() {
        worst = findings.iter().collect();
    }
    let lines = first_lines(worst.iter().map(ToString::to_string).collect(), NAMED);
    if lines.is_empty() { String::new() } else { format!(":\n  {}", lines.join("\n  ")) }
}
