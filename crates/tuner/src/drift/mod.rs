//! Tests of repeated measurements: changes of single points, and rules that no longer hold.
//!
//! Two questions, each of which gets half of the error rate.
//!
//! *Does a point take as long as before?* The logarithms of the medians of launches are compared, then against now, by
//! Student's t. The test is not for any difference, which there is between any two days, but for one above the
//! tolerance. The differences between launches are estimated as for a validation: cells borrow from each other, and the
//! part that cells of a launch share counts once (`validation::noise`). All points together are one more test, with the
//! launches' means over points. The p values are adjusted for all of them (Benjamini and Hochberg): if no point changed
//! by more than the tolerance, the probability of any alarm is at most the error rate.
//!
//! *Do rules still hold?* The candidate of the rules is compared with the builtin of the same launches, as a validation
//! compares launches without and with the file.

mod anchors;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::findings::Findings;
use collrules_record::validation::{self, Outcome, Round};
use collrules_record::{Candidate, Cell};

use crate::error::TunerError;
use crate::observations::Observations;
use crate::results::drift::{DriftCriteria, DriftPoint, Shift};
use crate::statistics::{LogRatio, Variance, adjust, mean};
use crate::validation::{CellFacts, compare_with, noise};
use crate::view::View;

pub use anchors::{Anchor, anchors};

/// Share of the error rate for each of the two questions.
const SHARE: f64 = 0.5;

/// First number of the new launches, when both measurements are analysed together.
const NOW: u32 = 1 << 31;

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

/// The logarithms of the medians of a point in each launch.
type Logs = BTreeMap<u32, f64>;

