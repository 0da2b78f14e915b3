//! Verdicts on the subjects of an arm.
//!
//! A gain is shown if the p value, adjusted for the number of gains that are asked for (Benjamini and Hochberg), is small
//! enough, and the interval lies above 1. A loss is excluded if the interval lies above the limit: since an arm passes only
//! if no loss is left, this needs no correction for their number. A loss is shown if the interval lies below the limit, or
//! the adjusted p value is small enough for a loss as large as the limit. The printed intervals are those of these verdicts.

use std::collections::BTreeMap;

use collrules_record::comparison::ArmSubject;
use collrules_record::estimate::{Estimate, TestedMean};
use collrules_record::settings::{Guard, Settings};
use collrules_record::validation::{Outcome, ValidationCriteria};

use super::block::{ArmBlock, PairMean, by_subject};
use crate::statistics::{Replicates, adjust, test_all};

/// What is asked of a subject with an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmDemand {
    /// A gain, or no difference.
    Gain,
    /// That a loss beyond the limit is excluded.
    ExcludeLoss,
    /// That no loss beyond the limit is shown.
    NoLoss,
    /// Nothing: the result is reported.
    Report,
}

/// Result for a subject with an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectResult {
    /// The subject.
    pub subject: ArmSubject,
    /// What was asked of it.
    pub demand: ArmDemand,
    /// Seconds with the base.
    pub without: Estimate,
    /// Seconds with the arm.
    pub with: Estimate,
    /// The time with the base over that with the arm.
    pub speedup: Estimate,
    /// The p value of a difference, adjusted for the number of subjects and looks.
    pub q_value: Option<f64>,
    /// A difference, or none beyond what counts as the same.
    pub verdict: Outcome,
    /// Verdict on a loss beyond the limit.
    pub guard: Guard,
    /// Blocks that timed it.
    pub pairs: u32,
}

impl SubjectResult {
    /// Returns true if the demand is not met, and never will be.
    pub fn is_failed(&self) -> bool {
        match self.demand {
            ArmDemand::Gain => self.verdict == Outcome::Slower,
            ArmDemand::ExcludeLoss | ArmDemand::NoLoss => self.guard == Guard::Lost,
            ArmDemand::Report => false,
        }
    }

    /// Returns true if further launches may decide on the demand.
    pub fn is_open(&self) -> bool {
        match self.demand {
            ArmDemand::Gain => self.verdict == Outcome::Undecided,
            ArmDemand::ExcludeLoss | ArmDemand::NoLoss => self.guard == Guard::Undecided,
            ArmDemand::Report => false,
        }
    }
}

/// Criteria of verdicts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judging {
    pub(super) criteria: ValidationCriteria,
    /// The largest loss that a subject may have, such as 0.05.
    pub(super) max_loss: f64,
    /// Share of the error that this look may spend.
    pub(super) share: f64,
}

