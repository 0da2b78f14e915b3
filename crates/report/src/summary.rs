//! What the findings come to: ranges of sizes served alike, and gains per collective.

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
    /// What serves them.
    pub choice: Choice,
    /// The gain over these cells; none where the builtin stays.
    pub gain: Option<Gain>,
}

/// Builtin time over the time under the rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Geometric mean over the cells.
    pub mean: f64,
    /// Geometric mean of the lower interval ends; none where a cell has no interval.
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
        let gains = cells.clone().map(|cell| cell.served_gain().map_or(1.0, |gain| gain.point));
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

/// The measured sizes of every collective and communicator size, neighbours joined where they are served alike.
pub fn stretches(findings: &Findings) -> Vec<Stretch> {
    let alike = |a: &CellFinding, b: &CellFinding| {
        (a.cell.collective, a.cell.ranks, a.served) == (b.cell.collective, b.cell.ranks, b.served)
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
            gain: if cells[0].served.is_builtin() { None } else { Gain::over(cells.iter()) },
        })
        .collect()
}

/// What to expect, per collective, in the order of the findings.
pub fn expectations(findings: &Findings) -> Vec<Expectation> {
    findings
        .cells
        .chunk_by(|a, b| a.cell.collective == b.cell.collective)
        .filter_map(|cells| {
            let improved = cells.iter().filter(|cell| !cell.served.is_builtin());
            let best = improved.clone().max_by(|a, b| {
                let gain = |cell: &CellFinding| cell.served_gain().map_or(1.0, |gain| gain.point);
                gain(a).total_cmp(&gain(b))
            });
            Some(Expectation {
                collective: cells[0].cell.collective,
                cells: cells.len(),
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

/// Whole sentences on what to expect, one per collective.
pub fn sentences(findings: &Findings) -> Vec<String> {
    expectations(findings)
        .into_iter()
        .map(|expected| {
            let Expectation { collective, cells, improved, overall, best } = expected;
            let Some(best) = best else {
                return format!("{collective}: nothing; the builtin stays in every cell ({cells}).");
            };
            let cautious = overall.cautious.map_or(String::new(), |low| {
                format!(
                    " (at least {low:.2}x at the lower ends of the {:.0} % intervals)",
                    100.0 * findings.criteria.level
                )
            });
            format!(
                "{collective}: {:.2}x in geometric mean over all {cells} cells{cautious}; {improved} cells improve, \
                 the most by {:.2}x ({best}).",
                overall.mean, overall.most,
            )
        })
        .collect()
}
