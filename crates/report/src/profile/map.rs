//! Times and numbers of calls, by collective and message size.

use std::collections::BTreeMap;

use collrules_record::profile::{Calls, Mode, Profile};
use collrules_record::{Bytes, Seconds};

use crate::document::{self, Block};
use crate::plot::{Fill, Heatmap, Tile};
use crate::words::{percent, tenths};

const CAPTION: &str = "Blocking collectives by communicator size (rows) and from which message size on, in bytes (columns); \
                       colours: share of the whole";

/// Quantity that a tile sums over calls.
pub(super) type Quantity = fn(&Profile, &Calls) -> f64;

pub(super) fn time(profile: &Profile, calls: &Calls) -> f64 {
    profile.wall_of(calls.time.total).0
}

pub(super) fn count(profile: &Profile, calls: &Calls) -> f64 {
    calls.calls(profile.communicator(calls))
}

/// Factor by which a share of the whole moves a colour away from the neutral one.
const CONTRAST: f64 = 4.0;

/// Collectives and communicators in rows, powers of two of the message size in columns. Darker tiles have a larger
/// share of the whole.
pub(super) fn map(profile: &Profile, quantity: Quantity) -> Block {
    let is_time = std::ptr::fn_addr_eq(quantity, time as Quantity);
    let power = |calls: &Calls| calls.mean_bytes().0.checked_ilog2().map_or(0, |power| power + 1);
    let mut sums: BTreeMap<(String, u32), f64> = BTreeMap::new();
    for calls in profile.calls.iter().filter(|calls| calls.mode == Mode::Blocking) {
        let row = format!("{} on {}", calls.operation, profile.communicator(calls).ranks);
        *sums.entry((row, power(calls))).or_default() += quantity(profile, calls);
    }
    let mut rows: Vec<String> = sums.keys().map(|(row, _)| row.clone()).collect();
    rows.dedup();
    let mut columns: Vec<u32> = sums.keys().map(|(_, column)| *column).collect();
    columns.sort_unstable();
    columns.dedup();
    let all: f64 = sums.values().sum();
    let tiles = sums.iter().filter_map(|((row, column), sum)| {
        let at = (rows.iter().position(|name| name == row)?, columns.iter().position(|power| power == column)?);
        let share = if all > 0.0 { sum / all } else { 0.0 };
        let said = if is_time { Seconds(*sum).to_string() } else { format!("{sum:.0}") };
        Some(Tile {
            at,
            fill: Fill::Ratio(1.0 + CONTRAST * share),
            text: vec![said.clone(), String::new()],
            note: format!("{row}, {}: {said}, {}", size(*column), tenths(share)),
        })
    });
    let heatmap = Heatmap {
        description: format!("{} by collective and message size.", if is_time { "Time" } else { "Calls" }),
        columns: columns.iter().map(|power| size(*power)).collect(),
        tiles: tiles.collect(),
        rows,
        join: false,
    };
    let share = |ratio: f64| percent((ratio - 1.0).max(0.0) / CONTRAST);
    document::map(CAPTION, &heatmap, heatmap.ratios(share))
}

/// The sizes from a power of two to the next, as a label.
fn size(power: u32) -> String {
    if power == 0 { "0".to_owned() } else { Bytes(1 << (power - 1)).to_string() }
}
