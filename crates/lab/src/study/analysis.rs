//! Comparison of chosen algorithms with the builtin and each other on a grid, with the curves of their times.
//!
//! Launches are the unit of replication of times and fits: each launch gives a median or a fit, and these give the
//! interval. Comparisons use visits, in which candidates take turns (signed-rank test), or the launches of a table, each of
//! which times one candidate (Student's t). Each candidate is tested for being faster than the builtin, and for
//! being slower. The study asks once for each cell whether any candidate is faster, so at most the error rate of these
//! cells is expected to be wrong, and of the comparisons in which the candidate is slower. A difference is shown if the
//! test is significant, every launch agrees, and the interval of the gain, widened by the variance between launches,
//! excludes 1.

use std::collections::{BTreeMap, BTreeSet};

use collrules_model::pattern_fit::PatternFit;
use collrules_record::criteria::{Criteria, Middle};
use collrules_record::findings::Statistic;
use collrules_record::plan::CellPlan;
use collrules_record::{Candidate, Cell, Estimate, Placement};
use collrules_rules::{Collective, Release};
use collrules_tuner::judging::{
    CellTimings, Competitors, JudgedPoint, LEAST_VISITS, LaunchLogs, PointTimings, TimingPair, adjust, adjust_cases,
    common_means, log_gains, signed_rank, weigh, widen,
};
use collrules_tuner::{Observations, TunerError};

use super::results::{FORMAT, Overall, Point, Study, StudyCell, StudyPoint, StudyVerdict};
use super::{competitors, curves, machine};

/// A candidate of a cell, with the logarithms of its gains by launch.
struct CandidateEvidence {
    point: StudyPoint,
    gains: LaunchLogs,
    p_values: Option<Sided>,
}

/// P values, or q values, of the tests against the builtin.
#[derive(Clone, Copy)]
struct Sided {
    faster: f64,
    slower: f64,
}

