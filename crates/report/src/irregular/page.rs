//! Irregular calls as a page.

use std::collections::BTreeSet;

use askama::Template;
use collrules_model::stalls::{CallTimes, Irregular};
use collrules_record::{Candidate, Estimate, Ranks, Seconds};
use collrules_rules::Collective;

use super::{HEADS, name_candidate, origin, row, sentences};
use crate::page::{Frame, filters, rendered};
use crate::plot::{Curves, Entry, Line, Reading, Stroke, X};

#[derive(Template)]
#[template(path = "irregular.html")]
struct Page {
    frame: Frame,
    origin: String,
    stalls: bool,
    answer: Vec<String>,
    figures: Vec<Figure>,
    heads: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

/// A collective on a communicator.
struct Figure {
    title: String,
    legend: Vec<Entry>,
    plots: Vec<Plot>,
}

struct Plot {
    caption: &'static str,
    svg: String,
}

/// A quantity of the calls of a size, drawn as a figure.
type Part = (&'static str, fn(&CallTimes) -> Seconds);

/// Median, mean (the cost of the calls), and 99th percentile (how bad it gets).
const PARTS: [Part; 3] =
    [("Median", |calls| calls.median), ("Mean", |calls| calls.mean), ("99th percentile", |calls| calls.p99)];

/// The page, which needs no other file. `tool` names the program and its version.
pub fn page(found: &Irregular, tool: &str) -> String {
    let groups: BTreeSet<(Collective, Ranks)> =
        found.points.iter().map(|calls| (calls.cell.collective, calls.cell.ranks)).collect();
    rendered(&Page {
        frame: Frame::new("collrules: irregular calls".to_owned(), tool, found.simulated),
        origin: origin(found),
        stalls: !found.stalls.is_empty(),
        answer: sentences(found),
        figures: groups.into_iter().map(|(collective, ranks)| figure(found, collective, ranks)).collect(),
        heads: HEADS.to_vec(),
        rows: found.points.iter().map(|calls| row(found, calls)).collect(),
    })
}

fn figure(found: &Irregular, collective: Collective, ranks: Ranks) -> Figure {
    let own: Vec<&CallTimes> =
        found.points.iter().filter(|calls| (calls.cell.collective, calls.cell.ranks) == (collective, ranks)).collect();
    let candidates: BTreeSet<Candidate> = own.iter().map(|calls| calls.candidate).collect();
    // One axis of times for all three, so that they can be compared.
    let all = || own.iter().flat_map(|calls| PARTS.map(|(_, of)| of(calls).0));
    let times = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let lines = |of: fn(&CallTimes) -> Seconds| -> Vec<Line> {
        let mut series = 0..;
        let line = |candidate: &Candidate| {
            let reading =
                |calls: &&&CallTimes| Reading { x: calls.cell.bytes.0, time: plain(of(calls).0, found.level) };
            let stroke = match candidate {
                Candidate::Builtin => Stroke::Builtin,
                _ => Stroke::Series(series.next().unwrap_or_default()),
            };
            let mut points: Vec<Reading> =
                own.iter().filter(|calls| calls.candidate == *candidate).map(|calls| reading(&calls)).collect();
            points.sort_by_key(|point| point.x);
            Line { name: name_candidate(found, collective, *candidate), stroke, points }
        };
        candidates.iter().map(line).collect()
    };
    let mut legend = Vec::new();
    let plots = PARTS.map(|(caption, of)| {
        let description =
            format!("{caption} of {collective} on {ranks} ranks over the message size, one line per alternative.");
        let curves = Curves { lines: lines(of), times: Some(times), ..Curves::new(&description, X::MessageBytes) };
        let picture = curves.picture();
        legend.clone_from(&picture.legend);
        Plot { caption, svg: picture.fragment() }
    });
    Figure { title: format!("{collective} on {ranks} ranks"), legend, plots: plots.into() }
}

/// A value without an interval.
fn plain(point: f64, level: f64) -> Estimate {
    Estimate { point, low: None, high: None, level, samples: 1 }
}
