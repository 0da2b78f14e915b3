//! Rules of several layouts in one file.

use std::collections::BTreeSet;

use collrules_record::findings::{CellFinding, CellInLayout, LaidOut};
use collrules_record::{Arrangement, Findings, Nodes, Ranks, Remark};
use collrules_rules::table::all_builtin;
use collrules_rules::{Collective, Distribution, LayoutRules};

/// Separates the layouts' rules in the findings of the first: if communicators of one size have several arrangements,
/// each gets its own blocks in the file. The arrangement that 6.0 cannot name, several nodes with several ranks each,
/// comes last, as the table for any.
pub(crate) fn keep_apart(findings: &mut Findings, others: &[Findings]) {
    if others.is_empty() {
        return;
    }
    let all: Vec<&Findings> = std::iter::once(&*findings).chain(others).collect();
    let (mut table, mut layout_rules) = (findings.table.clone(), Vec::new());
    let blocks: BTreeSet<(Collective, Ranks)> =
        all.iter().flat_map(|one| &one.cells).map(|cell| (cell.cell.collective, cell.cell.ranks)).collect();
    for (collective, ranks) in blocks {
        let has =
            |one: &&&Findings| one.cells.iter().any(|it| (it.cell.collective, it.cell.ranks) == (collective, ranks));
        let having: Vec<&&Findings> = all.iter().filter(has).collect();
        let only_own = having.len() == 1 && std::ptr::eq(*having[0], all[0]);
        for one in having.into_iter().filter(|_| !only_own) {
            let steps = one.table.get(collective).cloned().unwrap_or_else(all_builtin);
            let sizes = steps.get(ranks.0.into()).clone();
            match arrangement(one, ranks).distribution() {
                Distribution::Any => {
                    let mut steps = table.get(collective).cloned().unwrap_or_else(all_builtin);
                    steps.set(ranks.0.into(), Some(u64::from(ranks.0) + 1), sizes);
                    table.set(collective, steps);
                }
                distribution => layout_rules.push(LayoutRules { collective, ranks, distribution, sizes }),
            }
        }
    }
    let layouts = all.iter().map(|one| alone(one)).collect();
    (findings.table, findings.layout_rules, findings.layouts) = (table, layout_rules, layouts);
    findings.remarks.push(Remark::LayoutsApart);
}

fn arrangement(findings: &Findings, ranks: Ranks) -> Arrangement {
    findings.placement.nodes.get(&ranks).and_then(Nodes::arrangement).unwrap_or(Arrangement::Full)
}

/// Describes a layout that shares no rules with others.
fn alone(findings: &Findings) -> LaidOut {
    let cell = |cell: &CellFinding| {
        let in_use = cell.candidate_in_use();
        CellInLayout {
            cell: cell.cell,
            arrangement: arrangement(findings, cell.cell.ranks),
            wanted: in_use,
            wanted_gain: cell.gain_in_use(),
            in_use,
            gain_in_use: cell.gain_in_use(),
        }
    };
    LaidOut {
        layout: findings.placement.layout,
        run: findings.source.clone(),
        cells: findings.cells.iter().map(cell).collect(),
    }
}
