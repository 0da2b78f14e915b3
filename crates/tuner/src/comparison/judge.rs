//! Verdicts on the subjects of an arm.
//!
//! A gain is shown if the p value, adjusted for the number of gains that are asked for (Benjamini and Hochberg), is small
//! enough, and the interval lies above 1. A loss is excluded if the interval lies above the limit: since an arm passes only
//! if no loss is left, this needs no correction for their number. A loss is shown if it is as large as the limit and its
//! adjusted p value is small enough: of a hundred subjects, some have an interval below the limit by chance. The printed
//! intervals are those of these verdicts.
//!
//! Neighbouring sizes are not independent questions: a setting affects all calls of a size class alike, and one that acts on
//! messages those of other collectives as well. So a loss may be excluded for the mean of a class, and for each of its members
//! only one that is several times as large.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Bytes;
use collrules_record::condition::Condition;
use collrules_record::estimate::{Estimate, TestedMean};
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::{Guard, Settings};
use collrules_record::validation::{Outcome, ValidationCriteria};
use collrules_rules::Collective;

use super::block::{ArmBlock, by_subject};
use crate::statistics::{LaunchLogs, Replicates, adjust, common_means, test_all};

/// What is asked of a subject with an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmDemand {
    /// A gain, or no difference.
    Gain,
    /// That a loss beyond the limit is excluded.
    ExcludeLoss,
    /// That a loss beyond the limit is excluded for the class of its calls, and a much larger one for itself.
    ExcludeClassLoss,
    /// Like [`Self::ExcludeClassLoss`], but messages and calls that are alone in their class are judged with all others of their
    /// size.
    ExcludeSizeLoss,
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

impl ArmDemand {
    /// Returns true if a loss has to be excluded.
    pub fn excludes_loss(self) -> bool {
        matches!(self, Self::ExcludeLoss | Self::ExcludeClassLoss | Self::ExcludeSizeLoss)
    }

    fn is_about_loss(self) -> bool {
        self.excludes_loss() || self == Self::NoLoss
    }
}

impl SubjectResult {
    /// Returns true if the demand is not met, and never will be.
    pub fn is_failed(&self) -> bool {
        self.is_judged(Outcome::Slower, Guard::Lost)
    }

    /// Returns true if further launches may decide on the demand.
    pub fn is_open(&self) -> bool {
        self.is_judged(Outcome::Undecided, Guard::Undecided)
    }

    fn is_judged(&self, verdict: Outcome, guard: Guard) -> bool {
        match self.demand {
            ArmDemand::Report => false,
            ArmDemand::Gain => self.verdict == verdict,
            _ => self.guard == guard,
        }
    }
}

/// The largest message of each class of sizes, except the last class, which has no limit.
pub const CLASSES: [u64; 3] = [512, 8 << 10, 64 << 10];

/// The index of the class of a message size.
pub fn class(bytes: Bytes) -> usize {
    CLASSES.iter().position(|largest| bytes.0 <= *largest).unwrap_or(CLASSES.len())
}

/// Multiple of the largest loss of a class from which on a loss of one of its members has to be excluded.
const ALARM: f64 = 3.0;

/// A class: calls of a collective in one way, or whatever is alone in such a class; and the size of its messages.
type Class = (Option<(Collective, Condition)>, usize);

/// The classes of subjects of which it is asked that their class loses nothing.
fn classes<'a>(asked: impl Iterator<Item = (&'a ArmSubject, ArmDemand)>) -> BTreeMap<ArmSubject, Class> {
    use ArmDemand::{ExcludeClassLoss, ExcludeSizeLoss};
    let class_of = |(subject, demand): (&'a ArmSubject, ArmDemand)| match (subject, demand) {
        (ArmSubject::Call(cell, condition), ExcludeClassLoss | ExcludeSizeLoss) => {
            Some((subject, demand, (Some((cell.collective, *condition)), class(cell.bytes))))
        }
        (ArmSubject::Messages(pattern, _), ExcludeSizeLoss) => Some((subject, demand, (None, class(pattern.bytes)))),
        _ => None,
    };
    let own: Vec<(&ArmSubject, ArmDemand, Class)> = asked.filter_map(class_of).collect();
    let is_alone = |class: Class| own.iter().filter(|(.., other)| *other == class).count() == 1;
    let joined = |demand, own: Class| {
        if demand == ExcludeSizeLoss && is_alone(own) { (None, own.1) } else { own }
    };
    own.iter().map(|(subject, demand, own)| ((*subject).clone(), joined(*demand, *own))).collect()
}

