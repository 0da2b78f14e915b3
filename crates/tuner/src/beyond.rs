//! What no rule can give: reference algorithms that are faster than all of `coll/tuned`.
//!
//! They take no part in verdicts. Each is compared with the fastest of what the library offers, turn by turn: a one-sided
//! signed-rank test over visits, corrected for all such comparisons. That the library's fastest was chosen by the same
//! timings speaks for the library.

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::findings::Criteria;
use collrules_record::{Candidate, Cell, Estimate};
use collrules_reference::{Primitive, Reference};
use collrules_rules::Collective;

use crate::cells::{CellTimings, Series};
use crate::error::TunerError;
use crate::evidence::LEAST_VISITS;
use crate::observations::Observations;
use crate::statistics::{adjust, signed_rank};

/// A reference algorithm beside the fastest of the library.
struct Rival {
    cell: Cell,
    reference: Reference,
    /// The library's time over the reference algorithm's.
    gain: Estimate,
    every_launch: bool,
    p_value: f64,
}

/// What the reference algorithms say about the library, in whole sentences; nothing where none was timed.
pub fn beyond_rules(observations: &Observations, criteria: Criteria) -> Result<Vec<String>, TunerError> {
    let cells = observations.cells_with_references()?;
    let rivals: Vec<Rival> = cells.iter().flat_map(|cell| rivals(cell, criteria)).collect();
    if rivals.is_empty() {
        return Ok(Vec::new());
    }
    let q_values = adjust(&rivals.iter().map(|rival| rival.p_value).collect::<Vec<_>>());
    let mut ahead: BTreeMap<(Collective, Reference), Vec<&Rival>> = BTreeMap::new();
    for (rival, q_value) in rivals.iter().zip(q_values) {
        let shown = q_value <= criteria.error_rate && rival.every_launch;
        let enough = rival.gain.point >= 1.0 + criteria.min_gain && rival.gain.low.is_some_and(|low| low > 1.0);
        if shown && enough {
            ahead.entry((rival.cell.collective, rival.reference)).or_default().push(rival);
        }
    }
    if ahead.is_empty() {
        return Ok(vec![
            "No reference algorithm is shown to be faster than the best of coll/tuned that was measured beside it."
                .to_owned(),
        ]);
    }
    Ok(ahead.into_iter().filter_map(|((collective, reference), rivals)| told(collective, reference, &rivals)).collect())
}

/// The reference algorithms of a cell.
fn rivals(cell: &CellTimings, criteria: Criteria) -> Vec<Rival> {
    let time = |series: &Series| median(&mut series.seconds());
    let offered = |series: &&Series| !matches!(series.candidate, Candidate::Reference(_) | Candidate::Rules);
    let timed = cell.series.iter().filter(offered).filter_map(|series| Some((series, time(series)?)));
    let Some((best, _)) = timed.min_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let one = |series: &Series| {
        let Candidate::Reference(reference) = series.candidate else { return None };
        let pairs = series.pairs(best);
        let medians = |same: fn(&crate::cells::Pair) -> (u32, u32)| -> Vec<f64> {
            let groups = pairs.chunk_by(|a, b| same(a) == same(b));
            groups.filter_map(|group| median(&mut group.iter().map(|pair| pair.log_gain).collect::<Vec<_>>())).collect()
        };
        let visits = medians(|pair| (pair.launch, pair.visit));
        if visits.len() < LEAST_VISITS {
            return None;
        }
        let losses: Vec<f64> = visits.iter().map(|gain| -gain).collect();
        Some(Rival {
            cell: cell.cell,
            reference,
            gain: Estimate::median(&visits, criteria.level)?.map(f64::exp),
            every_launch: medians(|pair| (pair.launch, 0)).iter().all(|gain| *gain > 0.0),
            p_value: signed_rank(&losses),
        })
    };
    cell.series.iter().filter_map(one).collect()
}

fn told(collective: Collective, reference: Reference, rivals: &[&Rival]) -> Option<String> {
    let most = rivals.iter().max_by(|a, b| a.gain.point.total_cmp(&b.gain.point))?;
    let parts: Vec<String> = reference.primitives(collective)?.iter().map(Primitive::to_string).collect();
    let ends = match (most.gain.low, most.gain.high) {
        (Some(low), Some(high)) => format!(" ({low:.2} to {high:.2})"),
        _ => String::new(),
    };
    let cells = match rivals.len() {
        1 => "1 cell".to_owned(),
        several => format!("{several} cells"),
    };
    Some(format!(
        "{}, made of {}, is faster than everything of coll/tuned that was measured in {cells} of {collective}; it gains most \
         for {}, where the library's best takes {:.2} times as long{ends}. No rule can ask for it: the library leaves that on \
         the table.",
        Candidate::Reference(reference),
        parts.join(" and "),
        most.cell,
        most.gain.point,
    ))
}
