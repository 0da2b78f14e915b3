//! Reference algorithms that are faster than all of `coll/tuned`, and that no rule can choose.
//!
//! They have no influence on verdicts. Each is compared with the library's fastest algorithm by a one-sided signed-rank
//! test over visits, corrected for all such comparisons. The library's fastest is selected with these timings too,
//! which favours the library.

use std::collections::BTreeMap;

use collrules_program::Reference;
use collrules_record::criteria::{Criteria, Middle};
use collrules_record::estimate::median;
use collrules_record::remark::Remark;
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

use crate::cells::{CellTimings, PointTimings, TimingPair, log_gains};
use crate::error::TunerError;
use crate::evidence::LEAST_VISITS;
use crate::observations::Observations;
use crate::statistics::{adjust, signed_rank};
use crate::view::Competitors;

/// A reference algorithm compared with the fastest algorithm of the library.
struct ReferenceGain {
    cell: Cell,
    reference: Reference,
    /// The library's time over the reference algorithm's.
    gain: Estimate,
    every_launch: bool,
    p_value: f64,
}

/// Compares the reference algorithms with the library; empty if none was timed.
pub fn reference_gains(observations: &Observations, criteria: Criteria) -> Result<Vec<Remark>, TunerError> {
    let cells = observations.cells_with(Competitors::WithReferences)?;
    let gains: Vec<ReferenceGain> = cells.iter().flat_map(|cell| gains(cell, criteria)).collect();
    if gains.is_empty() {
        return Ok(Vec::new());
    }
    let q_values = adjust(gains.iter().map(|gain| Some(gain.p_value)));
    let mut ahead: BTreeMap<(Collective, Reference), Vec<&ReferenceGain>> = BTreeMap::new();
    for (gain, q_value) in gains.iter().zip(q_values) {
        let shown = q_value.is_some_and(|q| q <= criteria.error_rate) && gain.every_launch;
        let enough = gain.gain.point >= 1.0 + criteria.min_gain && gain.gain.low.is_some_and(|low| low > 1.0);
        if shown && enough {
            ahead.entry((gain.cell.collective, gain.reference)).or_default().push(gain);
        }
    }
    if ahead.is_empty() {
        return Ok(vec![Remark::NoReferenceFaster]);
    }
    let of_reference = |((_, reference), gains): ((Collective, Reference), Vec<&ReferenceGain>)| {
        let most = gains.iter().max_by(|a, b| a.gain.point.total_cmp(&b.gain.point))?;
        let reference = Candidate::Reference(reference);
        Some(Remark::ReferenceFaster { cell: most.cell, reference, sizes: gains.len(), gain: most.gain })
    };
    Ok(ahead.into_iter().filter_map(of_reference).collect())
}

/// The reference algorithms of a cell.
fn gains(cell: &CellTimings, criteria: Criteria) -> Vec<ReferenceGain> {
    let time = |series: &PointTimings| median(&mut series.seconds());
    let offered = |series: &&PointTimings| !matches!(series.candidate, Candidate::Reference(_) | Candidate::Rules);
    let timed = cell.series.iter().filter(offered).filter_map(|series| Some((series, time(series)?)));
    let Some((best, _)) = timed.min_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let one = |series: &PointTimings| {
        let Candidate::Reference(reference) = series.candidate else { return None };
        let pairs = series.pairs(best);
        let gains = |key: fn(&TimingPair) -> (u32, u32)| -> Vec<f64> {
            log_gains(&pairs, Middle::Median, key).into_iter().map(|(_, gain)| gain).collect()
        };
        let visits = gains(TimingPair::visit);
        if visits.len() < LEAST_VISITS {
            return None;
        }
        let losses: Vec<f64> = visits.iter().map(|gain| -gain).collect();
        Some(ReferenceGain {
            cell: cell.cell,
            reference,
            gain: Estimate::median(&visits, criteria.level)?.exp(),
            every_launch: gains(|pair| (pair.launch, 0)).iter().all(|gain| *gain > 0.0),
            p_value: signed_rank(&losses),
        })
    };
    cell.series.iter().filter_map(one).collect()
}
