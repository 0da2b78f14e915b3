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

use collrules_record::Ranks;
use collrules_record::guidelines::Checked;

pub use catalogue::{ListedGuideline, list, list_json};
pub use sentences::change;
pub use tables::csv;

use crate::document::{Block, Document};

/// The result, the maps, and each violation with a remedy.
pub fn document(checked: &Checked) -> Document {
    let figures =
        |checked: &Checked| checked.ranks().into_iter().map(|ranks| (ranks, map::map(checked, ranks))).collect();
    let maps: Vec<(Ranks, Block)> = figures(checked);
    let part = |(ranks, map)| Block::open(&format!("r-{ranks}"), format!("{ranks} ranks"), vec![map]);
    let mut blocks: Vec<Block> = maps.into_iter().map(part).collect();
    blocks.push(Block::prose(map::KEY));
    if let Some((answer, changes)) = sentences::under_rules(checked) {
        let maps: Vec<(Ranks, Block)> = checked.under_file().as_ref().map(figures).unwrap_or_default();
        let content =
            [Block::Prose(answer), Block::List(changes)].into_iter().chain(maps.into_iter().map(|(_, map)| map));
        blocks.push(Block::open("under-rules", "With the rules file", content.collect()));
    }
    let without = if checked.under_rules.is_some() { " without the rules file" } else { "" };
    let violations = Block::Ranking(sentences::violations(checked));
    blocks.push(Block::open("violations", format!("Violations{without}, the worst first"), vec![violations]));
    let mut reports: Vec<Block> = sentences::upstream(checked).into_iter().map(Block::Prose).collect();
    if !reports.is_empty() {
        reports.insert(0, Block::prose("No rule cures these."));
    }
    blocks.push(Block::part("upstream", "For a report to the developers", reports));
    blocks.push(Block::part("left-out", "Not measured", vec![Block::List(sentences::left_out(checked))]));
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

/// For a terminal with this many columns, with the number of what was not measured.
pub fn text(checked: &Checked, width: usize) -> String {
    let mut document = document(checked);
    document.answer.extend(sentences::count_of_left_out(checked));
    document.text(width)
}
