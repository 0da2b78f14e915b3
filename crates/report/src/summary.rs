//! What the findings come to: ranges of sizes served alike, and gains per collective.

use collrules_record::Candidate;
use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::words::counted;
use collrules_rules::{Choice, Collective};

use crate::reasons::reasons;
use crate::words::{percent, times};

/// Neighbouring measured sizes that the rules serve alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) collective: Collective,
    pub(crate) ranks: Ranks,
    /// The smallest measured size.
    pub(crate) first: Bytes,
    /// The largest measured size.
    pub(crate) last: Bytes,
    /// What the rules say for them.
    pub(crate) choice: Choice,
    /// What carries them out.
    pub(crate) by: Candidate,
    /// The gain over these cells; none where the builtin stays, or all of their times are doubted.
    pub(crate) gain: Option<Gain>,
}

/// Builtin time over the time under the rules, as it is to be expected: what chance added to the best is taken out.
/// Cells whose times are doubted do not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gain {
    /// Geometric mean over the cells.
    pub(crate) mean: f64,
    /// Geometric mean of the lower interval ends; none where a cell has no interval. No bound at the level of the
    /// intervals, since the cells were chosen by the same timings.
    pub(crate) cautious: Option<f64>,
    /// The smallest gain of a cell.
    pub(crate) least: f64,
    /// The largest gain of a cell.
    pub(crate) most: f64,
}

/// What the rules are expected to do for a collective. Its cells are kept, improved, level or doubted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    pub(crate) collective: Collective,
    /// Cells measured.
    pub(crate) cells: usize,
    /// Cells that keep the builtin.
    pub(crate) kept: usize,
    /// Cells that are faster than under the builtin.
    pub(crate) improved: usize,
    /// Cells under a rule that gain nothing.
    pub(crate) level: usize,
    /// Cells under a rule whose times can hardly be true: no number here counts them.
    pub(crate) doubted: usize,
    /// The gain over all other cells, those left to the builtin counting as 1.
    pub(crate) overall: Gain,
    /// The cell with the largest gain, as text.
    pub(crate) best: Option<String>,
}

impl Gain {
    fn over(findings: &Findings, cells: &[CellFinding]) -> Option<Self> {
        let cells: Vec<&CellFinding> = cells.iter().filter(|cell| !findings.doubts(cell)).collect();
        let gains = || cells.iter().map(|cell| expected(cell));
        let lows: Option<Vec<f64>> =
            cells.iter().map(|cell| cell.served_gain().map_or(Some(1.0), |it| it.low)).collect();
        (!cells.is_empty()).then(|| Self {
            mean: geometric_mean(gains()).unwrap_or(1.0),
            cautious: lows.and_then(geometric_mean),
            least: gains().fold(f64::INFINITY, f64::min),
            most: gains().fold(0.0, f64::max),
        })
    }
}

/// The gain to expect in a cell, corrected for the choice of what seemed best: 1 where the builtin stays.
fn expected(cell: &CellFinding) -> f64 {
    cell.served_expectation().or(cell.served_gain().map(|gain| gain.point)).unwrap_or(1.0)
}

/// The measured sizes of every collective and communicator size, neighbours joined where they are served alike.
pub(crate) fn stretches(findings: &Findings) -> Vec<Stretch> {
    let served = |cell: &CellFinding| (cell.cell.collective, cell.cell.ranks, cell.served_candidate());
    let stretch = |cells: &[CellFinding]| {
        let (collective, ranks, by) = served(&cells[0]);
        Stretch {
            collective,
            ranks,
            first: cells[0].cell.bytes,
            last: cells[cells.len() - 1].cell.bytes,
            choice: cells[0].served,
            by,
            gain: if by == Candidate::Builtin { None } else { Gain::over(findings, cells) },
        }
    };
    findings.cells.chunk_by(|a, b| served(a) == served(b)).map(stretch).collect()
}