/// Compares anchors with their times in a run.
pub fn drift(
    findings: &Findings,
    then: &Observations,
    now: &Observations,
    anchors: &[Anchor],
    criteria: DriftCriteria,
) -> Result<Drifted, TunerError> {
    let (then, today) = (seen(then, anchors)?, seen(now, anchors)?);
    let both: Vec<Both<'_>> =
        today.iter().filter_map(|(point, now)| Some(Both { point: *point, then: then.get(point)?, now })).collect();
    let residuals: Vec<noise::PairGains> = both.iter().map(Both::residuals).collect();
    let noises = noise::estimate(&residuals);
    let mut tests: Vec<LogRatio> =
        both.iter().zip(noises).map(|(both, noise)| compare(&both.then.logs, &both.now.logs, noise)).collect();
    let together = together(&both);
    tests.extend(together);
    let p_values: Vec<f64> = tests.iter().filter_map(|test| p_value(*test, criteria)).collect();
    let mut adjusted = adjust(&p_values).into_iter();
    let mut shifts: Vec<Shift> = tests
        .iter()
        .map(|change| {
            let q_value = p_value(*change, criteria).and_then(|_| adjusted.next());
            shift(*change, q_value, criteria)
        })
        .collect();
    let together = together.and_then(|_| shifts.pop());
    let points = both.iter().zip(shifts).map(|(both, shift)| DriftPoint {
        cell: both.point.0,
        candidate: both.point.1,
        then: centre(&both.then.logs).exp(),
        now: centre(&both.now.logs).exp(),
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
    let criteria = validation::ValidationCriteria {
        min_difference: criteria.min_difference,
        error_rate: SHARE * criteria.error_rate,
        level: criteria.level,
        middle: findings.criteria.middle,
        clock_step: findings.criteria.clock_step,
        looks: 1,
        ..validation::ValidationCriteria::default()
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
    compare_with(now, criteria, known, |cell| served.get(&cell).copied())
}

/// A point of one measurement.
struct DayTimes {
    logs: Logs,
    /// The reciprocal of the rounds of a launch.
    per_round: f64,
}

/// A point of both measurements.
struct Both<'a> {
    point: (Cell, Candidate),
    then: &'a DayTimes,
    now: &'a DayTimes,
}

impl Both<'_> {
    /// The launches of both measurements, each relative to its own mean.
    fn residuals(&self) -> noise::PairGains {
        noise::PairGains {
            cell: self.point.0,
            of_pairs: centred(&self.then.logs, 0).chain(centred(&self.now.logs, NOW)).collect(),
            per_round: self.then.per_round + self.now.per_round,
        }
    }
}

/// The anchors' points.
fn seen(observations: &Observations, anchors: &[Anchor]) -> Result<BTreeMap<(Cell, Candidate), DayTimes>, TunerError> {
    let wanted: BTreeSet<(Cell, Candidate)> = anchors.iter().flat_map(Anchor::points).collect();
    let mut seen = BTreeMap::new();
    for (cell, series) in observations.points(&View::default())? {
        let point = (cell, series.candidate);
        if wanted.contains(&point) {
            let logs: Logs = series.launch_medians().into_iter().map(|(launch, time)| (launch, time.ln())).collect();
            let per_round = logs.len() as f64 / series.timings.len().max(1) as f64;
            seen.insert(point, DayTimes { logs, per_round });
        }
    }
    Ok(seen)
}

fn centre(logs: &Logs) -> f64 {
    mean(&logs.values().copied().collect::<Vec<_>>())
}

fn centred(logs: &Logs, first: u32) -> impl Iterator<Item = (u32, f64)> {
    let centre = centre(logs);
    logs.iter().map(move |(launch, log)| (first | launch, log - centre))
}

/// The mean over points of each launch, from points that most earlier launches have: sizes added between those of the
/// grid were measured in other launches.
fn together(both: &[Both<'_>]) -> Option<LogRatio> {
    let launches = |both: &Both<'_>| both.then.logs.keys().copied().collect::<Vec<u32>>();
    let mut counts: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    both.iter().for_each(|both| *counts.entry(launches(both)).or_default() += 1);
    let (common, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let both: Vec<&Both<'_>> = both.iter().filter(|both| launches(both) == common).collect();
    let means = |day: fn(&Both<'_>) -> Logs| {
        let all: Vec<Logs> = both.iter().map(|both| day(both)).collect();
        let launches: BTreeSet<u32> = all.iter().flat_map(|logs| logs.keys().copied()).collect();
        let of_launch = |launch: &u32| {
            let logs: Option<Vec<f64>> = all.iter().map(|logs| logs.get(launch).copied()).collect();
            logs.map(|logs| mean(&logs))
        };
        launches.iter().filter_map(of_launch).collect::<Vec<f64>>()
    };
    let (then, now) = (means(|both| both.then.logs.clone()), means(|both| both.now.logs.clone()));
    let pooled = Variance::from_values(&then).and(Variance::from_values(&now));
    let known = pooled.degrees > 0.0 && !then.is_empty() && !now.is_empty() && both.len() > 1;
    known.then(|| LogRatio {
        log: mean(&now) - mean(&then),
        error: error(pooled.value(), then.len(), now.len()),
        degrees: pooled.degrees,
        samples: then.len().min(now.len()),
    })
}

fn error(variance: f64, then: usize, now: usize) -> f64 {
    (variance.max(noise::FLOOR * noise::FLOOR) * (1.0 / then as f64 + 1.0 / now as f64)).sqrt()
}

/// Logarithm of the present time over the earlier time.
fn compare(then: &Logs, now: &Logs, noise: Option<noise::Noise>) -> LogRatio {
    let count = (then.len() + now.len()) as f64;
    // Residuals about two means have one degree of freedom fewer than those about one.
    let free = ((count - 2.0) / (count - 1.0)).max(0.0);
    let (variance, degrees) = noise.map_or((0.0, 0.0), |noise| (noise.variance, noise.degrees * free));
    LogRatio {
        log: centre(now) - centre(then),
        error: error(if free > 0.0 { variance / free } else { 0.0 }, then.len(), now.len()),
        degrees,
        samples: then.len().min(now.len()),
    }
}

/// Probability of so large a change in either direction if the true change is at the limit.
fn p_value(change: LogRatio, criteria: DriftCriteria) -> Option<f64> {
    let least = criteria.min_change.ln_1p();
    (change.degrees > 0.0).then(|| (2.0 * change.p_above(least).min(change.p_below(-least))).min(1.0))
}

fn shift(change: LogRatio, q_value: Option<f64>, criteria: DriftCriteria) -> Shift {
    let shown = q_value.is_some_and(|q| q <= SHARE * criteria.error_rate);
    Shift {
        ratio: change.estimate(criteria.level),
        q_value,
        change: match shown {
            true if change.log > 0.0 => Outcome::Slower,
            true => Outcome::Faster,
            false => Outcome::Same,
        },
    }
}
