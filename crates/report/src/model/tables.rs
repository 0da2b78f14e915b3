//! A model as rows.

use collrules_model::model::{AlgorithmModel, Model, NodeModel, PairModel, Predicted};
use collrules_record::units::{Bytes, Seconds};
use collrules_rules::Choice;

use super::sentences::{per_byte, rate};
use crate::document::Block;
use crate::words::{percent, time, whole};

/// All tables of a model, each under its heading.
pub(super) fn all(model: &Model) -> [Block; 5] {
    [nodes(model), pairs(model), gaps(model), algorithms(model), quality(model)]
}

fn nodes(model: &Model) -> Block {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let row = |node: &NodeModel| {
        let host = model.ranks.get(&node.rank).and_then(Option::as_deref).unwrap_or("-").to_owned();
        vec![
            node.rank.to_string(),
            host,
            or_none(node.fixed.map(time)),
            or_none(node.per_byte.map(|it| format!("{:.3} ns", it.point * 1e9))),
            or_none(node.link.map(|it| rate(it.point))),
            or_none(node.disagreement.map(|apart| percent((apart * 100.0).round() / 100.0))),
        ]
    };
    Block::part(
        "nodes",
        "Nodes",
        vec![Block::table(
            ["rank", "host", "C per message", "t per byte", "link", "disagreement of C"],
            model.nodes.iter().flat_map(|nodes| nodes.nodes.iter().map(row)),
        )],
    )
}

fn pairs(model: &Model) -> Block {
    let row = |pair: &PairModel| {
        let slower = model.slow.map.iter().find(|(ranks, _)| *ranks == pair.ranks);
        vec![
            format!("{} and {}", pair.ranks.0, pair.ranks.1),
            pair.place.to_string(),
            pair.latency.map_or("-".to_owned(), time),
            pair.rate.map_or("-".to_owned(), |it| rate(it.point)),
            slower.map_or("-".to_owned(), |(_, factor)| format!("{factor:.2}x")),
        ]
    };
    Block::part(
        "pair-table",
        "Pairs",
        vec![Block::table(
            ["ranks", "where", "L, latency", "beta, rate", "time relative to usual"],
            model.nodes.iter().flat_map(|nodes| nodes.pairs.iter().map(row)),
        )],
    )
}

fn gaps(model: &Model) -> Block {
    let rows = model.ways.iter().flat_map(|way| {
        way.gaps.iter().map(move |(bytes, gap)| vec![way.place.to_string(), bytes.to_string(), time(*gap)])
    });
    Block::part("gaps", "PLogP's g", vec![Block::table(["where", "size", "g"], rows)])
}

fn algorithms(model: &Model) -> Block {
    let row = |found: &AlgorithmModel| {
        vec![
            found.collective.to_string(),
            described(&found.name, found.choice),
            found.ranks.to_string(),
            format!("{} to {}", found.from, found.to),
            found.alpha.map_or("-".to_owned(), time),
            found.beta.map_or("-".to_owned(), per_byte),
            whole(found.residual),
        ]
    };
    Block::part(
        "algorithms",
        "Alpha and beta of each algorithm",
        vec![Block::table(
            ["collective", "algorithm", "ranks", "sizes", "alpha", "beta per byte", "largest error"],
            model.algorithms.iter().map(row),
        )],
    )
}

/// The name of an algorithm with its parameters.
fn described(name: &str, choice: Choice) -> String {
    let segment = if choice.segsize > 0 { format!(" in segments of {}", Bytes(choice.segsize)) } else { String::new() };
    let fanout = if choice.faninout > 0 { format!(" with fan-out {}", choice.faninout) } else { String::new() };
    format!("{} {name}{fanout}{segment}", choice.algorithm)
}

fn quality(model: &Model) -> Block {
    let or_none = |value: Option<f64>| value.map_or("-".to_owned(), |value| Seconds(value).to_string());
    let row = |cell: &Predicted| {
        vec![
            cell.cell.to_string(),
            format!("{} {}", cell.algorithm, cell.name),
            Seconds(cell.measured).to_string(),
            Seconds(cell.model).to_string(),
            format!("{:+.0} %", (cell.model / cell.measured - 1.0) * 100.0),
            or_none(cell.corrected),
            or_none(cell.neighbour),
            or_none(cell.line),
        ]
    };
    Block::part(
        "predicted",
        "Predicted and measured",
        vec![Block::table(
            [
                "call",
                "algorithm",
                "measured",
                "model",
                "error",
                "corrected",
                "neighbouring size",
                "line through neighbours",
            ],
            model.quality.iter().map(row),
        )],
    )
}
