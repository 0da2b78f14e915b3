//! A model as a page.

use askama::Template;
use collrules_model::model::Model;

use super::sentences;
use super::tables::{self, Table};
use crate::page::{Frame, filters, rendered};
use crate::plot::{Fill, Heatmap, Map, Tile};

#[derive(Template)]
#[template(path = "model.html")]
struct Page {
    frame: Frame,
    origin: String,
    slow: bool,
    answer: Vec<String>,
    quality: Vec<String>,
    lines: Vec<String>,
    unknown: Vec<String>,
    map: Option<Map>,
    tables: Vec<Table>,
}

/// The model as a page of HTML that needs no other file. `tool` names the program and its version.
pub fn page(model: &Model, tool: &str) -> String {
    rendered(&Page {
        frame: Frame::new("collrules: communication model".to_owned(), tool, model.simulated),
        origin: sentences::origin(model),
        slow: model.names_slow(),
        answer: sentences::slow(model),
        quality: sentences::quality(model),
        lines: [sentences::lines(model), sentences::algorithms(model), sentences::many_to_one(model)].concat(),
        unknown: model.unknown.clone(),
        map: map(model),
        tables: tables::all(model),
    })
}

/// Ranks in rows and columns; the time of each pair over that of a usual one.
fn map(model: &Model) -> Option<Map> {
    let pairs = &model.slow.map;
    if pairs.is_empty() {
        return None;
    }
    let ranks: Vec<u32> = model.ranks.keys().copied().collect();
    let place = |rank: u32| ranks.iter().position(|other| *other == rank);
    let label = |rank: &u32| rank.to_string();
    let tiles = pairs.iter().filter_map(|((a, b), factor)| Some((place(*a)?, place(*b)?, *a, *b, *factor)));
    let tile = |at: (usize, usize), a: u32, b: u32, factor: f64| Tile {
        at,
        fill: Fill::Slowness(factor),
        text: vec![format!("{factor:.2}"), String::new()],
        note: format!("ranks {a} and {b}: {factor:.2} times the usual"),
    };
    let heatmap = Heatmap {
        description: "The time of each pair of ranks over that of a usual one.".to_owned(),
        columns: ranks.iter().map(label).collect(),
        rows: ranks.iter().map(label).collect(),
        tiles: tiles
            .flat_map(|(x, y, a, b, factor)| [tile((x, y), a, b, factor), tile((y, x), a, b, factor)])
            .collect(),
        join: false,
    };
    Some(Map { legend: heatmap.slownesses(|ratio| format!("{ratio}x")), svg: heatmap.picture().fragment() })
}
