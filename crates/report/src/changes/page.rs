//! Changes since an earlier run, as a page.

use askama::Template;
use collrules_record::validation::Outcome;
use collrules_tuner::results::comparison::{Advice, CellChange, Comparison};

use super::sentences::{answer, sentences, side};
use super::tables::{changed, reserved};
use crate::facts::name_candidate;
use crate::page::{Frame, filters, rendered};
use crate::plot::{Fill, Map, Places, Tile};
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
    changed: Vec<[String; 5]>,
    reserved: Vec<[String; 6]>,
}

/// The pictures of a collective.
struct Maps {
    name: String,
    builtin: Map,
    old_rules: Map,
}

/// The comparison as a page of HTML that needs no other file. `tool` names the program and its version.
pub fn page(comparison: &Comparison, tool: &str) -> String {
    let collectives = comparison.cells.chunk_by(|a, b| a.cell.collective == b.cell.collective);
    let page = Page {
        frame: Frame::new(
            "collrules: changes since an earlier run".to_owned(),
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
        changed: changed(comparison),
        reserved: reserved(comparison),
    };
    rendered(&page)
}

fn maps(comparison: &Comparison, cells: &[CellChange]) -> Maps {
    let collective = cells[0].cell.collective;
    let places = Places::from_cells(cells.iter().map(|cell| cell.cell));
    let heatmap = |description: String, tile: &dyn Fn(&CellChange) -> Option<(f64, String)>| {
        let tiles = cells.iter().filter_map(|cell| {
            let (value, note) = tile(cell)?;
            Some(Tile { at: places.at(cell.cell)?, fill: Fill::Ratio(value), text: vec![number(value)], note })
        });
        let map = places.heatmap(description, tiles);
        Map { legend: map.ratios(|ratio| format!("{ratio}x")), svg: map.picture().fragment() }
    };
    let builtin = heatmap(format!("Speed of today's default of {collective}, relative to the earlier one."), &|cell| {
        let change = match cell.change {
            Outcome::Faster => "the default became faster",
            Outcome::Same | Outcome::Undecided => "no change of the default found",
            Outcome::Slower => "the default became slower",
        };
        let q_value = cell.q_value.map_or(String::new(), |q_value| format!("; q = {q_value:.2e}"));
        Some((cell.builtin.point, format!("{}: {}; {change}{q_value}", cell.cell, ratio(cell.builtin))))
    });
    let description = format!("Speed of {collective} with the earlier rules, relative to the new ones.");
    let old_rules = heatmap(description, &|cell| {
        let old = cell.old_rules?;
        let name = |candidate| name_candidate(comparison.after.release, collective, candidate);
        let (gives, served) = (name(old.gives), name(cell.served.1));
        let failed = if old.failed { "; it fails today" } else { "" };
        let slower = if old.slower { "; slower than today's default" } else { "" };
        let value = 1.0 / (1.0 + old.regret?);
        Some((value, format!("{}: earlier rules: {gives}; new rules: {served}{slower}{failed}", cell.cell)))
    });
    Maps { name: collective.to_string(), builtin, old_rules }
}
