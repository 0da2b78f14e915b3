//! Rows of outputs, and their timings by the columns of a table.

use std::fmt::Display;
use std::rc::Rc;

use collrules_record::{Bytes, CandidateName, Ranks, Seconds};
use collrules_rules::Collective;

use crate::columns::{ALGORITHMS, Column, Columns, Role, SIZES, is_maximum};
use crate::facts::{Facts, collective_named, has_word, words};
use crate::finding::{Finding, FindingCode};
use crate::formats::{ImportFormat, Meaning, Size};
use crate::statement::Statement;
use crate::timing::{SLACK, TimeStatistics, time};

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
    /// The process, if the file has the times of each.
    pub(super) process: Option<u32>,
    /// Number of processes whose times it combines; else 0.
    pub(super) processes: u32,
    /// True if the mean is a median over calls.
    pub(super) is_median: bool,
    /// The algorithm's name, if the table has its number too.
    pub(super) name: Option<String>,
    /// The reason why its times are not used.
    pub(super) fault: Option<Finding>,
    /// The columns of a table that are not read, their roles if they are known, and their values.
    pub(super) unread: Vec<(String, Option<Role>, String)>,
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
    /// The reason why its rows are not read, with their number.
    pub(super) passed: Option<Finding>,
    pub(super) datatype: Option<String>,
    pub(super) columns: Option<Rc<Columns>>,
    pub(super) rows: usize,
    /// Wrong data of a size that is not certain.
    pub(super) wrong: Option<Finding>,
    pub(super) raws: Vec<Raw>,
    /// Statements of the lines around it, and of those in front of earlier outputs.
    pub(super) stated: Vec<Statement>,
    /// The last row of the output in front of it.
    pub(super) after: u64,
}

/// Result of reading a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// The format of the first mark or header, if there is one.
    pub(super) format: Option<ImportFormat>,
    pub(super) outputs: Vec<BenchmarkOutput>,
    /// Lines at which a program began.
    pub(super) banners: Vec<u64>,
    /// Statements behind the last of several outputs.
    pub(super) behind: Vec<Statement>,
    pub(super) findings: Vec<Finding>,
}

impl Parsed {
    pub(super) fn report(&mut self, line: u64, code: FindingCode, what: impl Into<String>) {
        self.findings.push(Finding::new(code, what).at(line));
    }
}

/// Returns true if a check found nothing wrong.
fn has_passed(role: Role, text: &str) -> bool {
    let (number, words) = match role {
        Role::Check => (Some(0.0), ["true", "yes"]),
        Role::Invalid => (Some(0.0), ["false", "no"]),
        Role::Valid => (Some(1.0), ["true", "yes"]),
        _ => (None, ["true", "yes"]),
    };
    let (text, passed) = (text.to_lowercase(), ["pass", "passed", "ok", "success"]);
    passed.iter().chain(&words).any(|word| *word == text) || number.is_some() && text.parse().ok() == number
}

