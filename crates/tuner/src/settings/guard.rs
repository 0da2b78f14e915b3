//! Test that excludes a loss beyond a limit.
//!
//! The logarithms of the speedups of a subject over pairs of launches are assumed to be normal. With few pairs their
//! variances borrow from each other; since subjects of a launch share its noise, the borrowed part has the weight of
//! three times a subject's own pairs at most. A combination passes if each subject does, so that no correction for
//! their number is needed: with a true loss beyond the limit in any of them, it passes with a probability of at most
//! 2.5 % per look.

use std::collections::BTreeMap;

use collrules_record::Estimate;
use collrules_record::settings::{Guard, Measure, Settings};

use super::block::{LEVEL, SettingsBlock};
use crate::statistics::{LogRatio, Variance, mean};
use crate::validation::moderation::{CellVariance, moderate};
use crate::validation::noise::FLOOR;

/// Largest ratio of a variance's degrees of freedom to the subject's own.
const WORTH: f64 = 4.0;

/// The speedup of each subject, and whether a loss beyond a limit (0.05 is 5 %) is excluded. `looks` is the number of
/// tests of the growing data.
pub fn guard(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
    max_loss: f64,
    looks: u32,
) -> BTreeMap<Measure, (Estimate, Guard)> {
    let mut logs: BTreeMap<Measure, Vec<f64>> = BTreeMap::new();
    for block in blocks {
        for (subject, log) in block.log_speedups(settings, over) {
            logs.entry(subject).or_default().push(log);
        }
    }
    let own: Vec<CellVariance> = logs.values().map(|logs| own(logs)).collect();
    let degrees: f64 = own.iter().map(|own| own.degrees).sum();
    let level = 1.0 - (1.0 - LEVEL) / f64::from(looks.max(1));
    let moderated = if degrees > 0.0 { moderate_each(&own, degrees) } else { own };
    let judged = logs.into_iter().zip(moderated).map(|((subject, logs), CellVariance { variance, degrees })| {
        let speedup = LogRatio::new(mean(&logs), variance, degrees, logs.len()).estimate(level);
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

fn moderate_each(own: &[CellVariance], all: f64) -> Vec<CellVariance> {
    let most = own.iter().map(|own| own.degrees).fold(0.0, f64::max);
    moderate(own, all.min(WORTH * most))
}

fn own(logs: &[f64]) -> CellVariance {
    let own = Variance::from_values(logs);
    let variance = if own.degrees > 0.0 { own.value().max(FLOOR * FLOOR) } else { 0.0 };
    CellVariance { variance, degrees: own.degrees }
}
