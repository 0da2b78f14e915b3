//! A map of pairs.

use std::collections::{BTreeMap, BTreeSet};

use collrules_model::model::Model;

use crate::document::{Block, Fill, Heatmap, Tile, slownesses};

const CAPTION: &str = "Time of each pair of ranks at the largest size, over that of a usual one; orange is slow";

/// Ranks in rows and columns; the time of each pair over that of a usual one.
pub(super) fn map(model: &Model) -> Block {
    let ranks: BTreeSet<u32> = model.ranks.keys().copied().collect();
    let factors: BTreeMap<(u32, u32), f64> = model.slow.map.iter().copied().collect();
    let tile = |a: &u32, b: &u32| {
        let factor = *factors.get(&(*a, *b)).or_else(|| factors.get(&(*b, *a)))?;
        let note = format!("ranks {a} and {b}: {factor:.2} times the usual");
        Some(Tile { fill: Fill::Slowness(factor), text: format!("{factor:.2}"), note })
    };
    Heatmap::new(CAPTION, &ranks, &ranks, u32::to_string, tile).block(slownesses(|ratio| format!("{ratio}x")))
}