/// Compares the wanted candidates. A candidate that shares the timings of another one gets its times. Bounds and
/// predictions use the times of patterns. The cells that were planned are those of the grid, which means and curves are
/// over, and those added between its sizes.
pub(super) fn study(
    observations: &Observations,
    patterns: &[PatternFit],
    [grid, between]: [&[CellPlan]; 2],
    placement: &Placement,
    wanted: impl Fn(Cell, Candidate) -> bool,
    release: Release,
    criteria: Criteria,
) -> Result<Study, TunerError> {
    let mut timings = observations.cells_with(Competitors::WithReferences);
    timings.retain(|cell| wanted(cell.cell, Candidate::Builtin));
    if timings.is_empty() {
        return Err(TunerError::NoSamples { left_out: observations.left_out() });
    }
    let pairs: Vec<Vec<TimeSource>> =
        timings.iter().map(|cell| timed(cell, grid.iter().chain(between), &wanted)).collect();
    for (cell, pairs) in timings.iter_mut().zip(&pairs) {
        cell.series.retain(|series| pairs.iter().any(|pair| pair.by == series.candidate));
        cell.disqualified.retain(|(candidate, _)| wanted(cell.cell, *candidate));
    }
    let mut evidence: Vec<Vec<JudgedPoint>> =
        timings.iter().map(|cell| weigh(cell, observations.statistic(), criteria)).collect();
    widen(&timings, &mut evidence);
    let (level, statistic) = (criteria.level, observations.statistic());
    let known = timings.iter().zip(&evidence).zip(&pairs);
    let mut known: Vec<Vec<CandidateEvidence>> =
        known.map(|((cell, evidence), pairs)| known_candidates(cell, evidence, pairs, statistic, level)).collect();
    let own = |known: &CandidateEvidence| known.p_values.filter(|_| known.point.candidate == known.point.measured_as);
    let of_cell =
        |of: fn(Sided) -> f64| move |cell: &Vec<CandidateEvidence>| cell.iter().map(|it| own(it).map(of)).collect();
    let faster = adjust_cases(&known.iter().map(of_cell(|p| p.faster)).collect::<Vec<_>>());
    let slower = adjust(known.iter().flat_map(of_cell(|p| p.slower)));
    let mut corrected = faster.concat().into_iter().zip(slower);
    for known in &mut known {
        let corrected: Vec<(Candidate, Option<Sided>)> = known
            .iter()
            .zip(corrected.by_ref())
            .map(|(known, (faster, slower))| {
                (known.point.candidate, faster.zip(slower).map(|(faster, slower)| Sided { faster, slower }))
            })
            .collect();
        for CandidateEvidence { point, gains, .. } in known {
            let q_values =
                corrected.iter().find(|(it, _)| *it == point.measured_as).and_then(|(_, q_values)| *q_values);
            let is_faster = point.gain.is_some_and(|gain| gain.point > 1.0);
            point.q_value = q_values.map(|it| if is_faster { it.faster } else { it.slower });
            point.outcome = judge(point, gains, criteria.error_rate);
        }
    }
    let is_in = |cells: &[CellPlan], cell: Cell| cells.iter().any(|planned| planned.cell == cell);
    let is_added = |cell: Cell| is_in(between, cell) && !is_in(grid, cell);
    let numbers = machine::MachineNumbers { fits: patterns, placement };
    let cells = timings.iter().zip(&known).map(|(timings, known)| {
        let points = known.iter().map(|known| known.point.clone()).collect();
        let (cell, disqualified) = (timings.cell, timings.disqualified.clone());
        StudyCell { cell, added: is_added(cell), points, disqualified, bound: numbers.bound(cell) }
    });
    let cells: Vec<StudyCell> = cells.collect();
    let all = cells.iter().flat_map(|cell| cell.points.iter().map(|point| (cell.cell, point)));
    let all: Vec<Point<'_>> = all.collect();
    let of_grid: Vec<Point<'_>> = all.iter().copied().filter(|(cell, _)| !is_added(*cell)).collect();
    let gains = timings.iter().zip(&known).filter(|(timings, _)| !is_added(timings.cell));
    let gains = gains.flat_map(|(timings, known)| known.iter().map(|known| (timings.cell.collective, known)));
    let rivalries = competitors::rivalries(&all, numbers, level);
    Ok(Study {
        format: FORMAT,
        release,
        simulated: false,
        launches: timings.iter().flat_map(CellTimings::launches).collect::<BTreeSet<_>>().len(),
        level,
        error_rate: criteria.error_rate,
        overall: overall(gains, level),
        curves: curves::curves(&of_grid, level),
        classes: competitors::classes(&of_grid, &rivalries, level),
        patterns: patterns.to_vec(),
        rivalries,
        cells,
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

/// The candidates of a cell, without verdicts.
fn known_candidates(
    cell: &CellTimings,
    evidence: &[JudgedPoint],
    pairs: &[TimeSource],
    statistic: Statistic,
    level: f64,
) -> Vec<CandidateEvidence> {
    let builtin = cell.builtin();
    let one = |TimeSource { candidate, measured_as, by }: &TimeSource| {
        let JudgedPoint { finding, basis, .. } = evidence.iter().find(|point| point.finding.candidate == *by)?;
        let series = cell.series.iter().find(|series| series.candidate == *by)?;
        let p_values = builtin.filter(|_| *by != Candidate::Builtin).and_then(|it| test(series, it, statistic));
        let launches = series.launch_medians();
        let point = StudyPoint {
            candidate: *candidate,
            measured_as: *measured_as,
            time: Estimate::median(&launches.values().copied().collect::<Vec<_>>(), level)?,
            launches,
            gain: finding.gain,
            q_value: None,
            outcome: StudyVerdict::Alike,
        };
        Some(CandidateEvidence { point, gains: basis.launches.iter().copied().collect(), p_values })
    };
    pairs.iter().filter_map(one).collect()
}

/// Tests whether a candidate is faster than the builtin, and whether it is slower: on the median log gains of visits, or
/// on the launches of a table, which are no pairs. None if there are too few.
fn test(series: &PointTimings, builtin: &PointTimings, statistic: Statistic) -> Option<Sided> {
    if statistic.is_summary() {
        let gain = series.test_launches(builtin).filter(|gain| gain.samples >= LEAST_VISITS)?;
        return Some(Sided { faster: gain.p_above(0.0)?, slower: gain.p_below(0.0)? });
    }
    let gains = log_gains(&series.pairs(builtin), Middle::Median, TimingPair::visit);
    let gains: Vec<f64> = gains.into_iter().map(|(_, gain)| gain).collect();
    let losses: Vec<f64> = gains.iter().map(|gain| -gain).collect();
    (gains.len() >= LEAST_VISITS).then(|| Sided { faster: signed_rank(&losses), slower: signed_rank(&gains) })
}

/// The verdict of a point, of which all else is known.
fn judge(point: &StudyPoint, gains: &LaunchLogs, error_rate: f64) -> StudyVerdict {
    let shown = point.q_value.is_some_and(|q_value| q_value <= error_rate);
    let (low, high) = point.gain.map_or((None, None), |gain| (gain.low, gain.high));
    match point.measured_as {
        Candidate::Builtin => StudyVerdict::Reference,
        _ if shown && gains.values().all(|gain| *gain > 0.0) && low.is_some_and(|low| low > 1.0) => {
            StudyVerdict::Faster
        }
        _ if shown && gains.values().all(|gain| *gain < 0.0) && high.is_some_and(|high| high < 1.0) => {
            StudyVerdict::Slower
        }
        _ => StudyVerdict::Alike,
    }
}

/// Means over the cells of each algorithm.
fn overall<'a>(gains: impl Iterator<Item = (Collective, &'a CandidateEvidence)>, level: f64) -> Vec<Overall> {
    let mut groups: BTreeMap<(Collective, Candidate), Vec<&LaunchLogs>> = BTreeMap::new();
    for (collective, known) in gains.filter(|(_, known)| known.point.candidate != Candidate::Builtin) {
        groups.entry((collective, known.point.candidate)).or_default().push(&known.gains);
    }
    let one = |((collective, candidate), group): ((Collective, Candidate), Vec<&LaunchLogs>)| {
        let gain = Estimate::mean(common_means(group.iter().copied()).values(), level)?.exp();
        let squares: Vec<LaunchLogs> =
            group.iter().map(|gains| gains.iter().map(|(launch, gain)| (*launch, gain * gain)).collect()).collect();
        let distances = common_means(&squares).into_values().map(f64::sqrt);
        // No distance is negative, though the interval of a small one may include 0.
        let distance = Estimate::mean(distances, level)?.map(|distance| distance.max(0.0).exp());
        Some(Overall { collective, candidate, gain, distance })
    };
    groups.into_iter().filter_map(one).collect()
}
