//! Message sizes that other candidates have on the same communicator.

use std::collections::{BTreeMap, BTreeSet};

use super::{PointValue, Suspicion};
use crate::finding::FindingCode;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell};
use collrules_rules::words::some;

/// Largest number of sizes that a message names.
const NAMED: usize = 4;

/// One suspicion per candidate and communicator, except for points that are known to be lost.
pub(super) fn check(points: &[PointValue], lost: &BTreeSet<(Cell, Candidate)>) -> Vec<Suspicion> {
    let mut blocks: BTreeMap<_, BTreeMap<Candidate, Vec<&PointValue>>> = BTreeMap::new();
    for point in points {
        let block = blocks.entry((point.cell.collective, point.cell.ranks)).or_default();
        block.entry(point.candidate).or_default().push(point);
    }
    let mut doubts = Vec::new();
    for candidates in blocks.values() {
        let sizes: BTreeSet<Bytes> = candidates.values().flatten().map(|point| point.cell.bytes).collect();
        for (candidate, own) in candidates {
            let have: BTreeSet<Bytes> = own.iter().map(|point| point.cell.bytes).collect();
            let first = own[0];
            let gaps: Vec<String> = sizes
                .difference(&have)
                .filter(|bytes| !lost.contains(&(Cell { bytes: **bytes, ..first.cell }, *candidate)))
                .map(ToString::to_string)
                .collect();
            if gaps.is_empty() {
                continue;
            }
            let what = format!(
                "{} on {} ranks by {candidate} lacks sizes that other candidates have: {}",
                first.cell.collective,
                first.cell.ranks,
                some(&gaps, NAMED),
            );
            doubts.push(Suspicion { timings: Vec::new(), ..first.suspicion(FindingCode::Gap, what) });
        }
    }
    doubts
}
