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
    requested(study, about).into_iter().filter_map(|requested| requested.figure).collect()
}

/// Lists the requested figures that cannot be drawn, with the reason, in whole sentences.
pub fn undrawn(study: &Study, about: &About<'_>) -> Vec<String> {
    let requested = requested(study, about);
    let sentence = |(over, name, two): (X, &str, &str)| {
        let missing = requested.iter().filter(|it| it.over == over && it.figure.is_none());
        let what: Vec<String> = missing.map(|it| it.subject.clone()).collect();
        (!what.is_empty()).then(|| {
            format!(
                "There is no figure of {} over the {name}: a line needs times of at least two {two}.",
                listed(&what)
            )
        })
    };
    let axes =
        [(X::Ranks, "number of ranks", "communicator sizes"), (X::MessageBytes, "message size", "message sizes")];
    axes.into_iter().filter_map(sentence).collect()
}

/// A requested figure; none if it has no line.
struct Requested {
    subject: String,
    over: X,
    figure: Option<StudyFigure>,
}

fn requested(study: &Study, about: &About<'_>) -> Vec<Requested> {
    let mut all = Vec::new();
    for collective in collectives(study) {
        let sizes = if collective.has_sizes() { about.over_ranks.clone() } else { vec![Bytes(0)] };
        all.extend(sizes.into_iter().map(|bytes| over_ranks(study, collective, bytes)));
        if collective.has_sizes() {
            all.extend(about.over_sizes.iter().map(|ranks| over_sizes(study, collective, *ranks)));
            all.extend(about.builtin.then(|| builtin(study, collective)));
        }
    }
    all
}

fn over_ranks(study: &Study, collective: Collective, bytes: Bytes) -> Requested {
    let lines = by_candidate(study, collective, |cell| {
        (cell.collective == collective && cell.bytes == bytes).then_some(u64::from(cell.ranks.0))
    });
    let (size, file) = match collective.has_sizes() {
        true => (format!(" at {bytes}"), format!("{collective}-over-ranks-{bytes:#}.svg")),
        false => (String::new(), format!("{collective}-over-ranks.svg")),
    };
    figure(file, format!("{collective}{size}"), "time over the number of ranks, by algorithm", X::Ranks, lines)
}

fn over_sizes(study: &Study, collective: Collective, ranks: Ranks) -> Requested {
    let mut lines = by_candidate(study, collective, |cell| {
        (cell.collective == collective && cell.ranks == ranks).then_some(cell.bytes.0)
    });
    let own = study.cells.iter().filter(|cell| (cell.cell.collective, cell.cell.ranks) == (collective, ranks));
    let bound = |cell: &StudyCell| Some(Reading { x: cell.cell.bytes.0, time: cell.bound? });
    let points: Vec<Reading> = own.filter_map(bound).collect();
    if !points.is_empty() {
        lines.insert(0, Line { name: "bound".to_owned(), stroke: Stroke::Series(lines.len()), points });
    }
    let file = format!("{collective}-over-sizes-{ranks}.svg");
    let subject = format!("{collective} on {ranks} ranks");
    figure(file, subject, "time over the message size, by algorithm", X::MessageBytes, lines)
}

fn builtin(study: &Study, collective: Collective) -> Requested {
    let own = || study.cells.iter().filter(|cell| cell.cell.collective == collective);
    let mut ranks: Vec<Ranks> = own().map(|cell| cell.cell.ranks).collect();
    ranks.dedup();
    let line = |(place, ranks): (usize, &Ranks)| {
        let points =
            points(own().filter(|cell| cell.cell.ranks == *ranks), Candidate::Builtin, |cell| Some(cell.bytes.0));
        Line { name: format!("{ranks} ranks"), stroke: Stroke::Series(place), points }
    };
    let lines = ranks.iter().enumerate().map(line).collect();
    let subject = format!("{collective} by the default");
    let what = "time over the message size, by number of ranks";
    figure(format!("{collective}-builtin.svg"), subject, what, X::MessageBytes, lines)
}

fn figure(file: String, subject: String, what: &str, over: X, lines: Vec<Line>) -> Requested {
    let drawn = lines.iter().any(|line| line.points.len() > 1).then(|| {
        let caption = format!("{subject}: {what}");
        let curves = Curves { lines, size: (640, 360), ..Curves::new(&caption, over) };
        StudyFigure { svg: curves.picture().document(&caption), file, caption }
    });
    Requested { subject, over, figure: drawn }
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
