//! From events to rows of the run directory.

use std::collections::BTreeSet;

use collrules_record::plan::Plan;
use collrules_record::rundir::SampleWriter;
use collrules_record::sample::{Ended, EndedPoint, Row, Sample};
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Cell};

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::separate;
use crate::wire::Event;

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Timings taken.
    pub samples: usize,
    /// Cells with at least one timing.
    pub cells: usize,
}

/// Measures a plan, launch after launch, and appends every row to the run directory before the next event is looked
/// at, so that whatever happens costs no more than the visit under way. What failed or was clearly beaten in a launch is
/// not measured in later ones. `watch` sees each event, with the launch it belongs to, after its rows are written.
///
/// The tally counts what was written, also where an error is returned.
pub fn measure(
    backend: &mut dyn Backend,
    plan: &Plan,
    writer: &mut SampleWriter,
    tally: &mut Tally,
    watch: &mut dyn FnMut(&Launch<'_>, &Event),
) -> Result<(), RunnerError> {
    measure_from(0, backend, plan, writer, tally, watch)
}

/// The same with another number for the first launch, for what is added to a run.
pub fn measure_from(
    first: u32,
    backend: &mut dyn Backend,
    plan: &Plan,
    writer: &mut SampleWriter,
    tally: &mut Tally,
    watch: &mut dyn FnMut(&Launch<'_>, &Event),
) -> Result<(), RunnerError> {
    let mut seen: BTreeSet<Cell> = BTreeSet::new();
    let mut ended: BTreeSet<(Cell, Candidate)> = BTreeSet::new();
    for start in separate::starts(plan) {
        let plan = separate::plan_of(plan, start, |cell, candidate| !ended.contains(&(cell, candidate)));
        if plan.cells.is_empty() {
            continue;
        }
        let launch = Launch { number: first.saturating_add(start.number()), plan: &plan };
        backend.measure(&plan, &mut |event| {
            let rows = rows(&launch, &event);
            if !rows.is_empty() {
                writer.append(&rows)?;
            }
            for row in &rows {
                match row {
                    Row::Sample(sample) => {
                        tally.samples += 1;
                        seen.insert(sample.cell);
                    }
                    Row::Ended(point) => {
                        ended.insert((point.cell, point.candidate));
                    }
                }
            }
            tally.cells = seen.len();
            watch(&launch, &event);
            Ok(())
        })?;
    }
    Ok(())
}

/// A launch of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Its number, from 0; for launches with one candidate, that of their series.
    pub number: u32,
    /// What it measures; events refer to the cells and candidates of this plan.
    pub plan: &'a Plan,
}

fn rows(launch: &Launch<'_>, event: &Event) -> Vec<Row> {
    let Launch { number: launch, plan } = *launch;
    let ended = |cell: usize, candidate: usize, ended: Ended| {
        let planned = &plan.cells[cell];
        vec![Row::Ended(EndedPoint { launch, cell: planned.cell, candidate: planned.candidates[candidate], ended })]
    };
    match event {
        Event::Visited { cell, visit, candidates, rounds } => {
            let planned = &plan.cells[*cell];
            // A launch with one candidate is compared as a whole, so that it counts as one visit.
            let alone = plan.under_rule.is_some();
            let first = if alone { visit * plan.schedule.rounds_per_visit } else { 0 };
            let row = |(round, candidate, [max, min, mean]): (usize, usize, [f64; 3])| {
                Row::Sample(Sample {
                    launch,
                    visit: if alone { 0 } else { *visit },
                    round: first + round as u32,
                    cell: planned.cell,
                    candidate: planned.candidates[candidate],
                    max: Seconds(max),
                    min: Seconds(min),
                    mean: Seconds(mean),
                })
            };
            let timings = rounds.iter().enumerate().flat_map(|(round, timings)| {
                candidates.iter().zip(timings).map(move |(candidate, timing)| (round, *candidate, *timing))
            });
            timings.map(row).collect()
        }
        Event::Disqualified { cell, candidate, why } => ended(*cell, *candidate, Ended::Disqualified(why.clone())),
        Event::Dropped { cell, candidate, why } => ended(*cell, *candidate, Ended::Dropped(why.clone())),
        _ => Vec::new(),
    }
}
