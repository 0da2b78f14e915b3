//! Columns that equal those of another collective: the benchmark of one was run instead of the other, for example by a
//! job script that forces an algorithm of scatter but starts the benchmark of bcast.
//!
//! Pairs of collectives are compared if one has to move its data through a process once for every other rank: with four
//! ranks or more and a MiB or more to move, they cannot take the same time, whatever the algorithms. Linear algorithms
//! of the cheaper one are excluded, since they send as much from the root.

use collrules_rules::{Collective, Release, registry};

use super::{PointValue, Suspicion, group, moves_blocks, moves_vectors, through_one_process};
use crate::finding::FindingCode;
use collrules_record::Candidate;
use collrules_record::estimate::median;

/// Launches of the same measurement differ by less than this in nine cells of ten (ORNL's tables: by 1.22 and 1.39).
const SAME: f64 = 0.405_465_108_108_164_4;
const SHARE: f64 = 0.9;
/// Largest difference of half of the cells: launches differ by 1.02 to 1.06 in the median of the same tables.
const TYPICAL: f64 = 0.139_761_942_375_158_84;
const LEAST_CELLS: usize = 12;
const LEAST_RANKS: u32 = 4;
const LEAST_BYTES: f64 = 1024.0 * 1024.0;

pub(super) fn check(points: &[PointValue], release: Release) -> Vec<Suspicion> {
    let large = points.iter().filter(|point| point.cell.ranks.0 >= LEAST_RANKS);
    let columns = group(large, |point| (point.cell.collective, point.candidate));
    let mut doubts = Vec::new();
    for ((collective, candidate), column) in columns.iter().filter(|((collective, _), _)| moves_blocks(*collective)) {
        let models =
            columns.iter().filter(|((other, model), _)| moves_vectors(*other) && !is_linear(release, *other, *model));
        let twins = models.filter_map(|(name, model)| Some((difference(column, model)?, *name)));
        // The column of the same name explains it best, then the one that is closest.
        let twin =
            twins.min_by(|(a, (_, x)), (b, (_, y))| (x != candidate).cmp(&(y != candidate)).then(a.total_cmp(b)));
        let Some((_, (other, model))) = twin else { continue };
        let what = format!(
            "{collective} with {candidate} takes as long as {other} with {model}, although it has to move a block to \
             or from every other rank: perhaps {other} was measured for both",
        );
        let own = points.iter().filter(|it| (it.cell.collective, it.candidate) == (*collective, *candidate));
        doubts.push(column[0].suspicion(own, FindingCode::TwinColumn, what));
    }
    doubts
}

fn is_linear(release: Release, collective: Collective, candidate: Candidate) -> bool {
    let Candidate::Tuned(choice) = candidate else { return false };
    let algorithm = registry::algorithm(release, collective, choice.algorithm);
    algorithm.is_ok_and(|algorithm| algorithm.name.contains("linear"))
}

/// The median size of the logarithm of the ratio, if the columns are twins.
fn difference(column: &[&PointValue], model: &[&PointValue]) -> Option<f64> {
    // Points are ordered by cell and launch.
    let key = |point: &&PointValue| (point.cell.ranks, point.cell.bytes, point.launch);
    let large = column.iter().filter(|point| through_one_process(point.cell) >= LEAST_BYTES);
    let twin = |point: &&PointValue| Some(model[model.binary_search_by_key(&key(point), key).ok()?].log - point.log);
    let mut sizes: Vec<f64> = large.filter_map(twin).map(f64::abs).collect();
    let close = sizes.iter().filter(|size| **size <= SAME).count();
    let enough = sizes.len() >= LEAST_CELLS && close as f64 >= SHARE * sizes.len() as f64;
    median(&mut sizes).filter(|typical| enough && *typical <= TYPICAL)
}
