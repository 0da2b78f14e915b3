//! The launches of a block, one of each combination, and what several blocks show: speedups, and losses that they exclude.
//!
//! The logarithms of speedups over pairs of launches are tested as in a validation: with few blocks their variances borrow
//! from each other, and what subjects of a launch share counts once (`statistics::launches`). A combination passes the
//! guard if each subject does, so that no correction for their number is needed: with a true loss beyond the limit in any
//! of them, it passes with a probability of at most 2.5 % per look.

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
    /// The times of each launch that did not fail.
    pub launches: BTreeMap<Settings, MeasureTimes>,
}

impl SettingsBlock {
    /// The logarithm of the speedup of a combination over another one, for each subject that both timed.
    fn log_speedups(&self, settings: &Settings, over: &Settings) -> BTreeMap<Measure, f64> {
        let Some((with, without)) = self.launches.get(settings).zip(self.launches.get(over)) else {
            return BTreeMap::new();
        };
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

/// Multiple of the usual deviation between launches with the same settings from which on a slower launch is disturbed.
const DISTURBED: f64 = 3.0;

/// The least and the greatest such log slowdown.
const DISTURBANCES: (f64, f64) = (0.05, 0.2);

/// Standard deviation of a normal distribution in units of its median absolute deviation.
const NORMAL: f64 = 1.4826;

/// Largest share of a combination's launches that are left out as disturbed, the slowest first.
const MOST_DISTURBED: f64 = 0.25;

/// Standard errors by which the share of disturbed launches may be larger than with the default: more are the settings'
/// own doing.
const BY_CHANCE: f64 = 1.64;

/// The blocks without disturbed launches, in which most subjects take longer than in other launches with the same
/// settings: other work, or the host of a virtual machine, slowed them down. No subject or speedup is looked at alone.
pub fn without_disturbed(blocks: &[SettingsBlock]) -> Vec<SettingsBlock> {
    let mut undisturbed = blocks.to_vec();
    let combinations: BTreeSet<&Settings> = blocks.iter().flat_map(|block| block.launches.keys()).collect();
    let by_default = Disturbed::find(blocks, &Settings::new());
    for settings in combinations {
        let disturbed = Disturbed::find(blocks, settings);
        if !disturbed.is_more_than(&by_default) {
            let most = (MOST_DISTURBED * disturbed.of as f64) as usize;
            for at in disturbed.blocks.into_iter().take(most) {
                undisturbed[at].launches.remove(settings);
            }
        }
    }
    undisturbed
}

/// The blocks with disturbed launches of a combination, the slowest first, and the number of all.
struct Disturbed {
    blocks: Vec<usize>,
    of: usize,
}

impl Disturbed {
    fn find(blocks: &[SettingsBlock], settings: &Settings) -> Self {
        let launches: Vec<(usize, &MeasureTimes)> =
            blocks.iter().enumerate().filter_map(|(at, block)| Some((at, block.launches.get(settings)?))).collect();
        let usual = |subject: &Measure| {
            median(&mut launches.iter().filter_map(|(_, it)| it.get(subject).copied()).collect::<Vec<_>>())
        };
        let slowdown = |times: &MeasureTimes| {
            let logs = times.iter().filter_map(|(subject, time)| Some((time / usual(subject)?).ln()));
            median(&mut logs.collect::<Vec<_>>()).unwrap_or(0.0)
        };
        let mut slowdowns: Vec<(usize, f64)> = launches.iter().map(|(at, times)| (*at, slowdown(times))).collect();
        slowdowns.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let deviation = median(&mut slowdowns.iter().map(|(_, slowdown)| slowdown.abs()).collect::<Vec<_>>());
        let limit = (DISTURBED * NORMAL * deviation.unwrap_or(0.0)).clamp(DISTURBANCES.0, DISTURBANCES.1);
        let of = slowdowns.len();
        Self { blocks: slowdowns.into_iter().filter(|(_, it)| *it > limit).map(|(at, _)| at).collect(), of }
    }

    fn share(&self) -> f64 {
        self.blocks.len() as f64 / self.of.max(1) as f64
    }

    /// Returns true if the share is larger than another one beyond chance (two proportions, pooled).
    fn is_more_than(&self, other: &Self) -> bool {
        let pooled = (self.blocks.len() + other.blocks.len()) as f64 / (self.of + other.of).max(1) as f64;
        let variance = pooled * (1.0 - pooled) * (1.0 / self.of.max(1) as f64 + 1.0 / other.of.max(1) as f64);
        self.share() - other.share() > BY_CHANCE * variance.sqrt()
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
    let logs: Vec<f64> = blocks.iter().filter_map(|block| block.mean_log_speedup(settings, over, weight)).collect();
    Estimate::mean(&logs, LEVEL).map(Estimate::exp)
}

/// The logarithms of a combination's mean speedup, by the number of the block.
fn logs_by_block(blocks: &[SettingsBlock], settings: &Settings, over: &Settings) -> LaunchLogs {
    let log = |block: &SettingsBlock| block.mean_log_speedup(settings, over, &|_| 1.0);
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
        .map(|(settings, over)| (logs_by_block(blocks, &settings, &over), (settings, over)))
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

/// The mean log speedup of a combination over the default for each subject, over the blocks that have both.
pub(super) fn mean_log_speedups(blocks: &[SettingsBlock], settings: &Settings) -> BTreeMap<Measure, f64> {
    let subjects = by_subject(blocks, settings, &Settings::new());
    subjects.into_iter().map(|(subject, logs)| (subject, mean(logs.values()))).collect()
}

/// The speedup of each subject, and whether a loss beyond a limit (0.05 is 5 %) is excluded. `looks` is the number of
/// tests of the growing data.
pub fn guard(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
    max_loss: f64,
    looks: u32,
) -> BTreeMap<Measure, (Estimate, Guard)> {
    let subjects = by_subject(blocks, settings, over);
    let launches: Vec<Replicates> = subjects
        .iter()
        .map(|(subject, logs)| {
            let cell = if let Measure::Call(cell) = subject { Some(*cell) } else { None };
            Replicates::of_pairs(cell, logs.clone())
        })
        .collect();
    let level = 1.0 - (1.0 - LEVEL) / f64::from(looks.max(1));
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
