//! From events to rows.

use collrules_record::sample::{Ended, EndedPoint, Row, Sample};
use collrules_record::units::Seconds;

use super::notice::Launch;
use crate::wire::Event;

/// The rows that an event of a launch stands for.
pub(crate) fn of(launch: &Launch<'_>, event: &Event) -> Vec<Row> {
    let Launch { repetition, plan, .. } = *launch;
    let launch = repetition.number();
    let ended = |cell: usize, candidate: usize, ended: Ended| {
        let planned = &plan.cells[cell];
        vec![Row::Ended(EndedPoint { launch, cell: planned.cell, candidate: planned.candidates[candidate], ended })]
    };
    match event {
        Event::Visited { cell, visit, candidates, rounds, .. } => {
            let planned = &plan.cells[*cell];
            // A launch with one candidate is compared as a whole, so that it counts as one visit.
            let alone = plan.has_one_candidate();
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
