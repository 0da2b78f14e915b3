//! Columns of tables that are not read.

use std::collections::BTreeSet;

use crate::columns::{Columns, Role, is_remark};
use crate::finding::{Finding, FindingCode, ImportError};
use crate::group::group;
use crate::row::{Parsed, Raw};

/// Names the columns that are not read. A column that splits a comparison makes it worthless.
pub(super) fn report(parsed: &mut Parsed) -> Result<(), ImportError> {
    let tables = || parsed.outputs.iter().filter(|output| output.columns.as_deref().is_some_and(Columns::is_table));
    let columns = tables().flat_map(|output| &output.columns).flat_map(|columns| &columns.columns);
    let over_calls: Vec<_> = columns.filter(|column| column.role == Some(Role::Spread)).map(|it| &it.name).collect();
    let why = if over_calls.is_empty() { "" } else { "; a statistic is over calls unless its name says otherwise" };
    let rows: Vec<&Raw> = tables().flat_map(|output| &output.raws).filter(|raw| raw.fault.is_none()).collect();
    let unread: BTreeSet<&String> = rows.iter().flat_map(|raw| &raw.unread).map(|(name, ..)| name).collect();
    unread.iter().try_for_each(|name| compare_column(name, &rows))?;
    // Numbers without a name are those of the rows, as pandas writes them.
    let names: BTreeSet<&String> = unread.into_iter().chain(over_calls).filter(|name| !name.is_empty()).collect();
    if !names.is_empty() {
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let what = format!("columns {} are not read{why}", names.join(", "));
        parsed.findings.push(Finding::new(FindingCode::PassedOver, what));
    }
    Ok(())
}

/// Fails if the values of a column differ, since times may depend on them, unless they are remarks or results. Rows under
/// headers without the column have an empty value.
fn compare_column(name: &str, rows: &[&Raw]) -> Result<(), ImportError> {
    let value =
        |raw: &Raw| raw.unread.iter().find(|(other, ..)| other == name).map_or(String::new(), |it| it.2.clone());
    let first = rows.first().map_or(String::new(), |raw| value(raw));
    let Some(other) = rows.iter().find(|raw| value(raw) != first) else { return Ok(()) };
    // Only rows with the same ranks and collective are compared: a column that these determine, such as nodes, splits nothing.
    let is_told = [true, false].into_iter().any(|by_ranks| {
        let alike =
            group(rows, |raw| (raw.facts.ranks.filter(|_| by_ranks), raw.facts.collective.filter(|_| !by_ranks)));
        alike.values().all(|rows| rows.iter().all(|raw| value(raw) == value(rows[0])))
    });
    if is_told || name.is_empty() || is_remark(name) {
        return Ok(());
    }
    Err(ImportError::doubtful(format!(
        "column {name} is not read, but has several values ({first} and, on line {}, {}); import the rows of one value, \
         or remove the column if times do not depend on it",
        other.line,
        value(other),
    )))
}
