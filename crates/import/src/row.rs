//! The timings of a row, by the columns of its table.

use std::fmt::Display;

use collrules_record::CandidateName;
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::Collective;

use crate::columns::{ALGORITHMS, Column, Columns, NO_DATA, Role, SIZES, TableFormat};
use crate::facts::{Facts, collective_named};
use crate::finding::{Finding, FindingCode};
use crate::formats::{ImportFormat, Meaning, Size};
use crate::raw::{BenchmarkOutput, Raw};
use crate::timing::{TimeStatistics, step, time};

/// Reads a row; the tables of ompi-collectives-tuning have several timings on a row, others one.
pub(super) fn read(
    columns: &Columns,
    fields: &[String],
    line: u64,
    output: &BenchmarkOutput,
) -> Result<Vec<Result<Raw, Finding>>, Finding> {
    let expected = columns.columns.len();
    if fields.iter().all(|field| field.trim().is_empty()) {
        return Err(Finding::new(FindingCode::EmptyValue, "the row is empty"));
    }
    // Rows of detail.out repeat the reference in one column more than the header has.
    let is_detail = columns.layout == TableFormat::Algorithms && !columns.has(Role::Algorithm);
    if fields.len() != expected && !(is_detail && fields.len() == expected + 1) {
        return Err(bad(format!("{} fields instead of {expected}", fields.len())));
    }
    if let Some(place) = fields.iter().position(|field| field.contains('\u{fffd}')) {
        return Err(bad(format!("field {} is not UTF-8", place + 1)));
    }
    let format = output.format.filter(|_| !output.is_nameless).unwrap_or(ImportFormat::Table);
    let mut row = Raw {
        line,
        facts: output.facts.clone(),
        size: Size { element: output.element.unwrap_or(1), ..Size::default() },
        is_on_device: output.is_on_device,
        is_process: columns.has(Role::Process),
        is_median: columns.has(Role::Median),
        ..Raw::default()
    };
    let names_algorithm = ALGORITHMS.iter().any(|role| columns.has(*role));
    let (mut times, mut begin, mut unsized_by) = (Vec::new(), 0.0, None);
    for (column, text) in columns.columns.iter().zip(fields) {
        let text = text.trim();
        let Some(role) = column.role.filter(|role| *role != Role::Component || !names_algorithm) else {
            if columns.is_table() {
                row.unread.push((column.name.clone(), text.to_lowercase()));
            }
            continue;
        };
        // As pandas writes whole numbers of columns with gaps.
        let text = if column.is_time() { text } else { text.strip_suffix(".0").unwrap_or(text) };
        match role {
            Role::Spread => {}
            Role::Parameter if text.is_empty() || text.parse::<f64>() == Ok(0.0) => {}
            Role::Parameter => {
                let what = "is not read; a column candidate has tuned:ID/FANINOUT/SEGSIZE/MAX_REQUESTS";
                return Err(bad(format!("{} {text} {what}", column.name)));
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
            Role::Bytes if columns.has(Role::Transmitted) => {}
            Role::Bytes | Role::Transmitted => {
                row.size.printed = text.parse::<Bytes>().map_err(|error| wrong(column, error))?.0;
            }
            Role::Count => {
                let count: u64 = text.parse().map_err(|_| wrong(column, format!("`{text}` is no count")))?;
                let unknown = || match format {
                    ImportFormat::Reprompi => "the line #@datatype_size_bytes=... is missing, so counts are of no size",
                    _ => "a count of elements of unknown size: a column message_bytes is needed",
                };
                let element = output.element.ok_or_else(|| wrong(column, unknown()))?;
                row.size.printed =
                    count.checked_mul(element).ok_or_else(|| wrong(column, format!("{count} is too many")))?;
            }
            Role::Launch => row.facts.launch = Some(whole(column, text)?),
            Role::Round => row.round = whole(column, text)?,
            Role::Process => drop(whole(column, text)?),
            Role::Calls => row.calls = text.parse().ok(),
            Role::Check | Role::Invalid if text.eq_ignore_ascii_case("pass") || text.parse::<f64>() == Ok(0.0) => {}
            Role::Check | Role::Invalid => {
                let is_check = role == Role::Check;
                let code = if is_check { FindingCode::ValidationFailed } else { FindingCode::InvalidMeasurement };
                let what = format!("the benchmark found an error: {} is {text}", column.name);
                return Err(Finding::new(code, what).about(row.facts, row.size));
            }
            Role::Begin => begin = text.parse().map_err(|_| wrong(column, format!("`{text}` is not a number")))?,
            // Of a table with times of several algorithms, the one in front of it.
            Role::Mean | Role::Median | Role::Min | Role::Max | Role::End => {
                times.push((column, role, text, row.facts.algorithm.clone()));
            }
        }
    }
    row.size.meaning = match columns.column(Role::Bytes) {
        Some(column) if format == ImportFormat::Table && column.name == Role::Bytes.name() => Meaning::Message,
        _ => Meaning::of(format, output.version, row.facts.collective),
    };
    if columns.layout == TableFormat::Algorithms {
        return Ok(timings_of_algorithms(&row, times));
    }
    if let Some(sized) = row.facts.collective.filter(|it| it.has_sizes())
        && format == ImportFormat::Table
        && !SIZES.iter().any(|role| columns.has(*role))
    {
        return Err(bad(format!("the table has no column {}, which {sized} needs", Role::Bytes.name())));
    }
    if let Some(column) = unsized_by.filter(|_| row.facts.collective != Some(Collective::Barrier)) {
        return Err(empty(column));
    }
    let is_empty = row.size.printed == 0;
    if row.facts.collective == Some(Collective::Barrier) && !is_empty {
        return Err(bad(format!("barrier carries no data, but its size is {}", row.size.printed)));
    }
    // Nothing to send takes no measurable time; such rows are passed over for their size.
    let is_empty = is_empty && row.facts.collective.is_some_and(Collective::has_sizes);
    for (column, role, text, _) in times.into_iter().filter(|_| !is_empty) {
        if text.is_empty() {
            return Err(empty(column).about(row.facts, row.size));
        }
        let seconds = match (time(text, column.per_second), role) {
            (Ok(end), Role::End) => time(&(end.0 - begin).to_string(), 1.0),
            // Printed with two decimals, the time of the fastest rank may well be 0.00.
            (Err(_), Role::Min) if text.parse() == Ok(0.0) => continue,
            (seconds, _) => seconds,
        };
        let seconds = seconds.map_err(|what| untimed(column, &what).about(row.facts.clone(), row.size))?;
        row.step.0 = row.step.0.max(step(text, column.per_second));
        match role {
            Role::Min => row.times.min = Some(seconds),
            Role::Max => row.times.max = Some(seconds),
            Role::End => row.times = TimeStatistics { max: Some(seconds), min: Some(seconds), mean: Some(seconds) },
            _ => row.times.mean = Some(seconds),
        }
    }
    Ok(vec![Ok(row)])
}

/// The timings of a row with columns of several algorithms. The reference may be one of them.
fn timings_of_algorithms(
    row: &Raw,
    times: Vec<(&Column, Role, &str, Option<CandidateName>)>,
) -> Vec<Result<Raw, Finding>> {
    let mut seen = Vec::new();
    let mut timings = Vec::new();
    for (column, _, text, reference) in times {
        let algorithm = column.algorithm.as_deref().map(CandidateName::read).or(reference);
        if text == NO_DATA || seen.contains(&algorithm) {
            continue;
        }
        let number = text.split('(').next().unwrap_or_default();
        let facts = Facts { algorithm: algorithm.clone(), ..row.facts.clone() };
        let mean =
            time(number, column.per_second).map_err(|what| untimed(column, &what).about(facts.clone(), row.size));
        timings.push(mean.map(|mean| {
            let times = TimeStatistics { mean: Some(mean), ..TimeStatistics::default() };
            Raw { facts, times, ..row.clone() }
        }));
        seen.push(algorithm);
    }
    timings
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

fn untimed(column: &Column, what: &str) -> Finding {
    Finding::new(FindingCode::BadTime, format!("{}: {what}", column.name))
}

fn whole(column: &Column, text: &str) -> Result<u32, Finding> {
    // The standard library takes a leading plus sign, which is a slip here.
    let number = text.parse().ok().filter(|_| !text.starts_with('+'));
    number.ok_or_else(|| wrong(column, format!("`{text}` is not a whole number from 0 to {}", u32::MAX)))
}
