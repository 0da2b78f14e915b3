//! Summary of the findings: ranges of sizes that use the same candidate, and gains per collective.

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{CallRule, Candidate, Cell, HanRules};
use collrules_rules::table::all_builtin;
use collrules_rules::{Choice, Collective, Release, RuleTable};

use crate::document::Table;
use crate::reasons::reasons;
use crate::words::{describe_place, tally, times, wrapped};

/// Neighbouring measured sizes that use the same candidate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) collective: Collective,
    pub(crate) ranks: Ranks,
    /// The smallest measured size.
    pub(crate) first: Bytes,
    /// The largest measured size.
    pub(crate) last: Bytes,
    /// The rule for them.
    pub(crate) choice: Choice,
    /// The candidate that carries them out.
    pub(crate) by: Candidate,
    /// The gain over these cells; none if the builtin stays, or all of their times are implausible.
    pub(crate) gain: Option<Gain>,
}

/// Builtin time over the expected time under the rules, corrected for selection. Cells with implausible times do not
/// count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gain {
    /// Geometric mean over the cells.
    pub(crate) mean: f64,
    /// Geometric mean of the lower interval ends; none if a cell has no interval. Not a bound at the level of the
    /// intervals, since the choices come from the same timings.
    pub(crate) cautious: Option<f64>,
    /// The smallest gain of a cell.
    pub(crate) least: f64,
    /// The largest gain of a cell.
    pub(crate) most: f64,
}

/// Expected effect of the rules on a collective. A cell that is not kept, improved or doubted has a rule
/// but no gain.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) collective: Collective,
    /// Cells measured.
    pub(crate) cells: usize,
    /// Cells that keep the builtin.
    pub(crate) kept: usize,
    /// Cells that are faster than under the builtin.
    pub(crate) improved: usize,
    /// Cells with a rule and implausible times, which no number here includes.
    pub(crate) doubted: usize,
    /// The gain over all other cells, with 1 for those that keep the builtin.
    pub(crate) overall: Gain,
    /// The cell with the largest gain, as text.
    pub(crate) best: Option<String>,
}

impl Gain {
    fn over(findings: &Findings, cells: &[CellFinding]) -> Option<Self> {
        let cells: Vec<&CellFinding> = cells.iter().filter(|cell| !findings.doubts(cell)).collect();
        let gains = || cells.iter().map(|cell| expected(cell));
        let lows: Option<Vec<f64>> =
            cells.iter().map(|cell| cell.gain_in_use().map_or(Some(1.0), |it| it.low)).collect();
        (!cells.is_empty()).then(|| Self {
            mean: geometric_mean(gains()).unwrap_or(1.0),
            cautious: lows.and_then(geometric_mean),
            least: gains().fold(f64::INFINITY, f64::min),
            most: gains().fold(0.0, f64::max),
        })
    }
}

/// The expected gain in a cell, corrected for selection; 1 if the builtin stays.
fn expected(cell: &CellFinding) -> f64 {
    cell.expectation_in_use().or(cell.gain_in_use().map(|gain| gain.point)).unwrap_or(1.0)
}

/// Returns true if sizes between two neighbours with rules have another rule than either, or none.
pub(crate) fn has_hole((table, han): (&RuleTable, &HanRules), release: Release, one: Cell, next: Cell) -> bool {
    let default = all_builtin();
    let tuned = table.get(one.collective).unwrap_or(&default).get(one.ranks.0.into());
    let steps = han.join(tuned, (one.collective, one.ranks), release);
    let (from, to) = (one.lookup_bytes(release), next.lookup_bytes(release));
    let ends = [steps.get(from), steps.get(to)];
    let is_inner = |start: u64, rule: &CallRule| start > from && start < to && !ends.contains(&rule);
    ends.iter().all(|rule| **rule != CallRule::default()) && steps.iter().any(|(start, _, rule)| is_inner(start, rule))
}

/// The measured sizes of every collective and communicator size, neighbours joined if they use the same candidate.
pub(crate) fn stretches(findings: &Findings) -> Vec<Stretch> {
    let in_use = |cell: &CellFinding| (cell.cell.collective, cell.cell.ranks, cell.candidate_in_use());
    let stretch = |cells: &[CellFinding]| {
        let (collective, ranks, by) = in_use(&cells[0]);
        Stretch {
            collective,
            ranks,
            first: cells[0].cell.bytes,
            last: cells[cells.len() - 1].cell.bytes,
            choice: cells[0].in_use,
            by,
            gain: if by == Candidate::Builtin { None } else { Gain::over(findings, cells) },
        }
    };
    let joined = |a: &CellFinding, b: &CellFinding| {
        in_use(a) == in_use(b) && !has_hole((&findings.table, &findings.han), findings.release, a.cell, b.cell)
    };
    findings.cells.chunk_by(joined).map(stretch).collect()
}

