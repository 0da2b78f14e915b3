//! Contents of a leaf and its evidence, in words.

use std::collections::BTreeMap;

use collrules_record::Candidate;
use collrules_record::findings::Findings;
use collrules_record::policy::Between;
use collrules_record::tree::{Leaf, LeafEvidence, RankBranch, Tree};
use collrules_record::units::Bytes;
use collrules_rules::registry::describe;
use collrules_rules::words::counted;
use collrules_rules::{Collective, Release};

use crate::plain;
use crate::reasons::describe_kept;
use crate::words::{number, times};

/// Describes the size, gain and cost of the tree.
pub(super) fn summary(tree: &Tree) -> String {
    let over = if tree.by_time {
        "over the time that programs spend in calls of the measured sizes"
    } else {
        "in geometric mean over measured sizes"
    };
    format!(
        "{}; {:.3}x as fast as the default {over}. Sharing rules costs {:.2} % in the mean and {:.2} % at most.",
        counted(tree.rules, "rule"),
        tree.gain,
        tree.regret * 100.0,
        tree.worst_regret * 100.0,
    )
}

/// Returns the heading: source and release.
pub(super) fn heading(findings: &Findings) -> String {
    let simulated = if findings.simulated { "SIMULATED: " } else { "" };
    let source = plain::line(&findings.source);
    format!("{simulated}Decision tree of {source}, for Open MPI {}", findings.release)
}

/// The algorithm or component of a leaf.
pub(super) fn name(release: Release, collective: Collective, leaf: &Leaf) -> String {
    match leaf.by {
        Candidate::Component(component) => format!("coll/{component} with its default"),
        Candidate::Han(choice) => format!("coll/han, {choice}"),
        candidate => describe(release, collective, candidate.served()),
    }
}

/// The reason for the choice of a leaf.
pub(super) fn reason(findings: &Findings, range: &RankBranch, leaf: &Leaf) -> String {
    let Some(evidence) = &leaf.evidence else {
        return match (leaf.by == Candidate::Builtin, range.measured.is_empty(), findings.tree.policy.between) {
            (true, false, _) => "message sizes that were not measured keep the default",
            (true, true, _) => "communicator sizes that were not measured keep the default",
            (false, true, Between::Agree) => "both measured neighbours agree on it",
            (false, true, Between::Lower) => "as on the next smaller measured communicator",
            (false, ..) => "between measured sizes that share it",
        }
        .to_owned();
    };
    if leaf.by == Candidate::Builtin {
        return reasons_kept(findings, leaf);
    }
    let tested = evidence.q_value.is_some();
    let faster = if tested { "shown to be faster" } else { "faster by the gain that is required without a test" };
    match (evidence.cells - evidence.proven.min(evidence.cells), evidence.proven) {
        (0, 1) => faster.to_owned(),
        (0, _) => format!("{faster} for every size"),
        (others, 0) => format!("{faster} over all {others} sizes together, and slower for none"),
        (_, proven) => format!("{faster} for {proven} of {} sizes, and slower for none", evidence.cells),
    }
}

/// The reasons of the cells, the most frequent first.
fn reasons_kept(findings: &Findings, leaf: &Leaf) -> String {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (reason, cells) in &leaf.kept {
        *reasons.entry(describe_kept(findings, reason)).or_default() += cells;
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    match &reasons[..] {
        [(reason, _)] => reason.clone(),
        several => several.iter().map(|(reason, count)| format!("{reason} ({count})")).collect::<Vec<_>>().join("; "),
    }
}

/// Returns true if a branch was measured, or has a choice other than the builtin.
pub(super) fn tells(branch: &RankBranch) -> bool {
    !branch.measured.is_empty() || branch.leaves.iter().any(|leaf| !leaf.choice.is_builtin())
}

/// The lookup bytes of a leaf, in words.
pub(super) fn sizes(leaf: &Leaf) -> String {
    match (leaf.first, leaf.end) {
        (0, None) => "any size".to_owned(),
        (0, Some(end)) => format!("below {}", Bytes(end)),
        (first, None) => format!("from {}", Bytes(first)),
        (first, Some(end)) if end == first + 1 => format!("{}", Bytes(first)),
        (first, Some(end)) => format!("from {} to below {}", Bytes(first), Bytes(end)),
    }
}

/// Describes the evidence of a leaf; none if nothing was measured.
pub(super) fn evidence(collective: Collective, leaf: &Leaf) -> Option<String> {
    let LeafEvidence { messages: (first, last), cells, samples, gain, q_value, regret, .. } = leaf.evidence.as_ref()?;
    let mut parts = vec![counted(*cells, "size")];
    if collective.has_sizes() {
        parts[0] += &if first == last { format!(" of {first}") } else { format!(" of {first} to {last}") };
    }
    parts.push(counted(*samples, "sample"));
    if !leaf.choice.is_builtin() {
        let interval =
            gain.interval.map_or(String::new(), |(low, high)| format!(" ({} to {})", number(low), number(high)));
        let spread = match cells {
            0 | 1 => String::new(),
            _ => format!(", {} to {} by size", times(gain.least), times(gain.most)),
        };
        parts.push(format!("{} as fast as the default{interval}{spread}", times(gain.mean)));
        if let Some(q_value) = q_value {
            parts.push(if *q_value >= 0.001 {
                format!("q at most {q_value:.3}")
            } else {
                format!("q at most {q_value:.0e}")
            });
        }
    }
    if *regret >= 0.000_05 {
        parts.push(format!("{:.2} % slower than the best permitted choice", regret * 100.0));
    }
    Some(parts.join(", "))
}
