//! Comments for the rules file: the evidence for each block.

use collrules_record::Nodes;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::remark::Remark;
use collrules_record::units::Ranks;
use collrules_rules::emit::Notes;
use collrules_rules::emit::bounds_requests;
use collrules_rules::metric::{lookup_bytes, metric};
use collrules_rules::words::{counted, listed};
use collrules_rules::{Choice, Collective, Release, registry};

use crate::gains::is_same_communicator;
use crate::plain;
use crate::remarks::describe_unknown_han;
use crate::summary::{Stretch, stretches};

/// First line of files with rules for simulated machines.
pub const SIMULATED_RULES: &str = "SIMULATED: these rules say nothing about any real machine.";

/// The comments of a rules file made from findings. `tool` names the program and its version.
pub fn notes(findings: &Findings, tool: &str) -> Notes {
    let mut notes = Notes {
        header: vec![
            format!("Written by {tool} from {}.", plain::printable_line(&findings.source)),
            format!("Measured on Open MPI {}; means the same to {}.", findings.release, readers(findings)),
        ],
        ..Notes::default()
    };
    notes.header.extend(
        findings.transport.iter().map(|it| format!("Messages went over {}.", plain::printable_line(&it.to_string()))),
    );
    if findings.simulated {
        notes.header.insert(0, SIMULATED_RULES.to_owned());
    }
    notes.header.extend(findings.remarks.iter().filter_map(|remark| match remark {
        Remark::HanUnknown(collectives) => Some(describe_unknown_han(findings.release, collectives)),
        _ => None,
    }));
    let stretches = stretches(findings);
    if bounds_requests(&findings.table) {
        notes.header.push(
            "Only 4.1.8, 5.0.7, 6.0 and later versions read it: it bounds requests in a fifth column.".to_owned(),
        );
    }
    let blocks = findings.cells.chunk_by(|a, b| is_same_communicator(a.cell, b.cell));
    for (cells, stretches) in blocks.zip(stretches.chunk_by(|a, b| is_same_communicator(a.last, b.first))) {
        let (collective, ranks) = (cells[0].cell.collective, cells[0].cell.ranks);
        let mut said = evidence(cells, findings.placement.nodes.get(&ranks));
        let sharing =
            findings.layouts.iter().flat_map(|layout| &layout.cells).filter(|cell| cell.cell == cells[0].cell);
        if findings.layout_rules.is_empty() && sharing.clone().count() > 1 {
            let all: Vec<String> = sharing.map(|cell| cell.arrangement.to_string()).collect();
            said += &format!("; one rule for {}", listed(&all));
        }
        notes.blocks.insert((collective, ranks.0.into()), vec![said]);
        rule_notes(findings, stretches, (collective, ranks), &mut notes);
    }
    notes
}

/// Releases named in the comments of a rules file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedReleases {
    /// The release that was measured.
    pub measured: Release,
    /// The releases to which it means the same.
    pub same: Vec<Release>,
}

/// Reads the comments of [`notes`] back; none if the file has others.
pub fn origin(text: &str) -> Option<NotedReleases> {
    let said = text.lines().find_map(|line| line.strip_prefix("# Measured on Open MPI "))?;
    let (measured, same) = said.split_once("; means the same to ")?;
    let release = |word: &str| Release::ALL.into_iter().find(|release| release.name() == word.trim_matches('.'));
    let words = same.split([',', ' ']);
    Some(NotedReleases { measured: release(measured)?, same: words.filter_map(release).collect() })
}

/// The releases with all of the algorithms and the same lookup sizes, in words.
fn readers(findings: &Findings) -> String {
    let same = |release: &Release| {
        // Rules for one layout alone are in JSON files, which earlier releases do not read.
        let reads = findings.layout_rules.is_empty() || release.tells_distributions();
        reads
            && findings.table.collectives().all(|(collective, blocks)| {
                blocks.iter().all(|(first, _, sizes)| {
                    let ranks = Ranks(u32::try_from(first).unwrap_or(u32::MAX));
                    let exists = |choice: &Choice| {
                        choice.is_builtin() || registry::algorithm(*release, collective, choice.algorithm).is_ok()
                    };
                    // One choice for all sizes does not ask what is looked up.
                    let sized = sizes.as_constant().is_none();
                    let alike = metric(*release, collective, ranks) == metric(findings.release, collective, ranks);
                    sizes.iter().all(|(_, _, choice)| exists(choice)) && (!sized || alike)
                })
            })
    };
    let names: Vec<String> = Release::ALL.into_iter().filter(same).map(|release| release.name().to_owned()).collect();
    if names.is_empty() { "no other release".to_owned() } else { listed(&names) }
}

/// Describes the measurements behind a block.
fn evidence(cells: &[CellFinding], nodes: Option<&Nodes>) -> String {
    let samples: usize = cells.iter().flat_map(|cell| &cell.points).map(|point| point.time.samples).sum();
    let (first, last) = (cells[0].cell, cells[cells.len() - 1].cell);
    let sizes = if first.collective.has_sizes() {
        match cells.len() {
            1 => format!(", {} alone", first.bytes),
            sizes => format!(", {sizes} sizes from {} to {}", first.bytes, last.bytes),
        }
    } else {
        String::new()
    };
    let place = nodes.map_or(String::new(), |nodes| format!(" on {nodes}"));
    format!("measured{place}{sizes}; {}", counted(samples, "sample"))
}

/// Adds to each rule of a communicator its meaning, by matching rules to the stretches of cells that use them.
fn rule_notes(findings: &Findings, stretches: &[Stretch], (collective, ranks): (Collective, Ranks), notes: &mut Notes) {
    let Some((_, steps)) = findings.table.collectives().find(|(known, _)| *known == collective) else { return };
    for (start, end, choice) in steps.get(ranks.0.into()).iter() {
        let holds = |stretch: &&Stretch| {
            let first = lookup_bytes(findings.release, collective, ranks, stretch.first.bytes, 1);
            stretch.choice == *choice && first >= start && end.is_none_or(|end| first < end)
        };
        let text = match stretches.iter().find(holds) {
            Some(stretch) => {
                let sizes = collective.has_sizes().then(|| stretch.sizes());
                let conduct = findings.conduct.iter().find(|conduct| conduct.applies_to(stretch.first));
                let phrase = conduct.and_then(|conduct| conduct.bits.phrase());
                sizes.into_iter().chain(phrase.map(str::to_owned)).collect::<Vec<_>>().join("; ")
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

#[cfg(test)]
mod tests {
    use collrules_rules::RuleTable;
    use collrules_rules::steps::Steps;
    use collrules_rules::table::all_builtin;

    use super::*;

    fn findings(collective: Collective, choice: Choice) -> Findings {
        let mut blocks = all_builtin();
        blocks.set(4, Some(5), Steps::constant(choice));
        let mut table = RuleTable::new();
        table.set(collective, blocks);
        Findings { table, ..Findings::empty("a test", Release::V5_0) }
    }

    /// Scatter has its third algorithm from 4.1 on, allgather its seventh from 5.0 on.
    #[test]
    fn releases_that_lack_an_algorithm_are_not_named() {
        let readers = |collective, id| readers(&findings(collective, Choice::plain(id)));
        assert_eq!(readers(Collective::Scatter, 2), "4.0, 4.1, 5.0 and 6.0");
        assert_eq!(readers(Collective::Scatter, 3), "4.1, 5.0 and 6.0");
        assert_eq!(readers(Collective::Allgather, 7), "5.0 and 6.0");
    }
}
