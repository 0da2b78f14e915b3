//! The check as a page.

use askama::Template;
use collrules_lab::guidelines::{Checked, CheckedCell, GuidelineVerdict};
use collrules_record::units::Seconds;
use collrules_record::{Cell, Ranks};

use super::sentences;
use super::tables::{collectives, label, mark, sizes};
use crate::page::{Frame, filters, rendered};
use crate::plot::{Fill, Heatmap, Map, Tile};

#[derive(Template)]
#[template(path = "guidelines.html")]
struct Page {
    frame: Frame,
    origin: String,
    verdict: String,
    violated: bool,
    answer: Vec<String>,
    maps: Vec<(Ranks, Map)>,
    /// Results under a rules file: changes of violations, and the maps.
    under: Option<Under>,
    violations: Vec<String>,
    upstream: Vec<String>,
    left_out: Vec<String>,
}

/// Result of launches with an active rules file.
struct Under {
    answer: String,
    changes: Vec<String>,
    maps: Vec<(Ranks, Map)>,
}

/// The check as a page of HTML that needs no other file. `tool` names the program and its version.
pub fn page(checked: &Checked, tool: &str) -> String {
    rendered(&Page {
        frame: Frame::new("collrules: performance guidelines".to_owned(), tool, checked.simulated),
        origin: sentences::origin(checked),
        verdict: sentences::headline(checked),
        violated: !checked.violations().is_empty(),
        answer: sentences::answer(checked),
        maps: maps(checked),
        under: sentences::under_rules(checked).zip(checked.under_file()).map(|((answer, changes), after)| Under {
            answer,
            changes,
            maps: maps(&after),
        }),
        violations: sentences::violations(checked),
        upstream: sentences::upstream(checked),
        left_out: sentences::left_out(checked),
    })
}

fn maps(checked: &Checked) -> Vec<(Ranks, Map)> {
    checked.ranks().into_iter().map(|ranks| (ranks, map(checked, ranks))).collect()
}

/// Collectives in rows, message sizes in columns.
fn map(checked: &Checked, ranks: Ranks) -> Map {
    let mut rows = collectives(checked);
    rows.retain(|collective| {
        checked.cells.iter().any(|cell| (cell.cell.collective, cell.cell.ranks) == (*collective, ranks))
    });
    let columns = sizes(checked);
    let places = rows.iter().enumerate().flat_map(|(row, collective)| {
        columns
            .iter()
            .enumerate()
            .map(move |(column, bytes)| ((row, column), Cell { collective: *collective, ranks, bytes: *bytes }))
    });
    let tiles = places.filter_map(|(at, cell)| {
        let checked = checked.cell(cell)?;
        Some(Tile {
            at,
            fill: Fill::Slowness(1.0 + checked.slowdown()),
            text: vec![mark(Some(checked)), String::new()],
            note: note(checked),
        })
    });
    let heatmap = Heatmap {
        description: format!("Slowdown of collectives on {ranks} ranks against equivalent calls."),
        columns: columns.iter().map(|bytes| label(*bytes)).collect(),
        rows: rows.iter().map(|collective| collective.name().to_owned()).collect(),
        tiles: tiles.collect(),
        join: false,
    };
    let slowdown = |ratio: f64| format!("{:+.0} %", (ratio - 1.0) * 100.0);
    Map { legend: heatmap.slownesses(slowdown), svg: heatmap.picture().fragment() }
}

fn note(cell: &CheckedCell) -> String {
    let fastest = cell.mockups.iter().min_by(|a, b| a.time.point.total_cmp(&b.time.point));
    let best = fastest.map_or("no mock-up was timed".to_owned(), |found| {
        format!("{} takes {}", found.mockup, Seconds(found.time.point))
    });
    let builtin = cell.builtin.map_or("-".to_owned(), |time| Seconds(time.point).to_string());
    let severity = cell.severity.map_or(String::new(), |it| format!("; slower by {}", sentences::slowdown(it)));
    let verdict = match cell.verdict() {
        GuidelineVerdict::Violated(_) => "violated",
        GuidelineVerdict::Undecided(_) => "undecided",
        GuidelineVerdict::Kept => "kept",
    };
    format!("{}: default {builtin}, {best}{severity}; {verdict}", cell.cell)
}
