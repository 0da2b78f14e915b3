//! Result of a check of performance guidelines, for people and programs.
//!
//! | module | job |
//! |---|---|
//! | `sentences` | the result, and each violation with a remedy |
//! | `map` | slowdowns in colour and as marks |
//! | `tables` | CSV |
//! | `catalogue` | the list of guidelines |

mod catalogue;
mod map;
mod sentences;
mod tables;

use collrules_report::document::{Block, Document};
use collrules_rules::words::counted;

use crate::guidelines::found::{Changed, Checked};
pub use catalogue::{list, list_json};
pub use tables::csv;

/// The result, the maps, and each violation with a remedy.
pub fn document(checked: &Checked) -> Document {
    let maps = |checked: &Checked| -> Vec<Block> {
        let part = |ranks| Block::open(&format!("r-{ranks}"), format!("{ranks} ranks"), vec![map::map(checked, ranks)]);
        checked.ranks().into_iter().map(part).collect()
    };
    let mut blocks = maps(checked);
    let after = checked.under_file();
    let under = after.as_ref().and_then(|after| sentences::under_rules(checked, after));
    if let Some(((answer, changes), after)) = under.zip(after.as_ref()) {
        let mut content = vec![Block::Prose(answer), changes];
        content.extend(maps(after));
        blocks.push(Block::open("under-rules", "With the rules file", content));
    }
    let without = if checked.under_rules.is_some() { " without the rules file" } else { "" };
    let violations = Block::Ranking(sentences::violations(checked));
    blocks.push(Block::open("violations", format!("Violations{without}, the worst first"), vec![violations]));
    let suspects = sentences::suspects(checked);
    let suspects = if suspects.is_empty() { Vec::new() } else { vec![Block::Ranking(suspects)] };
    blocks.push(Block::section("suspects", "Suspects: slower as far as the times tell, undecided", suspects));
    let mut reports: Vec<Block> = sentences::upstream(checked).into_iter().map(Block::Prose).collect();
    if !reports.is_empty() {
        reports.insert(0, Block::prose("No rule cures these."));
    }
    blocks.push(Block::section("upstream", "For a report to the developers", reports));
    blocks.push(Block::section("left-out", "Not measured", vec![Block::List(sentences::left_out(checked))]));
    Document {
        subject: "performance guidelines".to_owned(),
        simulated: checked.simulated,
        headline: sentences::headline(checked),
        class: if checked.violations().is_empty() { "" } else { "open" },
        answer: sentences::answer(checked),
        origin: vec![sentences::origin(checked)],
        blocks,
    }
}

/// For a terminal with this many columns, with the number of what was not measured, and what changed since an earlier
/// check.
pub fn text(checked: &Checked, changes: Option<&[Changed]>, width: usize) -> String {
    let mut document = document(checked);
    document.answer.extend(sentences::count_of_left_out(checked));
    if let Some(changes) = changes {
        let block = sentences::changes(changes, None);
        document.blocks.push(Block::open("since", "Changes since the earlier check", vec![block]));
        document.answer.push(match changes.len() {
            0 => "Since the earlier check, no violation is new, gone, or changed beyond its interval.".to_owned(),
            changes => format!("Since the earlier check, {} changed.", counted(changes, "violation")),
        });
    }
    document.text(width)
}
