//! Curves of the calls of a collective.

use std::collections::BTreeSet;

use collrules_model::stalls::{CallTimes, Irregular};
use collrules_record::{Candidate, Estimate, Ranks, Seconds};
use collrules_rules::Collective;

use super::name_candidate;
use crate::document::{Block, legend, plots};
use crate::plot::{Curves, Line, Reading, Stroke, X};

/// A quantity of the calls of a size, drawn as a figure.
type Part = (&'static str, fn(&CallTimes) -> Seconds);

/// Median, mean (the cost of the calls), and 99th percentile (how bad it gets).
const PARTS: [Part; 3] =
    [("Median", |calls| calls.median), ("Mean", |calls| calls.mean), ("99th percentile", |calls| calls.p99)];

/// The curves of a collective on a communicator.
pub(super) fn figures(found: &Irregular, collective: Collective, ranks: Ranks) -> Block {
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
    let pictures = PARTS.map(|(caption, of)| {
        let description =
            format!("{caption} of {collective} on {ranks} ranks over the message size, one line per alternative.");
        let curves = Curves { lines: lines(of), times: Some(times), ..Curves::new(&description, X::MessageBytes) };
        (caption.to_owned(), curves.picture())
    });
    let legend = legend(&pictures[0].1.legend);
    Block::open("", format!("{collective} on {ranks} ranks"), vec![legend, plots(pictures)])
}

/// A value without an interval.
fn plain(point: f64, level: f64) -> Estimate {
    Estimate { point, low: None, high: None, level, samples: 1 }
}
