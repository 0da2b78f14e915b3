//! A map of pairs.

use collrules_model::model::Model;

use crate::document::{self, Block};
use crate::plot::{Fill, Heatmap, Tile};

const CAPTION: &str = "Time of each pair of ranks at the largest size, over that of a usual one; orange is slow";

/// Ranks in rows and columns; the time of each pair over that of a usual one.
pub(super) fn map(model: &Model) -> Block {
    let pairs = &model.slow.map;
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
    document::map(CAPTION, &heatmap, heatmap.slownesses(|ratio| format!("{ratio}x")))
}
