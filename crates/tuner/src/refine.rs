//! Sizes to measure next, so that crossovers are known more precisely if their sizes matter.

use std::collections::BTreeSet;

use collrules_record::cell::type_size;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::plan::CellPlan;
use collrules_record::profile::weight::Weight;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::metric::{Metric, metric};

/// Required precision of crossovers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refinement {
    /// Sufficient precision: the upper end of a bracket over its lower end, such as 1.25.
    pub width: f64,
    /// Smallest worth of a gap: the expected gain, as a share of the time of its calls, times the number of doublings
    /// that the gap spans. If programs are known, times the time that they spend in the gap over the mean that they
    /// spend in a cell.
    pub worth: f64,
    /// True if sizes between neighbouring communicator sizes are proposed as well.
    pub ranks: bool,
    /// The largest number of proposals; the most valuable ones are kept.
    pub most: usize,
}

impl Default for Refinement {
    fn default() -> Self {
        Self { width: 1.25, worth: 0.005, ranks: false, most: 64 }
    }
}

/// A cell that would make a crossover more precise.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The cell, and its candidates: the builtin and the two choices of the crossover.
    pub plan: CellPlan,
    /// The gap that the cell splits, in message bytes or communicator sizes.
    pub gap: Gap,
    /// Expected gain as a share of the time, times the weight of the gap.
    pub worth: f64,
}

/// The gap that a proposal splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Between neighbouring measured message sizes.
    Messages(Bytes, Bytes),
    /// Between neighbouring measured communicator sizes.
    Ranks(Ranks, Ranks),
}

/// The cells to measure next, the most valuable first: each splits a gap in which the choice changes.
///
/// The worth of a gap is the expected loss from a misplaced boundary. With the crossover anywhere in the gap (in the
/// logarithm of the size) and the boundary at its best guess, calls on the wrong side lose at most the difference of
/// the two choices at the ends. For a difference that falls linearly from `d` at one end to `-e` at the other the mean
/// loss of a boundary that is off by a share `u` of the gap is `u² (d + e) / 2`; for a crossover spread evenly, and the
/// boundary in the middle, the mean of `u²` is 1/12. The formula also applies if only the significance changes, not the
/// sign of the difference.
///
/// If programs are known, the gap is split at the size with most of their time, and gaps that they do not call have no
/// worth.
///
/// If the choice does not depend on the size, nothing is proposed, nor are measured sizes: so repeated rounds end, as
/// each halves gaps in the logarithm of the size.
pub fn refine(findings: &Findings, programs: &[Weight], wanted: Refinement) -> Vec<Proposal> {
    let measured: BTreeSet<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let mut proposals: Vec<Proposal> = Vec::new();
    for crossover in &findings.crossovers {
        let block = |bytes| Cell { collective: crossover.collective, ranks: crossover.ranks, bytes };
        let (low, high) = crossover.bracket;
        // Calls have whole elements.
        let element = type_size(crossover.collective);
        let Some(middle) = middle(low.0 / element, high.0 / element, wanted.width) else { continue };
        let gap = Gap::Messages(low, high);
        let (most, counts) = called(programs, block(low), gap);
        let cut = most.map_or(block(Bytes(middle * element)), |weight| weight.cell);
        let ends = (block(low), block(high));
        proposals.extend(proposal(findings, cut, gap, ends, crossover.sides(), counts));
    }
    if wanted.ranks {
        for change in &findings.tree.rank_changes {
            let (low, high) = change.bracket;
            let Some(middle) = middle(low.0.into(), high.0.into(), wanted.width) else { continue };
            let Ok(middle) = u32::try_from(middle) else { continue };
            let sizes = findings.cells.iter().map(|cell| cell.cell).filter(|cell| {
                (cell.collective, cell.ranks) == (change.collective, low)
                    && cell.bytes >= change.messages.0
                    && cell.bytes <= change.messages.1
            });
            for lower in sizes {
                let at = |ranks| Cell { ranks, ..lower };
                let choices = (Candidate::from_choice(change.below), Candidate::from_choice(change.above));
                let gap = Gap::Ranks(low, high);
                let (_, counts) = called(programs, lower, gap);
                proposals.extend(proposal(findings, at(Ranks(middle)), gap, (lower, at(high)), choices, counts));
            }
        }
    }
    proposals.retain(|proposal| proposal.worth >= wanted.worth && !measured.contains(&proposal.plan.cell));
    proposals.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(a.plan.cell.cmp(&b.plan.cell)));
    let mut seen = BTreeSet::new();
    proposals.retain(|proposal| seen.insert(proposal.plan.cell));
    proposals.truncate(wanted.most);
    proposals
}

