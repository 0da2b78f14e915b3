//! A communication model, for people.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | origin, slow nodes and pairs |
//! | `tables` | parameters, predictions, and what is unknown |
//! | `map` | a map of pairs |

mod map;
mod sentences;
mod tables;

use collrules_model::model::Model;
use collrules_record::Seconds;

use crate::document::{Block, Document};
use crate::words::whole;

/// Slow nodes and pairs, the times of messages, the quality of predictions, and every table.
pub fn document(model: &Model) -> Document {
    let map = Block::open("pairs", "Map of pairs", vec![map::map(model)]);
    let blocks = [map].into_iter().chain(tables::first(model)).chain(tables::others(model)).collect();
    let slow = model.names_slow();
    let headline =
        if slow { "Something is slower than the rest" } else { "No node and no link is slower than the rest" };
    Document {
        subject: "communication model".to_owned(),
        simulated: model.simulated,
        headline: headline.to_owned(),
        class: if slow { "open" } else { "" },
        answer: sentences::slow(model),
        origin: vec![sentences::origin(model)],
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
