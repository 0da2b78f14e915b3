//! A cell in a row of words, as tables of all formats have it.

use collrules_record::Estimate;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::Seconds;

use collrules_rules::Choice;

use crate::facts::{best_alternative, candidate_name};
use crate::reasons::verdict;
use crate::words::ratio;

/// A cell in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CellRow {
    pub(crate) ranks: String,
    pub(crate) size: String,
    /// The builtin's time.
    pub(crate) builtin: String,
    /// The fastest other candidate.
    pub(crate) best: String,
    pub(crate) time: String,
    pub(crate) gain: String,
    pub(crate) verdict: String,
}

/// A cell in words.
pub(crate) fn cell_row(findings: &Findings, cell: &CellFinding) -> CellRow {
    let collective = cell.cell.collective;
    let builtin = cell.points.iter().find(|point| point.candidate.choice() == Some(Choice::BUILTIN));
    let best = best_alternative(cell);
    // A reading is off by up to a step of the clock at either end of a call.
    let least = 2.0 * findings.criteria.clock_step.0;
    let time = |estimate: Option<Estimate>| match estimate {
        None => "-".to_owned(),
        Some(estimate) if estimate.point < least => format!("under resolution ({})", Seconds(least)),
        Some(estimate) => Seconds(estimate.point).to_string(),
    };
    CellRow {
        ranks: cell.cell.ranks.to_string(),
        size: if collective.has_sizes() { cell.cell.bytes.to_string() } else { "-".to_owned() },
        builtin: time(builtin.map(|point| point.time)),
        best: best.map_or("-".to_owned(), |point| candidate_name(findings, collective, point.candidate)),
        time: time(best.map(|point| point.time)),
        gain: best.and_then(|point| point.gain).map_or("-".to_owned(), ratio),
        verdict: verdict(findings, cell),
    }
}
