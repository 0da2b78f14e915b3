//! What rules for several layouts mean to each of them.

use collrules_record::Arrangement;
use collrules_record::estimate::geometric_mean;
use collrules_record::findings::Findings;
use collrules_record::laid_out::CellInLayout;
use collrules_record::{Candidate, Estimate};
use collrules_rules::words::{counted, listed};

use crate::facts::candidate_name;
use crate::summary::sizes;
use crate::words::{number, times};

/// Names of arrangements, with what they are.
fn said(arrangement: Arrangement) -> &'static str {
    match arrangement {
        Arrangement::SingleNode => "single-node (all ranks on one node)",
        Arrangement::OnePerNode => "one-per-node (one rank on each of several nodes)",
        Arrangement::Full => "full (several nodes, several ranks on some)",
    }
}

/// The cells that several layouts have, in the order of the cells.
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

/// Whole sentences: what each arrangement gains and gives up, and where they disagree so much that the builtin stays.
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
        let slower = own.iter().filter(|cell| point(cell.served_gain) < 1.0).map(|cell| point(cell.served_gain));
        let slowest = slower.clone().reduce(f64::min);
        let slower = match slowest {
            None => "slower in none".to_owned(),
            Some(least) => format!("slower in {}, the least being {}", slower.count(), times(least)),
        };
        let mean_served = times(mean(|cell| point(cell.served_gain)));
        if !findings.apart.is_empty() {
            let cells = counted(own.len(), "cell");
            sentences.push(format!("Layout {}: {mean_served} in geometric mean over {cells}.", said(arrangement)));
            continue;
        }
        sentences.push(format!(
            "Layout {}, in the {} that it shares with others, where it counts for {}: {} in geometric mean under these rules, {slower}; \
             {} under rules of its own.",
            said(arrangement),
            counted(own.len(), "cell"),
            weights(&own),
            mean_served,
            times(mean(|cell| point(cell.wanted_gain))),
        ));
    }
    sentences.extend(disagreement(findings, &cells));
    sentences
}

/// The weights of these cells: one, or from which to which.
fn weights(cells: &[&&CellInLayout]) -> String {
    let least = cells.iter().map(|cell| cell.weight).fold(f64::INFINITY, f64::min);
    let most = cells.iter().map(|cell| cell.weight).fold(0.0, f64::max);
    if most - least < 5e-3 { number(least) } else { format!("{} to {}", number(least), number(most)) }
}

fn disagreement(findings: &Findings, cells: &[&CellInLayout]) -> Option<String> {
    let kept = |views: &&[&CellInLayout]| {
        let wanted = views.iter().any(|view| view.wanted != Candidate::Builtin && view.weight > 0.0);
        wanted && views.iter().all(|view| view.served == Candidate::Builtin)
    };
    let kept: Vec<&[&CellInLayout]> = cells.chunk_by(|a, b| a.cell == b.cell).filter(kept).collect();
    let most = kept.iter().max_by(|a, b| {
        let gain = |views: &[&CellInLayout]| views.iter().map(|view| point(view.wanted_gain)).fold(1.0, f64::max);
        gain(a).total_cmp(&gain(b))
    })?;
    let wants: Vec<String> = most
        .iter()
        .map(|view| {
            let name = candidate_name(findings, view.cell.collective, view.wanted);
            format!("{} wants {name} ({})", view.arrangement, times(point(view.wanted_gain)))
        })
        .collect();
    Some(format!(
        "In {} the layouts disagree so much that the builtin stays, although some would gain by rules of their own; most in {}: {}.",
        counted(kept.len(), "cell"),
        most[0].cell,
        listed(&wants),
    ))
}

/// What stands above [`rows`].
pub(crate) const TITLE: &str = "What each layout gains or gives up";

/// What [`rows`] are.
pub(crate) fn about(findings: &Findings) -> &'static str {
    if findings.apart.is_empty() { ABOUT } else { ABOUT_APART }
}

const ABOUT_APART: &str = "Communicators of one size lie in several ways, and the file tells them apart. All times and gains elsewhere \
                           are of the first layout.";

const ABOUT: &str = "Communicators of one size lie in several ways, and one rule serves them all. All times and gains elsewhere \
                                are weighted geometric means over them; these are of each by itself.";

/// What the columns of [`rows`] are.
pub(crate) const COLUMNS: [&str; 9] =
    ["collective", "ranks", "message sizes", "layout", "weight", "served by", "gain", "would be served by", "gain"];

/// Neighbouring sizes of one arrangement that are served alike and would be served alike, where anything but the builtin is.
pub(crate) fn rows(findings: &Findings) -> Vec<[String; 9]> {
    let mut cells = shared(findings);
    let key = |cell: &CellInLayout| (cell.cell.collective, cell.cell.ranks, cell.arrangement, cell.served, cell.wanted);
    cells.sort_by_key(|cell| (cell.cell.collective, cell.cell.ranks, cell.arrangement, cell.cell.bytes));
    let rows = cells.chunk_by(|a, b| key(a) == key(b));
    let touched =
        |cells: &&[&CellInLayout]| cells[0].served != Candidate::Builtin || cells[0].wanted != Candidate::Builtin;
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
            number(first.weight),
            candidate_name(findings, collective, first.served),
            mean(|cell| cell.served_gain, first.served),
            candidate_name(findings, collective, first.wanted),
            mean(|cell| cell.wanted_gain, first.wanted),
        ]
    };
    rows.filter(touched).map(row).collect()
}