/// The cells of each collective.
pub(crate) fn by_collective(findings: &Findings) -> impl Iterator<Item = &[CellFinding]> {
    findings.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective)
}

/// What to expect, per collective, in the order of the findings.
pub(crate) fn expectations(findings: &Findings) -> Vec<Expectation> {
    by_collective(findings).map(|cells| expectation(findings, cells)).collect()
}

fn expectation(findings: &Findings, cells: &[CellFinding]) -> Expectation {
    let (ruled, kept): (Vec<&CellFinding>, Vec<&CellFinding>) =
        cells.iter().partition(|cell| cell.served_candidate() != Candidate::Builtin);
    let (doubted, sound): (Vec<&CellFinding>, Vec<&CellFinding>) =
        ruled.into_iter().partition(|cell| findings.doubts(cell));
    let improved = sound.iter().filter(|cell| expected(cell) > 1.0).count();
    let best = sound.iter().max_by(|a, b| expected(a).total_cmp(&expected(b)));
    Expectation {
        collective: cells[0].cell.collective,
        cells: cells.len(),
        kept: kept.len(),
        improved,
        level: sound.len() - improved,
        doubted: doubted.len(),
        overall: Gain::over(findings, cells).unwrap_or(Gain { mean: 1.0, cautious: None, least: 1.0, most: 1.0 }),
        best: best.filter(|_| improved > 0).map(|cell| cell.cell.to_string()),
    }
}

impl Stretch {
    /// The sizes, as `1B to 4KiB`; a dash where calls have none.
    pub(crate) fn sizes(&self) -> String {
        sizes(self.collective, self.first, self.last)
    }
}

/// Message sizes, as `1B to 4KiB`; a dash where calls have none.
pub(crate) fn sizes(collective: Collective, first: Bytes, last: Bytes) -> String {
    match (collective.has_sizes(), first == last) {
        (false, _) => "-".to_owned(),
        (true, true) => first.to_string(),
        (true, false) => format!("{first} to {last}"),
    }
}

/// Whole sentences on what to expect, a paragraph per collective.
pub fn sentences(findings: &Findings) -> Vec<String> {
    by_collective(findings).map(|cells| paragraph(findings, cells)).collect()
}

fn paragraph(findings: &Findings, cells: &[CellFinding]) -> String {
    let Expectation { collective, cells: all, kept, improved, level, doubted, overall, best } =
        expectation(findings, cells);
    if kept == all {
        let reasons = reasons(findings, cells);
        let why: Vec<String> = match reasons.as_slice() {
            [one] => vec![one.why.clone()],
            several => several.iter().map(|one| format!("{} ({})", one.why, one.cells)).collect(),
        };
        let over = if all == 1 { "the one cell".to_owned() } else { format!("all {all} cells") };
        return format!("{collective}: no gain. The builtin serves {over}: {}.", why.join("; "));
    }
    let cautious = overall.cautious.map_or(String::new(), |low| {
        format!(
            ", {} if every gain is at the lower end of its {} interval",
            times(low),
            percent(findings.criteria.level)
        )
    });
    let mut said = vec![match all - doubted {
        0 => format!("{collective}: no gain can be reported."),
        sound => format!(
            "{collective}: {} in geometric mean over {}{cautious}.",
            times(overall.mean),
            counted(sound, "cell")
        ),
    }];
    if let Some(best) = best {
        let get = if improved == 1 { "gets" } else { "get" };
        said.push(format!("{} {get} faster, the most by {} ({best}).", counted(improved, "cell"), times(overall.most)));
    }
    if level > 0 {
        said.push(format!("In {} under a rule nothing is gained.", counted(level, "cell")));
    }
    if kept > 0 {
        said.push(format!("{} {} the builtin.", counted(kept, "cell"), if kept == 1 { "keeps" } else { "keep" }));
    }
    if doubted > 0 {
        let is = if doubted == 1 { "is not counted: its times" } else { "are not counted: their times" };
        said.push(format!("{} under a rule {is} can hardly be true.", counted(doubted, "cell")));
    }
    said.join(" ")
}

