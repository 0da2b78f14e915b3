//! Which timings are compared: those of one directory. Others may be of another library, layout or machine.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use collrules_rules::Release;
use collrules_rules::words::some;

use crate::facts::Facts;
use crate::finding::{Finding, FindingCode};
use crate::group::group;
use crate::imported::Imported;
use crate::names;

/// Largest number of places that a message names.
const NAMED: usize = 4;

/// The directory of a file, without those whose names say what was timed: `np4/a3` and the last ones that a pattern
/// describes.
pub(super) fn place(file: &str, described: usize, release: Release) -> String {
    let directories = Path::new(file).parent().into_iter().flat_map(Path::components);
    let names: Vec<String> = directories
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let kept = &names[..names.len().saturating_sub(described)];
    kept.iter().filter(|name| !names::is_fact(name, release)).cloned().collect::<Vec<_>>().join("/")
}

/// Leaves out communicator sizes that were timed in several places. `line` names a row for the reader.
pub(super) fn keep_apart(
    rows: Vec<Imported>,
    names: &[(Facts, String)],
    line: impl Fn(&Imported) -> String,
    report: &mut impl FnMut(&Imported, Finding),
) -> Vec<Imported> {
    let mut several = BTreeSet::new();
    for ((collective, ranks), rows) in group(&rows, |row| (row.cell.collective, row.cell.ranks)) {
        let places = group(rows, |row| &names[row.source].1);
        if places.len() > 1 {
            let lines: Vec<String> = places.values().map(|rows| line(rows[0])).collect();
            let what = format!(
                "{collective} on {ranks} ranks was timed in {} directories, which are not compared, and none is used; \
                 import one of them: lines {}",
                places.len(),
                some(&lines, NAMED)
            );
            for rows in places.values() {
                report(rows[0], Finding::new(FindingCode::Contradiction, &*what).of_timings(rows.len()));
            }
            several.insert((collective, ranks));
        }
    }
    rows.into_iter().filter(|row| !several.contains(&(row.cell.collective, row.cell.ranks))).collect()
}
