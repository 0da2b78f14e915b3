//! The check as a page.

use askama::Template;
use collrules_record::guidelines::Checked;
use collrules_record::units::Seconds;
use collrules_record::{Cell, Ranks};

use super::sentences;
use super::tables::{collectives, label, mark, sizes};
use crate::page::{Frame, rendered};
use crate::plot::{Entry, Fill, Heatmap, Tile, levels};

#[derive(Template)]
#[template(path = "guidelines.html")]
struct Page {
    frame: Frame,
    origin: String,
    violated: bool,
    answer: Vec<String>,
    maps: Vec<(Ranks, String)>,
    /// Under a rules file: what became of violations, and the maps there.
    under: Option<Under>,
    levels: Vec<Entry>,
    violations: Vec<String>,
    upstream: Vec<String>,
    left_out: Vec<String>,
}

/// What there is to show of launches with a rules file in force.
struct Under {
    answer: String,
    changes: Vec<String>,
    maps: Vec<(Ranks, String)>,
}

/// The check as a page of HTML that needs no other file. `tool` names the program and its version.
pub fn page(checked: &Checked, tool: &str) -> String {
    rendered(&Page {
        frame: Frame::new("collrules: performance guidelines".to_owned(), tool, checked.simulated),
        origin: sentences::origin(checked),
        violated: !checked.violations().is_empty(),
        answer: sentences::answer(checked),
        maps: maps(checked),
        under: sentences::under_rules(checked).zip(checked.under_file()).map(|((answer, changes), after)| Under {
            answer,
            changes,
            maps: maps(&after),
        }),
        levels: levels(),
        violations: sentences::violations(checked),
        upstream: sentences::upstream(checked),
        left_out: sentences::left_out(checked),
    })
}

fn maps(checked: &Checked) -> Vec<(Ranks, String)> {
    checked.ranks().into_iter().map(|ranks| (ranks, map(checked, ranks))).collect()
}

/// Collectives in rows, message sizes in columns.
fn map(checked: &Checked, ranks: Ranks) -> String {
    let (rows, columns) = (collectives(checked), sizes(checked));
    let places = rows.iter().enumerate().flat_map(|(row, collective)| {
        columns
            .iter()
            .enumerate()
            .map(move |(column, bytes)| ((row, column), Cell { collective: *collective, ranks, bytes: *bytes }))
    });
    let tolerated = checked.criteria.min_gain;
    let tiles = places.filter_map(|(at, cell)| {
        let checked = checked.cell(cell)?;
        let ratio = 1.0 / (1.0 + checked.slowdown());
        Some(Tile {
            at,
            fill: Fill::Ratio(ratio),
            text: vec![mark(Some(checked), tolerated), String::new()],
            note: note(checked),
        })
    });
    let heatmap = Heatmap {
        description: format!("How much slower collectives on {ranks} ranks are than calls that do the same."),
        columns: columns.iter().map(|bytes| label(*bytes)).collect(),
        rows: rows.iter().map(|collective| collective.name().to_owned()).collect(),
        tiles: tiles.collect(),
        join: false,
    };
    heatmap.picture().fragment()
}

fn note(cell: &collrules_record::guidelines::CheckedCell) -> String {
    let fastest = cell.mockups.iter().min_by(|a, b| a.time.point.total_cmp(&b.time.point));
    let best = fastest.map_or("no mock-up was timed".to_owned(), |found| {
        format!("{} takes {}", found.mockup, Seconds(found.time.point))
    });
    let builtin = cell.builtin.map_or("-".to_owned(), |time| Seconds(time.point).to_string());
    let severity = cell.severity.map_or(String::new(), |it| format!("; slower by {}", sentences::slowdown(it)));
    let verdict = if cell.violation.is_some() { "violated" } else { "not shown to be violated" };
    format!("{}: builtin {builtin}, {best}{severity}; {verdict}", cell.cell)
}