/// Reads a row.
pub(super) fn read(columns: &Columns, fields: &[String], line: u64, output: &BenchmarkOutput) -> Result<Raw, Finding> {
    if fields.iter().all(|field| field.trim().is_empty()) {
        return Err(Finding::new(FindingCode::EmptyValue, "the row is empty"));
    }
    let names_algorithm = ALGORITHMS.iter().any(|role| columns.has(*role));
    let expected = columns.columns.len();
    if fields.len() != expected {
        return Err(bad(format!("{} fields instead of {expected}", fields.len())));
    }
    if let Some(place) = fields.iter().position(|field| field.contains('\u{fffd}')) {
        return Err(bad(format!("field {} is not UTF-8", place + 1)));
    }
    let format = output.format.filter(|_| !output.is_nameless).unwrap_or(ImportFormat::Table);
    let mut row = Raw { line, is_median: columns.has(Role::Median), ..output.common.clone() };
    let (mut times, mut unsized_by) = (Vec::new(), None);
    for (column, text) in columns.columns.iter().zip(fields) {
        let text = text.trim();
        let first_read = if names_algorithm { Role::Check } else { Role::Component };
        let Some(role) = column.role.filter(|role| *role >= first_read) else {
            if columns.is_table() {
                row.unread.push((column.name.clone(), column.role, text.to_lowercase()));
            }
            continue;
        };
        // As pandas writes whole numbers of columns with gaps.
        let text = if column.is_time() { text } else { text.strip_suffix(".0").unwrap_or(text) };
        match role {
            Role::Spread | Role::Library | Role::Statistic => {}
            Role::Parameter if text.is_empty() || text.parse::<f64>() == Ok(0.0) => {}
            Role::Parameter => {
                let what = "is not read; a column candidate has tuned:ID/FANINOUT/SEGSIZE/MAX_REQUESTS";
                return Err(wrong(column, format!("{text} {what}")));
            }
            _ if text.is_empty() && SIZES.contains(&role) => unsized_by = Some(column),
            _ if text.is_empty() && !column.is_time() => return Err(empty(column)),
            Role::Collective => {
                let named = collective_named(text).map_or_else(|| text.parse::<Collective>(), Ok);
                row.facts.collective = Some(named.map_err(|error| wrong(column, error))?);
            }
            Role::AlgorithmId if !text.starts_with(char::is_alphabetic) => {
                row.facts.algorithm = Some(CandidateName::Id(whole(column, text)?));
            }
            Role::Algorithm | Role::Candidate if columns.has(Role::AlgorithmId) => row.name = Some(text.to_lowercase()),
            Role::AlgorithmId | Role::Algorithm | Role::Candidate | Role::Component => {
                row.facts.algorithm = Some(CandidateName::read(text));
            }
            Role::Ranks => row.facts.ranks = Some(text.parse::<Ranks>().map_err(|error| wrong(column, error))?),
            Role::Bytes => {
                row.size.printed = Some(text.parse::<Bytes>().map_err(|error| wrong(column, error))?.0);
            }
            // Beside the size, perhaps the number of calls.
            Role::Count if columns.has(Role::Bytes) => {}
            Role::Count => {
                let what = "elements of unknown size: a column message_bytes, or ReproMPI's #@datatype_size_bytes=, is missing";
                let element = row.size.element.ok_or_else(|| wrong(column, what))?;
                let bytes = text.parse::<u64>().ok().and_then(|count| count.checked_mul(element));
                row.size.printed = Some(bytes.ok_or_else(|| wrong(column, format!("`{text}` is no possible count")))?);
            }
            Role::Launch => row.facts.launch = Some(whole(column, text)?),
            Role::Round => row.round = whole(column, text)?,
            Role::Process => row.process = Some(whole(column, text)?),
            Role::Calls => row.calls = text.parse().ok(),
            Role::Check | Role::Valid | Role::Status | Role::Invalid if has_passed(role, text) => {}
            Role::Check | Role::Valid | Role::Status | Role::Invalid => {
                let is_check = role != Role::Invalid;
                let code = if is_check { FindingCode::ValidationFailed } else { FindingCode::InvalidMeasurement };
                let what = format!("the benchmark found an error: {} is {text}", column.name);
                row.fault = Some(Finding::new(code, what));
            }
            Role::Mean | Role::Median | Role::Min | Role::Max => times.push((column, text)),
        }
    }
    row.size.meaning = match columns.column(Role::Bytes) {
        Some(column) if format == ImportFormat::Table && column.name == Role::Bytes.name() => Meaning::Message,
        _ => Meaning::of(format, output.version, row.facts.collective),
    };
    let is_barrier = row.facts.collective == Some(Collective::Barrier);
    if let Some(column) = unsized_by.filter(|_| !is_barrier) {
        return Err(empty(column));
    }
    match row.size.printed {
        Some(bytes) if is_barrier && bytes > 0 => Err(bad(format!("barrier carries no data, but its size is {bytes}"))),
        // Nothing to send takes no measurable time; such rows are passed over for their size.
        Some(0) if row.facts.collective.is_some_and(Collective::has_sizes) => Ok(row),
        _ if row.fault.is_some() => Ok(row),
        _ => {
            let row = timing(row, times);
            let spread = columns.columns.iter().zip(fields).filter(|(column, _)| column.role == Some(Role::Spread));
            match row.times.mean.and_then(|mean| spread.into_iter().find(|(it, text)| is_impossible(it, text, mean))) {
                Some((column, text)) => Err(wrong(column, format!("{text} is impossible beside the mean or median"))),
                None => Ok(row),
            }
        }
    }
}

/// Returns true if a column is a minimum or a maximum over calls that its mean or median cannot have.
fn is_impossible(column: &Column, text: &str, mean: Seconds) -> bool {
    let Ok((Seconds(bound), step)) = time(text, column.per_second) else { return false };
    let (words, slack) = (words(&column.name), step + SLACK * mean.0);
    is_maximum(&words) && bound + slack < mean.0 || has_word(&words, &["min", "minimum"]) && bound - slack > mean.0
}

/// A row with its times.
fn timing(mut row: Raw, times: Vec<(&Column, &str)>) -> Raw {
    for (column, text) in times {
        let (seconds, step) = match time(text, column.per_second) {
            // Printed with two decimals, the time of the fastest rank may well be 0.00.
            Err(_) if column.role == Some(Role::Min) && text.parse() == Ok(0.0) => continue,
            Ok(time) => time,
            Err(_) if text.is_empty() => return Raw { fault: Some(empty(column)), ..row },
            Err(what) => {
                let fault = Finding::new(FindingCode::BadTime, format!("{}: {what}", column.name));
                return Raw { fault: Some(fault), ..row };
            }
        };
        row.step.0 = row.step.0.max(step);
        match column.role {
            Some(Role::Min) => row.times.min = Some(seconds),
            Some(Role::Max) => row.times.max = Some(seconds),
            _ => row.times.mean = Some(seconds),
        }
    }
    row
}

fn bad(what: String) -> Finding {
    Finding::new(FindingCode::BadRow, what)
}

fn wrong(column: &Column, what: impl Display) -> Finding {
    bad(format!("{}: {what}", column.name))
}

fn empty(column: &Column) -> Finding {
    Finding::new(FindingCode::EmptyValue, format!("{} is empty", column.name))
}

fn whole(column: &Column, text: &str) -> Result<u32, Finding> {
    // The standard library takes a leading plus sign, which is a slip here.
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    number.ok_or_else(|| wrong(column, format!("`{text}` is not a whole number from 0 to {}", u32::MAX)))
}
