//! Whether points that are measured again take what they took, and whether rules still hold.
//!
//! Two questions, each of which gets half of the error rate.
//!
//! *Does a point take what it took?* The logarithms of the medians of launches are compared, then against now, by Student's
//! t. What is tested is not whether there is a difference, which there is between any two days, but whether it is larger
//! than what counts. How much launches differ is estimated as for a validation: cells borrow from each other, and what
//! cells of a launch share counts once (`validation::noise`). All points together are one more test, with the launches'
//! means over points. The p values are adjusted for all of them (Benjamini and Hochberg): where no point changed by more
//! than what counts, the probability of any alarm is at most the error rate.
//!
//! *Do rules still hold?* What they give is compared with the builtin of the same launches, as a validation compares
//! launches without and with the file.

mod anchors;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::drift::{Criteria, Point, Shift};
use collrules_record::estimate::Estimate;
use collrules_record::findings::Findings;
use collrules_record::validation::{self, Outcome, Round};
use collrules_record::{Candidate, Cell};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::TunerError;
use crate::observations::Observations;
use crate::statistics::{Variance, adjust, mean, student_quantile};
use crate::validation::{Known, compare_with, noise};
use crate::view::View;

pub use anchors::{Anchor, anchors};

/// Each of the two questions gets this share of the error rate.
const SHARE: f64 = 0.5;

/// Launches of today are numbered from here on, where those of both days are looked at together.
const NOW: u32 = 1 << 31;

/// What points that were measured again show.
#[derive(Clone, Debug)]
pub struct Drifted {
    /// Every point that both have.
    pub points: Vec<Point>,
    /// All of them together.
    pub together: Option<Shift>,
    /// The rules against the builtin of today.
    pub rules: Round,
}

/// The logarithms of the medians of a point in each launch.
type Logs = BTreeMap<u32, f64>;

/// Compares anchors with what they took in a run.
pub fn drift(
    findings: &Findings,
    then: &Observations,
    now: &Observations,
    anchors: &[Anchor],
    criteria: Criteria,
) -> Result<Drifted, TunerError> {
    let (then, today) = (seen(then, anchors)?, seen(now, anchors)?);
    let both: Vec<Both<'_>> =
        today.iter().filter_map(|(point, now)| Some(Both { point: *point, then: then.get(point)?, now })).collect();
    let residuals: Vec<noise::Gains> = both.iter().map(Both::residuals).collect();
    let noises = noise::estimate(&residuals);
    let mut tests: Vec<Test> =
        both.iter().zip(noises).map(|(both, noise)| Test::of(&both.then.logs, &both.now.logs, noise)).collect();
    let together = together(&both);
    tests.extend(together);
    let p_values: Vec<f64> = tests.iter().filter_map(|test| test.p_value(criteria)).collect();
    let mut adjusted = adjust(&p_values).into_iter();
    let mut shifts: Vec<Shift> = tests
        .iter()
        .map(|test| {
            let q_value = test.p_value(criteria).and_then(|_| adjusted.next());
            test.shift(q_value, criteria)
        })
        .collect();
    let together = together.and_then(|_| shifts.pop());
    let points = both.iter().zip(shifts).map(|(both, shift)| Point {
        cell: both.point.0,
        candidate: both.point.1,
        then: centre(&both.then.logs).exp(),
        now: centre(&both.now.logs).exp(),
        shift,
    });
    Ok(Drifted { points: points.collect(), together, rules: rules(findings, now, anchors, criteria)? })
}

/// What the rules give against the builtin, in the same launches.
fn rules(findings: &Findings, now: &Observations, anchors: &[Anchor], criteria: Criteria) -> Result<Round, TunerError> {
    let served: BTreeMap<Cell, Candidate> =
        anchors.iter().filter(|anchor| anchor.ruled).map(|anchor| (anchor.cell, anchor.beside)).collect();
    let criteria = validation::Criteria {
        min_difference: criteria.min_difference,
        error_rate: SHARE * criteria.error_rate,
        level: criteria.level,
        middle: findings.criteria.middle,
        clock_step: findings.criteria.clock_step,
        looks: 1,
    };
    let known = |cell: Cell| {
        let finding = findings.cells.iter().find(|finding| finding.cell == cell);
        Known {
            tuned: true,
            served: finding.map(|finding| finding.served).unwrap_or_default(),
            control: false,
            handed: findings.handover.hands(cell),
        }
    };
    compare_with(now, criteria, known, |cell| served.get(&cell).copied())
}

