//! Why a cell is served as it is: what its own timings say, and what they gave way to where the rules say otherwise.

use std::cmp::Reverse;

use collrules_record::Candidate;
use collrules_record::findings::{CellFinding, Findings, Verdict};

use crate::facts::candidate_name;

/// What the cell's own timings say.
pub(crate) fn winner(cell: &CellFinding) -> Candidate {
    match &cell.verdict {
        Verdict::Replace { candidate, .. } => *candidate,
        Verdict::Keep { .. } => Candidate::Builtin,
    }
}

/// Whether the rules give a cell something else than its own timings ask for.
pub(crate) fn overruled(cell: &CellFinding) -> bool {
    winner(cell) != cell.served_candidate()
}

/// Why the cell is served by what serves it.
pub(crate) fn reason(findings: &Findings, cell: &CellFinding) -> String {
    let policy = findings.tree.policy.assumptions;
    match &cell.verdict {
        Verdict::Keep { why } if !overruled(cell) => why.clone(),
        Verdict::Replace { .. } if !overruled(cell) => "it won in this cell".to_owned(),
        Verdict::Keep { .. } if cell.served.is_builtin() => {
            "the settings that the rules need switch off the component that serves it otherwise".to_owned()
        }
        _ if policy.one_choice(findings.release, cell.cell.collective, cell.cell.ranks) => {
            "all message sizes have to share one choice on this communicator".to_owned()
        }
        _ => "neighbouring sizes share one choice".to_owned(),
    }
}

/// What was decided for a cell, and, where the rules give it something else, why.
pub(crate) fn verdict(findings: &Findings, cell: &CellFinding) -> String {
    let name = |candidate| candidate_name(findings, cell.cell.collective, candidate);
    let own = match &cell.verdict {
        Verdict::Replace { candidate, .. } => name(*candidate),
        Verdict::Keep { why } => format!("builtin: {why}"),
    };
    if !overruled(cell) {
        return own;
    }
    format!("{own}; served by {}: {}", name(cell.served_candidate()), reason(findings, cell))
}

/// Who serves the cells, and why, the most frequent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Because {
    /// Whether the rules serve them; otherwise the builtin does.
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
        let candidate = |id| Candidate::of(Choice::plain(id));
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
        assert_eq!(said(Collective::Bcast, None, 0), "builtin: not significant");
        assert_eq!(said(Collective::Bcast, Some(6), 6), "binomial");
        let shared = "all message sizes have to share one choice on this communicator";
        assert_eq!(said(Collective::Scatter, Some(2), 0), format!("binomial; served by builtin: {shared}"));
        assert_eq!(
            said(Collective::Bcast, None, 6),
            "builtin: not significant; served by binomial: neighbouring sizes share one choice"
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
