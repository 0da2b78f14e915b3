//! Tables with named columns.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::{Collective, Release};

use crate::columns::{Columns, EMPTY_ROW};
use crate::error::ImportError;
use crate::facts::Facts;
use crate::finding::FindingCode;
use crate::format::delimiter;
use crate::raw::{Parsed, Raw, fault};
use crate::rows::Rows;

/// Reads a text of whole lines with a header. Facts in `facts` need no column.
pub(super) fn read(text: &[u8], facts: &Facts, unit: Option<f64>, release: Release) -> Result<Parsed, ImportError> {
    let header = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let mut rows = Rows::new(text, delimiter(&String::from_utf8_lossy(header)).unwrap_or(b','));
    let header = rows.next()?.ok_or(ImportError::Empty)?;
    let columns = Columns::from_header(&header.record, facts, unit)?;
    let mut parsed = Parsed::default();
    let mut names = Names::default();
    while let Some(row) = rows.next()? {
        row.blank_lines.clone().for_each(|line| parsed.fault(line, FindingCode::EmptyValue, EMPTY_ROW));
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

/// The numbers and lines of each algorithm name, if the table has both names and numbers.
#[derive(Default)]
struct Names(BTreeMap<(Collective, String), (BTreeSet<u32>, BTreeSet<u64>)>);

impl Names {
    fn see(&mut self, raw: &Raw, named: Option<(String, u32)>) {
        let (Some(collective), Some((name, id))) = (raw.facts.collective, named) else { return };
        let (ids, lines) = self.0.entry((collective, name)).or_default();
        ids.insert(id);
        lines.insert(raw.line);
    }

    /// Leaves out the rows of a name with several numbers: the table does not say which one is right.
    fn refuse_ambiguous(self, parsed: &mut Parsed) {
        for ((collective, name), (ids, lines)) in self.0.into_iter().filter(|(_, (ids, _))| ids.len() > 1) {
            let ids = ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("the table gives several numbers to the {collective} algorithm `{name}`: {ids}");
            parsed.raws.retain(|raw| !lines.contains(&raw.line));
            parsed
                .faults
                .extend(lines.into_iter().map(|line| (Some(line), fault(FindingCode::Contradiction, what.clone()))));
        }
    }
}
