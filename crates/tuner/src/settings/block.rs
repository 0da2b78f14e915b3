//! The launches of a block, one of each combination, and what several blocks show: speedups, and losses that they exclude.
//!
//! The logarithms of speedups over pairs of launches are trimmed, and tested as in a validation: with few blocks their
//! variances borrow from each other, and what subjects of a launch share counts once (`statistics::launches`). A
//! combination passes the guard if each subject does, so that no correction for their number is needed: with a true loss
//! beyond the limit in any of them, it passes with half the probability of an error.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::estimate::{mean, median};
use collrules_record::settings::{Guard, Measure, Settings};
use collrules_record::{Cell, Estimate};

use crate::statistics::{LaunchLogs, Replicates, test_all};

/// The confidence of every interval.
const LEVEL: f64 = 0.95;

/// The median times of a launch, in seconds.
pub type MeasureTimes = BTreeMap<Measure, f64>;

/// The launches of a block: the default, whose settings are empty, and combinations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsBlock {
    /// The times of each launch that did not fail, by combination.
    pub launches: BTreeMap<Settings, Vec<MeasureTimes>>,
}

impl SettingsBlock {
    /// Adds a launch.
    pub fn push(&mut self, settings: Settings, times: MeasureTimes) {
        self.launches.entry(settings).or_default().push(times);
    }

    /// The launches of a combination.
    fn launches_with(&self, settings: &Settings) -> &[MeasureTimes] {
        self.launches.get(settings).map_or(&[], Vec::as_slice)
    }

    /// The median times over the launches of a combination.
    fn times(&self, settings: &Settings) -> MeasureTimes {
        let mut all: BTreeMap<&Measure, Vec<f64>> = BTreeMap::new();
        for (subject, time) in self.launches_with(settings).iter().flatten() {
            all.entry(subject).or_default().push(*time);
        }
        let medians = all.into_iter().filter_map(|(subject, mut times)| Some((subject.clone(), median(&mut times)?)));
        medians.collect()
    }

    /// The logarithm of the speedup of a combination over another one, for each subject that both timed.
    fn log_speedups(&self, settings: &Settings, over: &Settings) -> BTreeMap<Measure, f64> {
        let (with, without) = (self.times(settings), self.times(over));
        let both = with.iter().filter_map(|(subject, with)| Some((subject.clone(), without.get(subject)?, with)));
        let positive = both.filter(|(_, without, with)| **without > 0.0 && **with > 0.0);
        positive.map(|(subject, without, with)| (subject, (without / with).ln())).collect()
    }

    /// The mean log speedup over the subjects with these weights; none if all are 0.
    pub fn mean_log_speedup(
        &self,
        settings: &Settings,
        over: &Settings,
        weight: &dyn Fn(&Measure) -> f64,
    ) -> Option<f64> {
        weighted_mean(&self.log_speedups(settings, over), weight)
    }
}

/// The mean of the logarithms of subjects with these weights; none if all are 0.
pub(super) fn weighted_mean(logs: &BTreeMap<Measure, f64>, weight: &dyn Fn(&Measure) -> f64) -> Option<f64> {
    let (sum, weights) = logs.iter().fold((0.0, 0.0), |(sum, weights), (subject, log)| {
        let weight = weight(subject);
        (sum + weight * log, weights + weight)
    });
    (weights > 0.0).then(|| sum / weights)
}

/// Share of the pairs of launches at either end whose speedups a mean leaves out.
const LEFT_OUT: f64 = 0.2;

/// Multiple of the usual deviation between launches with the same settings from which on a slower launch is disturbed.
const DISTURBED: f64 = 3.0;

/// The least and the greatest such log slowdown.
const DISTURBANCES: (f64, f64) = (0.05, 0.2);

/// Standard deviation of a normal distribution in units of its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// Standard errors by which the share of disturbed launches may be larger than with the default: more are the settings'
/// own doing.
const BY_CHANCE: f64 = 1.64;

/// Mean log speedup of a combination over another one. It is trimmed, since other work on a host can double the time of a
/// launch, and of every third on a busy one. If the combination itself disturbs launches, all pairs count.
struct PairMean {
    is_trimmed: bool,
}

