//! Reference algorithms that are faster than all of `coll/tuned`, and that no rule can choose.
//!
//! They have no influence on verdicts. Each is compared with the library's fastest algorithm by a one-sided signed-rank
//! test over visits, corrected for all such comparisons. The library's fastest is selected with these timings too,
//! which favours the library.

use std::collections::BTreeMap;

use collrules_record::criteria::Criteria;
use collrules_record::estimate::median;
use collrules_record::findings::Statistic;
use collrules_record::remark::Remark;
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use crate::cells::{CellTimings, PointTimings};
use crate::evidence::{JudgedPoint, weigh};
use crate::observations::Observations;
use crate::statistics::adjust;
use crate::view::Competitors;

/// Compares the reference algorithms with the library; empty if none was timed.
pub fn reference_gains(observations: &Observations, criteria: Criteria) -> Vec<Remark> {
    let cells = observations.cells_with(Competitors::WithReferences);
    let of_cell = |cell: &CellTimings| {
        let points = against_fastest(cell, observations.statistic(), criteria).into_iter();
        points.map(|point| (cell.cell, point)).collect::<Vec<_>>()
    };
    let points: Vec<(Cell, JudgedPoint)> = cells.iter().flat_map(of_cell).collect();
    if points.is_empty() {
        return Vec::new();
    }
    let q_values = adjust(points.iter().map(|(_, point)| point.finding.p_value));
    let mut ahead: BTreeMap<(Collective, Candidate), Vec<(Cell, Estimate)>> = BTreeMap::new();
    for ((cell, point), q_value) in points.iter().zip(q_values) {
        let in_every_launch = point.basis.least_launch_gain().is_some_and(|least| least > 1.0);
        let shown = q_value.is_some_and(|q| q <= criteria.error_rate) && in_every_launch;
        let enough = |gain: &Estimate| gain.point >= 1.0 + criteria.min_gain && gain.low.is_some_and(|low| low > 1.0);
        if let Some(gain) = point.finding.gain.filter(|gain| shown && enough(gain)) {
            ahead.entry((cell.collective, point.finding.candidate)).or_default().push((*cell, gain));
        }
    }
    if ahead.is_empty() {
        return vec![Remark::NoReferenceFaster];
    }
    let of_reference = |((_, reference), gains): ((Collective, Candidate), Vec<(Cell, Estimate)>)| {
        let (cell, gain) = gains.iter().max_by(|a, b| a.1.point.total_cmp(&b.1.point)).copied()?;
        Some(Remark::ReferenceFaster { cell, reference, sizes: gains.len(), gain })
    };
    ahead.into_iter().filter_map(of_reference).collect()
}

/// The reference algorithms of a cell with enough visits for a test, against the library's fastest algorithm.
fn against_fastest(cell: &CellTimings, statistic: Statistic, criteria: Criteria) -> Vec<JudgedPoint> {
    let is_reference = |series: &PointTimings| matches!(series.candidate, Candidate::Reference(_));
    let offered = cell.series.iter().filter(|it| !is_reference(it) && it.candidate != Candidate::Rules);
    let timed = offered.filter_map(|series| Some((series, median(&mut series.seconds())?)));
    let Some((best, _)) = timed.min_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let best = PointTimings { candidate: Candidate::Builtin, ..best.clone() };
    let references = cell.series.iter().filter(|series| is_reference(series)).cloned();
    let series = std::iter::once(best).chain(references).collect();
    let mut points = weigh(&CellTimings { series, ..CellTimings::new(cell.cell) }, statistic, criteria);
    points.retain(|point| point.finding.p_value.is_some());
    points
}
