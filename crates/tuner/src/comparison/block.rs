//! The launches of a block, one of each arm, and what several blocks show.
//!
//! The logarithms of speedups within blocks are tested: with few blocks their variances borrow from each other, and what
//! subjects of a launch share counts once (`statistics::launches`).

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Estimate;
use collrules_record::comparison::LaunchFailure;
use collrules_record::estimate::{Variance, mean, medians};
use collrules_record::pattern::ArmSubject;
use collrules_record::settings::Settings;

use crate::statistics::{LaunchLogs, Replicates, test_all};

/// The confidence of every interval.
const LEVEL: f64 = 0.95;

/// The confidence of the interval of a control, which makes a comparison worthless if it is off.
const CONTROL_LEVEL: f64 = 0.99;

/// The median times of a launch, in seconds.
pub type SubjectTimes = BTreeMap<ArmSubject, f64>;

/// The weight of a subject in a mean.
pub type SubjectWeight<'a> = &'a dyn Fn(&ArmSubject) -> f64;

/// The launches of a block: the default, whose settings are empty, and arms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmBlock {
    /// The times of each launch that did not fail, by arm. Of two launches of the base, the second is the control.
    pub launches: BTreeMap<Settings, Vec<SubjectTimes>>,
    /// Reason why its jobs ran one after the other; none if they took turns.
    pub apart: Option<String>,
    /// Arms whose jobs fail, whatever they call.
    pub failed: BTreeMap<Settings, LaunchFailure>,
    /// Subjects that fail with an arm, so that they are no longer timed with it (without the arm's rules, for the default), and
    /// the reason.
    pub barred: Vec<(Settings, ArmSubject, String)>,
}

impl ArmBlock {
    /// Adds a launch.
    pub fn push(&mut self, settings: Settings, times: SubjectTimes) {
        self.launches.entry(settings).or_default().push(times);
    }

    /// The launches of an arm.
    pub(super) fn launches_with(&self, settings: &Settings) -> &[SubjectTimes] {
        self.launches.get(settings).map_or(&[], Vec::as_slice)
    }

    /// The logarithm of the speedup of a combination over another one, for each subject that both timed.
    fn log_speedups(&self, settings: &Settings, over: &Settings) -> BTreeMap<ArmSubject, f64> {
        let median_times = |settings: &Settings| {
            let mut all: BTreeMap<&ArmSubject, Vec<f64>> = BTreeMap::new();
            for (subject, time) in self.launches_with(settings).iter().flatten() {
                all.entry(subject).or_default().push(*time);
            }
            medians(all).collect::<BTreeMap<_, _>>()
        };
        let (with, without) = (median_times(settings), median_times(over));
        let both = with.iter().filter_map(|(subject, with)| Some((*subject, without.get(subject)?, with)));
        let positive = both.filter(|(_, without, with)| **without > 0.0 && **with > 0.0);
        positive.map(|(subject, without, with)| (subject.clone(), (without / with).ln())).collect()
    }
}

/// The mean of the logarithms of subjects with these weights; none if all are 0.
pub(super) fn weighted_mean(logs: &BTreeMap<ArmSubject, f64>, weight: SubjectWeight<'_>) -> Option<f64> {
    let (sum, weights) = logs.iter().fold((0.0, 0.0), |(sum, weights), (subject, log)| {
        let weight = weight(subject);
        (sum + weight * log, weights + weight)
    });
    (weights > 0.0).then(|| sum / weights)
}

/// The number of blocks with launches of two arms.
pub(super) fn count_pairs(blocks: &[ArmBlock], arm: &Settings, base: &Settings) -> u32 {
    let has_both = |block: &&ArmBlock| [arm, base].iter().all(|it| block.launches.contains_key(*it));
    blocks.iter().filter(has_both).count() as u32
}

/// The speedup of the control over the base, as a geometric mean over all subjects: 1 if the comparison is right. None
/// without a block that has a control.
pub(super) fn control_speedup(blocks: &[ArmBlock], base: &Settings) -> Option<Estimate> {
    let log = |block: &ArmBlock| {
        let [base, control, ..] = block.launches_with(base) else { return None };
        let both = base.iter().filter_map(|(subject, base)| Some(base / control.get(subject)?));
        let logs: Vec<f64> = both.map(f64::ln).filter(|log| log.is_finite()).collect();
        (!logs.is_empty()).then(|| mean(logs))
    };
    let logs: Vec<f64> = blocks.iter().filter_map(log).collect();
    Estimate::mean(logs, CONTROL_LEVEL).map(Estimate::exp)
}

