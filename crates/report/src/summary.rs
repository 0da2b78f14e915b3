//! Summary of the findings: ranges of sizes that use the same candidate, and gains per collective.

use std::ops::RangeInclusive;

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::tree::LeafGain;
use collrules_record::units::Bytes;
use collrules_record::{Candidate, Cell, Estimate};
use collrules_rules::{Choice, Collective};

use crate::document::Table;
use crate::gains::{Gains, is_same_communicator};
use crate::reasons::reasons;
use crate::words::{describe_place, tally, times, wrapped};

/// Neighbouring measured sizes that use the same candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    /// The smallest measured size.
    pub(crate) first: Cell,
    /// The largest measured size.
    pub(crate) last: Cell,
    /// The rule for them.
    pub(crate) choice: Choice,
    /// The candidate that carries them out.
    pub(crate) by: Candidate,
    /// The expected gain over these cells; none if the default stays, or all of their times are implausible.
    pub(crate) gain: Option<LeafGain>,
}

/// Expected effect of the rules on a collective. A cell that is not kept, improved or doubted has a rule but no gain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) collective: Collective,
    /// Cells measured.
    pub(crate) cells: usize,
    /// Cells that keep the default.
    pub(crate) kept: usize,
    /// Cells that are faster than by default.
    pub(crate) improved: usize,
    /// Cells with a rule and implausible times, which no number here includes.
    pub(crate) doubted: usize,
    /// The gain over all other cells, with 1 for those that keep the default. The lower end of its interval is no bound at the
    /// level of the intervals, since the choices come from the same timings.
    pub(crate) gain: LeafGain,
    /// The cell with the largest gain; none if no cell gains.
    pub(crate) best: Option<Cell>,
}

/// The speedup of the default over itself.
const NONE: Estimate = Estimate { point: 1.0, low: Some(1.0), high: Some(1.0), level: 0.95, samples: 0 };

/// The gain over cells that the timings for tuning let expect, corrected for selection; none if all times are implausible.
fn expected_gain(findings: &Findings, expected: &Gains<'_>, cells: &[CellFinding]) -> Option<LeafGain> {
    let sound = cells.iter().filter(|cell| !findings.doubts(cell));
    LeafGain::over(sound.map(|cell| expected.get(cell.cell).speedup.unwrap_or(NONE)))
}

/// The measured sizes of every collective and communicator size, neighbours joined if they use the same candidate.
pub(crate) fn stretches(findings: &Findings) -> Vec<Stretch> {
    let expected = Gains::expected(findings);
    let stretch = |cells: &[CellFinding]| {
        let by = cells[0].candidate_in_use();
        let gain = expected_gain(findings, &expected, cells).filter(|_| by != Candidate::Builtin);
        Stretch { first: cells[0].cell, last: cells[cells.len() - 1].cell, choice: cells[0].in_use, by, gain }
    };
    let joined = |a: &CellFinding, b: &CellFinding| {
        is_same_communicator(a.cell, b.cell)
            && a.candidate_in_use() == b.candidate_in_use()
            && !expected.has_hole(a.cell, b.cell)
    };
    findings.cells.chunk_by(joined).map(stretch).collect()
}

/// The cells of each collective.
pub(crate) fn by_collective(findings: &Findings) -> impl Iterator<Item = &[CellFinding]> {
    findings.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective)
}

/// Returns the expected effect per collective, in the order of the findings.
pub(crate) fn expectations(findings: &Findings) -> Vec<Expectation> {
    let expected = Gains::expected(findings);
    let point = |cell: &CellFinding| expected.get(cell.cell).speedup.map_or(1.0, |speedup| speedup.point);
    let expectation = |cells: &[CellFinding]| {
        let count = |is_wanted: &dyn Fn(&CellFinding) -> bool| cells.iter().filter(|cell| is_wanted(cell)).count();
        let best = cells.iter().max_by(|a, b| point(a).total_cmp(&point(b))).filter(|best| point(best) > 1.0);
        let none = LeafGain { mean: 1.0, interval: None, least: 1.0, most: 1.0 };
        Expectation {
            collective: cells[0].cell.collective,
            cells: cells.len(),
            kept: count(&|cell| cell.candidate_in_use() == Candidate::Builtin),
            improved: count(&|cell| point(cell) > 1.0),
            doubted: count(&|cell| findings.doubts(cell)),
            gain: expected_gain(findings, &expected, cells).unwrap_or(none),
            best: best.map(|best| best.cell),
        }
    };
    by_collective(findings).map(expectation).collect()
}

impl Stretch {
    /// Its sizes, and all between them.
    pub(crate) fn cells(&self) -> RangeInclusive<Cell> {
        self.first..=self.last
    }

    /// The sizes, as `1 B to 4 KiB`; a dash if calls have none.
    pub(crate) fn sizes(&self) -> String {
        sizes(self.first.collective, self.first.bytes, self.last.bytes)
    }
}

/// Message sizes, as `1 B to 4 KiB`; a dash if calls have none.
pub(crate) fn sizes(collective: Collective, first: Bytes, last: Bytes) -> String {
    match (collective.has_sizes(), first == last) {
        (false, _) => "-".to_owned(),
        (true, true) => first.to_string(),
        (true, false) => format!("{first} to {last}"),
    }
}

