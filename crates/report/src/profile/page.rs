//! The profile as a page.

use std::collections::BTreeMap;

use askama::Template;
use collrules_record::profile::{Calls, Mode, Profile};
use collrules_record::{Bytes, Seconds};
use collrules_tuner::results::prospect::Prospects;

use super::{rows, sentences};
use crate::page::{Frame, filters, rendered};
use crate::plot::{Fill, Heatmap, Map, Tile};
use crate::words::percent;

#[derive(Template)]
#[template(path = "profile.html")]
struct Page {
    frame: Frame,
    verdict: String,
    origin: String,
    command: String,
    answer: Vec<String>,
    shares: Vec<Vec<String>>,
    maps: Vec<(String, Map)>,
    header: [&'static str; 7],
    calls: Vec<Vec<String>>,
    communicators: Vec<String>,
}

/// The profile as a page of HTML that needs no other file. `tool` names the program and its version.
pub fn page(profile: &Profile, prospects: &Prospects, tool: &str) -> String {
    let maps = [
        ("Time of the mean rank by collective and message size", map(profile, time)),
        ("Calls by collective and message size", map(profile, count)),
    ];
    rendered(&Page {
        frame: Frame::new("collrules: calls of a program".to_owned(), tool, false),
        verdict: sentences::headline(prospects),
        origin: sentences::origin(profile),
        command: profile.command.join(" "),
        answer: sentences::answer(profile, prospects),
        shares: rows::shares(prospects),
        maps: maps
            .into_iter()
            .filter(|_| !profile.calls.is_empty())
            .map(|(name, map)| (name.to_owned(), map))
            .collect(),
        header: rows::HEADER,
        calls: rows::by_time(profile).into_iter().map(|place| rows::row(profile, prospects, place)).collect(),
        communicators: rows::communicators(profile),
    })
}

/// Quantity that a tile sums over calls.
type Quantity = fn(&Profile, &Calls) -> f64;

fn time(profile: &Profile, calls: &Calls) -> f64 {
    profile.wall_of(calls.time.total).0
}

fn count(profile: &Profile, calls: &Calls) -> f64 {
    calls.calls(profile.communicator(calls))
}

/// Factor by which a share of the whole moves a colour away from the neutral one.
const CONTRAST: f64 = 4.0;

/// Collectives and communicators in rows, powers of two of the message size in columns. Darker tiles have a larger
/// share of the whole.
fn map(profile: &Profile, quantity: Quantity) -> Map {
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
            note: format!("{row}, {}: {said}, {:.1} %", size(*column), share * 100.0),
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
    Map { legend: heatmap.ratios(share), svg: heatmap.picture().fragment() }
}

/// The sizes from a power of two to the next, as a label.
fn size(power: u32) -> String {
    if power == 0 { "0".to_owned() } else { Bytes(1 << (power - 1)).to_string() }
}
