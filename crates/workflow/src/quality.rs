//! Quality of a run's numbers, judged by the conditions of the measurement.

use collrules_record::Manifest;
use collrules_record::clock::{ClockFact, ClockLine};
use collrules_record::estimate::median;
use collrules_record::units::Seconds;
use collrules_record::validation::Validation;
use collrules_tuner::results::limitation::PoorData;

/// Ratio of barrier times between launches above which other work on the machine is likely.
const BARRIERS: f64 = 1.5;

/// Share of processors that other processes may use at the start.
const LOAD: f64 = 0.5;

/// Difference that fresh launches should detect in at least half of the sizes.
const RESOLUTION: f64 = 1.1;

/// Reasons to doubt the numbers of a run; none if the conditions were good.
pub(crate) fn doubts(
    manifest: Option<&Manifest>,
    clock: &[ClockLine],
    validation: Option<&Validation>,
) -> Vec<PoorData> {
    let mut doubts = Vec::new();
    doubts.extend(manifest.and_then(busy));
    doubts.extend(uneven(clock));
    doubts.extend(validation.and_then(blurred));
    doubts
}

/// Doubt about load by other processes at the start of the run.
fn busy(manifest: &Manifest) -> Option<PoorData> {
    let load: f64 = manifest.host.get("Load")?.split_whitespace().next()?.parse().ok()?;
    let processors: f64 = manifest.host.get("Processors")?.parse().ok()?;
    let simulated = manifest.backend.starts_with("simulat");
    (load > LOAD * processors && !simulated).then_some(PoorData::Load(load))
}

/// Doubt about barriers that take longer in one launch than in another.
fn uneven(clock: &[ClockLine]) -> Option<PoorData> {
    let barriers = clock.iter().filter_map(|line| match &line.fact {
        ClockFact::Harness(harness) => Some(harness.barrier.0),
        _ => None,
    });
    let barriers: Vec<f64> = barriers.filter(|seconds| *seconds > 0.0).collect();
    let (least, most) = (barriers.iter().copied().reduce(f64::min)?, barriers.iter().copied().reduce(f64::max)?);
    (most > least * BARRIERS).then_some(PoorData::Barriers(Seconds(least), Seconds(most)))
}

/// Doubt about wide intervals of fresh launches.
fn blurred(validation: &Validation) -> Option<PoorData> {
    let cells = &validation.round.as_ref()?.cells;
    let widths = cells.iter().filter_map(|cell| Some((cell.speedup.high? / cell.speedup.low?).sqrt()));
    let mut widths: Vec<f64> = widths.filter(|width| width.is_finite()).collect();
    let width = median(&mut widths).filter(|width| *width > RESOLUTION)?;
    Some(PoorData::Blurred(width - 1.0))
}
