//! Times and numbers of calls, by collective and message size.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::profile::{Calls, Mode, Profile};
use collrules_record::{Bytes, Seconds};

use crate::document::{Block, Fill, Heatmap, Tile, ratios};
use crate::words::{percent, tenths};

const CAPTION: &str = "Blocking collectives by communicator size (rows) and from which message size on, in bytes (columns); \
                       colours: share of the whole";

/// Factor by which a share of the whole moves a colour away from the neutral one.
const CONTRAST: f64 = 4.0;

/// Times of calls.
pub(super) fn times(profile: &Profile) -> Block {
    map(profile, |calls| profile.wall_of(calls.time.total).0, |sum| Seconds(sum).to_string())
}

/// Numbers of calls.
pub(super) fn counts(profile: &Profile) -> Block {
    map(profile, |calls| calls.calls(profile.communicator(calls)), |sum| format!("{sum:.0}"))
}

/// Collectives and communicators in rows, powers of two of the message size in columns. Darker tiles have a larger
/// share of the whole.
fn map(profile: &Profile, quantity: impl Fn(&Calls) -> f64, say: fn(f64) -> String) -> Block {
    let power = |calls: &Calls| calls.mean_bytes().0.checked_ilog2().map_or(0, |power| power + 1);
    let mut sums: BTreeMap<(String, u32), f64> = BTreeMap::new();
    for calls in profile.calls.iter().filter(|calls| calls.mode == Mode::Blocking) {
        let row = format!("{} on {}", calls.operation, profile.communicator(calls).ranks);
        *sums.entry((row, power(calls))).or_default() += quantity(calls);
    }
    let rows: BTreeSet<String> = sums.keys().map(|(row, _)| row.clone()).collect();
    let columns: BTreeSet<u32> = sums.keys().map(|(_, column)| *column).collect();
    let all: f64 = sums.values().sum();
    let tile = |row: &String, column: &u32| {
        let sum = *sums.get(&(row.clone(), *column))?;
        let share = if all > 0.0 { sum / all } else { 0.0 };
        let text = say(sum);
        let note = format!("{row}, {}: {text}, {}", size(column), tenths(share));
        Some(Tile { fill: Fill::Ratio(1.0 + CONTRAST * share), text, note })
    };
    let share = |ratio: f64| percent((ratio - 1.0).max(0.0) / CONTRAST);
    Heatmap::new(CAPTION, &rows, &columns, size, tile).block(ratios(share))
}

/// The sizes from a power of two to the next, as a label.
fn size(power: &u32) -> String {
    power.checked_sub(1).map_or("0".to_owned(), |power| Bytes(1 << power).to_string())
}
