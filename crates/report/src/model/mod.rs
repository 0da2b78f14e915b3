//! A communication model, for people.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | slow nodes and pairs, the lines, quality of predictions |
//! | `tables` | nodes, pairs, gaps, predictions |
//! | `page` | the page, with a map of pairs |

mod page;
mod sentences;
mod tables;

use collrules_model::model::Model;
use collrules_record::{Estimate, Seconds};

pub use page::page;

use crate::plain;
use crate::words::{self, wrapped};

/// The model for a terminal with this many columns.
pub fn text(model: &Model, width: usize) -> String {
    let mut lines = Vec::new();
    let said = [
        sentences::slow(model),
        sentences::quality(model),
        sentences::lines(model),
        sentences::algorithms(model),
        sentences::many_to_one(model),
        model.unknown.clone(),
    ];
    for sentence in said.iter().flatten() {
        lines.extend(wrapped(width, sentence, "", "  "));
    }
    lines.join("\n") + "\n"
}

/// The model as Markdown.
pub fn markdown(model: &Model) -> String {
    let mut text = format!("# Communication model\n\n{}\n\n", plain::markdown(&sentences::origin(model)));
    for paragraph in [sentences::slow(model), sentences::quality(model)] {
        if !paragraph.is_empty() {
            text += &format!("{}\n\n", plain::markdown(&paragraph.join(" ")));
        }
    }
    text += &plain::bullets(
        [sentences::lines(model), sentences::algorithms(model), sentences::many_to_one(model)].concat(),
    );
    if !model.unknown.is_empty() {
        text += &format!("\n## Unknown after the probes\n\n{}", plain::bullets(&model.unknown));
    }
    for table in tables::all(model) {
        text += &format!("\n## {}\n\n{}", table.title, plain::table(&table.heads, &[], table.rows));
    }
    text
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
        .map(|(share, time)| format!("{:.0} % of calls take at most {}", 100.0 * share, Seconds(*time)))
        .collect();
    format!(
        "The many-to-one model predicts {mean} on average: {:.0} % of calls stall; {}.",
        100.0 * stalling,
        quantiles.join(", ")
    )
}

/// A prediction with its interval.
pub fn prediction(estimate: Estimate) -> String {
    words::time(estimate)
}
