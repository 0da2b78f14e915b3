//! More data through one process than any link or core carries.

use std::collections::BTreeMap;

use super::{PointValue, Suspicion, through_one_process};
use crate::finding::FindingCode;

/// Smaller messages take the time of a call rather than that of their data.
const LEAST_BYTES: f64 = 4096.0;

/// One suspicion per candidate, at its fastest point.
pub(super) fn check(points: &[PointValue], most: f64) -> Vec<Suspicion> {
    let mut columns: BTreeMap<_, Vec<(f64, &PointValue)>> = BTreeMap::new();
    for point in points {
        let bytes = through_one_process(point.cell);
        let speed = bytes / point.time().0;
        if bytes >= LEAST_BYTES && speed > most {
            columns.entry((point.cell.collective, point.candidate)).or_default().push((speed, point));
        }
    }
    columns.into_values().filter_map(|beyond| doubt(&beyond, most)).collect()
}

fn doubt(beyond: &[(f64, &PointValue)], most: f64) -> Option<Suspicion> {
    let (speed, worst) = beyond.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let others = match beyond.len() - 1 {
        0 => String::new(),
        1 => "; one other size of this algorithm exceeds that too".to_owned(),
        count => format!("; {count} other sizes of this algorithm exceed that too"),
    };
    let what = format!(
        "{} in {} with {} would be {:.1} GB/s through one process, more than the {:.0} GB/s that a process can send \
         or receive (--process-bandwidth){others}",
        worst.time(),
        worst.cell,
        worst.candidate,
        speed / 1e9,
        most / 1e9,
    );
    let timings = beyond.iter().flat_map(|(_, point)| point.timings.clone()).collect();
    Some(Suspicion { timings, ..worst.suspicion(FindingCode::Bandwidth, what) })
}
