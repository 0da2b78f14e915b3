//! Comments for the rules file: what each block rests on.

use collrules_record::findings::{CellFinding, Findings};
use collrules_record::units::Ranks;
use collrules_rules::Collective;
use collrules_rules::classic::Notes;
use collrules_rules::metric::lookup_bytes;

use crate::summary::{Stretch, stretches};

/// The comments of a rules file made from findings. `tool` names the program and its version.
pub fn notes(findings: &Findings, tool: &str) -> Notes {
    let mut notes = Notes {
        header: vec![
            format!("Written by {tool} from {}.", findings.source),
            format!("Measured on Open MPI {}; means the same to 4.0, 4.1, 5.0 and 6.0.", findings.release),
        ],
        ..Notes::default()
    };
    let blocks = findings.cells.chunk_by(|a, b| (a.cell.collective, a.cell.ranks) == (b.cell.collective, b.cell.ranks));
    for cells in blocks {
        let (collective, ranks) = (cells[0].cell.collective, cells[0].cell.ranks);
        notes.blocks.insert((collective, ranks.0.into()), vec![evidence(cells)]);
        rule_notes(findings, collective, ranks, &mut notes);
    }
    notes
}

/// What was measured for a block.
fn evidence(cells: &[CellFinding]) -> String {
    let samples: usize = cells.iter().flat_map(|cell| &cell.points).map(|point| point.time.samples).sum();
    let (first, last) = (cells[0].cell, cells[cells.len() - 1].cell);
    let sizes = if first.collective.has_sizes() {
        format!(", {} sizes from {} to {}", cells.len(), first.bytes, last.bytes)
    } else {
        String::new()
    };
    format!("measured{sizes}; {samples} samples")
}

/// Says behind each rule what it is and what it gains, by matching rules to the stretches of cells that they serve.
fn rule_notes(findings: &Findings, collective: Collective, ranks: Ranks, notes: &mut Notes) {
    let Some((_, steps)) = findings.table.collectives().find(|(known, _)| *known == collective) else { return };
    let stretches = stretches(findings);
    for (start, end, choice) in steps.get(ranks.0.into()).iter() {
        let serves = |stretch: &&Stretch| {
            let first = lookup_bytes(findings.release, collective, ranks, stretch.first, 1);
            stretch.collective == collective
                && stretch.ranks == ranks
                && stretch.choice == *choice
                && first >= start
                && end.is_none_or(|end| first < end)
        };
        let text = match stretches.iter().find(serves) {
            Some(stretch) => {
                let gain = stretch.gain.map_or(String::new(), |gain| {
                    let cautious = gain.cautious.map_or(String::new(), |low| format!(", at least {low:.2}x"));
                    format!("{:.2}x in geometric mean{cautious}", gain.mean)
                });
                let sizes = if collective.has_sizes() { stretch.sizes() } else { String::new() };
                [sizes, gain].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
            }
            None if choice.is_builtin() => "not measured here".to_owned(),
            None => continue,
        };
        if text.is_empty() {
            continue;
        }
        notes.rules.insert((collective, ranks.0.into(), start), text);
    }
}
