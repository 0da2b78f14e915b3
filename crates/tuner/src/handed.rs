//! Remarks about collectives that HAN handles or delegates to `coll/tuned`.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::geometric_mean;
use collrules_record::findings::{CellFinding, Findings};
use collrules_record::{Candidate, Ranks};
use collrules_rules::Collective;

use crate::common::Block;

/// Describes in whole sentences the effect of HAN's file on each collective that HAN handles, and the effect of the
/// files on communicators that were not measured.
pub(crate) fn remarks(findings: &Findings, handable: &BTreeSet<Block>) -> Vec<String> {
    let mut sizes: BTreeMap<Collective, Vec<Ranks>> = BTreeMap::new();
    for (collective, ranks) in handable {
        sizes.entry(*collective).or_default().push(*ranks);
    }
    let mut remarks: Vec<String> =
        sizes.iter().map(|(collective, ranks)| of_collective(findings, *collective, ranks)).collect();
    if !findings.han.is_empty() {
        remarks.push(elsewhere(findings, handable));
    }
    remarks
}

fn of_collective(findings: &Findings, collective: Collective, ranks: &[Ranks]) -> String {
    let cells = || {
        let mine = |cell: &&CellFinding| cell.cell.collective == collective && ranks.contains(&cell.cell.ranks);
        findings.cells.iter().filter(mine)
    };
    let handed: Vec<&CellFinding> = cells().filter(|cell| cell.served_candidate() != Candidate::Builtin).collect();
    let sizes: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    let all = cells().count();
    let served = format!(
        "On {} ranks, Open MPI's component han runs {collective}, so the default there is HAN",
        sizes.join(", ")
    );
    if handed.is_empty() {
        return format!("{served}. It stays: no alternative is shown to be faster for any of {all} sizes.");
    }
    let gains = handed.iter().filter_map(|cell| cell.served_gain()).map(|gain| gain.point);
    let gain = geometric_mean(gains).unwrap_or(1.0);
    let own = handed.iter().filter(|cell| matches!(cell.served_candidate(), Candidate::Han(_))).count();
    let parts = [(handed.len() - own, "to coll/tuned"), (own, "to another algorithm of HAN")];
    let parts = parts.into_iter().filter(|(cells, _)| *cells > 0);
    let parts: Vec<String> = parts.map(|(cells, target)| format!("{cells} of {all} sizes {target}")).collect();
    let kept = match all - handed.len() {
        0 => String::new(),
        kept => format!("; {kept} stay as they are"),
    };
    format!(
        "{served}. HAN's rules file moves {}: expected {gain:.2}x in geometric mean over these{kept}.",
        parts.join(" and "),
    )
}

/// Describes the effect of the files on communicators that were not measured.
fn elsewhere(findings: &Findings, handable: &BTreeSet<Block>) -> String {
    let ranks: BTreeSet<Ranks> =
        handable.iter().filter(|block| findings.han.touches(block.0, block.1)).map(|block| block.1).collect();
    let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    format!(
        "Both files depend on the number of ranks, not on where they are. HAN's file applies to every communicator of \
         {} ranks that HAN handles. The rules of coll/tuned apply to every communicator of that size, on a single node \
         as well. Communicators of other sizes stay with HAN. Rules for as few ranks as a node has also apply inside \
         HAN.",
        ranks.join(", "),
    )
}
