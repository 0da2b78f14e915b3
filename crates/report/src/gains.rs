//! Speedup of each message size with the rules: one estimate for headline, strips, maps, tables and text.
//!
//! If fresh launches compared the rules with the default, their estimates count and no others. Without them, gains are
//! those that the timings for tuning let expect.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::validation::{Outcome, Round, ValidatedCell, Validation};
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::Collective;

/// State of a message size under the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Has a rule that fresh launches confirmed to be faster.
    Confirmed,
    /// Has a rule between confirmed sizes, and no difference beyond the limit in fresh launches.
    Level,
    /// Has a rule that no fresh launches confirmed.
    Open,
    /// Keeps the default.
    Default,
}

/// Speedup of a message size with the rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellGain {
    pub(crate) fate: Fate,
    /// Time with the default over time with the rules; none if the default stays, or nothing plausible is known.
    pub(crate) speedup: Option<Estimate>,
}

/// Speedups of all message sizes that were measured or compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gains<'a> {
    cells: BTreeMap<Cell, CellGain>,
    /// The fresh launches that the speedups come from.
    pub(crate) round: Option<&'a Round>,
}

impl<'a> Gains<'a> {
    /// Speedups of the findings' cells, and of those that fresh launches compared.
    pub(crate) fn new(findings: &Findings, validation: Option<&'a Validation>) -> Self {
        let round = validation.and_then(|validation| validation.round.as_ref());
        let measured = findings.cells.iter().map(|cell| (cell.cell, expected_gain(findings, cell, round.is_some())));
        let mut cells: BTreeMap<Cell, CellGain> = measured.collect();
        if let Some((validation, round)) = validation.zip(round) {
            cells.extend(round.cells.iter().map(|cell| (cell.cell, compared_gain(validation, cell))));
        }
        Self { cells, round }
    }

    /// The gain of a cell; that of the default if nothing is known of it.
    pub(crate) fn get(&self, cell: Cell) -> CellGain {
        self.cells.get(&cell).copied().unwrap_or(CellGain { fate: Fate::Default, speedup: None })
    }

    /// The cells of a collective in order.
    pub(crate) fn of_collective(&self, collective: Collective) -> impl Iterator<Item = (Cell, CellGain)> {
        self.cells.iter().filter(move |(cell, _)| cell.collective == collective).map(|(cell, gain)| (*cell, *gain))
    }

    /// The collectives that have cells.
    pub(crate) fn collectives(&self) -> BTreeSet<Collective> {
        self.cells.keys().map(|cell| cell.collective).collect()
    }

    /// The number of cells with this fate.
    pub(crate) fn count(&self, fate: Fate) -> usize {
        self.cells.values().filter(|gain| gain.fate == fate).count()
    }

    /// The number of cells with a speedup.
    pub(crate) fn counted(&self) -> usize {
        self.cells.values().filter(|gain| gain.speedup.is_some()).count()
    }

    /// The number of all cells.
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The geometric mean over all cells with a rule, of those that a filter lets pass.
    pub(crate) fn mean(&self, filter: impl Fn(&Cell) -> bool) -> Option<Estimate> {
        let speedups = self.cells.iter().filter(|(cell, _)| filter(cell)).filter_map(|(_, gain)| gain.speedup);
        mean_speedup(self.round, speedups)
    }
}

/// The geometric mean of speedups, with the geometric means of the ends of their intervals. If they are all of a round,
/// it is the round's own estimate, which has the pairs of launches for its units.
pub(crate) fn mean_speedup(round: Option<&Round>, speedups: impl Iterator<Item = Estimate>) -> Option<Estimate> {
    let all: Vec<Estimate> = speedups.collect();
    if let Some(own) = round.filter(|round| round.cells.len() == all.len()).and_then(|round| round.speedup) {
        return Some(own);
    }
    let ends = |end: fn(&Estimate) -> Option<f64>| all.iter().map(end).collect::<Option<Vec<f64>>>();
    let mean = |values: Option<Vec<f64>>| values.and_then(geometric_mean);
    Some(Estimate {
        point: geometric_mean(all.iter().map(|speedup| speedup.point))?,
        low: mean(ends(|speedup| speedup.low)),
        high: mean(ends(|speedup| speedup.high)),
        level: all.first()?.level,
        samples: all.len(),
    })
}

/// The gain by the timings for tuning, corrected for the choice of what seemed best. It has no number if fresh launches
/// took place and did not compare the cell.
fn expected_gain(findings: &Findings, cell: &CellFinding, is_compared: bool) -> CellGain {
    if cell.served_candidate() == Candidate::Builtin {
        return CellGain { fate: Fate::Default, speedup: None };
    }
    let measured = cell.served_gain().filter(|_| !is_compared && !findings.doubts(cell));
    let point = |measured: Estimate| cell.served_expectation().unwrap_or(measured.point);
    CellGain { fate: Fate::Open, speedup: measured.map(|it| Estimate { point: point(it), ..it }) }
}

fn compared_gain(validation: &Validation, cell: &ValidatedCell) -> CellGain {
    if !cell.is_ruled() || validation.is_removed(cell.cell) {
        return CellGain { fate: Fate::Default, speedup: None };
    }
    let fate = match cell.verdict {
        Outcome::Faster => Fate::Confirmed,
        Outcome::Same => Fate::Level,
        Outcome::Slower | Outcome::Undecided => Fate::Open,
    };
    CellGain { fate, speedup: Some(cell.speedup) }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Release;

    use super::*;
    use crate::validation::fixture::validation;

    #[test]
    fn fresh_launches_decide_and_removed_rules_gain_nothing() {
        let findings = Findings::empty("", Release::V5_0);
        let mut faster = validation(Outcome::Faster, 2.0);
        let cell = faster.round.as_ref().expect("compared").cells[0].cell;
        let gain = |validation: &Validation| Gains::new(&findings, Some(validation)).get(cell);
        assert_eq!(gain(&faster).fate, Fate::Confirmed);
        assert_eq!(gain(&validation(Outcome::Same, 1.0)).fate, Fate::Level);
        assert_eq!(gain(&validation(Outcome::Undecided, 1.3)).fate, Fate::Open);
        faster.round.as_mut().expect("compared").repaired.push(cell);
        assert_eq!(gain(&faster), CellGain { fate: Fate::Default, speedup: None });
        let other = Cell { collective: Collective::Bcast, ranks: Ranks(2), bytes: Bytes(1) };
        assert_eq!(Gains::new(&findings, None).get(other).fate, Fate::Default);
    }

    #[test]
    fn the_mean_of_a_whole_round_is_that_of_the_round() {
        let mut found = validation(Outcome::Faster, 2.0);
        let speedup = found.round.as_ref().expect("compared").cells[0].speedup;
        let own = Estimate { point: 2.0, low: Some(1.95), high: Some(2.05), level: 0.95, samples: 4 };
        found.round.as_mut().expect("compared").speedup = Some(own);
        let round = found.round.as_ref();
        assert_eq!(mean_speedup(round, [speedup].into_iter()), Some(own));
        let two = mean_speedup(round, [speedup, Estimate { point: 8.0, ..speedup }].into_iter()).expect("two");
        assert!((two.point - 4.0).abs() < 1e-12 && two.low == Some(1.8), "{two:?}");
        assert_eq!(mean_speedup(round, std::iter::empty()), None);
    }
}