/// A point of one day.
struct Seen {
    logs: Logs,
    /// One over the rounds of a launch.
    per_round: f64,
}

/// A point of both days.
struct Both<'a> {
    point: (Cell, Candidate),
    then: &'a Seen,
    now: &'a Seen,
}

impl Both<'_> {
    /// The launches of both days, each day about its own mean.
    fn residuals(&self) -> noise::Gains {
        noise::Gains {
            cell: self.point.0,
            of_pairs: centred(&self.then.logs, 0).chain(centred(&self.now.logs, NOW)).collect(),
            per_round: self.then.per_round + self.now.per_round,
        }
    }
}

/// The anchors' points.
fn seen(observations: &Observations, anchors: &[Anchor]) -> Result<BTreeMap<(Cell, Candidate), Seen>, TunerError> {
    let wanted: BTreeSet<(Cell, Candidate)> = anchors.iter().flat_map(Anchor::points).collect();
    let mut seen = BTreeMap::new();
    for (cell, series) in observations.points(&View::default())? {
        let point = (cell, series.candidate);
        if wanted.contains(&point) {
            let logs: Logs = series.launch_medians().into_iter().map(|(launch, time)| (launch, time.ln())).collect();
            let per_round = logs.len() as f64 / series.timings.len().max(1) as f64;
            seen.insert(point, Seen { logs, per_round });
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

/// The means over points of each launch, of those points that most launches of then have in common: sizes between those of
/// the grid were measured in others.
fn together(both: &[Both<'_>]) -> Option<Test> {
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
    let pooled = Variance::of(&then).and(Variance::of(&now));
    let known = pooled.degrees > 0.0 && !then.is_empty() && !now.is_empty() && both.len() > 1;
    known.then(|| Test {
        log: mean(&now) - mean(&then),
        error: error(pooled.value(), then.len(), now.len()),
        degrees: pooled.degrees,
        launches: then.len().min(now.len()),
    })
}

fn error(variance: f64, then: usize, now: usize) -> f64 {
    (variance.max(noise::FLOOR * noise::FLOOR) * (1.0 / then as f64 + 1.0 / now as f64)).sqrt()
}

/// A change and how sure it is. Without degrees of freedom nothing is.
#[derive(Clone, Copy)]
struct Test {
    /// The logarithm of the time now over the time then.
    log: f64,
    error: f64,
    degrees: f64,
    launches: usize,
}

impl Test {
    fn of(then: &Logs, now: &Logs, noise: Option<noise::Noise>) -> Self {
        let count = (then.len() + now.len()) as f64;
        // Residuals about two means have one degree of freedom less than those about one.
        let free = ((count - 2.0) / (count - 1.0)).max(0.0);
        let (variance, degrees) = noise.map_or((0.0, 0.0), |noise| (noise.variance, noise.degrees * free));
        Self {
            log: centre(now) - centre(then),
            error: error(if free > 0.0 { variance / free } else { 0.0 }, then.len(), now.len()),
            degrees,
            launches: then.len().min(now.len()),
        }
    }

    /// The probability of so large a change in either direction if the true one were just what counts.
    fn p_value(self, criteria: Criteria) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.degrees).ok()?;
        let beyond = self.log.abs() - criteria.min_change.ln_1p();
        Some((2.0 * student.sf(beyond / self.error)).min(1.0))
    }

    fn shift(self, q_value: Option<f64>, criteria: Criteria) -> Shift {
        let reach = student_quantile(criteria.level, self.degrees) * self.error;
        let shown = q_value.is_some_and(|q| q <= SHARE * criteria.error_rate);
        Shift {
            ratio: Estimate::ratio(self.log, reach, criteria.level, self.launches),
            q_value,
            change: match shown {
                true if self.log > 0.0 => Outcome::Slower,
                true => Outcome::Faster,
                false => Outcome::Same,
            },
        }
    }
}