/// The subjects for which further launches may decide on a demand, with all of their classes.
pub(super) fn open_classes(results: &[SubjectResult]) -> BTreeSet<ArmSubject> {
    let class_of = classes(results.iter().map(|it| (&it.subject, it.demand)));
    let open: BTreeSet<&ArmSubject> = results.iter().filter(|it| it.is_open()).map(|it| &it.subject).collect();
    let wanted: BTreeSet<&Class> = open.iter().filter_map(|subject| class_of.get(*subject)).collect();
    let is_wanted = |it: &ArmSubject| open.contains(it) || class_of.get(it).is_some_and(|class| wanted.contains(class));
    results.iter().map(|it| &it.subject).filter(|it| is_wanted(it)).cloned().collect()
}

/// Judges the subjects of an arm, which may lose `max_loss` at most, such as 0.05; this look may spend a `share` of the
/// error.
pub(super) fn judge(
    blocks: &[ArmBlock],
    arm: &Settings,
    base: &Settings,
    criteria: ValidationCriteria,
    max_loss: f64,
    share: f64,
    demand: &dyn Fn(&ArmSubject) -> ArmDemand,
) -> Vec<SubjectResult> {
    let logs = by_subject(blocks, arm, base);
    let replicates: Vec<Replicates> =
        logs.iter().map(|(it, logs)| Replicates { cell: it.cell(), groups: vec![logs.clone()] }).collect();
    let tests = test_all(&replicates);
    let error = criteria.error_rate * share;
    let asked: Vec<ArmDemand> = logs.keys().map(demand).collect();
    // Gains do not make it easier to call something slower, nor losses in other calls to call a rule faster.
    let adjusted = |losses: bool, p_value: &dyn Fn(&TestedMean) -> Option<f64>| {
        let is_wanted = |asked: &ArmDemand| asked.is_about_loss() == losses;
        let p_values = tests.iter().zip(&asked).map(|(test, asked)| p_value(test).filter(|_| is_wanted(asked)));
        let q_values = adjust(p_values);
        // Two directions.
        q_values.into_iter().map(|q| q.map(|q| (2.0 * q / share).min(1.0))).collect::<Vec<_>>()
    };
    let above = |test: &TestedMean| test.p_above(0.0);
    let below = |test: &TestedMean| test.p_below(0.0);
    let (faster, slower, lost) = (adjusted(false, &above), adjusted(false, &below), adjusted(true, &below));
    let class_of = classes(logs.keys().zip(asked.iter().copied()));
    let lows = judge_classes(logs.iter().filter_map(|(it, logs)| Some((*class_of.get(it)?, logs))), 1.0 - error);
    let mut sides = [arm, base].map(|settings| times_by_subject(blocks, settings));
    let mut results = Vec::with_capacity(tests.len());
    for (at, ((subject, logs), test)) in logs.into_iter().zip(&tests).enumerate() {
        let speedup = test.estimate(1.0 - error).exp();
        let [with, without] = sides.each_mut().map(|side| {
            TestedMean::from_values(side.remove(&subject).unwrap_or_default()).estimate(criteria.level).exp()
        });
        let q_value = match asked[at] {
            demand if demand.is_about_loss() => lost[at],
            _ if test.mean < 0.0 => slower[at],
            _ => faster[at],
        };
        let told = (without.point - with.point).abs() >= 2.0 * criteria.clock_step.0;
        let q_value = q_value.filter(|_| told);
        let limit = 1.0 - max_loss;
        let class_low = class_of.get(&subject).and_then(|class| lows.get(class));
        let is_lost = lost[at].is_some_and(|q| q <= criteria.error_rate) && told && speedup.point <= limit;
        let guard = match speedup.low {
            _ if is_lost => Guard::Lost,
            Some(low) if low >= limit => Guard::Passed,
            Some(low) if low >= 1.0 - ALARM * max_loss && class_low.is_some_and(|low| *low >= limit) => Guard::Passed,
            _ => Guard::Undecided,
        };
        let (verdict, demand, pairs) = (decide(speedup, q_value, criteria), asked[at], logs.len() as u32);
        results.push(SubjectResult { subject, demand, without, with, speedup, q_value, verdict, guard, pairs });
    }
    results
}

/// The lower end of the interval of each class's mean speedup, over the blocks that timed all of its members; none if one
/// block at most did.
fn judge_classes<'a>(pooled: impl Iterator<Item = (Class, &'a LaunchLogs)>, level: f64) -> BTreeMap<Class, f64> {
    let mut members: BTreeMap<Class, Vec<&LaunchLogs>> = BTreeMap::new();
    for (class, logs) in pooled {
        members.entry(class).or_default().push(logs);
    }
    let low = |members: Vec<&LaunchLogs>| Estimate::mean(common_means(members).values(), level)?.exp().low;
    members.into_iter().filter_map(|(class, members)| Some((class, low(members)?))).collect()
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
