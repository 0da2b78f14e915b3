//! Reasons for the choice in a cell: the verdict of its own timings, and the reason if the rules choose something else;
//! reasons for keeping the default.

use collrules_record::Candidate;
use collrules_record::findings::{CellFinding, Findings, Verdict};
use collrules_record::policy::Assumption;
use collrules_record::reason::Stalling;
use collrules_record::reason::{Bar, KeepReason, Shortfall};

use crate::facts::candidate_name;
use crate::words::{count, percent};

/// Returns true if the rules choose something else for a cell than its own timings do.
pub(crate) fn overruled(cell: &CellFinding) -> bool {
    cell.verdict.candidate() != cell.candidate_in_use()
}

/// Describes the reason for the choice in the cell.
pub(crate) fn reason(findings: &Findings, cell: &CellFinding) -> String {
    let policy = findings.tree.policy.assumptions;
    match &cell.verdict {
        Verdict::Keep { why } if !overruled(cell) => describe_kept(findings, why),
        Verdict::Replace { .. } if !overruled(cell) => "it won at this size".to_owned(),
        Verdict::Keep { .. } if cell.in_use.is_builtin() => {
            "the rules need settings that switch off the component that usually runs it".to_owned()
        }
        _ if policy.one_choice(findings.release, cell.cell.collective, cell.cell.ranks) => {
            "all message sizes of this communicator need the same choice".to_owned()
        }
        _ => "one rule for the range".to_owned(),
    }
}

/// Describes the choice in a cell; if its own timings choose something else, also that, the reason, and what it costs.
pub(crate) fn verdict(findings: &Findings, cell: &CellFinding) -> String {
    let name = |candidate| candidate_name(findings, cell.cell.collective, candidate);
    let own = match &cell.verdict {
        Verdict::Replace { candidate, .. } => name(*candidate),
        Verdict::Keep { why } => format!("default: {}", describe_kept(findings, why)),
    };
    if !overruled(cell) {
        return own;
    }
    let time = |candidate| cell.point(candidate).map(|point| point.time.point);
    let cost =
        time(cell.candidate_in_use()).zip(time(cell.verdict.candidate())).map(|(chosen, best)| chosen / best - 1.0);
    let cost = cost.filter(|cost| *cost >= NO_COST).map(|cost| format!(", which is {} slower here", percent(cost)));
    let own = if let Verdict::Replace { .. } = cell.verdict { format!("best: {own}") } else { own };
    format!("{} ({own}; {}{})", name(cell.candidate_in_use()), reason(findings, cell), cost.unwrap_or_default())
}

/// Smallest difference of times that is named, as a share.
const NO_COST: f64 = 0.001;

/// Reason for the choice in cells.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChoiceReason {
    /// True if they have a rule, false if they keep the builtin.
    pub(crate) is_ruled: bool,
    /// The reason.
    pub(crate) why: String,
    /// Whatever may change the choice; empty if nothing does.
    pub(crate) remedy: String,
}

/// The reasons of these cells with their numbers, the most frequent first.
pub(crate) fn reasons(findings: &Findings, cells: &[CellFinding]) -> Vec<(ChoiceReason, usize)> {
    let of_cell = |cell: &CellFinding| ChoiceReason {
        is_ruled: cell.candidate_in_use() != Candidate::Builtin,
        why: reason(findings, cell),
        remedy: remedy(cell, findings.criteria.min_gain),
    };
    count(cells.iter().map(|cell| (of_cell(cell), 1)))
}

/// Whatever may give a cell that keeps the builtin a rule: time, or an option; empty if nothing does.
fn remedy(cell: &CellFinding, min_gain: f64) -> String {
    match &cell.verdict {
        _ if cell.is_open(min_gain) => "more timings".to_owned(),
        Verdict::Keep { why: KeepReason::Nearest(Shortfall::Stalls(_)) } => "--accept-stalls".to_owned(),
        Verdict::Keep { why: KeepReason::Nearest(Shortfall::Barred(Bar::Lacking(assumption))) } => match assumption {
            Assumption::CommutativeOps | Assumption::ConsistentArguments => format!("--assume {assumption}"),
            Assumption::OtherBits => "no --keep-bits".to_owned(),
            Assumption::UniformDatatypes => "--safety standard".to_owned(),
        },
        _ => String::new(),
    }
}

/// The reason for keeping the default, in a few words.
pub fn describe_kept(findings: &Findings, why: &KeepReason) -> String {
    let criteria = findings.criteria;
    let words = match why {
        KeepReason::DefaultFailed => "the default itself failed",
        KeepReason::DefaultNotTimed => "the default was not timed",
        KeepReason::NothingTimed => "no algorithm was timed",
        KeepReason::NotConfirmed => "its rule was not confirmed",
        KeepReason::OtherComponent(component) => return format!("{component} runs it"),
        KeepReason::SharedRule => "another algorithm is faster here, but this size shares a rule with others",
        KeepReason::Nearest(shortfall) => match shortfall {
            Shortfall::NoGain => "no algorithm was timed side by side with the default",
            Shortfall::NotFaster => "no algorithm is faster",
            Shortfall::SmallGain => return format!("faster by less than {}", percent(criteria.min_gain)),
            Shortfall::Unresolved => "faster by less than the clock resolves",
            Shortfall::NotTimedInEveryLaunch => "not timed in every launch",
            Shortfall::FewVisits => "timed in fewer than 6 visits",
            Shortfall::Doubtful => {
                let gain = percent(criteria.untested_gain);
                return format!("faster by less than {gain} together with neighbouring sizes");
            }
            Shortfall::NotSignificant => "not significant",
            Shortfall::NotInEveryLaunch => "not faster in every launch",
            Shortfall::Stalls(stalls) => return format!("the faster algorithm stalls: {}", describe_stalls(stalls)),
            Shortfall::Risk(on) => return format!("the faster algorithm may be slower on {on}"),
            Shortfall::Barred(bar) => {
                return format!("the faster algorithm must not be chosen: {}", describe_bar(bar));
            }
        },
    };
    words.to_owned()
}

