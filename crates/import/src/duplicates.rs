//! Rows about the same point and launch.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use collrules_record::{Candidate, Cell};

use crate::finding::Code;

/// How many lines a message names.
const NAMED: usize = 6;

/// What two rows of one measurement cannot share: cell, candidate, launch, round.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Measurement(pub(super) Cell, pub(super) Candidate, pub(super) u32, pub(super) u32);

impl Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.0, self.1)
    }
}

/// Keeps the first of rows that agree and none of rows that contradict each other; reports all the others as place,
/// code and words. Rows with equal keys are about the same; `line` names a row for the reader.
pub(super) fn settle<T, K: Ord + Display>(
    rows: Vec<T>,
    key: impl Fn(&T) -> K,
    same_time: impl Fn(&T, &T) -> bool,
    line: impl Fn(&T) -> String,
    mut report: impl FnMut(&T, Code, String),
) -> Vec<T> {
    let mut same: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        same.entry(key(row)).or_default().push(place);
    }
    let mut keep = vec![true; rows.len()];
    for (point, places) in same.iter().filter(|(_, places)| places.len() > 1) {
        let first = &rows[places[0]];
        if places.iter().all(|place| same_time(&rows[*place], first)) {
            for &place in &places[1..] {
                keep[place] = false;
                report(&rows[place], Code::Duplicate, format!("repeats line {}", line(first)));
            }
        } else {
            let lines: Vec<_> = places.iter().take(NAMED + 1).map(|place| line(&rows[*place])).collect();
            let what = format!(
                "{} contradict each other about {point}, and none is used; repeated measurements need different \
                 launch numbers",
                list(&lines, places.len()),
            );
            for &place in places {
                keep[place] = false;
                report(&rows[place], Code::Contradiction, what.clone());
            }
        }
    }
    let mut kept = keep.into_iter();
    rows.into_iter().filter(|_| kept.next() == Some(true)).collect()
}

/// `lines 3, 8 and 11`.
fn list(lines: &[String], count: usize) -> String {
    match lines {
        [before @ .., last] if count <= NAMED => format!("lines {} and {last}", before.join(", ")),
        _ => format!("lines {} and {} more", lines[..NAMED].join(", "), count - NAMED),
    }
}
