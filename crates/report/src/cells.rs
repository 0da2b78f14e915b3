//! Cells in tables.

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::Seconds;
use collrules_record::validation::Outcome;
use collrules_record::{Cell, Estimate};
use collrules_rules::Choice;

use crate::document::Block;
use crate::facts::{best_alternative, candidate_name};
use crate::reasons::verdict;
use crate::words::{self, number, ratio};

/// All of these cells: the times of the default and of the fastest other candidate, and the verdict.
pub(crate) fn table(findings: &Findings, cells: &[CellFinding]) -> Block {
    let heads = ["ranks:", "size:", "default:", "best algorithm", "its time:", "its gain:", "verdict"];
    Block::table(heads, cells.iter().map(|cell| row(findings, cell)))
}

fn row(findings: &Findings, cell: &CellFinding) -> [String; 7] {
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
    [
        cell.cell.ranks.to_string(),
        if collective.has_sizes() { cell.cell.bytes.to_string() } else { "-".to_owned() },
        time(builtin.map(|point| point.time)),
        best.map_or("-".to_owned(), |point| candidate_name(findings, collective, point.candidate)),
        time(best.map(|point| point.time)),
        best.and_then(|point| point.gain).map_or("-".to_owned(), ratio),
        verdict(findings, cell),
    ]
}

/// Two times of a cell, with their ratio and its meaning.
pub(crate) struct SideBySide {
    pub(crate) cell: Cell,
    pub(crate) times: [f64; 2],
    pub(crate) ratio: Estimate,
    pub(crate) outcome: Outcome,
    /// The algorithm or component that carried the calls out.
    pub(crate) by: String,
}

/// A table for each collective; `heads` are those of the times, of their ratio, and of the last column.
pub(crate) fn side_by_side([one, other, over, by]: [&str; 4], rows: &[SideBySide]) -> Vec<Block> {
    let row = |SideBySide { cell, times, ratio: estimate, outcome, by }: &SideBySide| {
        let size = if cell.collective.has_sizes() { cell.bytes.to_string() } else { "-".to_owned() };
        let outcome = match outcome {
            Outcome::Slower => "SLOWER",
            other => describe_outcome(*other),
        };
        let [one, other] = times.map(|seconds| Seconds(seconds).to_string());
        let interval = estimate.low.zip(estimate.high);
        // Short, so that a row fits on a line of 80 columns.
        let interval = interval.map_or(String::new(), |(low, high)| format!("{}-{}", number(low), number(high)));
        let over = words::times(estimate.point);
        [cell.ranks.to_string(), size, one, other, over, interval, outcome.to_owned(), by.clone()]
    };
    let table = |rows: &[SideBySide]| {
        let table = Block::table(["ranks:", "size:", one, other, over, "interval", "", by], rows.iter().map(row));
        Block::open("", rows[0].cell.collective.name(), vec![table])
    };
    rows.chunk_by(|a, b| a.cell.collective == b.cell.collective).map(table).collect()
}

/// An outcome in a word.
pub(crate) fn describe_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Faster => "faster",
        Outcome::Same => "same",
        Outcome::Slower => "slower",
        Outcome::Undecided => "undecided",
    }
}
