//! What changed, as a page.

use askama::Template;
use collrules_record::comparison::{Advice, CellChange, Comparison};
use collrules_record::validation::Outcome;

use super::sentences::{answer, sentences, side};
use super::tables::{changed, reserved};
use crate::facts::named;
use crate::page::{Frame, rendered};
use crate::plot::{Entry, Fill, Places, Tile, levels};
use crate::words::{number, ratio};

#[derive(Template)]
#[template(path = "changes.html")]
struct Page<'a> {
    frame: Frame,
    comparison: &'a Comparison,
    answer: String,
    replace: bool,
    before: String,
    after: String,
    sentences: Vec<String>,
    collectives: Vec<Maps>,
    levels: Vec<Entry>,
    changed: Vec<[String; 5]>,
    reserved: Vec<[String; 6]>,
}

/// The pictures of a collective.
struct Maps {
    name: String,
    builtin: String,
    old_rules: String,
}

/// The comparison as a page of HTML that needs no other file. `tool` names the program and its version.
pub fn page(comparison: &Comparison, tool: &str) -> String {
    let collectives = comparison.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective);
    let page = Page {
        frame: Frame::new(
            "collrules: what changed".to_owned(),
            tool,
            comparison.before.simulated || comparison.after.simulated,
        ),
        comparison,
        answer: answer(comparison),
        replace: comparison.advice() != Advice::Keep,
        before: side(&comparison.before),
        after: side(&comparison.after),
        sentences: sentences(comparison),
        collectives: collectives.map(|cells| maps(comparison, cells)).collect(),
        levels: levels(),
        changed: changed(comparison),
        reserved: reserved(comparison),
    };
    rendered(&page)
}

fn maps(comparison: &Comparison, cells: &[CellChange]) -> Maps {
    let collective = cells[0].cell.collective;
    let places = Places::of(cells.iter().map(|cell| cell.cell));
    let heatmap = |description: String, tile: &dyn Fn(&CellChange) -> Option<(f64, String)>| {
        let tiles = cells.iter().filter_map(|cell| {
            let (value, note) = tile(cell)?;
            Some(Tile { at: places.at(cell.cell)?, fill: Fill::Ratio(value), text: vec![number(value)], note })
        });
        places.heatmap(description, tiles).picture().fragment()
    };
    let builtin =
        heatmap(format!("How fast today's builtin of {collective} is, compared with the earlier one."), &|cell| {
            let change = match cell.change {
                Outcome::Faster => "the builtin became faster",
                Outcome::Same => "no change of the builtin is shown",
                Outcome::Slower => "the builtin became slower",
            };
            let q_value = cell.q_value.map_or(String::new(), |q_value| format!("; q = {q_value:.2e}"));
            Some((cell.builtin.point, format!("{}: {}; {change}{q_value}", cell.cell, ratio(cell.builtin))))
        });
    let description = format!("How fast {collective} is under the earlier rules, compared with the new ones.");
    let old_rules = heatmap(description, &|cell| {
        let old = cell.old_rules?;
        let name = |candidate| named(comparison.after.release, collective, candidate);
        let (gives, served) = (name(old.gives), name(cell.served.1));
        let failed = if old.failed { "; it fails today" } else { "" };
        let slower = if old.slower { "; slower than today's builtin" } else { "" };
        let value = 1.0 / (1.0 + old.regret?);
        Some((value, format!("{}: earlier rules: {gives}; new rules: {served}{slower}{failed}", cell.cell)))
    });
    Maps { name: collective.to_string(), builtin, old_rules }
}