/// Judges the subjects of an arm.
pub(super) fn judge(
    blocks: &[ArmBlock],
    (arm, base): (&Settings, &Settings),
    judging: Judging,
    demand: &dyn Fn(&ArmSubject) -> ArmDemand,
) -> Vec<SubjectResult> {
    let Judging { criteria, max_loss, share } = judging;
    let pairs = PairMean::choose(blocks, arm, base);
    let logs = by_subject(blocks, arm, base);
    let replicates: Vec<Replicates> =
        logs.iter().map(|(subject, logs)| Replicates::of_pairs(subject.cell(), pairs.values(logs))).collect();
    let tests = test_all(&replicates);
    let error = criteria.error_rate * share;
    let asked: Vec<ArmDemand> = logs.keys().map(demand).collect();
    // Gains do not make it easier to call something slower, nor losses in other calls to call a rule faster.
    let adjusted = |wanted: &[ArmDemand], p_value: &dyn Fn(&TestedMean) -> Option<f64>| {
        let p_values = tests.iter().zip(&asked).map(|(test, asked)| p_value(test).filter(|_| wanted.contains(asked)));
        let q_values = adjust(p_values);
        // Two directions.
        q_values.into_iter().map(|q| q.map(|q| (2.0 * q / share).min(1.0))).collect::<Vec<_>>()
    };
    let (gains, losses) = ([ArmDemand::Gain, ArmDemand::Report], [ArmDemand::ExcludeLoss, ArmDemand::NoLoss]);
    let above = |test: &TestedMean| test.p_above(0.0);
    let below = |test: &TestedMean| test.p_below(0.0);
    let (faster, slower) = (adjusted(&gains, &above), adjusted(&gains, &below));
    let lost = adjusted(&losses, &below);
    let mut sides = [arm, base].map(|settings| times_by_subject(blocks, settings));
    let mut results = Vec::with_capacity(tests.len());
    for (at, ((subject, logs), test)) in logs.into_iter().zip(&tests).enumerate() {
        let speedup = test.estimate(1.0 - error).exp();
        let [with, without] = sides.each_mut().map(|side| {
            TestedMean::from_values(side.remove(&subject).unwrap_or_default()).estimate(criteria.level).exp()
        });
        let q_value = if losses.contains(&asked[at]) {
            lost[at]
        } else if test.mean < 0.0 {
            slower[at]
        } else {
            faster[at]
        };
        let told = (without.point - with.point).abs() >= 2.0 * criteria.clock_step.0;
        let q_value = q_value.filter(|_| told);
        let limit = 1.0 - max_loss;
        let is_lost = speedup.high.is_some_and(|high| high < limit)
            || q_value.is_some_and(|q| q <= criteria.error_rate) && speedup.point <= limit && test.mean < 0.0;
        let guard = match speedup.low {
            _ if is_lost => Guard::Lost,
            Some(low) if low >= limit => Guard::Passed,
            _ => Guard::Undecided,
        };
        let verdict = decide(speedup, q_value, criteria);
        let pairs = logs.len() as u32;
        let demand = asked[at];
        results.push(SubjectResult { subject, demand, without, with, speedup, q_value, verdict, guard, pairs });
    }
    results
}

/// The logarithms of the times of each subject in the launches of an arm.
fn times_by_subject(blocks: &[ArmBlock], arm: &Settings) -> BTreeMap<ArmSubject, Vec<f64>> {
    let mut all: BTreeMap<ArmSubject, Vec<f64>> = BTreeMap::new();
    let launches = blocks.iter().flat_map(|block| block.launches_with(arm));
    for (subject, time) in launches.flatten().filter(|(_, time)| **time > 0.0) {
        all.entry(subject.clone()).or_default().push(time.ln());
    }
    all
}

/// The verdict on a difference: shown and large enough, none that is relevant, or neither.
pub(crate) fn decide(speedup: Estimate, q_value: Option<f64>, criteria: ValidationCriteria) -> Outcome {
    let (low, high) = (speedup.low.unwrap_or(0.0), speedup.high.unwrap_or(f64::INFINITY));
    let most = 1.0 + criteria.same_within.max(criteria.min_difference);
    let same = if low * most >= 1.0 && high <= most { Outcome::Same } else { Outcome::Undecided };
    difference(speedup, q_value, criteria).unwrap_or(same)
}

/// A significant and large enough difference of a speedup from 1, if there is one.
pub(crate) fn difference(speedup: Estimate, q_value: Option<f64>, criteria: ValidationCriteria) -> Option<Outcome> {
    q_value.filter(|q_value| *q_value <= criteria.error_rate)?;
    let least = 1.0 + criteria.min_difference;
    if speedup.low? > 1.0 && speedup.point >= least {
        Some(Outcome::Faster)
    } else if speedup.high? < 1.0 && speedup.point * least <= 1.0 {
        Some(Outcome::Slower)
    } else {
        None
    }
}
