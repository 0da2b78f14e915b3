//! The text that the OSU micro-benchmarks print.
//!
//! Shapes differ by version and options, so sizes and columns are found by the header line: `-f` adds minimum and
//! maximum over ranks, `-z` percentiles, `-c` a validation column; barriers have no size column. Each row holds means
//! over calls; `Avg` is the mean over ranks, `Min` and `Max` are over ranks.

use collrules_rules::Collective;

use super::facts::{Facts, Times, collective_named};
use super::finding::Code;
use super::headers::{Role, meaning};
use super::raw::{Digits, Parsed, Raw, fault, time};
use super::stray::{Stray, is_row, short};
use collrules_record::units::Bytes;

const BANNER: &str = "# OSU ";

/// Whether text has the marks of this format.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(BANNER) || header(line).is_some())
}

#[derive(Default)]
struct State {
    collective: Option<Collective>,
    /// Another benchmark, whose rows are passed over.
    foreign: bool,
    /// The first datatype that this benchmark was run with; the others are passed over.
    datatype: Option<String>,
    other_datatype: bool,
    columns: Option<Vec<Option<Column>>>,
    block: Option<u32>,
    passed: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Known(Role, f64),
    Validation,
}

/// Reads text; what `facts` say of the collective is for output without a banner.
pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut state = State::default();
    let mut stray = Stray::default();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        if content.starts_with('#') {
            stray.end(&mut parsed);
            comment(content, line, &mut state, &mut parsed);
        } else if state.columns.is_none() || !is_row(content) {
            if content.contains("VALIDATION ERROR") {
                stray.end(&mut parsed);
                let what = format!("the benchmark found wrong data and stopped: {}", short(content));
                parsed.fault(line, Code::ValidationFailed, what);
                if let Some((_, fault)) = parsed.faults.last_mut() {
                    fault.timings = 0;
                }
            } else {
                stray.line(line, content);
            }
        } else if state.foreign || state.other_datatype {
            state.passed += 1;
        } else {
            stray.end(&mut parsed);
            row(content, line, &state, &mut parsed);
        }
    }
    stray.end(&mut parsed);
    end_block(&mut state, &mut parsed);
    parsed
}

fn comment(content: &str, line: u64, state: &mut State, parsed: &mut Parsed) {
    if let Some(banner) = content.strip_prefix(BANNER) {
        end_block(state, parsed);
        // `MPI`, `MPI-CUDA`, then the name, then `Latency Test v7.4`.
        let name = banner.split_once(' ').map_or("", |(_, rest)| rest);
        let name = name.split(" Latency Test").next().unwrap_or_default();
        let collective = collective_named(name);
        *state = State { block: Some(state.block.map_or(0, |block| block + 1)), ..State::default() };
        state.collective = collective;
        state.foreign = collective.is_none();
        if state.foreign {
            let what = format!("`{}` is no benchmark of a tunable collective", short(banner));
            parsed.fault(line, Code::PassedOver, what);
        }
    } else if let Some((_, datatype)) = content.split_once("Datatype:") {
        end_block(state, parsed);
        let datatype = datatype.trim().trim_end_matches('.').to_owned();
        let first = state.datatype.get_or_insert_with(|| datatype.clone());
        state.other_datatype = *first != datatype;
        if state.other_datatype {
            let what = format!("{datatype} is another datatype than {first}, which is taken");
            parsed.fault(line, Code::PassedOver, what);
        }
    } else if let Some(columns) = header(content) {
        state.block.get_or_insert(0);
        state.columns = Some(columns);
    }
}

/// Says how many rows were passed over, on the finding that says why.
fn end_block(state: &mut State, parsed: &mut Parsed) {
    let passed = std::mem::take(&mut state.passed);
    let last = parsed.faults.iter_mut().rev().find(|(_, fault)| fault.code == Code::PassedOver);
    if let (Some((_, fault)), true) = (last, state.foreign || state.other_datatype) {
        fault.timings = passed;
    }
}

/// The columns of `# Size       Avg Latency(us)   Min Latency(us)`: names are separated by two blanks or more.
fn header(line: &str) -> Option<Vec<Option<Column>>> {
    let names = line.trim().strip_prefix('#')?.trim();
    let names = names.split("  ").flat_map(|name| name.split('\t')).map(str::trim).filter(|name| !name.is_empty());
    let column = |name: &str| {
        if name == "Validation" {
            return Some(Column::Validation);
        }
        let meaning = meaning(name)?;
        let is_time = matches!(meaning.role, Role::Mean | Role::Min | Role::Max);
        // OSU prints microseconds, and says so in the name.
        (is_time || meaning.role == Role::Bytes).then(|| Column::Known(meaning.role, meaning.per_second.unwrap_or(1e6)))
    };
    let columns: Vec<Option<Column>> = names.map(column).collect();
    let is_mean = |column: &Option<Column>| matches!(column, Some(Column::Known(Role::Mean, _)));
    columns.iter().any(is_mean).then_some(columns)
}

fn row(content: &str, line: u64, state: &State, parsed: &mut Parsed) {
    let Some(columns) = &state.columns else { return };
    let fields: Vec<&str> = content.split_whitespace().collect();
    if fields.len() != columns.len() {
        let what = format!("{} values instead of {}: {}", fields.len(), columns.len(), short(content));
        return parsed.fault(line, Code::BadRow, what);
    }
    let mut times = Times::default();
    let mut bytes = Bytes(0);
    let mut digits = None;
    for (column, field) in columns.iter().zip(&fields) {
        match column {
            None => {}
            Some(Column::Validation) if field.eq_ignore_ascii_case("pass") => {}
            Some(Column::Validation) => {
                let what = format!("validation says {field}: the timing is of wrong data");
                let facts = Facts { collective: state.collective, ..Facts::default() };
                let fault = fault(Code::ValidationFailed, what).about(facts, bytes);
                return parsed.faults.push((Some(line), fault));
            }
            Some(Column::Known(Role::Bytes, _)) => match field.parse() {
                Ok(size) => bytes = Bytes(size),
                Err(_) => return parsed.fault(line, Code::BadRow, format!("`{field}` is not a size in bytes")),
            },
            Some(Column::Known(role, per_second)) => {
                let seconds = match time(field, *per_second) {
                    Ok(seconds) => Some(seconds),
                    // Printed with two decimals, the fastest rank's time may well be 0.00.
                    Err(_) if *role == Role::Min => None,
                    Err(what) => return parsed.fault(line, Code::BadTime, what),
                };
                match role {
                    Role::Max => times.max = seconds,
                    Role::Min => times.min = seconds,
                    _ => (times.mean, digits) = (seconds, Digits::of(field.as_bytes())),
                }
            }
        }
    }
    let facts = Facts { collective: state.collective, ..Facts::default() };
    parsed.raws.push(Raw { line, block: state.block.unwrap_or(0), facts, bytes, round: 0, times, digits });
}
