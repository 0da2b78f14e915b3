//! The decision tree as a table: the choice for each range of communicator sizes and of the sizes that Open MPI looks up,
//! with its evidence.

use collrules_record::Candidate;
use collrules_record::findings::Findings;
use collrules_record::policy::Between;
use collrules_record::tree::{Leaf, LeafEvidence, RankBranch};
use collrules_record::units::Bytes;
use collrules_rules::Collective;
use collrules_rules::words::counted;

use crate::document::{Block, Table};
use crate::facts::candidate_name;
use crate::reasons::describe_kept;
use crate::summary::sizes;
use crate::words::{number, tally, times};

/// A row for each leaf. Communicator sizes without measurements are shown only if they have a rule.
pub(crate) fn table(findings: &Findings) -> Block {
    let rows =
        findings.tree.collectives.iter().flat_map(|branch| {
            let told = |range: &&RankBranch| {
                !range.measured.is_empty() || range.leaves.iter().any(|leaf| !leaf.choice.is_builtin())
            };
            branch.ranges.iter().filter(told).flat_map(move |range| {
                range.leaves.iter().map(move |leaf| row(findings, branch.collective, range, leaf))
            })
        });
    let heads =
        ["collective", "ranks", "size looked up", "algorithm", "measured", "speedup", "q at most:", "loss:", "why"];
    Block::Table(Table::new(heads, rows).about(&summary(findings)))
}

/// Describes the size, gain and cost of the tree.
fn summary(findings: &Findings) -> String {
    let tree = &findings.tree;
    let sizes = counted(findings.cells.len(), "measured size");
    let over = if tree.by_time {
        format!("over the time that programs spend in calls of {sizes}")
    } else {
        format!("in geometric mean over {sizes}")
    };
    format!(
        "{}; expected from the timings for tuning: {:.3}x as fast as the default {over}. Sharing rules costs {:.2} % in the mean and {:.2} % at most. What is \
         not listed keeps the default.",
        counted(tree.rules, "rule"),
        tree.gain,
        tree.regret * 100.0,
        tree.worst_regret * 100.0,
    )
}

fn row(findings: &Findings, collective: Collective, range: &RankBranch, leaf: &Leaf) -> [String; 9] {
    let looked_up = match (leaf.first, leaf.end) {
        (0, None) => "any".to_owned(),
        (0, Some(end)) => format!("below {}", Bytes(end)),
        (first, None) => format!("from {}", Bytes(first)),
        (first, Some(end)) if end == first + 1 => format!("{}", Bytes(first)),
        (first, Some(end)) => format!("from {} to below {}", Bytes(first), Bytes(end)),
    };
    let measured = leaf.evidence.as_ref().map(|it| {
        let (first, last) = it.messages;
        let of = if collective.has_sizes() { format!(" of {}", sizes(collective, first, last)) } else { String::new() };
        format!("{}{of}, {}", counted(it.cells, "size"), counted(it.samples, "sample"))
    });
    let ruled = leaf.evidence.as_ref().filter(|_| !leaf.choice.is_builtin());
    let speedup = ruled.map(|LeafEvidence { gain, .. }| {
        let interval = gain.interval.map(|(low, high)| format!(" ({} to {})", number(low), number(high)));
        times(gain.mean) + &interval.unwrap_or_default()
    });
    let q_value = ruled.and_then(|it| it.q_value);
    let q_value = q_value.map(|it| if it >= 0.001 { format!("{it:.3}") } else { format!("{it:.0e}") });
    let loss = leaf.evidence.as_ref().map(|it| it.regret).filter(|regret| *regret >= 0.000_05);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        collective.to_string(),
        describe_ranks(range),
        looked_up,
        format!("{} ({})", candidate_name(findings, collective, leaf.by), leaf.choice),
        or_dash(measured),
        or_dash(speedup),
        or_dash(q_value),
        or_dash(loss.map(|regret| format!("{:.2} %", regret * 100.0))),
        reason(findings, range, leaf),
    ]
}

/// The communicator sizes of a range, and those of several that were measured.
fn describe_ranks(range: &RankBranch) -> String {
    let single = range.ranks.end == Some(range.ranks.first + 1);
    let measured: Vec<String> = range.measured.iter().map(ToString::to_string).collect();
    match measured.as_slice() {
        [] => format!("{}, not measured", range.ranks),
        [_] if single => range.ranks.to_string(),
        measured => format!("{}, measured on {}", range.ranks, measured.join(", ")),
    }
}

/// The reason for the choice of a leaf.
fn reason(findings: &Findings, range: &RankBranch, leaf: &Leaf) -> String {
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
        return tally(leaf.kept.iter().map(|(reason, cells)| (describe_kept(findings, reason), *cells)));
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
