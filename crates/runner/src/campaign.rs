//! From events to rows of the run directory.

use collrules_record::plan::Plan;
use collrules_record::rundir::SampleWriter;
use collrules_record::sample::{Ended, EndedPoint, Row, Sample};
use collrules_record::units::Seconds;

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::wire::Event;

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Timings taken.
    pub samples: usize,
    /// Cells with at least one timing.
    pub cells: usize,
    /// Candidates disqualified, counted once per cell and launch.
    pub disqualified: usize,
    /// Why the last launch ended.
    pub ended: String,
}

/// Measures a plan, launch after launch, and appends every row to the run directory before the next event is looked
/// at, so that whatever happens costs no more than the visit under way. `watch` sees each event, with the launch it
/// belongs to, after its rows are written.
///
/// The tally counts what was written, also where an error is returned.
pub fn measure(
    backend: &mut dyn Backend,
    plan: &Plan,
    writer: &mut SampleWriter,
    tally: &mut Tally,
    watch: &mut dyn FnMut(u32, &Event),
) -> Result<(), RunnerError> {
    let mut seen = vec![false; plan.cells.len()];
    for launch in 0..plan.launches {
        backend.measure(&plan.for_launch(launch), &mut |event| {
            let rows = rows(plan, launch, &event);
            if !rows.is_empty() {
                writer.append(&rows)?;
            }
            match &event {
                Event::Visited { cell, rounds, candidates, .. } => {
                    tally.samples += rounds.len() * candidates.len();
                    tally.cells += usize::from(!std::mem::replace(&mut seen[*cell], true));
                }
                Event::Disqualified { .. } => tally.disqualified += 1,
                Event::Measured { why } => tally.ended.clone_from(why),
                _ => {}
            }
            watch(launch, &event);
            Ok(())
        })?;
    }
    Ok(())
}

fn rows(plan: &Plan, launch: u32, event: &Event) -> Vec<Row> {
    let ended = |cell: usize, candidate: usize, ended: Ended| {
        let planned = &plan.cells[cell];
        vec![Row::Ended(EndedPoint { launch, cell: planned.cell, candidate: planned.candidates[candidate], ended })]
    };
    match event {
        Event::Visited { cell, visit, candidates, rounds } => {
            let planned = &plan.cells[*cell];
            let row = |(round, candidate, [max, min, mean]): (usize, usize, [f64; 3])| {
                Row::Sample(Sample {
                    launch,
                    visit: *visit,
                    round: round as u32,
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
