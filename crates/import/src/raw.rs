//! Output of the readers of every format: timings with the facts of their file.

use std::collections::BTreeMap;
use std::rc::Rc;

use collrules_record::CandidateName;
use collrules_record::units::Seconds;
use collrules_rules::Collective;

use super::columns::Columns;
use super::facts::Facts;
use super::finding::{Finding, FindingCode};
use super::formats::{ImportFormat, Size};
use super::statement::Statement;
use super::timing::TimeStatistics;

/// A timing as read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Raw {
    /// Line in the file, from 1.
    pub(super) line: u64,
    /// Facts in the file.
    pub(super) facts: Facts,
    pub(super) size: Size,
    /// The call within the launch, from 0; 0 where calls were averaged.
    pub(super) round: u32,
    pub(super) times: TimeStatistics,
    /// The step between times as they are written: ten nanoseconds for `2.50` microseconds.
    pub(super) step: Seconds,
    /// Number of calls of which the time is a mean, if the file says so.
    pub(super) calls: Option<u64>,
    /// True if the buffers are in the memory of a device.
    pub(super) is_on_device: bool,
    /// Number of processes whose times it combines, if the file has those of each; else 0.
    pub(super) processes: u32,
    /// True if the mean is a median over calls.
    pub(super) is_median: bool,
    /// The algorithm's name, if the table has its number too.
    pub(super) name: Option<String>,
    /// The columns of a table that are not read, and their values.
    pub(super) unread: Vec<(String, String)>,
}

/// Facts that hold for the rows of an output, and the rows.
#[derive(Debug, Default)]
pub(super) struct BenchmarkOutput {
    pub(super) format: Option<ImportFormat>,
    /// True if it has OSU's form without its name, so that the meaning of its sizes is unknown.
    pub(super) is_nameless: bool,
    /// Year and update of IMB.
    pub(super) version: Option<(u32, u32)>,
    /// Facts of all its rows.
    pub(super) common: Raw,
    /// The line that begins it, and the reason why its rows are not read; with their number.
    pub(super) passed: Option<(u64, String, usize)>,
    pub(super) datatype: Option<String>,
    pub(super) columns: Option<Rc<Columns>>,
    pub(super) rows: usize,
    /// Sizes with wrong data, each with the line that says so.
    pub(super) wrong: BTreeMap<u64, u64>,
    /// The mock-up of PGMPITuneLib, by collective and bytes of one rank.
    pub(super) algorithms: BTreeMap<(Collective, u64), CandidateName>,
    pub(super) raws: Vec<Raw>,
    /// Statements of the lines around it.
    pub(super) stated: Vec<Statement>,
}

/// Result of reading a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// The format of the first mark or header, if there is one.
    pub(super) format: Option<ImportFormat>,
    pub(super) outputs: Vec<BenchmarkOutput>,
    /// Lines at which a program began.
    pub(super) banners: Vec<u64>,
    pub(super) findings: Vec<Finding>,
}

impl Parsed {
    pub(super) fn report(&mut self, line: u64, code: FindingCode, what: impl Into<String>) {
        self.findings.push(Finding::new(code, what).at(line));
    }
}
