//! What the findings come to: ranges of sizes served alike, and gains per collective.

use collrules_record::Candidate;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::{Bytes, Ranks};
use collrules_rules::{Choice, Collective, registry};

/// Neighbouring measured sizes that the rules serve alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// The collective.
    pub collective: Collective,
    /// The communicator size.
    pub ranks: Ranks,
    /// The smallest measured size.
    pub first: Bytes,
    /// The largest measured size.
    pub last: Bytes,
    /// What the rules say for them.
    pub choice: Choice,
    /// What carries them out.
    pub by: Candidate,
    /// The gain over these cells; none where the builtin stays.
    pub gain: Option<Gain>,
}

/// Builtin time over the time under the rules, as it is to be expected: what chance added to the best is taken out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Geometric mean over the cells.
    pub mean: f64,
    /// Geometric mean of the lower interval ends; none where a cell has no interval. No bound at the level of the
    /// intervals, since the cells were chosen by the same timings.
    pub cautious: Option<f64>,
    /// The smallest gain of a cell.
    pub least: f64,
    /// The largest gain of a cell.
    pub most: f64,
}

/// What the rules are expected to do for a collective.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The collective.
    pub collective: Collective,
    /// Cells measured.
    pub cells: usize,
    /// Cells in which the rules overrule the builtin.
    pub served: usize,
    /// Those of them that are faster than under the builtin.
    pub improved: usize,
    /// The gain over all its cells, those left to the builtin counting as 1.
    pub overall: Gain,
    /// The cell with the largest gain, as text.
    pub best: Option<String>,
}

impl Gain {
    fn over<'a>(cells: impl Iterator<Item = &'a CellFinding> + Clone) -> Option<Self> {
        let count = cells.clone().count();
        if count == 0 {
            return None;
        }
        let gains = cells.clone().map(expected);
        let lows = cells.map(|cell| match cell.served_gain() {
            Some(gain) => gain.low,
            None => Some(1.0),
        });
        let geometric = |logs: f64| (logs / count as f64).exp();
        Some(Self {
            mean: geometric(gains.clone().map(f64::ln).sum()),
            cautious: lows.map(|low| low.map(f64::ln)).sum::<Option<f64>>().map(geometric),
            least: gains.clone().fold(f64::INFINITY, f64::min),
            most: gains.fold(0.0, f64::max),
        })
    }
}

/// The gain to expect in a cell, corrected for the choice of what seemed best: 1 where the builtin stays.
fn expected(cell: &CellFinding) -> f64 {
    cell.served_expectation().or(cell.served_gain().map(|gain| gain.point)).unwrap_or(1.0)
}

/// The measured sizes of every collective and communicator size, neighbours joined where they are served alike.
pub fn stretches(findings: &Findings) -> Vec<Stretch> {
    let alike = |a: &CellFinding, b: &CellFinding| {
        (a.cell.collective, a.cell.ranks, a.served_candidate())
            == (b.cell.collective, b.cell.ranks, b.served_candidate())
    };
    findings
        .cells
        .chunk_by(alike)
        .map(|cells| Stretch {
            collective: cells[0].cell.collective,
            ranks: cells[0].cell.ranks,
            first: cells[0].cell.bytes,
            last: cells[cells.len() - 1].cell.bytes,
            choice: cells[0].served,
            by: cells[0].served_candidate(),
            gain: if cells[0].served_candidate() == Candidate::Builtin { None } else { Gain::over(cells.iter()) },
        })
        .collect()
}

/// What to expect, per collective, in the order of the findings.
pub fn expectations(findings: &Findings) -> Vec<Expectation> {
    findings
        .cells
        .chunk_by(|a, b| a.cell.collective == b.cell.collective)
        .filter_map(|cells| {
            let gain = expected;
            let served = cells.iter().filter(|cell| cell.served_candidate() != Candidate::Builtin);
            let improved = served.clone().filter(|cell| gain(cell) > 1.0);
            let best = served.clone().max_by(|a, b| gain(a).total_cmp(&gain(b)));
            Some(Expectation {
                collective: cells[0].cell.collective,
                cells: cells.len(),
                served: served.count(),
                improved: improved.count(),
                overall: Gain::over(cells.iter())?,
                best: best.map(|cell| cell.cell.to_string()),
            })
        })
        .collect()
}

