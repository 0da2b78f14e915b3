//! Comparison of chosen algorithms with the builtin and each other on a grid, with the curves of their times.
//!
//! Launches are the unit of replication of times and fits: each launch gives a median or a fit, and these give the
//! interval. Comparisons use visits, in which candidates take turns: a two-sided signed-rank test, corrected for all
//! comparisons of the study (Benjamini and Hochberg). Two candidates differ if the test is significant, every launch
//! agrees, and the interval of the gain, widened by the variance between launches, excludes 1.

mod competitors;
mod costs;
mod curves;
mod machine;
pub mod results;

use std::collections::{BTreeMap, BTreeSet};

pub use self::costs::compare_campaigns;
use collrules_model::pattern_fit::PatternFit;
use collrules_record::criteria::{Criteria, Middle};
use collrules_record::estimate::mean;
use collrules_record::plan::CellPlan;
use collrules_record::{Candidate, Cell, Estimate, Placement};
use collrules_rules::{Collective, Release};
use collrules_tuner::judging::{
    CellTimings, Competitors, Evidence, LEAST_VISITS, PointTimings, TimingPair, adjust, log_gains, signed_rank, weigh,
    widen,
};
use collrules_tuner::{Observations, TunerError};

use crate::study::results::{FORMAT, Overall, Study, StudyCell, StudyPoint, StudyVerdict};

/// Smallest number of points of a curve.
const LEAST_SIZES: usize = 3;

/// Times and evidence of a candidate in a cell.
struct CandidateEvidence {
    candidate: Candidate,
    measured_as: Candidate,
    evidence: Evidence,
    /// Median seconds by launch.
    launches: BTreeMap<u32, f64>,
    p_value: Option<f64>,
}

/// Compares the wanted candidates. A candidate that shares the timings of another one gets its times. Bounds and
/// predictions use the times of patterns. The cells that were planned are those of the grid, which means and curves are
/// over, and those added between its sizes.
pub fn study(
    observations: &Observations,
    patterns: &[PatternFit],
    [grid, between]: [&[CellPlan]; 2],
    placement: &Placement,
    wanted: impl Fn(Cell, Candidate) -> bool,
    release: Release,
    criteria: Criteria,
) -> Result<Study, TunerError> {
    let mut timings = observations.cells_with(Competitors::WithReferences)?;
    timings.retain(|cell| wanted(cell.cell, Candidate::Builtin));
    let pairs: Vec<Vec<TimeSource>> =
        timings.iter().map(|cell| timed(cell, grid.iter().chain(between), &wanted)).collect();
    let is_in = |cells: &[CellPlan], cell: Cell| cells.iter().any(|planned| planned.cell == cell);
    let is_added = |cell: Cell| is_in(between, cell) && !is_in(grid, cell);
    for (cell, pairs) in timings.iter_mut().zip(&pairs) {
        cell.series.retain(|series| pairs.iter().any(|pair| pair.by == series.candidate));
        cell.disqualified.retain(|(candidate, _)| wanted(cell.cell, *candidate));
    }
    if timings.is_empty() {
        return Err(TunerError::NoSamples { left_out: observations.left_out() });
    }
    let ids: Vec<Cell> = timings.iter().map(|cell| cell.cell).collect();
    let mut evidence: Vec<Vec<Evidence>> =
        timings.iter().map(|cell| weigh(cell, observations.statistic(), criteria)).collect();
    widen(&ids, &mut evidence);
    let known: Vec<Vec<CandidateEvidence>> = timings
        .iter()
        .zip(evidence)
        .zip(&pairs)
        .map(|((cell, evidence), pairs)| known(cell, &evidence, pairs))
        .collect();
    let p_value = |known: &CandidateEvidence| known.p_value.filter(|_| known.candidate == known.measured_as);
    let mut corrected = adjust(known.iter().flatten().map(p_value)).into_iter();
    let cells = timings.iter().zip(&known).map(|(timings, known)| {
        let corrected = known.iter().zip(corrected.by_ref());
        let q_values: BTreeMap<Candidate, f64> =
            corrected.filter_map(|(known, q_value)| Some((known.candidate, q_value?))).collect();
        let points = known.iter().filter_map(|known| point(known, &q_values, criteria)).collect();
        let (cell, disqualified) = (timings.cell, timings.disqualified.clone());
        StudyCell { cell, added: is_added(cell), points, disqualified, bound: None }
    });
    let mut cells: Vec<StudyCell> = cells.collect();
    let launches = timings.iter().flat_map(CellTimings::launches).collect::<BTreeSet<_>>().len();
    let level = criteria.level;
    let pairs: Vec<(Cell, &CandidateEvidence)> =
        ids.iter().zip(&known).flat_map(|(cell, known)| known.iter().map(move |known| (*cell, known))).collect();
    let of_grid: Vec<(Cell, &CandidateEvidence)> = pairs.iter().copied().filter(|(cell, _)| !is_added(*cell)).collect();
    let numbers = machine::MachineNumbers { fits: patterns, placement };
    for cell in &mut cells {
        cell.bound = numbers.bound(cell.cell);
    }
    let rivalries = competitors::rivalries(&pairs, numbers, level);
    Ok(Study {
        format: FORMAT,
        release,
        launches,
        level,
        error_rate: criteria.error_rate,
        cells,
        overall: overall(&of_grid, level),
        curves: curves::curves(&of_grid, level),
        classes: competitors::classes(&of_grid, &rivalries, level),
        patterns: patterns.to_vec(),
        rivalries,
    })
}

