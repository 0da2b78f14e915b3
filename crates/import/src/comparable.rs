//! Choice of the timings that are compared: those of one directory, since others may be of another library, layout or
//! machine, and one of each point and launch.

use std::path::{Component, Path};

use collrules_record::Candidate;
use collrules_rules::Release;
use collrules_rules::words::some;

use crate::facts::Facts;
use crate::finding::{Finding, FindingCode};
use crate::group::group;
use crate::names;
use crate::timing::Imported;

/// Largest number of places that a message names.
const NAMED_PLACES: usize = 4;

/// Largest number of lines that a message names.
pub(super) const NAMED_LINES: usize = 6;

/// The directory of a file, without directories that are named after facts of timings, such as `np4/a3`, and without the
/// last ones that a pattern describes.
pub(super) fn place(file: &str, described: usize, release: Release) -> String {
    let directories = Path::new(file).parent().into_iter().flat_map(Path::components);
    let directories = directories.filter(|part| !matches!(part, Component::CurDir));
    let names: Vec<_> = directories.map(|part| part.as_os_str().to_string_lossy()).collect();
    let mut kept = names[..names.len().saturating_sub(described)].to_vec();
    kept.retain(|name| !names::is_fact(name, release));
    kept.join("/")
}

/// Leaves out communicator sizes that were timed in several places. Keeps the first of rows that agree about a point and
/// launch, and none of rows that contradict each other. Returns them by cell, candidate, launch and round. `line` names a row
/// for the reader.
pub(super) fn settle(
    rows: Vec<Imported>,
    names: &[(Facts, String)],
    line: impl Fn(&Imported) -> String,
    mut report: impl FnMut(&Imported, Finding),
) -> Vec<Imported> {
    let mut kept = Vec::new();
    for ((collective, ranks), rows) in group(rows, |row| (row.cell.collective, row.cell.ranks)) {
        let places = group(&rows, |row| &names[row.source].1);
        if places.len() > 1 {
            let lines: Vec<String> = places.values().map(|rows| line(rows[0])).collect();
            let what = format!(
                "{collective} on {ranks} ranks was timed in {} directories, which are not compared, and none is used; \
                 import one of them: lines {}",
                places.len(),
                some(&lines, NAMED_PLACES)
            );
            for rows in places.values() {
                report(rows[0], Finding::new(FindingCode::Contradiction, &*what).of_timings(rows.len()));
            }
            continue;
        }
        for ((cell, candidate, ..), rows) in group(rows, |row| (row.cell, row.candidate, row.launch, row.round)) {
            let first = &rows[0];
            if rows.iter().all(|row| row.times == first.times) {
                let what = format!("repeats line {}", line(first));
                rows[1..].iter().for_each(|row| report(row, Finding::new(FindingCode::Duplicate, &*what)));
                kept.push(first.clone());
                continue;
            }
            let lines: Vec<String> = rows.iter().map(&line).collect();
            let mut what = format!(
                "lines {} contradict each other about {cell}, {candidate}, and none is used; number repetitions in a \
                 column `launch` (starts of mpirun) or `nrep` (calls of one start), and times of single ranks in a \
                 column `rank`",
                some(&lines, NAMED_LINES),
            );
            if candidate == Candidate::Builtin && rows.iter().any(|row| row.source != first.source) {
                what += ", such as run1 in names of files: 0 and `default` both mean Open MPI's default";
            }
            rows.iter().for_each(|row| report(row, Finding::new(FindingCode::Contradiction, &*what)));
        }
    }
    kept
}
