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
use crate::words::wrapped;

/// The model for a terminal of so many columns.
pub fn text(model: &Model, width: usize) -> String {
    let mut lines = Vec::new();
    let said = [sentences::slow(model), sentences::quality(model), sentences::lines(model), model.unknown.clone()];
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
    for sentence in sentences::lines(model) {
        text += &format!("- {sentence}\n");
    }
    if !model.unknown.is_empty() {
        text += "\n## What the probes cannot tell\n\n";
        model.unknown.iter().for_each(|why| text += &format!("- {}\n", plain::markdown(why)));
    }
    for table in tables::all(model) {
        text += &format!(
            "\n## {}\n\n| {} |\n|{}\n",
            table.title,
            table.heads.join(" | "),
            "---|".repeat(table.heads.len())
        );
        for row in table.rows {
            let cells: Vec<String> = row.iter().map(|value| plain::cell(value)).collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text
}

/// A prediction with its interval.
pub fn prediction(estimate: Estimate) -> String {
    sentences::time(estimate)
}
