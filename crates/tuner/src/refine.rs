//! What to measure next, so that crossovers are known better where it is worth the time.

use std::collections::BTreeSet;

use collrules_record::cell::type_size;
use collrules_record::findings::{CellFinding, Crossover, Findings};
use collrules_record::plan::CellPlan;
use collrules_record::profile::weight::Weight;
use collrules_record::{Bytes, Candidate, Cell, Ranks};
use collrules_rules::metric::{Metric, metric};

/// How well crossovers are to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refinement {
    /// Narrow enough: the upper end of a bracket over its lower end, such as 1.25.
    pub width: f64,
    /// Worth the time: what measuring a gap can be expected to gain, as a share of the time of calls in it, times the
    /// number of doublings that the gap spans; where programs are known, times what they spend in it instead, over what they
    /// spend in a cell in the mean.
    pub worth: f64,
    /// Whether sizes between neighbouring communicator sizes are proposed as well.
    pub ranks: bool,
    /// The largest number of proposals; the most valuable ones are kept.
    pub most: usize,
}

impl Default for Refinement {
    fn default() -> Self {
        Self { width: 1.25, worth: 0.005, ranks: false, most: 64 }
    }
}

/// A cell that would narrow a crossover.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The cell, and what to time in it: the builtin and the two choices of the crossover.
    pub plan: CellPlan,
    /// Of the crossover: the gap that is cut, as message bytes or as communicator sizes.
    pub gap: Gap,
    /// Expected gain as a share of the time, times what the gap counts for.
    pub worth: f64,
}

/// The gap that a proposal cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Between neighbouring measured message sizes.
    Messages(Bytes, Bytes),
    /// Between neighbouring measured communicator sizes.
    Ranks(Ranks, Ranks),
}

/// The cells to measure next, the most valuable first: each cuts a gap in which the choice changes.
///
/// A gap is worth what a boundary in the wrong place costs: with the crossover anywhere in the gap (in the logarithm of
/// the size) and the boundary at its best guess, calls on the wrong side lose up to what the two choices differ by at
/// the ends. For a difference that falls linearly from `d` at one end to `-e` at the other the mean loss of a boundary
/// that is off by a share `u` of the gap is `u² (d + e) / 2`; for a crossover spread evenly, and the boundary in the
/// middle, the mean of `u²` is 1/12. Where the choice changes by significance alone, the differences say what is at
/// stake in the same way.
///
/// Where programs are known, the size is cut at which they spend the most time in the gap, and one that they don't call counts for
/// nothing.
///
/// Where the choice does not depend on the size there is nothing to cut. Nothing is proposed that was measured already,
/// so that repeated rounds come to an end: gaps halve, in the logarithm of the size.
pub fn refine(findings: &Findings, programs: &[Weight], wanted: Refinement) -> Vec<Proposal> {
    let measured: BTreeSet<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let mut proposals: Vec<Proposal> = Vec::new();
    let apart = |crossover: &&Crossover| crossover.sides().0.is_apart() || crossover.sides().1.is_apart();
    // What has jobs of its own would need as many again.
    for crossover in findings.crossovers.iter().filter(|crossover| !apart(crossover)) {
        let block = |bytes| Cell { collective: crossover.collective, ranks: crossover.ranks, bytes };
        let (low, high) = crossover.bracket;
        // Calls are made with whole elements.
        let element = type_size(crossover.collective);
        let Some(middle) = middle(low.0 / element, high.0 / element, wanted.width) else { continue };
        let gap = Gap::Messages(low, high);
        let called = called(programs, block(low), gap);
        let cut = called.most.map_or(block(Bytes(middle * element)), |weight| weight.cell);
        let ends = (block(low), block(high));
        proposals.extend(proposal(findings, cut, gap, ends, crossover.sides(), called.counts));
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
                let choices = (Candidate::of(change.below), Candidate::of(change.above));
                let gap = Gap::Ranks(low, high);
                let counts = called(programs, lower, gap).counts;
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

/// What programs call in a gap.
struct Called<'a> {
    /// The calls with the most time; none where there are none, or nothing is known of programs.
    most: Option<&'a Weight>,
    /// The time in all of them over what programs spend in a cell in the mean; none where nothing is known of programs.
    counts: Option<f64>,
}

fn called(programs: &[Weight], beside: Cell, gap: Gap) -> Called<'_> {
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
    Called {
        most: programs.iter().filter(within).max_by(|a, b| a.time.0.total_cmp(&b.time.0)),
        counts: (mean > 0.0).then(|| time(&mut programs.iter().filter(within)) / mean),
    }
}

/// `counts` is what the gap counts for: as many times as sizes double in it, where nobody knows.
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
    for candidate in [below, above] {
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    let difference = |finding: &CellFinding| Some(log_time(finding, above)? - log_time(finding, below)?);
    // Where one of the two was not timed at an end, the other end says what is at stake.
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

/// Logarithm of the median time.
fn log_time(finding: &CellFinding, candidate: Candidate) -> Option<f64> {
    finding.point(candidate).map(|point| point.time.point.ln())
}

/// Where to cut a gap that is wider than wanted: at the power of two nearest its middle in the logarithm, else at the
/// middle itself; none where no size lies between.
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
