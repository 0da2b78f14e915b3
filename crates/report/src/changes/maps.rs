//! Maps of a collective's changes.

use collrules_record::validation::Outcome;
use collrules_tuner::results::comparison::{CellChange, Comparison};

use crate::document::{Block, map};
use crate::facts::name_candidate;
use crate::plot::{Fill, Places, Tile};
use crate::words::{number, ratio};

const DEFAULT: &str = "The default, by ranks (rows) and message size (columns): its earlier time over today's time; blue is faster \
                       today";
const EARLIER: &str = "The earlier rules today: time under the new rules over time under the earlier rules; orange is slower with the earlier \
                       rules";

/// The changes of the default, and the earlier rules against the new ones.
pub(super) fn maps(comparison: &Comparison, cells: &[CellChange]) -> Block {
    let collective = cells[0].cell.collective;
    let places = Places::from_cells(cells.iter().map(|cell| cell.cell));
    let heatmap = |description: String, tile: &dyn Fn(&CellChange) -> Option<(f64, String)>| {
        let tiles = cells.iter().filter_map(|cell| {
            let (value, note) = tile(cell)?;
            Some(Tile { at: places.at(cell.cell)?, fill: Fill::Ratio(value), text: vec![number(value)], note })
        });
        let map = places.heatmap(description, tiles);
        let legend = map.ratios(|ratio| format!("{ratio}x"));
        (map, legend)
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
    let maps = vec![map(DEFAULT, &builtin.0, builtin.1), map(EARLIER, &old_rules.0, old_rules.1)];
    Block::part(&format!("c-{collective}"), collective.to_string(), maps)
}