/// The expected gains, a row for each collective.
pub(crate) fn table(findings: &Findings) -> Table {
    let row = |it: Expectation| {
        let is_known = it.kept + it.doubted < it.cells;
        let [mean, cautious] = [Some(it.gain.mean), it.gain.interval.map(|(low, _)| low)]
            .map(|gain| gain.filter(|_| is_known).map_or("-".to_owned(), times));
        let best = |best| format!("{} ({})", times(it.gain.most), describe_place(best));
        let [all, improved, kept, doubted] = [it.cells, it.improved, it.kept, it.doubted].map(|it| it.to_string());
        let largest = it.best.map_or("-".to_owned(), best);
        [it.collective.to_string(), all, improved, kept, doubted, mean, cautious, largest]
    };
    let heads = ["collective", "sizes:", "faster:", "default:", "implausible:", "mean:", "at lower ends:", "largest"];
    Table::new(heads, expectations(findings).into_iter().map(row))
}

/// The expected gains, and the reasons where there are none, for a terminal with this many columns.
pub fn text(findings: &Findings, width: usize) -> String {
    let none = by_collective(findings).zip(expectations(findings)).filter(|(_, it)| it.best.is_none());
    let why = none.map(|(cells, it)| {
        let reasons = reasons(findings, cells).into_iter().filter(|(reason, _)| !reason.is_ruled);
        let why = tally(reasons.map(|(reason, cells)| (reason.why, cells)));
        wrapped(width, &format!("{}: {why}", it.collective), "  ", "    ")
    });
    std::iter::once(table(findings).text(width)).chain(why.flatten()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use collrules_record::findings::{PointFinding, Verdict};
    use collrules_record::reason::{KeepReason, Shortfall};
    use collrules_record::{Cell, Estimate, Ranks};
    use collrules_rules::Release;

    use super::*;

    fn estimate(point: f64, low: f64) -> Estimate {
        Estimate { point, low: Some(low), high: Some(2.0 * point), level: 0.95, samples: 24 }
    }

    /// Findings for scatter on 4 ranks with rules for algorithm 1, with these gains and lower ends.
    fn findings(gains: &[(f64, f64)]) -> Findings {
        let choice = Choice::plain(1);
        let cell = |(place, (gain, low)): (usize, &(f64, f64))| CellFinding {
            cell: Cell { collective: Collective::Scatter, ranks: Ranks(4), bytes: Bytes(1 << place) },
            points: vec![PointFinding {
                candidate: Candidate::from_choice(choice),
                time: estimate(1e-6, 1e-6),
                gain: Some(estimate(*gain, *low)),
                expected: Some(*gain),
                p_value: None,
                q_value: None,
                stalls: None,
            }],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: KeepReason::Nearest(Shortfall::NotSignificant) },
            in_use: choice,
            unruled: Candidate::Builtin,
        };
        Findings { cells: gains.iter().enumerate().map(cell).collect(), ..Findings::empty("a test", Release::V4_1) }
    }

    /// The cells of the row of the only collective.
    fn row(findings: &Findings) -> Vec<String> {
        let text = text(findings, 200);
        let words = text.lines().nth(1).unwrap_or_default().split_whitespace();
        words.map(str::to_owned).collect()
    }

    #[test]
    fn counts_add_up() {
        let mut found = findings(&[(2.0, 1.5), (1.0, 0.9), (0.99, 0.95), (1.5, 1.2)]);
        let cautious = (1.5f64 * 0.9 * 0.95 * 1.2).powf(0.25);
        let mean = (2.0f64 * 0.99 * 1.5).powf(0.25);
        let expected = format!("scatter 4 2 0 0 {mean:.2}x {cautious:.2}x 2.00x (4 ranks at 1 B)");
        assert_eq!(row(&found).join(" "), expected);
        found.cells[1].in_use = Choice::BUILTIN;
        found.cells[3].in_use = Choice::BUILTIN;
        assert_eq!(row(&found)[..5], ["scatter", "4", "1", "2", "0"]);
        found.cells.iter_mut().for_each(|cell| cell.in_use = Choice::BUILTIN);
        assert_eq!(row(&found).join(" "), "scatter 4 0 4 0 - - -");
    }

    /// Implausible times count as no gain.
    #[test]
    fn doubted_times_are_in_no_number() {
        let mut found = findings(&[(1538.0, 1500.0), (2.0, 1.5), (1.2, 1.1)]);
        found.doubted.insert((found.cells[0].cell, Candidate::Builtin));
        found.doubted.insert((found.cells[2].cell, Candidate::Tuned(Choice::plain(2))));
        let said = row(&found).join(" ");
        assert!(said.starts_with("scatter 3 2 0 1 1.55x "), "{said}");
        assert!(said.ends_with("2.00x (4 ranks at 2 B)") && !said.contains("1538"), "{said}");
        assert_eq!(stretches(&found)[0].gain.map(|gain| gain.most), Some(2.0));
        let one = &expectations(&found)[0];
        assert_eq!((one.cells, one.kept + one.improved + one.doubted), (3, 3));
        found.doubted = found.cells.iter().map(|cell| (cell.cell, Candidate::Builtin)).collect();
        assert_eq!(stretches(&found)[0].gain, None);
        assert!(row(&found).join(" ").starts_with("scatter 3 0 0 3 - -"), "{found:?}");
    }
}
