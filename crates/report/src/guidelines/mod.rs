//! Result of a check of performance guidelines, for people and programs.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | the result, and each violation with a remedy |
//! | `tables` | the heatmap as text, rows, and CSV |
//! | `catalogue` | the list of guidelines |
//! | `text`, `markdown`, `page` | for a terminal, a file, a browser |

mod catalogue;
mod page;
mod sentences;
mod tables;

use collrules_lab::guidelines::Checked;

pub use catalogue::{ListedGuideline, list, list_json};
pub use page::page;
pub use sentences::change;
pub use tables::csv;

use crate::words::wrapped;

/// Maximum number of violations described in sentences.
const TOLD: usize = 10;

/// The check for a terminal with this many columns.
pub fn text(checked: &Checked, width: usize) -> String {
    let mut lines = Vec::new();
    let after = checked.under_file();
    if after.is_some() {
        lines.push("Without the rules file:".to_owned());
    }
    lines.extend(tables::maps(checked, width));
    if let Some(after) = &after {
        lines.push("With it:".to_owned());
        lines.extend(tables::maps(after, width));
    }
    lines.extend(wrapped(width, tables::KEY, "", ""));
    lines.push(String::new());
    for sentence in sentences::answer(checked) {
        lines.extend(wrapped(width, &sentence, "", ""));
    }
    if let Some((answer, changes)) = sentences::under_rules(checked) {
        lines.extend(wrapped(width, &answer, "", ""));
        changes.iter().for_each(|change| lines.extend(wrapped(width, change, "  ", "    ")));
        lines.push("Without the file, the worst first:".to_owned());
    }
    for (number, told) in sentences::violations(checked).iter().take(TOLD).enumerate() {
        lines.extend(wrapped(width, told, &format!("{:>2}. ", number + 1), "    "));
    }
    let more = checked.violations().len().saturating_sub(TOLD);
    if more > 0 {
        lines.push(format!("    and {more} more, in guidelines.md"));
    }
    if let Some(sentence) = sentences::count_of_left_out(checked) {
        lines.extend(wrapped(width, &sentence, "", "  "));
    }
    lines.join("\n") + "\n"
}

/// The check as Markdown.
pub fn markdown(checked: &Checked) -> String {
    let mut text = format!("# Performance guidelines\n\n{}\n\n", sentences::origin(checked));
    text += &sentences::answer(checked).join(" ");
    text += "\n\n```\n";
    text += &tables::maps(checked, 100).join("\n");
    text += &format!("\n```\n\n{}\n\n", tables::KEY);
    if let (Some((answer, changes)), Some(after)) = (sentences::under_rules(checked), checked.under_file()) {
        text +=
            &format!("## With the rules file\n\n{answer}\n\n```\n{}\n```\n\n", tables::maps(&after, 100).join("\n"));
        changes.iter().for_each(|change| text += &format!("- {change}\n"));
        text += "\n";
    }
    let (violations, reports) = (sentences::violations(checked), sentences::upstream(checked));
    if !violations.is_empty() {
        let without = if checked.under_rules.is_some() { " without the file" } else { "" };
        text += &format!("## Violations{without}, the worst first\n\n");
        for (number, told) in violations.iter().enumerate() {
            text += &format!("{}. {told}\n", number + 1);
        }
        text += "\n";
    }
    if !reports.is_empty() {
        text += "## For a report to the developers\n\nNo rule cures these.\n\n";
        for report in reports {
            text += &format!("> {report}\n\n");
        }
    }
    let left_out = sentences::left_out(checked);
    if !left_out.is_empty() {
        text += "## Not measured\n\n";
        left_out.iter().for_each(|line| text += &format!("- {line}\n"));
    }
    text
}