/// The reason why a candidate must not be chosen, in a clause.
pub fn describe_bar(bar: &Bar) -> String {
    let words = match bar {
        Bar::Failed => "it failed at another message size",
        Bar::Alone => "communicators of one process never reach coll/tuned",
        Bar::Unknown(unknown) => return unknown.to_string(),
        Bar::Lacking(Assumption::CommutativeOps) => {
            "it gives wrong results for operations that do not commute, and a rule applies to these too"
        }
        Bar::Lacking(Assumption::OtherBits) => "sums may have other bits than --keep-bits permits",
        Bar::Lacking(Assumption::UniformDatatypes | Assumption::ConsistentArguments) => {
            "it gives wrong data or hangs if ranks describe the same data with different datatypes"
        }
        Bar::Ranks(ranks) => return format!("it is invalid on {ranks} ranks"),
        Bar::Slower(on) => return format!("it is slower on {on}"),
        // A complete sentence, used here as the end of another.
        Bar::Hazard(hazard) => return hazard.to_string().trim_end_matches('.').to_owned(),
    };
    words.to_owned()
}

/// Describes the effect of rare slow calls.
pub(crate) fn describe_stalls(stalls: &Stalling) -> String {
    let Stalling { beyond, slow, calls, builtin_slow, builtin_calls, mean_ratio } = stalls;
    format!(
        "{slow} of {calls} calls take more than {beyond}, against {builtin_slow} of {builtin_calls} of the default, so \
         its mean is {mean_ratio:.2} times as long"
    )
}

#[cfg(test)]
mod tests {
    use collrules_record::Cell;
    use collrules_record::Estimate;
    use collrules_record::findings::PointFinding;
    use collrules_record::units::{Bytes, Ranks};
    use collrules_rules::{Choice, Collective, Release};

    use super::*;

    fn cell(collective: Collective, won: Option<u32>, in_use: u32) -> CellFinding {
        let gain = Estimate { point: 2.0, low: None, high: None, level: 0.95, samples: 9 };
        let candidate = |id| Candidate::from_choice(Choice::plain(id));
        CellFinding {
            cell: Cell { collective, ranks: Ranks(4), bytes: Bytes(8) },
            points: Vec::new(),
            disqualified: Vec::new(),
            verdict: won.map_or(Verdict::Keep { why: KeepReason::Nearest(Shortfall::NotSignificant) }, |id| {
                Verdict::Replace { candidate: candidate(id), gain }
            }),
            in_use: if in_use == 0 { Choice::BUILTIN } else { Choice::plain(in_use) },
            unruled: Candidate::Builtin,
        }
    }

    #[test]
    fn every_difference_between_verdict_and_rule_has_a_reason() {
        let findings = Findings::empty("", Release::V5_0);
        let said = |collective, won, in_use| verdict(&findings, &cell(collective, won, in_use));
        assert_eq!(said(Collective::Bcast, None, 0), "default: not significant");
        assert_eq!(said(Collective::Bcast, Some(6), 6), "binomial");
        let shared = "all message sizes of this communicator need the same choice";
        assert_eq!(said(Collective::Scatter, Some(2), 0), format!("default (best: binomial; {shared})"));
        assert_eq!(said(Collective::Bcast, None, 6), "binomial (default: not significant; one rule for the range)");
        let mut split = cell(Collective::Bcast, Some(4), 6);
        let point = |id, time: f64| PointFinding {
            candidate: Candidate::from_choice(Choice::plain(id)),
            time: Estimate { point: time, low: None, high: None, level: 0.95, samples: 9 },
            gain: None,
            expected: None,
            p_value: None,
            q_value: None,
            stalls: None,
        };
        split.points = vec![point(4, 1e-6), point(6, 1.02e-6)];
        assert_eq!(
            verdict(&findings, &split),
            "binomial (best: split_binary_tree; one rule for the range, which is 2 % slower here)"
        );
    }

    #[test]
    fn reasons_add_up_to_all_cells() {
        let findings = Findings::empty("", Release::V5_0);
        let cells = [(None, 0), (None, 0), (Some(6), 6), (Some(6), 0)]
            .map(|(won, in_use)| cell(Collective::Bcast, won, in_use));
        let all = reasons(&findings, &cells);
        assert_eq!(
            all.iter().map(|(reason, cells)| (reason.is_ruled, *cells)).collect::<Vec<_>>(),
            [(false, 2), (false, 1), (true, 1)]
        );
        assert_eq!((all[0].0.why.as_str(), all[0].0.remedy.as_str()), ("not significant", ""));
    }
}
