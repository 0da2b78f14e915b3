//! Conversion of events to rows.

use collrules_record::plan::PatternPlan;
use collrules_record::sample::{EndReason, EndedCast, EndedPoint, PatternSample, Row, Sample};
use collrules_record::units::Seconds;

use super::notice::CampaignLaunch;
use crate::launch::LaunchCell;
use crate::wire::WorkerEvent;

/// The rows for an event of a launch.
pub(crate) fn list_rows(launch: &CampaignLaunch<'_>, event: &WorkerEvent) -> Vec<Row> {
    let plan = launch.plan;
    let launch = plan.launch.number();
    let ended = |cell: usize, candidate: usize, ended: EndReason| {
        vec![match plan.cells.get(cell) {
            Some(LaunchCell { cell, candidates, .. }) => {
                let candidate = plan.recorded(candidates[candidate]);
                Row::Ended(EndedPoint { launch, cell: *cell, candidate, ended })
            }
            None => {
                let PatternPlan { pattern, casts } = plan.pattern(cell);
                Row::EndedCast(EndedCast { launch, pattern: *pattern, cast: casts[candidate].clone(), ended })
            }
        }]
    };
    match event {
        WorkerEvent::Visited { cell, visit, candidates, rounds, .. } => {
            // A launch with one candidate is compared as a whole, so that it counts as one visit.
            let alone = plan.has_one_candidate();
            let first = if alone { visit * plan.schedule.rounds_per_visit } else { 0 };
            let row = |(round, candidate, [max, min, mean]): (usize, usize, [f64; 3])| {
                let (visit, round) = (if alone { 0 } else { *visit }, first + round as u32);
                let (max, min, mean) = (Seconds(max), Seconds(min), Seconds(mean));
                match plan.cells.get(*cell) {
                    Some(LaunchCell { cell, candidates, .. }) => {
                        let (cell, candidate) = (*cell, plan.recorded(candidates[candidate]));
                        Row::Sample(Sample { launch, visit, round, cell, candidate, max, min, mean })
                    }
                    None => {
                        let PatternPlan { pattern, casts } = plan.pattern(*cell);
                        let (pattern, cast) = (*pattern, casts[candidate].clone());
                        Row::Pattern(PatternSample { launch, visit, round, pattern, cast, max, min, mean })
                    }
                }
            };
            let timings = rounds.iter().enumerate().flat_map(|(round, timings)| {
                candidates.iter().zip(timings).map(move |(candidate, timing)| (round, *candidate, *timing))
            });
            timings.map(row).collect()
        }
        WorkerEvent::Disqualified { cell, candidate, why } => {
            ended(*cell, *candidate, EndReason::Disqualified(why.clone()))
        }
        WorkerEvent::Dropped { cell, candidate, why } => ended(*cell, *candidate, EndReason::Dropped(why.clone())),
        _ => Vec::new(),
    }
}
