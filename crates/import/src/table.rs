//! Tables with named columns.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use collrules_record::sample::TableTiming;
use collrules_record::{CandidateName, Cell};
use collrules_rules::{Collective, Release};

use crate::columns::{Columns, EMPTY_ROW};
use crate::content::{cut_unfinished, limited, unpacked};
use crate::duplicates::{self, Measurement};
use crate::error::{ImportError, Problem};
use crate::facts::Facts;
use crate::finding::Code;
use crate::format::delimiter;
use crate::raw::{Fault, Parsed, Raw, fault};
use crate::rows::Rows;

/// What a table holds, both lists in the order of the lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The rows that can be used.
    pub timings: Vec<TableTiming>,
    /// The rows that were left out.
    pub problems: Vec<Problem>,
}

/// Reads a table with commas, semicolons or tabs between its columns, plain or packed with gzip, whose algorithm ids are
/// those of a release.
///
/// A table that cannot be read to its end is an error as a whole: a part of it would pass for all of it.
pub fn timing_table(reader: impl Read, release: Release) -> Result<Table, ImportError> {
    let mut bytes = Vec::new();
    limited(reader, &mut bytes).map_err(ImportError::Read)?;
    let mut text = unpacked(&bytes)?;
    drop(bytes);
    let unfinished = cut_unfinished(&mut text);
    let Parsed { raws, mut faults } = read(&text, &Facts::default(), None, release)?;
    faults.extend(unfinished.map(|(line, fault)| (Some(line), fault)));
    let problem = |(line, fault): (Option<u64>, Fault)| Problem { line: line.unwrap_or(1), what: fault.what };
    let mut problems: Vec<Problem> = faults.into_iter().map(problem).collect();
    let timings = duplicates::settle(
        raws.iter().filter_map(timing).collect(),
        |timing| Measurement(timing.cell, timing.candidate, timing.launch, 0),
        |a, b| a.time == b.time,
        |timing| timing.line.to_string(),
        |timing, _, what| problems.push(Problem { line: timing.line, what }),
    );
    problems.sort_by_key(|problem| problem.line);
    if timings.is_empty() { Err(ImportError::NoTimings { problems }) } else { Ok(Table { timings, problems }) }
}

/// Reads a text of whole lines with a header. What `facts` say needs no column.
pub(super) fn read(text: &[u8], facts: &Facts, unit: Option<f64>, release: Release) -> Result<Parsed, ImportError> {
    let header = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let mut rows = Rows::new(text, delimiter(&String::from_utf8_lossy(header)).unwrap_or(b','));
    let header = rows.next()?.ok_or(ImportError::Empty)?;
    let columns = Columns::of(&header.record, facts, unit)?;
    let mut parsed = Parsed::default();
    let mut names = Names::default();
    while let Some(row) = rows.next()? {
        row.blank_lines.clone().for_each(|line| parsed.fault(line, Code::EmptyValue, EMPTY_ROW));
        match columns.read(&row, facts, release) {
            Ok(raw) => {
                names.see(&raw, columns.name_and_number(&row));
                parsed.raws.push(raw);
            }
            Err(fault) => parsed.faults.push((Some(row.line), fault)),
        }
    }
    names.refuse_ambiguous(&mut parsed);
    Ok(parsed)
}

/// The numbers that a table gives to the names of algorithms, where it has both, and the lines of each name.
#[derive(Default)]
struct Names(BTreeMap<(Collective, String), (BTreeSet<u32>, BTreeSet<u64>)>);

impl Names {
    fn see(&mut self, raw: &Raw, named: Option<(String, u32)>) {
        let (Some(collective), Some((name, id))) = (raw.facts.collective, named) else { return };
        let (ids, lines) = self.0.entry((collective, name)).or_default();
        ids.insert(id);
        lines.insert(raw.line);
    }

    /// Leaves out the rows of a name that has several numbers: nobody can tell which of the two is wrong.
    fn refuse_ambiguous(self, parsed: &mut Parsed) {
        for ((collective, name), (ids, lines)) in self.0.into_iter().filter(|(_, (ids, _))| ids.len() > 1) {
            let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("the table gives several numbers to the {collective} algorithm `{name}`: {ids}");
            parsed.raws.retain(|raw| !lines.contains(&raw.line));
            parsed.faults.extend(lines.into_iter().map(|line| (Some(line), fault(Code::Contradiction, what.clone()))));
        }
    }
}

fn timing(raw: &Raw) -> Option<TableTiming> {
    let Some(CandidateName::Complete(candidate)) = raw.facts.algorithm else { return None };
    let cell = Cell { collective: raw.facts.collective?, ranks: raw.facts.ranks?, bytes: raw.bytes };
    let time = raw.times.mean.or(raw.times.max)?;
    Some(TableTiming { line: raw.line, cell, candidate, launch: raw.facts.launch.unwrap_or(0), time })
}