/// Returns the calls of programs in a gap with the most time, and the time of all its calls over the mean time that programs
/// spend in a cell; none if programs are unknown.
fn called(programs: &[Weight], beside: Cell, gap: Gap) -> (Option<&Weight>, Option<f64>) {
    let within = |weight: &&Weight| {
        let cell = weight.cell;
        cell.collective == beside.collective
            && match gap {
                Gap::Messages(low, high) => cell.ranks == beside.ranks && low < cell.bytes && cell.bytes < high,
                Gap::Ranks(low, high) => low < cell.ranks && cell.ranks < high,
            }
    };
    let time = |weights: &mut dyn Iterator<Item = &Weight>| weights.map(|weight| weight.time.0).sum::<f64>();
    let mean = time(&mut programs.iter()) / programs.len().max(1) as f64;
    (
        programs.iter().filter(within).max_by(|a, b| a.time.0.total_cmp(&b.time.0)),
        (mean > 0.0).then(|| time(&mut programs.iter().filter(within)) / mean),
    )
}

/// Proposes a cell in a gap. `counts` is the weight of the gap; without one, the weight is the number of doublings that
/// the gap spans.
fn proposal(
    findings: &Findings,
    cell: Cell,
    gap: Gap,
    ends: (Cell, Cell),
    (below, above): (Candidate, Candidate),
    counts: Option<f64>,
) -> Option<Proposal> {
    let sized = matches!(metric(findings.release, cell.collective, cell.ranks), Metric::Times(_));
    if matches!(gap, Gap::Messages(..)) && !sized {
        return None;
    }
    let at = |cell: Cell| findings.cells.iter().find(|finding| finding.cell == cell);
    let (low, high) = (at(ends.0)?, at(ends.1)?);
    let mut candidates = vec![Candidate::Builtin];
    candidates.extend([below, above].into_iter().filter(|candidate| *candidate != Candidate::Builtin));
    candidates.dedup();
    let difference = |finding: &CellFinding| {
        let log_time = |candidate| finding.point(candidate).map(|point| point.time.point.ln());
        Some(log_time(above)? - log_time(below)?)
    };
    // If one of the two choices was not timed at one end, the difference at the other end is used.
    let (d, e) = match (difference(low), difference(high)) {
        (Some(d), Some(e)) => (d.abs(), e.abs()),
        (Some(one), None) | (None, Some(one)) => (one.abs(), one.abs()),
        (None, None) => return None,
    };
    let doublings = match gap {
        Gap::Messages(low, high) => (high.0.max(1) as f64 / low.0.max(1) as f64).log2(),
        Gap::Ranks(low, high) => (f64::from(high.0) / f64::from(low.0.max(1))).log2(),
    };
    let plan = CellPlan::new(cell, candidates);
    Some(Proposal { plan, gap, worth: (d + e) / 24.0 * counts.unwrap_or(doublings) })
}

/// Returns the size at which to cut a gap that is wider than `width`: the power of two nearest its middle in the
/// logarithm, else the middle itself; none if no size lies between.
pub fn middle(low: u64, high: u64, width: f64) -> Option<u64> {
    if high.saturating_sub(low) < 2 || high as f64 <= low as f64 * width {
        return None;
    }
    let exact = (low.max(1) as f64 * high as f64).sqrt();
    let powers = (0..u64::BITS).map(|bit| 1u64 << bit).filter(|power| *power > low && *power < high);
    let distance = |size: u64| ((size as f64).ln() - exact.ln()).abs();
    let nearest = powers.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    Some(nearest.unwrap_or((exact.round() as u64).clamp(low + 1, high - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_cut_at_powers_of_two_and_then_in_the_middle() {
        assert_eq!(middle(1024, 16384, 1.25), Some(4096));
        assert_eq!(middle(1024, 2048, 1.25), Some(1448));
        assert_eq!(middle(1000, 3000, 1.25), Some(2048));
        assert_eq!(middle(1448, 2048, 1.25), Some(1722));
        assert_eq!(middle(1722, 2048, 1.25), None, "narrow enough");
        assert_eq!(middle(7, 8, 1.0), None, "nothing in between");
        assert_eq!(middle(0, 2, 1.25), Some(1));
        assert_eq!(middle(4, 6, 1.25), Some(5));
    }
}
