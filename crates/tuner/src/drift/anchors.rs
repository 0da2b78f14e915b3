//! Cells of a run that are worth measuring again.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::{Candidate, Cell};

use crate::error::TunerError;
use crate::observations::Observations;
use crate::view::View;

/// Number of launches that a comparison of a point needs.
const LEAST_LAUNCHES: usize = 2;

/// Weight of a cell without a rule in the comparison of distances, relative to one with a rule.
const UNRULED: f64 = 0.5;

/// A cell that is measured again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The cell.
    pub cell: Cell,
    /// Candidate that is measured with the builtin: that of the rules or, without a rule for the cell, the fastest of
    /// the others.
    pub beside: Candidate,
    /// True if it is the candidate of the rules.
    pub ruled: bool,
}

impl Anchor {
    /// The points that are measured.
    pub fn points(&self) -> impl Iterator<Item = (Cell, Candidate)> + use<> {
        let cell = self.cell;
        [Candidate::Builtin, self.beside].into_iter().map(move |candidate| (cell, candidate))
    }
}

/// Returns at most `count` cells of a run that were measured in several launches. Each collective in turn adds the one
/// that is farthest from those chosen before, in communicator size and message size; cells with rules count double.
/// `given` returns the candidate that is measured for another, if that can be measured again.
pub fn anchors(
    findings: &Findings,
    observations: &Observations,
    count: usize,
    given: impl Fn(Cell, Candidate) -> Option<Candidate>,
) -> Result<Vec<Anchor>, TunerError> {
    let mut known = BTreeSet::new();
    for (cell, series) in observations.points(&View::default())? {
        if series.launches().len() >= LEAST_LAUNCHES {
            known.insert((cell, series.candidate));
        }
    }
    let fine = |cell: Cell, candidate: Candidate| {
        let measured = given(cell, candidate)?;
        let point = (cell, measured);
        (known.contains(&point) && !findings.doubted.contains(&point)).then_some(measured)
    };
    let anchor = |finding: &CellFinding| {
        let (cell, served) = (finding.cell, finding.served_candidate());
        fine(cell, Candidate::Builtin)?;
        if served != Candidate::Builtin {
            return Some(Anchor { cell, beside: fine(cell, served)?, ruled: true });
        }
        let mut others: Vec<_> = finding.points.iter().filter(|point| point.candidate != Candidate::Builtin).collect();
        others.sort_by(|a, b| a.time.point.total_cmp(&b.time.point));
        let beside = others.into_iter().find_map(|point| fine(cell, point.candidate))?;
        Some(Anchor { cell, beside, ruled: false })
    };
    let mut left: BTreeMap<_, Vec<Anchor>> = BTreeMap::new();
    for anchor in findings.cells.iter().filter_map(anchor) {
        left.entry(anchor.cell.collective).or_default().push(anchor);
    }
    let mut left: Vec<Vec<Anchor>> = left.into_values().collect();
    let places: Vec<CellSizes> = left.iter().map(|anchors| CellSizes::from_anchors(anchors)).collect();
    let mut chosen: Vec<Vec<Anchor>> = vec![Vec::new(); left.len()];
    while chosen.iter().map(Vec::len).sum::<usize>() < count && left.iter().any(|anchors| !anchors.is_empty()) {
        for (at, anchors) in left.iter_mut().enumerate() {
            if chosen.iter().map(Vec::len).sum::<usize>() < count {
                let next = places[at].farthest(anchors, &chosen[at]);
                chosen[at].extend(next.map(|next| anchors.swap_remove(next)));
            }
        }
    }
    let mut chosen: Vec<Anchor> = chosen.into_iter().flatten().collect();
    chosen.sort_by_key(|anchor| anchor.cell);
    Ok(chosen)
}

/// Communicator sizes and message sizes of a collective's cells, for the place of a cell between the smallest and the
/// largest.
struct CellSizes {
    ranks: Vec<u32>,
    bytes: Vec<u64>,
}

impl CellSizes {
    fn from_anchors(anchors: &[Anchor]) -> Self {
        let ranks: BTreeSet<u32> = anchors.iter().map(|anchor| anchor.cell.ranks.0).collect();
        let bytes: BTreeSet<u64> = anchors.iter().map(|anchor| anchor.cell.bytes.0).collect();
        Self { ranks: ranks.into_iter().collect(), bytes: bytes.into_iter().collect() }
    }

    fn place(&self, cell: Cell) -> (f64, f64) {
        let share = |at: usize, all: usize| at as f64 / (all.max(2) - 1) as f64;
        let ranks = self.ranks.partition_point(|ranks| *ranks < cell.ranks.0);
        let bytes = self.bytes.partition_point(|bytes| *bytes < cell.bytes.0);
        (share(ranks, self.ranks.len()), share(bytes, self.bytes.len()))
    }

    /// Position in `left` of the anchor farthest from the chosen ones; if none is chosen, of the one with most ranks
    /// and bytes.
    fn farthest(&self, left: &[Anchor], chosen: &[Anchor]) -> Option<usize> {
        let worth = |anchor: &Anchor| {
            let here = self.place(anchor.cell);
            let distance = |other: &Anchor| {
                let there = self.place(other.cell);
                (here.0 - there.0).abs() + (here.1 - there.1).abs()
            };
            let far = chosen.iter().map(distance).fold(f64::INFINITY, f64::min);
            let far = if far.is_finite() { far } else { 1.0 + here.0 + here.1 };
            if anchor.ruled { far } else { UNRULED * far }
        };
        (0..left.len())
            .max_by(|a, b| worth(&left[*a]).total_cmp(&worth(&left[*b])).then(left[*a].cell.cmp(&left[*b].cell)))
    }
}