/// The speedup of settings over others, as a geometric mean with weights, with the interval of its blocks.
pub fn mean_speedup(
    blocks: &[ArmBlock],
    settings: &Settings,
    over: &Settings,
    weight: SubjectWeight<'_>,
    level: f64,
) -> Option<Estimate> {
    let logs = logs_by_block(blocks, settings, over, weight);
    Estimate::mean(logs.values(), level).map(Estimate::exp)
}

/// The logarithms of a combination's mean speedup, by the number of the block.
fn logs_by_block(blocks: &[ArmBlock], settings: &Settings, over: &Settings, weight: SubjectWeight<'_>) -> LaunchLogs {
    let log = |block: &ArmBlock| weighted_mean(&block.log_speedups(settings, over), weight);
    (0..).zip(blocks).filter_map(|(number, block)| Some((number, log(block)?))).collect()
}

/// The speedup of each of these combinations over another one, as a geometric mean over subjects and blocks; none without a
/// block of both. Combinations with few blocks borrow the variance of the others.
pub fn speedups(
    blocks: &[ArmBlock],
    pairs: BTreeSet<(Settings, Settings)>,
) -> BTreeMap<(Settings, Settings), Estimate> {
    let (pairs, subjects): (Vec<_>, Vec<Replicates>) = pairs
        .into_iter()
        .map(|(settings, over)| (logs_by_block(blocks, &settings, &over, &|_| 1.0), (settings, over)))
        .filter(|(logs, _)| !logs.is_empty())
        .map(|(logs, pair)| (pair, Replicates { cell: None, groups: vec![logs] }))
        .unzip();
    let tests = test_all(&subjects).into_iter();
    pairs.into_iter().zip(tests.map(|test| test.estimate(LEVEL).exp())).collect()
}

/// The log speedups of each subject by the number of the block.
pub(super) fn by_subject<'a>(
    blocks: impl IntoIterator<Item = &'a ArmBlock>,
    settings: &Settings,
    over: &Settings,
) -> BTreeMap<ArmSubject, LaunchLogs> {
    let mut subjects: BTreeMap<ArmSubject, LaunchLogs> = BTreeMap::new();
    for (number, block) in (0..).zip(blocks) {
        for (subject, log) in block.log_speedups(settings, over) {
            subjects.entry(subject).or_default().insert(number, log);
        }
    }
    subjects
}

/// The mean log speedup of each combination over the default for each subject. In the blocks `around` another combination
/// it is the one over that, and that one's over the default in all blocks.
pub(super) fn mean_log_speedups(
    blocks: &[ArmBlock],
    (around, base): (&[ArmBlock], &Settings),
) -> BTreeMap<Settings, BTreeMap<ArmSubject, f64>> {
    let mean_over = |settings: &Settings, over: &Settings, blocks: &[ArmBlock]| {
        let logs = by_subject(blocks, settings, over).into_iter();
        logs.map(|(subject, logs)| (subject, mean(logs.values()))).collect::<BTreeMap<ArmSubject, f64>>()
    };
    let combinations: BTreeSet<&Settings> = blocks.iter().flat_map(|block| block.launches.keys()).collect();
    let of_base = mean_over(base, &Settings::new(), blocks);
    let means = |settings: &Settings| {
        if settings == base || !around.iter().any(|block| block.launches.contains_key(settings)) {
            return mean_over(settings, &Settings::new(), blocks);
        }
        let over_base = mean_over(settings, base, around).into_iter();
        over_base.filter_map(|(subject, log)| Some((subject.clone(), log + of_base.get(&subject)?))).collect()
    };
    combinations.into_iter().map(|settings| (settings.clone(), means(settings))).collect()
}

/// The standard deviation between blocks of the log speedup over the default of each subject, pooled over combinations: none
/// if all have a single block.
pub(super) fn deviations(blocks: &[ArmBlock]) -> BTreeMap<ArmSubject, f64> {
    let launched = blocks.iter().flat_map(|block| block.launches.keys());
    // The default does not deviate from itself.
    let combinations: BTreeSet<&Settings> = launched.filter(|settings| !settings.is_empty()).collect();
    let mut own: BTreeMap<ArmSubject, Vec<Variance>> = BTreeMap::new();
    for (subject, logs) in combinations.into_iter().flat_map(|it| by_subject(blocks, it, &Settings::new())) {
        own.entry(subject).or_default().push(Variance::from_values(logs.values()));
    }
    let pooled = own.into_iter().map(|(subject, own)| (subject, Variance::pooled(own)));
    pooled.filter(|(_, it)| it.degrees > 0.0).map(|(subject, it)| (subject, it.value.sqrt())).collect()
}
