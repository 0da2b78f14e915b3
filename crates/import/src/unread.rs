//! Columns of tables that are not read.

use std::collections::BTreeSet;

use crate::columns::{Columns, Role, has_word_of};
use crate::facts::words;
use crate::finding::{Finding, FindingCode, ImportError};
use crate::group::group;
use crate::row::{Parsed, Raw};

/// Findings about columns that are not read.
const OVER_CALLS: (FindingCode, &str) =
    (FindingCode::PassedOver, "are taken for statistics over calls, not over ranks, and not read");
const EQUAL: (FindingCode, &str) = (FindingCode::PassedOver, "are not read");
const VARYING: (FindingCode, &str) =
    (FindingCode::VaryingColumn, "are not read, though values differ: rows are compared as if they were the same");

/// Names the columns that are not read. A column that splits a comparison makes it worthless.
pub(super) fn report(parsed: &mut Parsed) -> Result<(), ImportError> {
    let tables = || parsed.outputs.iter().filter(|output| output.columns.as_deref().is_some_and(Columns::is_table));
    let columns = tables().flat_map(|output| &output.columns).flat_map(|columns| &columns.columns);
    let over_calls = columns.filter(|column| column.role == Some(Role::Spread));
    let mut found: BTreeSet<_> = over_calls.map(|column| (OVER_CALLS, column.name.clone())).collect();
    let rows: Vec<&Raw> = tables().flat_map(|output| &output.raws).filter(|raw| raw.fault.is_none()).collect();
    for name in rows.iter().flat_map(|raw| &raw.unread).map(|(name, ..)| name).collect::<BTreeSet<_>>() {
        let kind = if compare_column(name, &rows)? { VARYING } else { EQUAL };
        // Numbers without a name are those of the rows, as pandas writes them.
        found.extend((!name.is_empty()).then(|| (kind, name.clone())));
    }
    for ((code, what), columns) in group(found, |(kind, _)| *kind) {
        let names: Vec<String> = columns.iter().map(|(_, name)| format!("`{name}`")).collect();
        parsed.findings.push(Finding::new(code, format!("columns {} {what}", names.join(", "))));
    }
    Ok(())
}

/// Returns true if the values of a column differ, as remarks and results do; times may depend on others, so that they
/// are an error. Rows under headers without the column have an empty value.
fn compare_column(name: &str, rows: &[&Raw]) -> Result<bool, ImportError> {
    let value =
        |raw: &Raw| raw.unread.iter().find(|(other, ..)| other == name).map_or(String::new(), |it| it.2.clone());
    let first = rows.first().map_or(String::new(), |raw| value(raw));
    let Some(other) = rows.iter().find(|raw| value(raw) != first) else { return Ok(false) };
    let words = words(name);
    // Only rows with the same ranks and collective are compared: a column that these determine, such as nodes, splits nothing.
    let is_told = [true, false].into_iter().any(|by_ranks| {
        let alike =
            group(rows, |raw| (raw.facts.ranks.filter(|_| by_ranks), raw.facts.collective.filter(|_| !by_ranks)));
        alike.values().all(|rows| rows.iter().all(|raw| value(raw) == value(rows[0])))
    });
    if is_told || words.is_empty() || ["remark", "result"].iter().any(|content| has_word_of(content, &words)) {
        return Ok(true);
    }
    Err(ImportError::doubtful(format!(
        "column {name} is not read, but has several values ({first} and, on line {}, {}); import the rows of one value, \
         or remove the column if times do not depend on it",
        other.line,
        value(other),
    )))
}
