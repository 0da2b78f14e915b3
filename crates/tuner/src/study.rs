//! Compares chosen algorithms on a grid, all with the builtin, and fits how their times grow.
//!
//! Launches are the unit of replication of times and fits: each launch gives a median, or a fit, and these give the
//! interval. Comparisons rest on visits, where candidates take turns side by side: a two-sided signed-rank test, corrected
//! for all comparisons of the study (Benjamini and Hochberg). Two candidates are told apart where the test does so, every
//! launch agrees, and the interval of the gain, widened by what launches differ, excludes 1.

mod curves;
mod machine;
mod rivals;

use std::collections::BTreeMap;

use collrules_record::estimate::median;
use collrules_record::findings::Criteria;
use collrules_record::line::{Errors, Line};
use collrules_record::pattern_fit::PatternFit;
use collrules_record::plan::CellPlan;
use collrules_record::study::{FORMAT, Growth, LineFit, Overall, Standing, Study, StudyCell, StudyPoint};
use collrules_record::{Candidate, Cell, Estimate, Placement};
use collrules_rules::{Collective, Release};

use crate::cells::{CellTimings, Series};
use crate::error::TunerError;
use crate::evidence::{Evidence, LEAST_VISITS, weigh};
use crate::launches::widen;
use crate::observations::Observations;
use crate::statistics::{adjust, signed_rank};

/// Communicator sizes that a growth, and message sizes less one that a line, is fitted to at least.
const LEAST_SIZES: usize = 3;

/// What is known of a candidate in a cell.
struct Known {
    candidate: Candidate,
    measured_as: Candidate,
    evidence: Evidence,
    /// Median seconds by launch.
    launches: BTreeMap<u32, f64>,
    p_value: Option<f64>,
}

/// Compares what was measured, as far as it is wanted. Candidates that the plan of a cell lets another one stand for get its
/// times.
/// Bounds and predictions rest on what patterns took.
pub fn study(
    observations: &Observations,
    patterns: &[PatternFit],
    planned: &[CellPlan],
    placement: &Placement,
    wanted: impl Fn(Cell, Candidate) -> bool,
    release: Release,
    criteria: Criteria,
) -> Result<Study, TunerError> {
    let mut timings = observations.cells_with_references()?;
    timings.retain(|cell| wanted(cell.cell, Candidate::Builtin));
    let pairs: Vec<Vec<Timed>> = timings.iter().map(|cell| timed(cell, planned, &wanted)).collect();
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
    let known: Vec<Vec<Known>> = timings
        .iter()
        .zip(evidence)
        .zip(&pairs)
        .map(|((cell, evidence), pairs)| known(cell, &evidence, pairs))
        .collect();
    let tested = |known: &&Known| known.candidate == known.measured_as && known.p_value.is_some();
    let p_values: Vec<f64> = known.iter().flatten().filter(tested).filter_map(|known| known.p_value).collect();
    let mut corrected = adjust(&p_values).into_iter();
    let cells = timings.iter().zip(&known).map(|(timings, known)| {
        let mut q_values: BTreeMap<Candidate, f64> = BTreeMap::new();
        for known in known.iter().filter(tested) {
            q_values.extend(corrected.next().map(|q_value| (known.candidate, q_value)));
        }
        let points = known.iter().filter_map(|known| point(known, &q_values, criteria)).collect();
        StudyCell { cell: timings.cell, points, disqualified: timings.disqualified.clone(), bound: None }
    });
    let mut cells: Vec<StudyCell> = cells.collect();
    let launches = timings.iter().flat_map(CellTimings::launches).collect::<std::collections::BTreeSet<_>>().len();
    let level = criteria.level;
    let pairs: Vec<(Cell, &Known)> =
        ids.iter().zip(&known).flat_map(|(cell, known)| known.iter().map(move |known| (*cell, known))).collect();
    let numbers = machine::Numbers { fits: patterns, placement };
    for cell in &mut cells {
        cell.bound = numbers.bound(cell.cell);
    }
    let rivalries = rivals::rivalries(&pairs, numbers, level);
    Ok(Study {
        format: FORMAT,
        release,
        launches,
        level,
        error_rate: criteria.error_rate,
        cells,
        overall: overall(&pairs, level),
        growths: growths(&pairs, level),
        lines: lines(&pairs, level),
        curves: curves::curves(&pairs, level),
        classes: rivals::classes(&pairs, &rivalries, level),
        patterns: patterns.to_vec(),
        rivalries,
    })
}