/// A candidate with its times, possibly those of an equivalent candidate.
struct TimeSource {
    candidate: Candidate,
    /// The candidate of the study that was timed in its place.
    measured_as: Candidate,
    /// The candidate that was timed, which may be outside of the study.
    by: Candidate,
}

/// The wanted candidates of a cell with those timed in their place, the builtin first.
fn timed<'a>(
    cell: &CellTimings,
    planned: impl Iterator<Item = &'a CellPlan>,
    wanted: impl Fn(Cell, Candidate) -> bool,
) -> Vec<TimeSource> {
    let shared = planned.filter(|planned| planned.cell == cell.cell).flat_map(|planned| &planned.shared);
    let own = cell.series.iter().map(|series| (series.candidate, series.candidate));
    let pairs = own.chain(shared.map(|shared| (shared.candidate, shared.measured_as)));
    let mut pairs: Vec<(Candidate, Candidate)> = pairs.filter(|(candidate, _)| wanted(cell.cell, *candidate)).collect();
    pairs.sort_unstable();
    // If the timed candidate is not wanted, the first equivalent one that is replaces it.
    let stands =
        |by: Candidate| pairs.iter().find(|pair| **pair == (by, by)).or(pairs.iter().find(|pair| pair.1 == by));
    let one = |(candidate, by): &(Candidate, Candidate)| {
        Some(TimeSource { candidate: *candidate, measured_as: stands(*by)?.0, by: *by })
    };
    pairs.iter().filter_map(one).collect()
}

/// Collects the times and evidence of the candidates of a cell.
fn known(cell: &CellTimings, evidence: &[Evidence], pairs: &[TimeSource]) -> Vec<CandidateEvidence> {
    let builtin = cell.builtin();
    let one = |TimeSource { candidate, measured_as, by }: &TimeSource| {
        let evidence = evidence.iter().find(|evidence| evidence.candidate == *by)?.clone();
        let series = cell.series.iter().find(|series| series.candidate == *by)?;
        let p_value = builtin.filter(|_| *by != Candidate::Builtin).and_then(|it| two_sided(series, it));
        let (candidate, measured_as) = (*candidate, *measured_as);
        Some(CandidateEvidence { candidate, measured_as, evidence, launches: series.launch_medians(), p_value })
    };
    pairs.iter().filter_map(one).collect()
}

