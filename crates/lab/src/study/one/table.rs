//! A study of timings by others: a table, or an imported run.

use std::collections::BTreeSet;
use std::path::Path;

use collrules_record::criteria::Criteria;
use collrules_record::findings::{Findings, Statistic};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, Placement, Seconds};
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::analyze::Source;

use super::super::scope::Scope;
use super::{Averages, OneStudy, Studied};
use crate::study::definition::{Definition, RequestedFigures};
use crate::study::report::MeasuredBy;
use crate::study::results::Study;

/// Studies what a definition asks for of it; without one, all of it.
pub(super) fn study(one: &OneStudy, path: &Path, session: &mut Session<'_>) -> Result<Studied, WorkflowError> {
    let OneStudy { options, definition, .. } = one;
    let mut source = Source::open(path, options.release, session)?;
    source.name = path.file_name().map_or_else(|| source.name.clone(), |name| name.to_string_lossy().into_owned());
    let release = source.release;
    let scope = definition.as_ref().map(|definition| Scope::new(options, definition, release)).transpose()?;
    let wanted = |cell: Cell, candidate| match &scope {
        Some(scope) => scope.wants(cell, candidate),
        None => options.ranks.is_empty() || options.ranks.contains(&cell.ranks),
    };
    // A table has neither shared candidates nor placements of ranks.
    let (planned, placement) = ([&[][..]; 2], Placement::default());
    let criteria = Criteria::default();
    let found =
        super::super::analysis::study(&source.observations, &[], planned, &placement, wanted, release, criteria)
            .map_err(WorkflowError::analysis(&source.name))?;
    let mut remarks = scope.map_or_else(Vec::new, |scope| scope.missing(&found));
    let doubts = Findings { remarks: source.doubts(), ..Findings::empty(&source.name, release) };
    remarks.extend(collrules_report::remarks::remarks(&doubts));
    let statistic = source.observations.statistic();
    let times = found.cells.iter().flat_map(|cell| cell.points.iter().map(|point| (cell.cell, point)));
    let averages: Averages = times
        .filter(|_| statistic == Statistic::RankAverage)
        .map(|(cell, point)| ((cell, point.candidate), Seconds(point.time.point)))
        .collect();
    let definition = definition.clone().unwrap_or_else(|| of_all(&source.name, &found));
    let origin = MeasuredBy::Others(source.name, statistic);
    one.describe(&definition, found, &origin, remarks, &averages, session)
}

/// A definition that asks for all of a table, with figures at the smallest, the middle and the largest of its sizes.
fn of_all(name: &str, found: &Study) -> Definition {
    let sizes: BTreeSet<Bytes> = found.cells.iter().map(|cell| cell.cell.bytes).filter(|bytes| bytes.0 > 0).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let typical: BTreeSet<Bytes> =
        [sizes.first(), sizes.get(sizes.len() / 2), sizes.last()].into_iter().flatten().copied().collect();
    let largest: Option<Ranks> = found.cells.iter().map(|cell| cell.cell.ranks).max();
    Definition {
        title: format!("The timings of {name}"),
        question:
            "Which algorithm is the fastest, where, and how do times grow? The times come from a table that others \
                   measured; nothing else is known of them."
                .to_owned(),
        figures: RequestedFigures {
            over_ranks: typical.into_iter().collect(),
            over_sizes: largest.into_iter().collect(),
            builtin: true,
        },
        ..Definition::default()
    }
}
