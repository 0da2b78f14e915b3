//! Reasons for the choice in a cell: the verdict of its own timings, and the reason if the rules choose something else.

use std::cmp::Reverse;

use collrules_record::Candidate;
use collrules_record::findings::{CellFinding, Findings, Verdict};

use crate::facts::candidate_name;

/// Returns the candidate that wins by the cell's own timings.
pub(crate) fn winner(cell: &CellFinding) -> Candidate {
    match &cell.verdict {
        Verdict::Replace { candidate, .. } => *candidate,
        Verdict::Keep { .. } => Candidate::Builtin,
    }
}

/// Returns true if the rules choose something else for a cell than its own timings do.
pub(crate) fn overruled(cell: &CellFinding) -> bool {
    winner(cell) != cell.served_candidate()
}

/// Describes the reason for the choice in the cell.
pub(crate) fn reason(findings: &Findings, cell: &CellFinding) -> String {
    let policy = findings.tree.policy.assumptions;
    match &cell.verdict {
        Verdict::Keep { why } if !overruled(cell) => why.clone(),
        Verdict::Replace { .. } if !overruled(cell) => "it won at this size".to_owned(),
        Verdict::Keep { .. } if cell.served.is_builtin() => {
            "the rules need settings that switch off the component that usually runs it".to_owned()
        }
        _ if policy.one_choice(findings.release, cell.cell.collective, cell.cell.ranks) => {
            "all message sizes have to share one choice on this communicator".to_owned()
        }
        _ => "neighbouring sizes share one choice".to_owned(),
    }
}

/// Describes the verdict on a cell and, if the rules choose something else, the reason.
pub(crate) fn verdict(findings: &Findings, cell: &CellFinding) -> String {
    let name = |candidate| candidate_name(findings, cell.cell.collective, candidate);
    let own = match &cell.verdict {
        Verdict::Replace { candidate, .. } => name(*candidate),
        Verdict::Keep { why } => format!("default: {why}"),
    };
    if !overruled(cell) {
        return own;
    }
    format!("{own}; uses {}: {}", name(cell.served_candidate()), reason(findings, cell))
}

/// Choice of a number of cells and its reason. Lists begin with the most frequent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Because {
    /// True if the cells have rules, false if they keep the builtin.
    pub(crate) ruled: bool,
    pub(crate) cells: usize,
    pub(crate) why: String,
}

/// The reasons of these cells; each cell counts once.
pub(crate) fn reasons(findings: &Findings, cells: &[CellFinding]) -> Vec<Because> {
    let mut all: Vec<Because> = Vec::new();
    for cell in cells {
        let (ruled, why) = (cell.served_candidate() != Candidate::Builtin, reason(findings, cell));
        match all.iter_mut().find(|known| known.ruled == ruled && known.why == why) {
            Some(known) => known.cells += 1,
            None => all.push(Because { ruled, cells: 1, why }),
        }
    }
    all.sort_by_key(|because| Reverse(because.cells));
    all
}

#[cfg(test)]
mod tests {
    use collrules_record::units::{Bytes, Ranks};
    use collrules_record::{Cell, Estimate};
    use collrules_rules::{Choice, Collective, Release};

    use super::*;

    fn cell(collective: Collective, won: Option<u32>, served: u32) -> CellFinding {
        let gain = Estimate { point: 2.0, low: None, high: None, level: 0.95, samples: 9 };
        let candidate = |id| Candidate::from_choice(Choice::plain(id));
        CellFinding {
            cell: Cell { collective, ranks: Ranks(4), bytes: Bytes(8) },
            points: Vec::new(),
            disqualified: Vec::new(),
            verdict: won.map_or(Verdict::Keep { why: "not significant".to_owned() }, |id| Verdict::Replace {
                candidate: candidate(id),
                gain,
            }),
            served: if served == 0 { Choice::BUILTIN } else { Choice::plain(served) },
            unruled: Candidate::Builtin,
        }
    }

    #[test]
    fn every_difference_between_verdict_and_rule_has_a_reason() {
        let findings = Findings::empty("", Release::V5_0);
        let said = |collective, won, served| verdict(&findings, &cell(collective, won, served));
        assert_eq!(said(Collective::Bcast, None, 0), "default: not significant");
        assert_eq!(said(Collective::Bcast, Some(6), 6), "binomial");
        let shared = "all message sizes have to share one choice on this communicator";
        assert_eq!(said(Collective::Scatter, Some(2), 0), format!("binomial; uses default: {shared}"));
        assert_eq!(
            said(Collective::Bcast, None, 6),
            "default: not significant; uses binomial: neighbouring sizes share one choice"
        );
    }

    #[test]
    fn reasons_add_up_to_all_cells() {
        let findings = Findings::empty("", Release::V5_0);
        let cells = [(None, 0), (None, 0), (Some(6), 6), (Some(6), 0)]
            .map(|(won, served)| cell(Collective::Bcast, won, served));
        let all = reasons(&findings, &cells);
        assert_eq!(
            all.iter().map(|because| (because.ruled, because.cells)).collect::<Vec<_>>(),
            [(false, 2), (true, 1), (false, 1)]
        );
        assert_eq!(all[0].why, "not significant");
    }
}
