//! Rows about the same point and launch.

use collrules_record::Candidate;
use collrules_rules::words::some;

use crate::finding::{Finding, FindingCode};
use crate::group::group;
use crate::imported::Imported;

/// Largest number of lines that a message names.
const NAMED: usize = 6;

/// Keeps the first of rows that agree, and none of rows that contradict each other. Returns all others as place, code
/// and words. `line` names a row for the reader.
pub(super) fn settle(
    rows: Vec<Imported>,
    line: impl Fn(&Imported) -> String,
    report: &mut impl FnMut(&Imported, Finding),
) -> Vec<Imported> {
    let same = group(0..rows.len(), |place| {
        let Imported { cell, candidate, launch, round, .. } = rows[*place];
        (cell, candidate, launch, round)
    });
    let mut keep = vec![true; rows.len()];
    for ((cell, candidate, ..), places) in same.iter().filter(|(_, places)| places.len() > 1) {
        let first = &rows[places[0]];
        if places.iter().all(|place| rows[*place].times == first.times) {
            for &place in &places[1..] {
                keep[place] = false;
                let what = format!("repeats line {}", line(first));
                report(&rows[place], Finding::new(FindingCode::Duplicate, what));
            }
        } else {
            let is_default_of_files =
                *candidate == Candidate::Builtin && places.iter().any(|place| rows[*place].source != first.source);
            let lines: Vec<_> = places.iter().map(|place| line(&rows[*place])).collect();
            let what = format!(
                "lines {} contradict each other about {cell}, {candidate}, and none is used; repeated measurements need different \
                 launch numbers{}",
                some(&lines, NAMED),
                if is_default_of_files {
                    ", such as run1 in names of files: 0 and `default` both mean Open MPI's default"
                } else {
                    ""
                },
            );
            for &place in places {
                keep[place] = false;
                report(&rows[place], Finding::new(FindingCode::Contradiction, &*what));
            }
        }
    }
    let mut kept = keep.into_iter();
    rows.into_iter().filter(|_| kept.next() == Some(true)).collect()
}