impl PairMean {
    fn choose(blocks: &[SettingsBlock], settings: &Settings, over: &Settings) -> Self {
        let [own, usual] = [settings, over].map(|it| Disturbed::count(blocks, it));
        Self { is_trimmed: !own.is_more_than(&usual) }
    }

    /// Values whose mean and standard error are those of the trimmed mean of these logarithms.
    ///
    /// Source: K. K. Yuen, The two-sample trimmed t for unequal population variances, 1974.
    fn values(&self, logs: &LaunchLogs) -> LaunchLogs {
        let mut sorted: Vec<f64> = logs.values().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let (all, at) = (sorted.len(), (LEFT_OUT * sorted.len() as f64) as usize);
        if !self.is_trimmed || at == 0 {
            return logs.clone();
        }
        let (low, high) = (sorted[at], sorted[all - 1 - at]);
        let middle = mean(&sorted[at..all - at]);
        let winsorized: LaunchLogs = logs.iter().map(|(number, log)| (*number, log.clamp(low, high))).collect();
        let centre = mean(winsorized.values());
        let (all, kept) = (all as f64, (all - 2 * at) as f64);
        let scale = ((all - 1.0) * all / (kept * (kept - 1.0))).sqrt();
        winsorized.into_iter().map(|(number, log)| (number, middle + scale * (log - centre))).collect()
    }
}

/// The number of disturbed launches of a combination, in which most subjects take longer than in others with the same
/// settings, and of all.
struct Disturbed {
    count: usize,
    all: usize,
}

