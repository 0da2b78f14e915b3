//! The launches of a block, one of each combination, and speedups within it.

use std::collections::BTreeMap;

use collrules_record::Estimate;
use collrules_record::settings::{Measure, Settings};

use crate::statistics::{Variance, mean};

/// The confidence of every interval.
pub(super) const LEVEL: f64 = 0.95;

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
    pub fn log_speedups(&self, settings: &Settings, over: &Settings) -> BTreeMap<Measure, f64> {
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

/// The mean log speedup of a combination over another one for each subject, over the blocks that have both.
pub(super) fn mean_log_speedups(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
) -> BTreeMap<Measure, f64> {
    let mut logs: BTreeMap<Measure, Vec<f64>> = BTreeMap::new();
    for (subject, log) in blocks.iter().flat_map(|block| block.log_speedups(settings, over)) {
        logs.entry(subject).or_default().push(log);
    }
    logs.into_iter().map(|(subject, logs)| (subject, mean(&logs))).collect()
}

/// The logarithms of a combination's mean speedup in each block that has it.
pub(super) fn logs_by_block(blocks: &[SettingsBlock], settings: &Settings, over: &Settings) -> Vec<f64> {
    blocks.iter().filter_map(|block| block.mean_log_speedup(settings, over, &|_| 1.0)).collect()
}

/// The speedup of a combination, as a geometric mean over subjects and blocks; `spread` is the standard deviation of one
/// block's logarithm, for combinations with too few blocks to show it.
pub fn speedup(blocks: &[SettingsBlock], settings: &Settings, over: &Settings, spread: f64) -> Option<Estimate> {
    let logs = logs_by_block(blocks, settings, over);
    let mean = Estimate::mean(&logs, LEVEL)?;
    // Two or three blocks may agree by chance.
    let reach = 2.0 * spread / (logs.len() as f64).sqrt();
    let own = mean.high.map_or(0.0, |high| high - mean.point);
    let reach = if logs.len() < 4 { reach.max(own.min(2.0 * reach)) } else { own.max(reach / 2.0) };
    let reach = if spread.is_finite() { reach } else { f64::INFINITY };
    Some(Estimate::ratio(mean.point, reach, LEVEL, logs.len()))
}

/// The standard deviation of the logarithm of a mean speedup from block to block, over all combinations with several blocks.
pub fn spread(blocks: &[SettingsBlock]) -> Option<f64> {
    let default = Settings::new();
    let mut combinations: Vec<&Settings> = blocks.iter().flat_map(|block| block.launches.keys()).collect();
    combinations.sort_unstable();
    combinations.dedup();
    let each = combinations.into_iter().filter(|settings| !settings.is_empty());
    let pooled = each
        .map(|settings| Variance::from_values(&logs_by_block(blocks, settings, &default)))
        .fold(Variance::default(), Variance::and);
    (pooled.degrees > 0.0).then(|| pooled.value().sqrt())
}
