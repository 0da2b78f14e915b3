//! The text that the OSU micro-benchmarks print.
//!
//! Shapes differ by version and options, so sizes and columns are found by the header line: `-f` adds minimum and
//! maximum over ranks, `-z` percentiles, `-c` a validation column; barriers have no size column. Columns are separated by
//! blanks, or by commas. Each row holds means over calls; `Avg` is the mean over ranks, `Min` and `Max` are over ranks.

use collrules_rules::Collective;

use super::facts::{Facts, collective_named};
use super::finding::FindingCode;
use super::headers::Role;
use super::printed::{PrintedColumn, row};
use super::raw::{Parsed, fault};
use super::stray::{Stray, is_row, short};

const BANNER: &str = "# OSU ";

/// Returns true if text has the marks of this format.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with(BANNER) || header(line).is_some())
}

#[derive(Default)]
struct OsuState {
    collective: Option<Collective>,
    /// True if it is another benchmark, whose rows are skipped.
    foreign: bool,
    /// The first datatype of this benchmark; rows of others are skipped.
    datatype: Option<String>,
    other_datatype: bool,
    columns: Option<Vec<Option<PrintedColumn>>>,
    block: Option<u32>,
    passed: usize,
}

/// Reads text; the collective in `facts` is for output without a banner.
pub(super) fn read(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    let mut state = OsuState::default();
    let mut stray = Stray::default();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        let names = (state.block.is_some() && content.contains(',')).then(|| columns(content)).flatten();
        if content.starts_with('#') {
            stray.end(&mut parsed);
            comment(content, line, &mut state, &mut parsed);
        } else if names.is_some() {
            state.columns = names;
        } else if let Some(columns) = state.columns.as_ref().filter(|_| is_row(content)) {
            if state.foreign || state.other_datatype {
                state.passed += 1;
            } else {
                stray.end(&mut parsed);
                let facts = Facts { collective: state.collective, ..Facts::default() };
                row(content, line, state.block.unwrap_or(0), facts, columns, &mut parsed);
            }
        } else if content.contains("VALIDATION ERROR") {
            stray.end(&mut parsed);
            let what = format!("the benchmark found wrong data and stopped: {}", short(content));
            parsed.faults.push((Some(line), fault(FindingCode::ValidationFailed, what).of_timings(0)));
        } else {
            stray.line(line, content);
        }
    }
    stray.end(&mut parsed);
    end_block(&mut state, &mut parsed);
    parsed
}

fn comment(content: &str, line: u64, state: &mut OsuState, parsed: &mut Parsed) {
    if let Some(banner) = content.strip_prefix(BANNER) {
        end_block(state, parsed);
        // `MPI`, `MPI-CUDA`, then the name, then `Latency Test v7.4`.
        let name = banner.split_once(' ').map_or("", |(_, rest)| rest);
        let name = name.split(" Latency Test").next().unwrap_or_default();
        let (collective, block) = (collective_named(name), state.block.map_or(0, |block| block + 1));
        let foreign = collective.is_none();
        *state = OsuState { collective, foreign, block: Some(block), ..OsuState::default() };
        if foreign {
            let what = format!("`{}` is not a benchmark of a collective that can be tuned", short(banner));
            parsed.fault(line, FindingCode::PassedOver, what);
        }
    } else if let Some((_, datatype)) = content.split_once("Datatype:") {
        end_block(state, parsed);
        let datatype = datatype.trim().trim_end_matches('.').to_owned();
        let first = state.datatype.get_or_insert_with(|| datatype.clone());
        state.other_datatype = *first != datatype;
        if state.other_datatype {
            let what = format!("{datatype} is another datatype than {first}, which is taken");
            parsed.fault(line, FindingCode::PassedOver, what);
        }
    } else if let Some(columns) = header(content) {
        state.block.get_or_insert(0);
        state.columns = Some(columns);
    }
}

/// Adds the number of skipped rows to the finding that gives the reason.
fn end_block(state: &mut OsuState, parsed: &mut Parsed) {
    let passed = std::mem::take(&mut state.passed);
    let last = parsed.faults.iter_mut().rev().find(|(_, fault)| fault.code == FindingCode::PassedOver);
    if let (Some((_, fault)), true) = (last, state.foreign || state.other_datatype) {
        fault.timings = passed;
    }
}

/// The columns of `# Size       Avg Latency(us)   Min Latency(us)`.
fn header(line: &str) -> Option<Vec<Option<PrintedColumn>>> {
    columns(line.trim().strip_prefix('#')?.trim())
}

/// Columns by their names, which are separated by two blanks or more, by tabs or by commas.
fn columns(names: &str) -> Option<Vec<Option<PrintedColumn>>> {
    let names =
        names.split("  ").flat_map(|name| name.split(['\t', ','])).map(str::trim).filter(|name| !name.is_empty());
    let column = |name: &str| {
        if name == "Validation" {
            let wrong = |field: &str| (!field.eq_ignore_ascii_case("pass")).then(|| format!("validation says {field}"));
            return Some(PrintedColumn::Check(wrong));
        }
        // OSU prints microseconds, and says so in the name.
        PrintedColumn::from_name(name, Some(1e6))
    };
    let columns: Vec<Option<PrintedColumn>> = names.map(column).collect();
    let is_mean = |column: &Option<PrintedColumn>| matches!(column, Some(PrintedColumn::Time(Role::Mean, _)));
    columns.iter().any(is_mean).then_some(columns)
}
