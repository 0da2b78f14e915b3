//! From events to rows of the run directory.

use std::collections::BTreeSet;
use std::time::Instant;

use collrules_record::Cell;
use collrules_record::plan::Plan;
use collrules_record::rundir::SampleWriter;
use collrules_record::sample::{Ended, EndedPoint, Row, Sample};
use collrules_record::units::Seconds;

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::schedule::history::History;
use crate::separate::{self, Start};
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
    let begin = Instant::now();
    // Time spent on launches with one candidate, which have a budget of their own.
    let mut apart = 0.0;
    let mut history = History::new(&separate::together(plan));
    for start in separate::starts(plan) {
        let started = begin.elapsed().as_secs_f64();
        let together = matches!(start, Start::Together { .. });
        let planned = match start {
            Start::Together { launch } => history.next(launch, Seconds(started - apart)),
            Start::Alone { series, collective, candidate } => {
                separate::alone(plan, series, collective, candidate, |cell, candidate| history.wants(cell, candidate))
            }
        };
        let Some(plan) = planned else { continue };
        let launch = Launch { number: first.saturating_add(start.number()), plan: &plan };
        backend.measure(&plan, &mut |event| {
            let rows = rows(&launch, &event);
            if !rows.is_empty() {
                writer.append(&rows)?;
            }
            if let Event::Clock(fact) = &event {
                writer.note(launch.number, fact)?;
            }
            if together {
                history.see(&rows);
                history.watch(&event);
            }
            for row in &rows {
                match row {
                    Row::Sample(sample) => {
                        tally.samples += 1;
                        seen.insert(sample.cell);
                    }
                    Row::Ended(point) => history.end(point.cell, point.candidate),
                }
            }
            tally.cells = seen.len();
            watch(&launch, &event);
            Ok(())
        })?;
        if !together {
            apart += begin.elapsed().as_secs_f64() - started;
            continue;
        }
        let beaten: Vec<Row> = history.close(launch.number).into_iter().map(Row::Ended).collect();
        if !beaten.is_empty() {
            writer.append(&beaten)?;
        }
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

/// The rows that an event adds to the samples.
pub(crate) fn rows(launch: &Launch<'_>, event: &Event) -> Vec<Row> {
    let Launch { number: launch, plan } = *launch;
    let ended = |cell: usize, candidate: usize, ended: Ended| {
        let planned = &plan.cells[cell];
        vec![Row::Ended(EndedPoint { launch, cell: planned.cell, candidate: planned.candidates[candidate], ended })]
    };
    match event {
        Event::Visited { cell, visit, candidates, rounds, .. } => {
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
