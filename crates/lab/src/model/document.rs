//! A communication model, for people.

use std::collections::{BTreeMap, BTreeSet};

use collrules_model::model::Model;
use collrules_record::Seconds;
use collrules_report::document::{Block, Document, Fill, Heatmap, Tile, slownesses};
use collrules_report::words::{percent, ratio, whole};
use collrules_rules::words::counted;

use super::tables;

/// Slow nodes and pairs, the times of messages, the quality of predictions, and every table.
pub fn document(model: &Model) -> Document {
    let map = Block::open("pairs", "Map of pairs", vec![map(model)]);
    let blocks = [map].into_iter().chain(tables::first(model)).chain(tables::others(model)).collect();
    let (headline, class) = match (model.names_slow(), model.slow.tested) {
        (true, _) => ("Something is slower than the rest", "open"),
        (false, 0) => ("Too few measurements to find slow nodes and links", ""),
        (false, _) => ("No node and no link is slower than the rest", ""),
    };
    Document {
        subject: "communication model".to_owned(),
        simulated: model.simulated,
        headline: headline.to_owned(),
        class,
        answer: describe_slow(model),
        origin: vec![origin(model)],
        blocks,
    }
}

/// Describes the prediction of the many-to-one model for calls that may stall: their mean, the share that stalls, and
/// quantiles.
pub fn many_to_one(mean: f64, stalling: f64, quantiles: &[(f64, f64)]) -> String {
    let mean = Seconds(mean);
    if stalling <= 0.0 {
        return format!("The many-to-one model predicts {mean}, and no stalls.");
    }
    let quantiles: Vec<String> = quantiles
        .iter()
        .map(|(share, time)| format!("{} of calls take at most {}", whole(*share), Seconds(*time)))
        .collect();
    format!(
        "The many-to-one model predicts {mean} on average: {} of calls stall; {}.",
        whole(stalling),
        quantiles.join(", ")
    )
}

/// Describes the origin of the numbers.
fn origin(model: &Model) -> String {
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
fn describe_slow(model: &Model) -> Vec<String> {
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
            "Between ranks {} and {}, messages of {} take {} as long as the two nodes predict.",
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

const CAPTION: &str = "Time of each pair of ranks at the largest size, over that of a usual one; orange is slow";

/// Ranks in rows and columns; the time of each pair over that of a usual one.
fn map(model: &Model) -> Block {
    let ranks: BTreeSet<u32> = model.ranks.keys().copied().collect();
    let factors: BTreeMap<(u32, u32), f64> = model.slow.map.iter().copied().collect();
    let tile = |a: &u32, b: &u32| {
        let factor = *factors.get(&(*a, *b)).or_else(|| factors.get(&(*b, *a)))?;
        let note = format!("ranks {a} and {b}: {factor:.2} times the usual");
        Some(Tile { fill: Fill::Slowness(factor), text: format!("{factor:.2}"), note })
    };
    Heatmap::new(CAPTION, &ranks, &ranks, u32::to_string, tile).block(slownesses(|ratio| format!("{ratio}x")))
}

#[cfg(test)]
mod tests {
    use collrules_model::{Limit, fit, table};
    use collrules_record::criteria::Criteria;

    use super::*;

    #[test]
    fn one_launch_tells_nothing_of_slow_nodes() {
        let pairs =
            ["0+1", "0+2", "1+2"].map(|pair| format!("pingpong,{pair},0,0,1e-5\npingpong,{pair},1024,0,2e-5\n"));
        let (probes, _) =
            table::read(&format!("pattern,ranks,bytes,launch,seconds\n{}", pairs.concat())).expect("a table");
        let model = fit(&probes, &Limit::from_reported(&BTreeMap::new(), None), Criteria::default()).expect("a fit");
        let Document { headline, answer, .. } = document(&model);
        assert_eq!((headline.as_str(), answer), ("Too few measurements to find slow nodes and links", vec![]));
    }
}