#[cfg(test)]
mod tests {
    use collrules_record::findings::{PointFinding, Verdict};
    use collrules_record::{Cell, Estimate};
    use collrules_rules::Release;

    use super::*;

    fn estimate(point: f64, low: f64) -> Estimate {
        Estimate { point, low: Some(low), high: Some(2.0 * point), level: 0.95, samples: 24 }
    }

    /// Scatter on 4 ranks, served by algorithm 1 with these gains and lower ends.
    fn findings(gains: &[(f64, f64)]) -> Findings {
        let choice = Choice::plain(1);
        let cell = |(place, (gain, low)): (usize, &(f64, f64))| CellFinding {
            cell: Cell { collective: Collective::Scatter, ranks: Ranks(4), bytes: Bytes(1 << place) },
            points: vec![PointFinding {
                candidate: Candidate::of(choice),
                time: estimate(1e-6, 1e-6),
                gain: Some(estimate(*gain, *low)),
                expected: Some(*gain),
                p_value: None,
                q_value: None,
                stalls: None,
            }],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: "not significant".to_owned() },
            served: choice,
            unruled: Candidate::Builtin,
        };
        Findings { cells: gains.iter().enumerate().map(cell).collect(), ..Findings::empty("a test", Release::V4_1) }
    }

    #[test]
    fn counts_add_up_and_one_is_no_plural() {
        let mut found = findings(&[(2.0, 1.5), (1.0, 0.9), (0.99, 0.95), (1.5, 1.2)]);
        let cautious = (1.5f64 * 0.9 * 0.95 * 1.2).powf(0.25);
        let mean = (2.0f64 * 0.99 * 1.5).powf(0.25);
        let expected = format!(
            "scatter: {mean:.2}x in geometric mean over 4 cells, {cautious:.2}x if every gain is at the lower end of \
             its 95 % interval. 2 cells get faster, the most by 2.00x (scatter on 4 ranks at 1B). In 2 cells under a \
             rule nothing is gained."
        );
        assert_eq!(sentences(&found), [expected]);
        found.cells[1].served = Choice::BUILTIN;
        found.cells[3].served = Choice::BUILTIN;
        let said = &sentences(&found)[0];
        assert!(said.contains(" 1 cell gets faster, the most by 2.00x"), "{said}");
        assert!(said.ends_with("In 1 cell under a rule nothing is gained. 2 cells keep the builtin."), "{said}");
        found.cells.iter_mut().for_each(|cell| cell.served = Choice::BUILTIN);
        assert_eq!(sentences(&found), ["scatter: no gain. The builtin serves all 4 cells: not significant."]);
    }

    /// What nobody believes is no gain.
    #[test]
    fn doubted_times_are_in_no_number() {
        let mut found = findings(&[(1538.0, 1500.0), (2.0, 1.5), (1.2, 1.1)]);
        found.doubted.insert((found.cells[0].cell, Candidate::Builtin));
        found.doubted.insert((found.cells[2].cell, Candidate::Tuned(Choice::plain(2))));
        let said = &sentences(&found)[0];
        assert!(said.contains("1.55x in geometric mean over 2 cells"), "{said}");
        assert!(said.contains("the most by 2.00x (scatter on 4 ranks at 2B)") && !said.contains("1538"), "{said}");
        assert!(said.ends_with("1 cell under a rule is not counted: its times can hardly be true."), "{said}");
        assert_eq!(stretches(&found)[0].gain.map(|gain| gain.most), Some(2.0));
        let one = &expectations(&found)[0];
        assert_eq!((one.cells, one.kept + one.improved + one.level + one.doubted), (3, 3));
        let all = found.cells.iter().map(|cell| (cell.cell, Candidate::Builtin)).collect();
        found.doubted = all;
        assert_eq!(stretches(&found)[0].gain, None);
        assert!(sentences(&found)[0].starts_with("scatter: no gain can be reported. 3 cells"), "{found:?}");
    }
}
