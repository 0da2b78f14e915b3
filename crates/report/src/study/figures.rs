//! The figures of a study.

use collrules_lab::study::results::{Study, StudyCell, StudyVerdict};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;
use collrules_rules::words::listed;

use super::about::About;
use super::names::{candidates, collectives, name};
use crate::plot::{Curves, Line, Reading, Stroke, X};

/// A drawing with its file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyFigure {
    /// A name that ends in `.svg`.
    pub file: String,
    /// Description of the contents.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// The requested figures that have at least two points to draw a line between.
pub fn figures(study: &Study, about: &About<'_>) -> Vec<StudyFigure> {
    let mut all = Vec::new();
    for collective in collectives(study) {
        let sizes = if collective.has_sizes() { about.over_ranks.clone() } else { vec![Bytes(0)] };
        all.extend(sizes.into_iter().filter_map(|bytes| over_ranks(study, collective, bytes)));
        if collective.has_sizes() {
            all.extend(about.over_sizes.iter().filter_map(|ranks| over_sizes(study, collective, *ranks)));
            all.extend(about.builtin.then(|| builtin(study, collective)).flatten());
        }
    }
    all
}

/// Lists the requested figures that cannot be drawn, with the reason, in whole sentences.
pub fn undrawn(study: &Study, about: &About<'_>) -> Vec<String> {
    let (mut ranks, mut sizes) = (Vec::new(), Vec::new());
    for collective in collectives(study) {
        if !collective.has_sizes() {
            ranks.extend(over_ranks(study, collective, Bytes(0)).is_none().then(|| collective.to_string()));
            continue;
        }
        let missing = about.over_ranks.iter().filter(|bytes| over_ranks(study, collective, **bytes).is_none());
        ranks.extend(missing.map(|bytes| format!("{collective} at {bytes}")));
        let missing = about.over_sizes.iter().filter(|ranks| over_sizes(study, collective, **ranks).is_none());
        sizes.extend(missing.map(|ranks| format!("{collective} on {ranks} ranks")));
        let missing = about.builtin && builtin(study, collective).is_none();
        sizes.extend(missing.then(|| format!("the default of {collective}")));
    }
    let sentence = |what: &[String], over: &str, two: &str| {
        (!what.is_empty()).then(|| {
            format!("There is no figure of {} over the {over}: a line needs times of at least two {two}.", listed(what))
        })
    };
    let ranks = sentence(&ranks, "number of ranks", "communicator sizes");
    ranks.into_iter().chain(sentence(&sizes, "message size", "message sizes")).collect()
}

fn over_ranks(study: &Study, collective: Collective, bytes: Bytes) -> Option<StudyFigure> {
    let size = if collective.has_sizes() { format!(" at {bytes}") } else { String::new() };
    let caption = format!("{collective}{size}: time over the number of ranks, by algorithm");
    let lines = by_candidate(study, collective, |cell| {
        (cell.collective == collective && cell.bytes == bytes).then_some(u64::from(cell.ranks.0))
    });
    let file = match collective.has_sizes() {
        true => format!("{collective}-over-ranks-{bytes:#}.svg"),
        false => format!("{collective}-over-ranks.svg"),
    };
    figure(file, caption, X::Ranks, lines)
}

fn over_sizes(study: &Study, collective: Collective, ranks: Ranks) -> Option<StudyFigure> {
    let caption = format!("{collective} on {ranks} ranks: time over the message size, by algorithm");
    let mut lines = by_candidate(study, collective, |cell| {
        (cell.collective == collective && cell.ranks == ranks).then_some(cell.bytes.0)
    });
    let own = study.cells.iter().filter(|cell| (cell.cell.collective, cell.cell.ranks) == (collective, ranks));
    let bound = |cell: &StudyCell| Some(Reading { x: cell.cell.bytes.0, time: cell.bound? });
    let points: Vec<Reading> = own.filter_map(bound).collect();
    if !points.is_empty() {
        lines.insert(0, Line { name: "bound".to_owned(), stroke: Stroke::Series(lines.len()), points });
    }
    figure(format!("{collective}-over-sizes-{ranks}.svg"), caption, X::MessageBytes, lines)
}

fn builtin(study: &Study, collective: Collective) -> Option<StudyFigure> {
    let caption = format!("{collective} by the default: time over the message size, by number of ranks");
    let mut ranks: Vec<Ranks> = study
        .cells
        .iter()
        .map(|cell| cell.cell)
        .filter(|cell| cell.collective == collective)
        .map(|c| c.ranks)
        .collect();
    ranks.dedup();
    let line = |(place, ranks): (usize, &Ranks)| {
        let of = study.cells.iter().filter(|cell| (cell.cell.collective, cell.cell.ranks) == (collective, *ranks));
        let points = points(of, Candidate::Builtin, |cell| Some(cell.bytes.0));
        Line { name: format!("{ranks} ranks"), stroke: Stroke::Series(place), points }
    };
    figure(format!("{collective}-builtin.svg"), caption, X::MessageBytes, ranks.iter().enumerate().map(line).collect())
}

fn figure(file: String, caption: String, x: X, lines: Vec<Line>) -> Option<StudyFigure> {
    lines.iter().any(|line| line.points.len() > 1).then(|| {
        let curves = Curves { lines, size: (640, 360), ..Curves::new(&caption, x) };
        StudyFigure { svg: curves.picture().document(&caption), file, caption }
    })
}

/// A line for each candidate, the builtin last, so that it lies over the others.
fn by_candidate(study: &Study, collective: Collective, x: impl Fn(Cell) -> Option<u64>) -> Vec<Line> {
    let candidates = candidates(study, collective);
    let mut lines: Vec<Line> = Vec::new();
    let mut series = 0..;
    for candidate in &candidates {
        let stroke = match candidate {
            Candidate::Builtin => Stroke::Builtin,
            _ => Stroke::Series(series.next().unwrap_or_default()),
        };
        let points = points(study.cells.iter(), *candidate, &x);
        lines.push(Line { name: name(study, collective, *candidate), stroke, points });
    }
    lines.rotate_left(usize::from(candidates.first() == Some(&Candidate::Builtin)));
    lines
}

fn points<'a>(
    cells: impl Iterator<Item = &'a StudyCell>,
    candidate: Candidate,
    x: impl Fn(Cell) -> Option<u64>,
) -> Vec<Reading> {
    let point = |cell: &StudyCell| {
        let found = cell.points.iter().find(|point| {
            point.candidate == candidate
                && (candidate != Candidate::Builtin || point.outcome == StudyVerdict::Reference)
        })?;
        Some(Reading { x: x(cell.cell)?, time: found.time })
    };
    cells.filter_map(point).collect()
}
