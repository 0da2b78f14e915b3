//! What changed, as a page.

use std::collections::BTreeSet;

use askama::Template;
use collrules_record::comparison::{Advice, CellChange, Comparison};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::validation::Outcome;

use super::tables::{changed, reserved};
use super::{answer, name, sentences, side};
use crate::facts::{ratio, regular_sizes};
use crate::page::{Frame, rendered};
use crate::plot::{Entry, Fill, Heatmap, Tile, X};

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
        frame: Frame::new("collrules: what changed".to_owned(), tool),
        comparison,
        answer: answer(comparison),
        replace: comparison.advice() != Advice::Keep,
        before: side(&comparison.before),
        after: side(&comparison.after),
        sentences: sentences(comparison),
        collectives: collectives.map(|cells| maps(comparison, cells)).collect(),
        levels: Heatmap::ratio_legend(),
        changed: changed(comparison),
        reserved: reserved(comparison),
    };
    rendered(&page)
}

fn maps(comparison: &Comparison, cells: &[CellChange]) -> Maps {
    let collective = cells[0].cell.collective;
    let ranks: Vec<Ranks> = cells.iter().map(|cell| cell.cell.ranks).collect::<BTreeSet<_>>().into_iter().collect();
    let sizes = regular_sizes(&cells.iter().map(|cell| cell.cell).collect());
    let heatmap = |description: String, tile: &dyn Fn(&CellChange) -> Option<(f64, String)>| {
        let tiles = cells.iter().filter_map(|cell| {
            let at = (ranks.binary_search(&cell.cell.ranks).ok()?, sizes.binary_search(&cell.cell.bytes).ok()?);
            let (value, note) = tile(cell)?;
            Some(Tile { at, fill: Fill::Ratio(value), text: vec![format!("{value:.2}")], note })
        });
        let label = |size: &Bytes| if collective.has_sizes() { X::MessageBytes.value(size.0) } else { String::new() };
        let map = Heatmap {
            description,
            columns: sizes.iter().map(label).collect(),
            rows: ranks.iter().map(ToString::to_string).collect(),
            tiles: tiles.collect(),
            join: false,
            legend: Vec::new(),
        };
        map.picture().fragment()
    };
    let builtin = heatmap(format!("How fast today's builtin of {collective} is by the earlier one."), &|cell| {
        let change = match cell.change {
            Outcome::Faster => "the builtin became faster",
            Outcome::Same => "no change of the builtin is shown",
            Outcome::Slower => "the builtin became slower",
        };
        let q_value = cell.q_value.map_or(String::new(), |q_value| format!("; q = {q_value:.2e}"));
        Some((cell.builtin.point, format!("{}: {}; {change}{q_value}", cell.cell, ratio(cell.builtin))))
    });
    let old_rules = heatmap(format!("How fast {collective} is under the earlier rules by the new ones."), &|cell| {
        let old = cell.old_rules?;
        let gives = name(&comparison.after, collective, old.gives);
        let served = name(&comparison.after, collective, cell.served.1);
        let failed = if old.failed { "; it fails today" } else { "" };
        let slower = if old.slower { "; slower than today's builtin" } else { "" };
        let value = 1.0 / (1.0 + old.regret?);
        Some((value, format!("{}: earlier rules give {gives}; new rules {served}{slower}{failed}", cell.cell)))
    });
    Maps { name: collective.to_string(), builtin, old_rules }
}
