//! Tests of repeated measurements: changes of single points, and rules that no longer hold.
//!
//! Two questions, each of which gets half of the error rate.
//!
//! *Does a point take as long as before?* The logarithms of the medians of launches are compared, then against now, by
//! Student's t. The test is not for any difference, which there is between any two days, but for one above the
//! tolerance. The differences between launches are estimated as for a validation: cells borrow from each other, and the
//! part that cells of a launch share counts once (`statistics::launches`). All points together are one more test, with
//! the launches' means over points. The p values are adjusted for all of them (Benjamini and Hochberg): if no point
//! changed by more than the tolerance, the probability of any alarm is at most the error rate.
//!
//! *Do rules still hold?* The candidate of the rules is compared with the builtin of the same launches, as a validation
//! compares launches without and with the file.

mod anchors;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::{Estimate, TestedMean, mean};
use collrules_record::findings::{Findings, Middle};
use collrules_record::validation::{Outcome, Round, ValidatedCell, ValidationCriteria};
use collrules_record::{Candidate, Cell};

use crate::cells::{CellTimings, PointTimings, of_runs};
use crate::comparison::decide;
use crate::error::TunerError;
use crate::observations::Observations;
use crate::results::drift::{DriftCriteria, DriftPoint, Shift};
use crate::statistics::{LaunchLogs, Replicates, adjust, common_means, test_all};
use crate::validation::CellFacts;
use crate::view::{Competitors, View};

pub use anchors::{Anchor, anchors};

/// Share of the error rate for each of the two questions.
const SHARE: f64 = 0.5;

/// Results of measuring points again.
#[derive(Clone, Debug)]
pub struct Drifted {
    /// Every point of both measurements.
    pub points: Vec<DriftPoint>,
    /// All points together.
    pub together: Option<Shift>,
    /// The rules against the present builtin.
    pub rules: Round,
}

/// Compares anchors with their times in a run.
pub fn drift(
    findings: &Findings,
    then: &Observations,
    now: &Observations,
    anchors: &[Anchor],
    criteria: DriftCriteria,
) -> Result<Drifted, TunerError> {
    let (then, today) = (seen(then, anchors)?, seen(now, anchors)?);
    let points: Vec<&(Cell, Candidate)> = today.keys().filter(|point| then.contains_key(point)).collect();
    let launches: Vec<Replicates> =
        points.iter().map(|point| of_runs(point.0, &then[*point], &today[*point])).collect();
    let mut tests = test_all(&launches);
    let together = together(&launches);
    tests.extend(together);
    let q_values = adjust(tests.iter().map(|test| test.p_beyond(criteria.min_change.ln_1p())));
    let mut shifts: Vec<Shift> = tests.iter().zip(q_values).map(|(test, q)| shift(*test, q, criteria)).collect();
    let together = together.and_then(|_| shifts.pop());
    let usual = |logs: &LaunchLogs| mean(logs.values()).exp();
    let points = points.into_iter().zip(launches).zip(shifts).map(|((point, launches), shift)| DriftPoint {
        cell: point.0,
        candidate: point.1,
        then: usual(&launches.groups[0]),
        now: usual(&launches.groups[1]),
        shift,
    });
    Ok(Drifted { points: points.collect(), together, rules: rules(findings, now, anchors, criteria)? })
}

/// Compares the candidates of the rules with the builtin, in the same launches.
fn rules(
    findings: &Findings,
    now: &Observations,
    anchors: &[Anchor],
    criteria: DriftCriteria,
) -> Result<Round, TunerError> {
    let served: BTreeMap<Cell, Candidate> =
        anchors.iter().filter(|anchor| anchor.ruled).map(|anchor| (anchor.cell, anchor.beside)).collect();
    let criteria = ValidationCriteria {
        min_difference: criteria.min_difference,
        error_rate: SHARE * criteria.error_rate,
        level: criteria.level,
        middle: findings.criteria.middle,
        clock_step: findings.criteria.clock_step,
        ..ValidationCriteria::default()
    };
    let known = |cell: Cell| {
        let finding = findings.cells.iter().find(|finding| finding.cell == cell);
        CellFacts {
            tuned: true,
            served: finding.map(|finding| finding.served).unwrap_or_default(),
            control: false,
            handed: findings.han.delegates(cell),
        }
    };
    compare_candidates(now, criteria, known, |cell| served.get(&cell).copied())
}

/// The anchors' points.
fn seen(
    observations: &Observations,
    anchors: &[Anchor],
) -> Result<BTreeMap<(Cell, Candidate), PointTimings>, TunerError> {
    let wanted: BTreeSet<(Cell, Candidate)> = anchors.iter().flat_map(Anchor::points).collect();
    let points = observations.points(&View::default())?.into_iter();
    let seen = points.map(|(cell, series)| ((cell, series.candidate), series));
    Ok(seen.filter(|(point, _)| wanted.contains(point)).collect())
}

