//! Effects of rules for several layouts on each of them.

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellInLayout, Findings};
use collrules_record::{Arrangement, Candidate, Estimate};
use collrules_rules::words::counted;

use crate::document::{Block, Table};
use crate::facts::candidate_name;
use crate::summary::sizes;
use crate::words::times;

/// Names of arrangements, with explanations.
fn describe_arrangement(arrangement: Arrangement) -> &'static str {
    match arrangement {
        Arrangement::SingleNode => "single-node (all ranks on one node)",
        Arrangement::OnePerNode => "one-per-node (one rank on each of several nodes)",
        Arrangement::Full => "full (several nodes, several ranks on some)",
    }
}

/// The cells of several layouts, in order.
fn shared(findings: &Findings) -> Vec<&CellInLayout> {
    let all = || findings.layouts.iter().flat_map(|layout| &layout.cells);
    let several = |cell: &&CellInLayout| all().filter(|other| other.cell == cell.cell).count() > 1;
    let mut cells: Vec<&CellInLayout> = all().filter(several).collect();
    cells.sort_by_key(|cell| cell.cell);
    cells
}

fn point(gain: Option<Estimate>) -> f64 {
    gain.map_or(1.0, |gain| gain.point)
}

/// Describes, in whole sentences, the gains and losses of each arrangement.
pub fn sentences(findings: &Findings) -> Vec<String> {
    let cells = shared(findings);
    if cells.is_empty() {
        return Vec::new();
    }
    let mut sentences = Vec::new();
    for arrangement in Arrangement::ALL {
        let own: Vec<&&CellInLayout> = cells.iter().filter(|cell| cell.arrangement == arrangement).collect();
        if own.is_empty() {
            continue;
        }
        let mean = |gain: fn(&CellInLayout) -> f64| geometric_mean(own.iter().map(|cell| gain(cell))).unwrap_or(1.0);
        let slower = own.iter().filter(|cell| point(cell.gain_in_use) < 1.0).map(|cell| point(cell.gain_in_use));
        let slowest = slower.clone().reduce(f64::min);
        let slower = match slowest {
            None => "slower for none".to_owned(),
            Some(least) => format!("slower for {} (worst {})", slower.count(), times(least)),
        };
        let mean_in_use = times(mean(|cell| point(cell.gain_in_use)));
        if !findings.layout_rules.is_empty() {
            let cells = counted(own.len(), "size");
            sentences.push(format!(
                "Layout {}: {mean_in_use} in geometric mean over {cells}.",
                describe_arrangement(arrangement)
            ));
            continue;
        }
        sentences.push(format!(
            "Layout {}, for the {} that it shares with others: {} in geometric mean with these rules, {slower}; \
             {} with rules of its own.",
            describe_arrangement(arrangement),
            counted(own.len(), "size"),
            mean_in_use,
            times(mean(|cell| point(cell.wanted_gain))),
        ));
    }
    sentences
}

const ABOUT_APART: &str = "Communicators of the same size have several layouts, and the file has rules for each. All \
                           other times and gains are of the first layout.";

const ABOUT: &str = "Communicators of the same size have several layouts, which share one rule. All other times and gains are \
                     geometric means over the layouts; these are of each layout alone.";

/// Lists neighbouring sizes of an arrangement with the same choices (shared and its own), if either is not the builtin.
pub(crate) fn table(findings: &Findings) -> Block {
    let mut cells = shared(findings);
    let key = |cell: &CellInLayout| (cell.cell.collective, cell.cell.ranks, cell.arrangement, cell.in_use, cell.wanted);
    cells.sort_by_key(|cell| (cell.cell.collective, cell.cell.ranks, cell.arrangement, cell.cell.bytes));
    let rows = cells.chunk_by(|a, b| key(a) == key(b));
    let touched =
        |cells: &&[&CellInLayout]| cells[0].in_use != Candidate::Builtin || cells[0].wanted != Candidate::Builtin;
    let row = |cells: &[&CellInLayout]| {
        let first = cells[0];
        let collective = first.cell.collective;
        let mean = |gain: fn(&CellInLayout) -> Option<Estimate>, by: Candidate| {
            let mean = geometric_mean(cells.iter().map(|cell| point(gain(cell)))).unwrap_or(1.0);
            if by == Candidate::Builtin { String::new() } else { times(mean) }
        };
        [
            collective.to_string(),
            first.cell.ranks.to_string(),
            sizes(collective, first.cell.bytes, cells[cells.len() - 1].cell.bytes),
            first.arrangement.to_string(),
            candidate_name(findings, collective, first.in_use),
            mean(|cell| cell.gain_in_use, first.in_use),
            candidate_name(findings, collective, first.wanted),
            mean(|cell| cell.wanted_gain, first.wanted),
        ]
    };
    let heads = [
        "collective",
        "ranks",
        "message sizes",
        "layout",
        "algorithm",
        "expected gain",
        "own algorithm",
        "its expected gain",
    ];
    let about = if findings.layout_rules.is_empty() { ABOUT } else { ABOUT_APART };
    Block::Table(Table::new(heads, rows.filter(touched).map(row)).about(about))
}