/// A candidate whose times are known, perhaps by those of another one that does the same.
struct Timed {
    candidate: Candidate,
    /// The candidate of the study that stands for it.
    measured_as: Candidate,
    /// The candidate that was timed, which need not be one of the study.
    by: Candidate,
}

/// The candidates of a cell that are wanted with those that stand for them, the builtin first.
fn timed(cell: &CellTimings, planned: &[CellPlan], wanted: impl Fn(Cell, Candidate) -> bool) -> Vec<Timed> {
    let shared = planned.iter().filter(|planned| planned.cell == cell.cell).flat_map(|planned| &planned.shared);
    let own = cell.series.iter().map(|series| (series.candidate, series.candidate));
    let pairs = own.chain(shared.map(|shared| (shared.candidate, shared.measured_as)));
    let mut pairs: Vec<(Candidate, Candidate)> = pairs.filter(|(candidate, _)| wanted(cell.cell, *candidate)).collect();
    pairs.sort_unstable();
    // Where the one that was timed is not wanted, the first of those that do the same takes its place.
    let stands =
        |by: Candidate| pairs.iter().find(|pair| **pair == (by, by)).or(pairs.iter().find(|pair| pair.1 == by));
    let one = |(candidate, by): &(Candidate, Candidate)| {
        Some(Timed { candidate: *candidate, measured_as: stands(*by)?.0, by: *by })
    };
    pairs.iter().filter_map(one).collect()
}

/// What is known of the candidates of a cell.
fn known(cell: &CellTimings, evidence: &[Evidence], pairs: &[Timed]) -> Vec<Known> {
    let builtin = cell.builtin();
    let one = |Timed { candidate, measured_as, by }: &Timed| {
        let evidence = evidence.iter().find(|evidence| evidence.candidate == *by)?.clone();
        let series = cell.series.iter().find(|series| series.candidate == *by)?;
        let p_value = builtin.filter(|_| *by != Candidate::Builtin).and_then(|it| two_sided(series, it));
        let (candidate, measured_as) = (*candidate, *measured_as);
        Some(Known {
            candidate,
            measured_as,
            evidence,
            launches: series.launch_medians().into_iter().collect(),
            p_value,
        })
    };
    pairs.iter().filter_map(one).collect()
}

/// The p-value of the two-sided signed-rank test on the median log gains of visits.
fn two_sided(series: &Series, builtin: &Series) -> Option<f64> {
    let pairs = series.pairs(builtin);
    let visits = pairs.chunk_by(|a, b| (a.launch, a.visit) == (b.launch, b.visit));
    let gains: Vec<f64> =
        visits.filter_map(|visit| median(&mut visit.iter().map(|pair| pair.log_gain).collect::<Vec<_>>())).collect();
    let losses: Vec<f64> = gains.iter().map(|gain| -gain).collect();
    (gains.len() >= LEAST_VISITS).then(|| (2.0 * signed_rank(&losses).min(signed_rank(&gains))).min(1.0))
}

fn point(known: &Known, q_values: &BTreeMap<Candidate, f64>, criteria: Criteria) -> Option<StudyPoint> {
    let Known { candidate, measured_as, evidence, launches, .. } = known;
    let time = Estimate::median(&launches.values().copied().collect::<Vec<_>>(), criteria.level)?;
    let q_value = q_values.get(measured_as).copied();
    let gains = || evidence.basis.launches.iter().map(|(_, gain)| *gain);
    let shown = q_value.is_some_and(|q_value| q_value <= criteria.error_rate);
    let (low, high) = evidence.gain.map_or((None, None), |gain| (gain.low, gain.high));
    let outcome = match measured_as {
        Candidate::Builtin => Standing::Reference,
        _ if shown && gains().all(|gain| gain > 0.0) && low.is_some_and(|low| low > 1.0) => Standing::Faster,
        _ if shown && gains().all(|gain| gain < 0.0) && high.is_some_and(|high| high < 1.0) => Standing::Slower,
        _ => Standing::Alike,
    };
    Some(StudyPoint { candidate: *candidate, measured_as: *measured_as, time, gain: evidence.gain, q_value, outcome })
}

type Point<'a> = (Cell, &'a Known);

