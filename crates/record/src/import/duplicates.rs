//! Rows about the same point and launch.

use std::collections::BTreeMap;

use super::{Problem, Timing};

/// How many lines a message names.
const NAMED: usize = 6;

/// Keeps the first of rows that agree and none of rows that contradict each other; reports all the others.
pub(super) fn settle(timings: Vec<Timing>, problems: &mut Vec<Problem>) -> Vec<Timing> {
    let mut same: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (place, timing) in timings.iter().enumerate() {
        same.entry((timing.cell, timing.candidate, timing.launch)).or_default().push(place);
    }
    let mut keep = vec![true; timings.len()];
    for places in same.values().filter(|places| places.len() > 1) {
        let first = &timings[places[0]];
        if places.iter().all(|place| timings[*place].time == first.time) {
            for &place in &places[1..] {
                keep[place] = false;
                let what = format!("repeats line {}", first.line);
                problems.push(Problem { line: timings[place].line, what });
            }
        } else {
            let lines: Vec<_> = places.iter().map(|place| timings[*place].line).collect();
            let what = format!(
                "{} contradict each other about {}, {}, and none is used; repeated measurements need different \
                 launch numbers",
                list(&lines),
                first.cell,
                first.candidate,
            );
            for &place in places {
                keep[place] = false;
                problems.push(Problem { line: timings[place].line, what: what.clone() });
            }
        }
    }
    let mut kept = keep.into_iter();
    timings.into_iter().filter(|_| kept.next() == Some(true)).collect()
}

/// `lines 3, 8 and 11`.
fn list(lines: &[u64]) -> String {
    let text = |lines: &[u64]| lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match lines {
        [before @ .., last] if lines.len() <= NAMED => format!("lines {} and {last}", text(before)),
        _ => format!("lines {} and {} more", text(&lines[..NAMED]), lines.len() - NAMED),
    }
}
