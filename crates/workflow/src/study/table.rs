//! A study of timings by others: a table, or an imported run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_import as import;
use collrules_lab::study::results::Study;
use collrules_record::criteria::Criteria;
use collrules_record::findings::{Findings, Statistic};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Cell, Placement, Seconds};
use collrules_report::study::{About, MeasuredBy};

use super::definition::Definition;
use super::scope::Scope;
use super::written::{Averages, Studied, refuse_occupied, write};
use super::{Studying, one};
use crate::analyze::{Source, TABLE_RELEASE};
use crate::error::WorkflowError;
use crate::session::Session;

/// Studies what a definition asks for of it; without one, all of it.
pub(super) fn study(
    options: &Studying,
    definition: Option<&Definition>,
    path: &Path,
    session: &mut Session<'_>,
) -> Result<Studied, WorkflowError> {
    let mut source = match path.is_dir() {
        true => Source::of_run(path, session)?.0,
        false => {
            let release = options.release.unwrap_or(TABLE_RELEASE);
            Source::of_table(path, import::Options::new(release), session)?
        }
    };
    source.name = path.file_name().map_or_else(|| source.name.clone(), |name| name.to_string_lossy().into_owned());
    let release = source.release;
    let scope = definition.map(|it| Scope::new(&options.ranks, it, &options.definition, None, release));
    let scope = scope.transpose()?;
    let wanted = |cell: Cell, candidate| match &scope {
        Some(scope) => scope.wants(cell, candidate),
        None => options.ranks.is_empty() || options.ranks.contains(&cell.ranks),
    };
    // A table has neither shared candidates nor placements of ranks.
    let (planned, placement) = ([&[][..]; 2], Placement::default());
    let criteria = Criteria::default();
    let found = collrules_lab::study(&source.observations, &[], planned, &placement, wanted, release, criteria)
        .map_err(WorkflowError::analysis(&source.name))?;
    let about = about(options, definition, &source, scope.as_ref(), &found, session);
    match definition {
        Some(definition) => refuse_occupied(&options.out, definition.algorithms.keys().copied())?,
        None => refuse_occupied(&options.out, found.cells.iter().map(|cell| cell.cell.collective))?,
    }
    write(options, &found, &about, &averages(&source, &found))
}

/// The times of a table that are averages over ranks.
fn averages(source: &Source, found: &Study) -> Averages {
    let is_average = source.observations.statistic() == Statistic::RankAverage;
    let times = found
        .cells
        .iter()
        .flat_map(|cell| cell.points.iter().map(|point| ((cell.cell, point.candidate), Seconds(point.time.point))));
    times.filter(|_| is_average).collect()
}

fn about<'a>(
    options: &Studying,
    definition: Option<&Definition>,
    source: &Source,
    scope: Option<&Scope>,
    found: &Study,
    session: &mut Session<'_>,
) -> About<'a> {
    let mut remarks: Vec<String> = options.note.iter().cloned().collect();
    remarks.extend(scope.into_iter().flat_map(|scope| scope.missing(found)).inspect(|missing| session.say(missing)));
    let doubts = Findings { remarks: source.doubts(), ..Findings::empty(&source.name, source.release) };
    remarks.extend(collrules_report::remarks::remarks(&doubts));
    let origin = MeasuredBy::Others { name: source.name.clone(), statistic: source.observations.statistic() };
    let ranks: BTreeSet<Ranks> = found.cells.iter().map(|cell| cell.cell.ranks).collect();
    let ranks: Vec<Ranks> = ranks.into_iter().collect();
    if let Some(definition) = definition {
        return one::about(definition, origin, remarks, &ranks, session);
    }
    About {
        title: format!("The timings of {}", source.name),
        question:
            "Which algorithm is the fastest, where, and how do times grow? The times come from a table that others \
                   measured; nothing else is known of them."
                .to_owned(),
        origin,
        remarks,
        command: one::typed(&session.command),
        over_ranks: typical(found),
        over_sizes: ranks.last().copied().into_iter().collect(),
        builtin: true,
        claims: BTreeMap::new(),
    }
}

/// The smallest, the middle and the largest of the sizes.
fn typical(found: &Study) -> Vec<Bytes> {
    let sizes: BTreeSet<Bytes> = found.cells.iter().map(|cell| cell.cell.bytes).filter(|bytes| bytes.0 > 0).collect();
    let sizes: Vec<Bytes> = sizes.into_iter().collect();
    let mut picked: Vec<Bytes> =
        [0, sizes.len() / 2, sizes.len().saturating_sub(1)].iter().filter_map(|at| sizes.get(*at)).copied().collect();
    picked.dedup();
    picked
}
