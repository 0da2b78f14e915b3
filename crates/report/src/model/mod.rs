//! A communication model, for people.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | what stands out, the lines, how well it predicts |
//! | `tables` | nodes, pairs, gaps, predictions |
//! | `page` | the page, with a map of pairs |

mod page;
mod sentences;
mod tables;

use collrules_record::Estimate;
use collrules_record::model::Model;

pub use page::page;

use crate::plain;
use crate::words::{self, wrapped};

/// The model for a terminal of so many columns.
pub fn text(model: &Model, width: usize) -> String {
    let mut lines = Vec::new();
    let said = [
        sentences::slow(model),
        sentences::quality(model),
        sentences::lines(model),
        sentences::algorithms(model),
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
    text += &plain::bullets(sentences::lines(model).into_iter().chain(sentences::algorithms(model)));
    if !model.unknown.is_empty() {
        text += &format!("\n## What the probes cannot tell\n\n{}", plain::bullets(&model.unknown));
    }
    for table in tables::all(model) {
        text += &format!("\n## {}\n\n{}", table.title, plain::table(&table.heads, &[], table.rows));
    }
    text
}

/// A prediction with its interval.
pub fn prediction(estimate: Estimate) -> String {
    words::time(estimate)
}