impl Stretch {
    /// The sizes, as `1B to 4KiB`; a dash where calls have none.
    pub fn sizes(&self) -> String {
        match (self.collective.has_sizes(), self.first == self.last) {
            (false, _) => "-".to_owned(),
            (true, true) => self.first.to_string(),
            (true, false) => format!("{} to {}", self.first, self.last),
        }
    }
}

/// The name of a choice in the release that the findings are for.
pub fn name(findings: &Findings, collective: Collective, choice: Choice) -> String {
    registry::describe(findings.release, collective, choice)
}

/// The name of a candidate in the release that the findings are for.
pub fn candidate_name(findings: &Findings, collective: Collective, candidate: Candidate) -> String {
    match candidate {
        Candidate::Builtin | Candidate::Tuned(_) => name(findings, collective, candidate.choice()),
        Candidate::Component(component) => format!("{component}, by its own decision"),
        Candidate::Rules => "the rules file".to_owned(),
    }
}

/// A share as `5 %`, with as many digits as it has.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e10).round() / 1e8)
}

/// Whole sentences on what to expect, one per collective.
pub fn sentences(findings: &Findings) -> Vec<String> {
    expectations(findings).iter().map(|expected| sentence(expected, findings)).collect()
}

fn sentence(expected: &Expectation, findings: &Findings) -> String {
    let Expectation { collective, cells, served, improved, overall, best } = expected;
    let Some(best) = best else {
        return format!("{collective}: nothing; the builtin stays in every cell ({cells}).");
    };
    let over = if *cells == 1 { "1 cell".to_owned() } else { format!("all {cells} cells") };
    let cautious = overall.cautious.map_or(String::new(), |low| {
        format!(" ({low:.2}x if every gain were at the lower end of its {} interval)", percent(findings.criteria.level))
    });
    let improve = if *improved == 1 { "1 cell improves".to_owned() } else { format!("{improved} cells improve") };
    let most = if *improved == 0 { String::new() } else { format!(", the most by {:.2}x ({best})", overall.most) };
    let others = match served - improved {
        0 => String::new(),
        1 => "; 1 cell that the rules serve does not".to_owned(),
        count => format!("; {count} cells that the rules serve do not"),
    };
    format!("{collective}: {:.2}x in geometric mean over {over}{cautious}; {improve}{most}{others}.", overall.mean)
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
            }],
            disqualified: Vec::new(),
            verdict: Verdict::Keep { why: String::new() },
            served: choice,
            unruled: Candidate::Builtin,
        };
        Findings { cells: gains.iter().enumerate().map(cell).collect(), ..Findings::empty("a test", Release::V4_1) }
    }

    #[test]
    fn served_cells_that_are_no_faster_do_not_improve() {
        let text = sentences(&findings(&[(2.0, 1.5), (1.0, 0.9), (0.99, 0.95), (1.5, 1.2)]));
        let cautious = (1.5f64 * 0.9 * 0.95 * 1.2).powf(0.25);
        let mean = (2.0f64 * 0.99 * 1.5).powf(0.25);
        let expected = format!(
            "scatter: {mean:.2}x in geometric mean over all 4 cells ({cautious:.2}x if every gain were at the lower \
             end of its 95 % interval); 2 cells improve, the most by 2.00x (scatter on 4 ranks at 1B); 2 cells that the \
             rules serve do not."
        );
        assert_eq!(text, [expected]);
    }

    #[test]
    fn one_cell_is_no_plural() {
        let text = sentences(&findings(&[(2.0, 1.5)]));
        assert!(text[0].contains("over 1 cell (") && text[0].contains("; 1 cell improves, the most"), "{text:?}");
        let text = sentences(&findings(&[(2.0, 1.5), (0.99, 0.9)]));
        assert!(text[0].ends_with("; 1 cell that the rules serve does not."), "{text:?}");
    }

    #[test]
    fn shares_have_the_digits_they_need() {
        for (share, text) in [(0.005, "0.5 %"), (0.07, "7 %"), (0.0001, "0.01 %"), (0.95, "95 %"), (0.0, "0 %")] {
            assert_eq!(percent(share), text);
        }
    }
}