/// Points that belong together, in order of the key.
fn grouped<'a, K: Ord>(points: &[Point<'a>], key: impl Fn(&Point<'a>) -> K) -> BTreeMap<K, Vec<Point<'a>>> {
    let mut groups: BTreeMap<K, Vec<Point<'a>>> = BTreeMap::new();
    for point in points {
        groups.entry(key(point)).or_default().push(*point);
    }
    groups
}

/// For each launch, the pairs of a value of the cell and the time in that launch, where all cells of the group have one.
fn by_launch(group: &[Point<'_>], x: impl Fn(Cell) -> f64) -> Vec<Vec<(f64, f64)>> {
    let launches = group.iter().flat_map(|(_, known)| known.launches.keys().copied());
    let launches: std::collections::BTreeSet<u32> = launches.collect();
    let of_launch = |launch: u32| -> Option<Vec<(f64, f64)>> {
        group.iter().map(|(cell, known)| Some((x(*cell), *known.launches.get(&launch)?))).collect()
    };
    launches.into_iter().filter_map(of_launch).collect()
}

fn overall(points: &[Point<'_>], level: f64) -> Vec<Overall> {
    let rivals: Vec<Point<'_>> =
        points.iter().filter(|(_, known)| known.candidate != Candidate::Builtin).copied().collect();
    let groups = grouped(&rivals, |(cell, known)| (cell.collective, known.candidate));
    let one = |((collective, candidate), group): ((Collective, Candidate), Vec<Point<'_>>)| {
        let mut by_launch: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (launch, gain) in group.iter().flat_map(|(_, known)| known.evidence.basis.launches.iter()) {
            by_launch.entry(*launch).or_default().push(*gain);
        }
        // A launch that missed cells would give a mean of other cells.
        let whole: Vec<Vec<f64>> = by_launch.into_values().filter(|gains| gains.len() == group.len()).collect();
        let mean =
            |gains: &Vec<f64>, of: fn(f64) -> f64| gains.iter().copied().map(of).sum::<f64>() / gains.len() as f64;
        let means: Vec<f64> = whole.iter().map(|gains| mean(gains, |gain| gain)).collect();
        let distances: Vec<f64> = whole.iter().map(|gains| mean(gains, |gain| gain * gain).sqrt()).collect();
        let gain = Estimate::mean(&means, level)?.map(f64::exp);
        // No distance is below 0, though the interval of a small one may reach there.
        let distance = Estimate::mean(&distances, level)?.map(|distance| distance.max(0.0).exp());
        Some(Overall { collective, candidate, gain, distance })
    };
    groups.into_iter().filter_map(one).collect()
}

fn growths(points: &[Point<'_>], level: f64) -> Vec<Growth> {
    let groups = grouped(points, |(cell, known)| (cell.collective, cell.bytes, known.candidate));
    let one = |((collective, bytes, candidate), group): ((Collective, _, Candidate), Vec<Point<'_>>)| {
        let launches = by_launch(&group, |cell| f64::from(cell.ranks.0).ln());
        let slopes: Vec<f64> = launches
            .iter()
            .filter(|points| points.len() >= LEAST_SIZES)
            .map(|points| points.iter().map(|(x, time)| (*x, time.ln())).collect::<Vec<_>>())
            .filter_map(|points| Some(Line::through(&points, Errors::Absolute)?.slope))
            .collect();
        Some(Growth { collective, bytes, candidate, exponent: Estimate::mean(&slopes, level)? })
    };
    groups.into_iter().filter_map(one).collect()
}

fn lines(points: &[Point<'_>], level: f64) -> Vec<LineFit> {
    let sized: Vec<Point<'_>> = points.iter().filter(|(cell, _)| cell.collective.has_sizes()).copied().collect();
    let groups = grouped(&sized, |(cell, known)| (cell.collective, cell.ranks, known.candidate));
    let one = |((collective, ranks, candidate), group): ((Collective, _, Candidate), Vec<Point<'_>>)| {
        let launches = by_launch(&group, |cell| cell.bytes.0 as f64);
        let launches: Vec<_> = launches.into_iter().filter(|points| points.len() > LEAST_SIZES).collect();
        let fits: Vec<Line> = launches.iter().filter_map(|points| Line::through(points, Errors::Relative)).collect();
        let latency = Estimate::mean(&fits.iter().map(|fit| fit.start).collect::<Vec<_>>(), level)?;
        let per_byte = Estimate::mean(&fits.iter().map(|fit| fit.slope).collect::<Vec<_>>(), level)?;
        let misses = launches.iter().flatten().map(|(x, time)| {
            let fitted = latency.point + per_byte.point * x;
            if fitted > 0.0 { (time / fitted).ln().powi(2) } else { f64::INFINITY }
        });
        let misses: Vec<f64> = misses.collect();
        let misfit = (misses.iter().sum::<f64>() / misses.len() as f64).sqrt();
        Some(LineFit { collective, ranks, candidate, latency, per_byte, misfit })
    };
    groups.into_iter().filter_map(one).collect()
}
