//! The figures of a study.

use std::collections::BTreeSet;

use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell};
use collrules_report::plot::{Curves, Line, Reading, Stroke, X};
use collrules_rules::Collective;

use super::names::{candidates, collectives, name};
use super::page::About;
use crate::study::results::{Study, StudyCell};

/// A requested figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::study) struct StudyFigure {
    /// A file name that ends in `.svg`.
    pub file: String,
    /// Its subject: `bcast at 1 KiB over the number of ranks`.
    pub subject: String,
    /// The drawing; none without a line between two points.
    pub svg: Option<String>,
}

impl StudyFigure {
    fn new(file: String, subject: String, over: X, lines: Vec<Line>) -> Self {
        let svg = lines.iter().any(|line| line.points.len() > 1).then(|| {
            let curves = Curves { lines, size: (640, 360), ..Curves::new(&subject, over) };
            curves.picture().document(&subject)
        });
        Self { file: file + ".svg", subject, svg }
    }
}

/// The requested figures.
pub(in crate::study) fn figures(study: &Study, about: &About<'_>) -> Vec<StudyFigure> {
    let (mut all, figures) = (Vec::new(), &about.definition.figures);
    for collective in collectives(study) {
        let by_algorithm = |x: &dyn Fn(Cell) -> Option<u64>| by_algorithm(study, collective, x);
        if !collective.has_sizes() {
            let lines = by_algorithm(&|cell| Some(u64::from(cell.ranks.0)));
            let subject = format!("{collective} over the number of ranks");
            all.push(StudyFigure::new(format!("{collective}-over-ranks"), subject, X::Ranks, lines));
            continue;
        }
        for bytes in &figures.over_ranks {
            let lines = by_algorithm(&|cell| (cell.bytes == *bytes).then_some(u64::from(cell.ranks.0)));
            let subject = format!("{collective} at {bytes} over the number of ranks");
            all.push(StudyFigure::new(format!("{collective}-over-ranks-{bytes:#}"), subject, X::Ranks, lines));
        }
        for ranks in about.drawn_over_sizes(study) {
            let mut lines = by_algorithm(&|cell| (cell.ranks == ranks).then_some(cell.bytes.0));
            let own = study.cells.iter().filter(|cell| (cell.cell.collective, cell.cell.ranks) == (collective, ranks));
            let bound = |cell: &StudyCell| Some(Reading { x: cell.cell.bytes.0, time: cell.bound? });
            let points: Vec<Reading> = own.filter_map(bound).collect();
            if !points.is_empty() {
                lines.insert(0, Line { name: "bound".to_owned(), stroke: Stroke::Series(lines.len()), points });
            }
            let subject = format!("{collective} on {ranks} ranks over the message size");
            all.push(StudyFigure::new(format!("{collective}-over-sizes-{ranks}"), subject, X::MessageBytes, lines));
        }
        if figures.builtin {
            let subject = format!("{collective} with the default over the message size, by number of ranks");
            let lines = by_ranks(study, collective);
            all.push(StudyFigure::new(format!("{collective}-builtin"), subject, X::MessageBytes, lines));
        }
    }
    all
}

/// A line of the default for each number of ranks.
fn by_ranks(study: &Study, collective: Collective) -> Vec<Line> {
    let own = study.cells.iter().filter(|cell| cell.cell.collective == collective);
    let ranks: BTreeSet<Ranks> = own.map(|cell| cell.cell.ranks).collect();
    let line = |(place, ranks): (usize, Ranks)| {
        let points =
            points(study, collective, Candidate::Builtin, &|cell| (cell.ranks == ranks).then_some(cell.bytes.0));
        Line { name: format!("{ranks} ranks"), stroke: Stroke::Series(place), points }
    };
    ranks.into_iter().enumerate().map(line).collect()
}

/// A line for each candidate, the builtin last, so that it lies over the others.
fn by_algorithm(study: &Study, collective: Collective, x: &dyn Fn(Cell) -> Option<u64>) -> Vec<Line> {
    let (default, others): (Vec<Candidate>, Vec<Candidate>) =
        candidates(study, collective).into_iter().partition(|candidate| *candidate == Candidate::Builtin);
    let strokes = (0..others.len()).map(Stroke::Series).chain([Stroke::Builtin]);
    let line = |(candidate, stroke): (Candidate, Stroke)| {
        let points = points(study, collective, candidate, x);
        Line { name: name(study, collective, candidate), stroke, points }
    };
    others.into_iter().chain(default).zip(strokes).map(line).collect()
}

fn points(
    study: &Study,
    collective: Collective,
    candidate: Candidate,
    x: &dyn Fn(Cell) -> Option<u64>,
) -> Vec<Reading> {
    let point = |cell: &StudyCell| {
        let found = cell.points.iter().find(|point| point.candidate == candidate)?;
        Some(Reading { x: x(cell.cell)?, time: found.time })
    };
    study.cells.iter().filter(|cell| cell.cell.collective == collective).filter_map(point).collect()
}