/// The p-value of the two-sided signed-rank test on the median log gains of visits.
fn two_sided(series: &PointTimings, builtin: &PointTimings) -> Option<f64> {
    let gains = log_gains(&series.pairs(builtin), Middle::Median, TimingPair::visit);
    let gains: Vec<f64> = gains.into_iter().map(|(_, gain)| gain).collect();
    let losses: Vec<f64> = gains.iter().map(|gain| -gain).collect();
    (gains.len() >= LEAST_VISITS).then(|| (2.0 * signed_rank(&losses).min(signed_rank(&gains))).min(1.0))
}

fn point(known: &CandidateEvidence, q_values: &BTreeMap<Candidate, f64>, criteria: Criteria) -> Option<StudyPoint> {
    let CandidateEvidence { candidate, measured_as, evidence, launches, .. } = known;
    let time = Estimate::median(&launches.values().copied().collect::<Vec<_>>(), criteria.level)?;
    let q_value = q_values.get(measured_as).copied();
    let gains = || evidence.basis.launches.iter().map(|(_, gain)| *gain);
    let shown = q_value.is_some_and(|q_value| q_value <= criteria.error_rate);
    let (low, high) = evidence.gain.map_or((None, None), |gain| (gain.low, gain.high));
    let outcome = match measured_as {
        Candidate::Builtin => StudyVerdict::Reference,
        _ if shown && gains().all(|gain| gain > 0.0) && low.is_some_and(|low| low > 1.0) => StudyVerdict::Faster,
        _ if shown && gains().all(|gain| gain < 0.0) && high.is_some_and(|high| high < 1.0) => StudyVerdict::Slower,
        _ => StudyVerdict::Alike,
    };
    Some(StudyPoint { candidate: *candidate, measured_as: *measured_as, time, gain: evidence.gain, q_value, outcome })
}

type Point<'a> = (Cell, &'a CandidateEvidence);

/// Points grouped by key, in order of the key.
fn grouped<'a, K: Ord>(points: &[Point<'a>], key: impl Fn(&Point<'a>) -> K) -> BTreeMap<K, Vec<Point<'a>>> {
    let mut groups: BTreeMap<K, Vec<Point<'a>>> = BTreeMap::new();
    for point in points {
        groups.entry(key(point)).or_default().push(*point);
    }
    groups
}

/// For each launch with all cells of the group, the pairs of a value of the cell and its time.
fn by_launch(group: &[Point<'_>], x: impl Fn(Cell) -> f64) -> Vec<Vec<(f64, f64)>> {
    let launches = group.iter().flat_map(|(_, known)| known.launches.keys().copied());
    let launches: BTreeSet<u32> = launches.collect();
    let of_launch = |launch: u32| -> Option<Vec<(f64, f64)>> {
        group.iter().map(|(cell, known)| Some((x(*cell), *known.launches.get(&launch)?))).collect()
    };
    launches.into_iter().filter_map(of_launch).collect()
}

fn overall(points: &[Point<'_>], level: f64) -> Vec<Overall> {
    let competitors: Vec<Point<'_>> =
        points.iter().filter(|(_, known)| known.candidate != Candidate::Builtin).copied().collect();
    let groups = grouped(&competitors, |(cell, known)| (cell.collective, known.candidate));
    let one = |((collective, candidate), group): ((Collective, Candidate), Vec<Point<'_>>)| {
        let mut by_launch: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (launch, gain) in group.iter().flat_map(|(_, known)| known.evidence.basis.launches.iter()) {
            by_launch.entry(*launch).or_default().push(*gain);
        }
        // A launch without some of the cells would give the mean of other cells.
        let whole: Vec<Vec<f64>> = by_launch.into_values().filter(|gains| gains.len() == group.len()).collect();
        let gain = Estimate::mean(whole.iter().map(mean), level)?.exp();
        let distances = whole.iter().map(|gains| mean(gains.iter().map(|gain| gain * gain)).sqrt());
        // No distance is negative, though the interval of a small one may include 0.
        let distance = Estimate::mean(distances, level)?.map(|distance| distance.max(0.0).exp());
        Some(Overall { collective, candidate, gain, distance })
    };
    groups.into_iter().filter_map(one).collect()
}
