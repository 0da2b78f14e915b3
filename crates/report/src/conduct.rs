//! Outcomes of rules in programs: a table with a row for each rule.

use collrules_record::findings::Findings;
use collrules_record::findings::{Conduct, Trial, TrialOutcome};
use collrules_rules::bits::Effect;
use collrules_rules::emit::confirmation;
use collrules_rules::words::listed;

use crate::document::Block;
use crate::facts::candidate_name;
use crate::gains::Gains;
use crate::outcome::describe_gains;
use crate::summary::sizes;
use crate::words::times;

/// A row for each rule with notable effects.
pub(crate) fn table(findings: &Findings) -> Block {
    let row = |conduct: &Conduct| {
        let trials = describe_trials(conduct, |trial| {
            let lowest = trial.lowest.map_or(String::new(), |lowest| format!(" ({} or more)", times(lowest)));
            name(findings, conduct, trial) + &lowest
        });
        let bits = match conduct.bits {
            Effect::None if trials.is_empty() => return None,
            Effect::None => "-",
            Effect::Same => "as with the default",
            Effect::Unknown => "unknown",
            Effect::Other => "may change",
            Effect::Nodes => "depend on which ranks share a node",
        };
        Some([
            conduct.collective.to_string(),
            conduct.ranks.to_string(),
            sizes(conduct.collective, conduct.first, conduct.last),
            candidate_name(findings, conduct.collective, conduct.by),
            bits.to_owned(),
            if trials.is_empty() { "-".to_owned() } else { trials.join("; ") },
        ])
    };
    let heads = ["collective", "ranks:", "message sizes", "algorithm", "last bits of sums", "in other calls"];
    Block::table(heads, findings.conduct.iter().filter_map(row))
}

/// The name of the calls of a trial.
fn name(findings: &Findings, conduct: &Conduct, trial: &Trial) -> String {
    trial.condition.name(findings.placement.other_root(conduct.ranks), conduct.ranks.0.saturating_sub(1))
}

/// The outcomes of a rule in other calls, by name of the condition; none if no condition was planned.
fn describe_trials(conduct: &Conduct, name: impl Fn(&Trial) -> String) -> Vec<String> {
    let is_faster = |trial: &Trial| trial.lowest.is_some_and(|lowest| lowest > 1.0);
    let list = |outcome: TrialOutcome, faster: bool, said: &str| {
        let is_it =
            |trial: &&Trial| trial.outcome == outcome && (outcome != TrialOutcome::Holds || is_faster(trial) == faster);
        let trials = conduct.trials.iter().filter(is_it);
        let names: Vec<String> = trials.map(&name).collect();
        (!names.is_empty()).then(|| format!("{said} {}", listed(&names)))
    };
    let said = [
        list(TrialOutcome::Holds, true, "faster for"),
        list(TrialOutcome::Holds, false, "no large loss for"),
        list(TrialOutcome::Loses, false, "SLOWER for"),
        list(TrialOutcome::Undecided, false, "undecided for"),
        list(TrialOutcome::Untried, false, "not compared for"),
    ];
    said.into_iter().flatten().collect()
}

/// The comments at the top of a rules file: gains, and for each rule its outcomes in other calls and its effect on the bits
/// of sums.
pub fn comments(findings: &Findings, gains: &Gains<'_>) -> Vec<String> {
    let words = if gains.round.is_some() { confirmation::CONFIRMED } else { confirmation::EXPECTED };
    let of_gains = describe_gains(gains, usize::MAX).into_iter().map(|row| format!("{words}{row}"));
    let comment = |conduct: &Conduct| {
        let trials = describe_trials(conduct, |trial| name(findings, conduct, trial));
        let sizes = match conduct.collective.has_sizes() {
            true => format!(", {}", sizes(conduct.collective, conduct.first, conduct.last)),
            false => String::new(),
        };
        let said =
            trials.iter().cloned().chain(conduct.bits.phrase().map(str::to_owned)).collect::<Vec<_>>().join("; ");
        let words = confirmation::IN_PROGRAMS;
        (!trials.is_empty()).then(|| format!("{words}{} on {} ranks{sizes}: {said}", conduct.collective, conduct.ranks))
    };
    of_gains.chain(findings.conduct.iter().filter_map(comment)).collect()
}
