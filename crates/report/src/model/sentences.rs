//! Origin of a model, and what is slow, in sentences.

use collrules_model::model::Model;
use collrules_rules::words::counted;

use crate::words::{percent, ratio};

/// Describes the origin of the numbers.
pub(super) fn origin(model: &Model) -> String {
    let library = model.library.as_deref().map_or(String::new(), |library| format!(" ({library})"));
    format!(
        "Fitted: {}{library}, {} with {}; intervals of {} come from differences between launches.",
        model.source,
        counted(model.ranks.len(), "rank"),
        counted(model.launches, "launch"),
        percent(model.level)
    )
}

/// Describes slow nodes and pairs, the first part of the result.
pub(super) fn slow(model: &Model) -> Vec<String> {
    let slow = &model.slow;
    let mut said: Vec<String> = slow
        .nodes
        .iter()
        .map(|node| {
            let host = node.host.as_deref().map_or(String::new(), |host| format!(" on {host}"));
            let what =
                if node.bytes.0 == 0 { "empty messages".to_owned() } else { format!("messages of {}", node.bytes) };
            format!("Rank {}{host} takes {} as long as a usual one for {what}.", node.rank, ratio(node.factor))
        })
        .collect();
    said.extend(slow.pairs.iter().map(|pair| {
        format!(
            "Between ranks {} and {}, messages of {} take {} as long as their two nodes explain.",
            pair.ranks.0,
            pair.ranks.1,
            pair.bytes,
            ratio(pair.factor)
        )
    }));
    if slow.tested == 0 {
        return said;
    }
    let tested = counted(slow.tested, "node and pair").replace("node and pairs", "nodes and pairs");
    said.push(format!(
        "{} stands out by more than {} ({tested} tested; if none is slow, at most {} of such checks name one).",
        if said.is_empty() { "No node and no pair" } else { "Nothing else" },
        percent(slow.tolerate),
        percent(slow.error_rate)
    ));
    said
}