/// The mean over points of each launch, from points that most earlier launches have: sizes added between those of the
/// grid were measured in other launches.
fn together(points: &[Replicates]) -> Option<TestedMean> {
    let launches = |point: &Replicates| point.groups[0].keys().copied().collect::<Vec<u32>>();
    let mut counts: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    points.iter().for_each(|point| *counts.entry(launches(point)).or_default() += 1);
    let (common, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let points: Vec<&Replicates> = points.iter().filter(|point| launches(point) == common).collect();
    let groups: Vec<LaunchLogs> =
        (0..2).map(|day| common_means(points.iter().map(|point| &point.groups[day]))).collect();
    let several = points.len() > 1 && groups.iter().all(|logs| !logs.is_empty());
    let mean = several.then(|| test_all(&[Replicates { cell: None, groups, per_round: 1.0 }]))?.pop();
    mean.filter(|mean| mean.degrees > 0.0)
}

fn shift(change: TestedMean, q_value: Option<f64>, criteria: DriftCriteria) -> Shift {
    let shown = q_value.is_some_and(|q| q <= SHARE * criteria.error_rate);
    Shift {
        ratio: change.estimate(criteria.level).exp(),
        q_value,
        change: match shown {
            true if change.mean > 0.0 => Outcome::Slower,
            true => Outcome::Faster,
            false => Outcome::Same,
        },
    }
}

/// Compares candidates of rules with the builtin of the same launches, cell by cell. Cells without one are left out.
///
/// The logarithms of the ratios of a launch's medians are assumed to be normal about the cell's true one, with a variance
/// as `statistics::launches` estimates it; each cell is tested by Student's t for being slower and for being faster. The p
/// values of each direction are adjusted for the number of cells (Benjamini and Hochberg), so that gains in other cells do
/// not make it easier to call a cell slower, and then doubled for the two directions.
fn compare_candidates(
    observations: &Observations,
    criteria: ValidationCriteria,
    known: impl Fn(Cell) -> CellFacts,
    with: impl Fn(Cell) -> Option<Candidate>,
) -> Result<Round, TunerError> {
    let timings = observations.cells_with(Competitors::default())?;
    let timings: Vec<(&CellTimings, Candidate)> =
        timings.iter().filter_map(|timings| Some((timings, with(timings.cell)?))).collect();
    let pairs: Vec<Pairs> =
        timings.iter().filter_map(|(timings, with)| Pairs::from_timings(timings, *with, criteria.middle)).collect();
    let gains: Vec<Replicates> = pairs.iter().map(|pairs| pairs.gains.clone()).collect();
    let tests = test_all(&gains);
    let slower = adjust(tests.iter().map(|test| test.p_below(0.0)));
    let faster = adjust(tests.iter().map(|test| test.p_above(0.0)));
    let mut cells = Vec::new();
    for (at, (pairs, test)) in pairs.iter().zip(&tests).enumerate() {
        let q_value = if test.mean < 0.0 { slower[at] } else { faster[at] }.map(|q| (2.0 * q).min(1.0));
        let speedup = test.estimate(criteria.level).exp();
        let CellFacts { tuned, served, handed, control } = known(pairs.cell);
        let [without, with] = pairs.sides.each_ref().map(|logs| {
            // Each side has an interval from its own launches.
            TestedMean::from_values(logs.values()).estimate(criteria.level).exp()
        });
        let told = (without.point - with.point).abs() >= 2.0 * criteria.clock_step.0;
        let verdict = decide(speedup, q_value.filter(|_| told), criteria);
        cells.push(ValidatedCell {
            cell: pairs.cell,
            tuned,
            served,
            handed,
            control,
            without,
            with,
            speedup,
            q_value,
            verdict,
        });
    }
    let count = pairs.iter().flat_map(|pairs| pairs.sides[0].keys()).max().map_or(0, |last| last + 1);
    // The geometric mean over all cells, from the pairs that have all of them: cells of a pair share noise.
    let overall = common_means(gains.iter().flat_map(|gains| &gains.groups));
    let speedup = Estimate::mean(overall.values(), criteria.level).map(Estimate::exp);
    Ok(Round { pairs: count, cells, speedup, ..Round::default() })
}

/// A cell in each pair of launches.
struct Pairs {
    cell: Cell,
    /// Logarithms of the seconds without the file, and with it.
    sides: [LaunchLogs; 2],
    /// Their differences.
    gains: Replicates,
}

impl Pairs {
    fn from_timings(timings: &CellTimings, with: Candidate, middle: Middle) -> Option<Self> {
        let side = |candidate| timings.series.iter().find(|series| series.candidate == candidate);
        let (without, with) = (side(Candidate::Builtin)?, side(with)?);
        let complete = |side: &PointTimings, other: &PointTimings| -> LaunchLogs {
            let launches = other.launches();
            side.launch_logs(middle).into_iter().filter(|(launch, _)| launches.contains(launch)).collect()
        };
        let sides = [complete(without, with), complete(with, without)];
        let gains: LaunchLogs = sides[0].iter().map(|(pair, log)| (*pair, log - sides[1][pair])).collect();
        let per_round = without.per_round() + with.per_round();
        let cell = timings.cell;
        let gains = Replicates { cell: Some(cell), groups: vec![gains], per_round };
        (!sides[0].is_empty()).then_some(Self { cell, sides, gains })
    }
}