/// The cells of each collective.
pub(crate) fn by_collective(findings: &Findings) -> impl Iterator<Item = &[CellFinding]> {
    findings.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective)
}

/// Returns the expected effect per collective, in the order of the findings.
pub(crate) fn expectations(findings: &Findings) -> Vec<Expectation> {
    by_collective(findings).map(|cells| expectation(findings, cells)).collect()
}

fn expectation(findings: &Findings, cells: &[CellFinding]) -> Expectation {
    let (ruled, kept): (Vec<&CellFinding>, Vec<&CellFinding>) =
        cells.iter().partition(|cell| cell.candidate_in_use() != Candidate::Builtin);
    let (doubted, sound): (Vec<&CellFinding>, Vec<&CellFinding>) =
        ruled.into_iter().partition(|cell| findings.doubts(cell));
    let improved = sound.iter().filter(|cell| expected(cell) > 1.0).count();
    let best = sound.iter().max_by(|a, b| expected(a).total_cmp(&expected(b)));
    Expectation {
        collective: cells[0].cell.collective,
        cells: cells.len(),
        kept: kept.len(),
        improved,
        doubted: doubted.len(),
        overall: Gain::over(findings, cells).unwrap_or(Gain { mean: 1.0, cautious: None, least: 1.0, most: 1.0 }),
        best: best.filter(|_| improved > 0).map(|cell| describe_place(cell.cell)),
    }
}

impl Stretch {
    /// Returns true if a cell is one of these sizes, or between them.
    pub(crate) fn holds(&self, cell: &Cell) -> bool {
        (cell.collective, cell.ranks) == (self.collective, self.ranks) && (self.first..=self.last).contains(&cell.bytes)
    }

    /// The sizes, as `1 B to 4 KiB`; a dash if calls have none.
    pub(crate) fn sizes(&self) -> String {
        sizes(self.collective, self.first, self.last)
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
    let row = |cells: &[CellFinding]| {
        let Expectation { collective, cells: all, kept, improved, doubted, overall, best } =
            expectation(findings, cells);
        let is_known = kept + doubted < all;
        let [mean, cautious] =
            [Some(overall.mean), overall.cautious].map(|gain| gain.filter(|_| is_known).map_or("-".to_owned(), times));
        let largest = best.map_or("-".to_owned(), |best| format!("{} ({best})", times(overall.most)));
        let [all, improved, kept, doubted] = [all, improved, kept, doubted].map(|count| count.to_string());
        [collective.to_string(), all, improved, kept, doubted, mean, cautious, largest]
    };
    let heads = ["collective", "sizes:", "faster:", "default:", "implausible:", "mean:", "at lower ends:", "largest"];
    Table::new(heads, by_collective(findings).map(row))
}

/// The expected gains, and the reasons where there are none, for a terminal with this many columns.
pub fn text(findings: &Findings, width: usize) -> String {
    let none = by_collective(findings).filter(|cells| expectation(findings, cells).best.is_none());
    let why = none.map(|cells| {
        let reasons = reasons(findings, cells).into_iter().filter(|(reason, _)| !reason.is_ruled);
        let why = tally(reasons.map(|(reason, cells)| (reason.why, cells)));
        wrapped(width, &format!("{}: {why}", cells[0].cell.collective), "  ", "    ")
    });
    std::iter::once(table(findings).text(width)).chain(why.flatten()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use collrules_record::findings::{PointFinding, Verdict};
    use collrules_record::reason::{KeepReason, Shortfall};
    use collrules_record::{Cell, Estimate, HanRule};
    use collrules_rules::Release;
    use collrules_rules::steps::Steps;

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

    #[test]
    fn a_hole_in_either_file_is_one() {
        let at = |bytes| Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(bytes) };
        let holes = |rules: &[(u64, u64, HanRule)]| {
            let mut own = Steps::constant(HanRule::Default);
            rules.iter().for_each(|(first, end, rule)| own.set(*first, Some(*end), *rule));
            let mut steps = Steps::constant(Steps::constant(HanRule::Default));
            steps.set(8, Some(9), own);
            let mut han = HanRules::default();
            han.set(Collective::Bcast, steps);
            has_hole((&RuleTable::default(), &han), Release::V5_0, at(8), at(512))
        };
        let simple = HanRule::Simple;
        assert!(!holes(&[(8, 513, simple)]) && !holes(&[(8, 64, simple), (64, 513, HanRule::Delegate)]));
        assert!(holes(&[(8, 64, simple), (65, 513, simple)]));
        assert!(!holes(&[(8, 64, simple)]), "a size without a rule ends the range by itself");
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