impl Disturbed {
    fn count(blocks: &[SettingsBlock], settings: &Settings) -> Self {
        let launches: Vec<&MeasureTimes> = blocks.iter().flat_map(|block| block.launches_with(settings)).collect();
        let usual = |subject: &Measure| {
            median(&mut launches.iter().filter_map(|it| it.get(subject).copied()).collect::<Vec<_>>())
        };
        let slowdown = |times: &&MeasureTimes| {
            let logs = times.iter().filter_map(|(subject, time)| Some((time / usual(subject)?).ln()));
            median(&mut logs.collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let slowdowns: Vec<f64> = launches.iter().map(slowdown).collect();
        let deviation = median(&mut slowdowns.iter().map(|slowdown| slowdown.abs()).collect::<Vec<_>>());
        let limit = (DISTURBED * NORMAL * deviation.unwrap_or(0.0)).clamp(DISTURBANCES.0, DISTURBANCES.1);
        Self { count: slowdowns.iter().filter(|it| **it > limit).count(), all: slowdowns.len() }
    }

    /// Returns true if the share is larger than another one beyond chance (two proportions, pooled).
    fn is_more_than(&self, other: &Self) -> bool {
        let share = |it: &Self| it.count as f64 / it.all.max(1) as f64;
        let pooled = (self.count + other.count) as f64 / (self.all + other.all).max(1) as f64;
        let variance = pooled * (1.0 - pooled) * (1.0 / self.all.max(1) as f64 + 1.0 / other.all.max(1) as f64);
        share(self) - share(other) > BY_CHANCE * variance.sqrt()
    }
}

/// The weight of a subject among the requested sizes; 0 for the guard set.
pub fn weight_of(weights: &BTreeMap<Cell, f64>, measure: &Measure) -> f64 {
    match measure {
        Measure::Call(cell) => weights.get(cell).copied().unwrap_or(0.0),
        Measure::Messages(..) => 0.0,
    }
}

/// The speedup of settings over others, as a geometric mean with weights, with the interval of its blocks.
pub fn mean_speedup(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
    weight: &dyn Fn(&Measure) -> f64,
) -> Option<Estimate> {
    let pairs = PairMean::choose(blocks, settings, over);
    let logs = pairs.values(&logs_by_block(blocks, settings, over, weight));
    Estimate::mean(logs.values(), LEVEL).map(Estimate::exp)
}

/// The logarithms of a combination's mean speedup, by the number of the block.
fn logs_by_block(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
    weight: &dyn Fn(&Measure) -> f64,
) -> LaunchLogs {
    let log = |block: &SettingsBlock| block.mean_log_speedup(settings, over, weight);
    (0..).zip(blocks).filter_map(|(number, block)| Some((number, log(block)?))).collect()
}

/// The speedup of each of these combinations over another one, as a geometric mean over subjects and blocks; none without a
/// block of both. Combinations with few blocks borrow the variance of the others.
pub fn speedups(
    blocks: &[SettingsBlock],
    pairs: BTreeSet<(Settings, Settings)>,
) -> BTreeMap<(Settings, Settings), Estimate> {
    let (pairs, subjects): (Vec<_>, Vec<Replicates>) = pairs
        .into_iter()
        .map(|(settings, over)| (logs_by_block(blocks, &settings, &over, &|_| 1.0), (settings, over)))
        .filter(|(logs, _)| !logs.is_empty())
        .map(|(logs, pair)| (pair, Replicates::of_pairs(None, logs)))
        .unzip();
    let tests = test_all(&subjects).into_iter();
    pairs.into_iter().zip(tests.map(|test| test.estimate(LEVEL).exp())).collect()
}

/// The log speedups of each subject by the number of the block.
fn by_subject(blocks: &[SettingsBlock], settings: &Settings, over: &Settings) -> BTreeMap<Measure, LaunchLogs> {
    let mut subjects: BTreeMap<Measure, LaunchLogs> = BTreeMap::new();
    for (number, block) in (0..).zip(blocks) {
        for (subject, log) in block.log_speedups(settings, over) {
            subjects.entry(subject).or_default().insert(number, log);
        }
    }
    subjects
}

/// The logarithm of the time of each subject in the faster half of the launches of a combination. Other work makes launches
/// slow, and none fast.
fn fast_logs(blocks: &[SettingsBlock], settings: &Settings) -> BTreeMap<Measure, f64> {
    let mut all: BTreeMap<Measure, Vec<f64>> = BTreeMap::new();
    for (subject, time) in
        blocks.iter().flat_map(|block| block.launches_with(settings)).flatten().filter(|(_, time)| **time > 0.0)
    {
        all.entry(subject.clone()).or_default().push(time.ln());
    }
    let faster_half = |mut logs: Vec<f64>| {
        logs.sort_by(f64::total_cmp);
        mean(&logs[..logs.len().div_ceil(2)])
    };
    all.into_iter().map(|(subject, logs)| (subject, faster_half(logs))).collect()
}

/// The log speedup of a combination over the default for each subject, in the faster half of the launches of each.
pub(super) fn fast_log_speedups(blocks: &[SettingsBlock], settings: &Settings) -> BTreeMap<Measure, f64> {
    let without = fast_logs(blocks, &Settings::new());
    let with = fast_logs(blocks, settings).into_iter();
    with.filter_map(|(subject, with)| without.get(&subject).map(|without| (subject, without - with))).collect()
}

/// The speedup of each subject, and whether a loss beyond a limit (0.05 is 5 %) is excluded, with intervals that miss with
/// the probability `error`.
pub fn guard(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
    max_loss: f64,
    error: f64,
) -> BTreeMap<Measure, (Estimate, Guard)> {
    let subjects = by_subject(blocks, settings, over);
    let pairs = PairMean::choose(blocks, settings, over);
    let launches: Vec<Replicates> = subjects
        .iter()
        .map(|(subject, logs)| {
            let cell = if let Measure::Call(cell) = subject { Some(*cell) } else { None };
            Replicates::of_pairs(cell, pairs.values(logs))
        })
        .collect();
    let level = 1.0 - error;
    let judged = subjects.into_keys().zip(test_all(&launches)).map(|(subject, test)| {
        let speedup = test.estimate(level).exp();
        let limit = 1.0 - max_loss;
        let guard = match (speedup.low, speedup.high) {
            (Some(low), _) if low >= limit => Guard::Passed,
            (_, Some(high)) if high < limit => Guard::Lost,
            _ => Guard::Undecided,
        };
        (subject, (speedup, guard))
    });
    judged.collect()
}
