//! Message sizes that other candidates have on the same communicator.

use std::collections::BTreeSet;

use super::{PointValue, Suspicion, group};
use crate::finding::FindingCode;
use collrules_record::{Bytes, Candidate, Cell};
use collrules_rules::words::some;

/// Largest number of sizes that a message names.
const NAMED: usize = 4;

/// One suspicion per candidate and communicator, except for points that are known to be lost.
pub(super) fn check(points: &[PointValue], lost: &BTreeSet<(Cell, Candidate)>) -> Vec<Suspicion> {
    let mut suspicions = Vec::new();
    let sizes = |points: &[&PointValue]| points.iter().map(|point| point.cell.bytes).collect::<BTreeSet<Bytes>>();
    for ((collective, ranks), points) in group(points, |point| (point.cell.collective, point.cell.ranks)) {
        let all = sizes(&points);
        for (candidate, own) in group(points, |point| point.candidate) {
            let is_lost = |bytes: Bytes| lost.contains(&(Cell { collective, ranks, bytes }, candidate));
            let have = sizes(&own);
            let gaps: Vec<String> =
                all.difference(&have).filter(|bytes| !is_lost(**bytes)).map(ToString::to_string).collect();
            if !gaps.is_empty() {
                let gaps = some(&gaps, NAMED);
                let what = format!(
                    "{collective} on {ranks} ranks by {candidate} lacks sizes that other candidates have: {gaps}"
                );
                suspicions.push(own[0].suspicion([], FindingCode::Gap, what));
            }
        }
    }
    suspicions
}
