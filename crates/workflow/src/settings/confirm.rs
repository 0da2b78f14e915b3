//! Comparison of the finalists with the default in fresh launches, over all sizes and the guard set.

use collrules_record::Estimate;
use collrules_record::settings::{
    Finalist, Guard, Guarded, Measure, RulesUse, SearchStage, Settings, SettingsVerdict, describe,
};
use collrules_tuner::settings::{SettingsBlock, SettingsLauncher, guard, without_disturbed};

use super::jobs::SettingsJobs;
use super::stage::weight_of;
use super::subjects::Weights;
use crate::error::WorkflowError;

/// Numbers of pairs of launches after which the finalists are judged.
pub(super) const LOOKS: [u32; 5] = [4, 8, 16, 32, 64];

/// Finalists to confirm, with the limits for a decision.
pub(super) struct Confirmation<'a> {
    pub(super) finalists: &'a [Settings],
    pub(super) asked: &'a Weights,
    pub(super) max_loss: f64,
    pub(super) min_gain: f64,
}

/// Compares the finalists with the default, until the best of those that slow nothing down is confirmed, all are
/// decided, or no time is left. Returns them, the best first, and the index of the one that may be installed.
pub(super) fn confirm(
    confirmation: &Confirmation<'_>,
    jobs: &mut SettingsJobs<'_, '_>,
) -> Result<(Vec<Finalist>, Option<usize>), WorkflowError> {
    let mut open: Vec<Settings> = confirmation.finalists.to_vec();
    for settings in confirmation.finalists {
        jobs.session.say(&format!("settings: comparing {} with the default over all sizes", describe(settings)));
    }
    let mut blocks: Vec<SettingsBlock> = Vec::new();
    'looks: for pairs in LOOKS {
        while (blocks.len() as u32) < pairs {
            match jobs.block(SearchStage::Confirmation, blocks.len() as u32, &open)? {
                Some(block) => blocks.push(block),
                None => break 'looks,
            }
        }
        let judged = confirmation.judge(&blocks);
        // What slows something down, or cannot gain enough, needs no further launches.
        let is_open = |it: &Finalist| match it.standing {
            SettingsVerdict::Undecided | SettingsVerdict::Confirmed => true,
            SettingsVerdict::NoGain => it.speedup.high.is_none_or(|high| high >= 1.0 + confirmation.min_gain),
            SettingsVerdict::Harmful => false,
        };
        open.retain(|settings| judged.iter().any(|it| it.settings == *settings && is_open(it)));
        let best = judged.iter().find(|it| open.contains(&it.settings));
        // To exclude losses takes many pairs, for which there is time with one combination.
        if pairs > LOOKS[0] {
            open.retain(|settings| best.is_some_and(|best| best.settings == *settings));
        }
        if best.is_none_or(|best| best.standing == SettingsVerdict::Confirmed) {
            break;
        }
    }
    let mut judged = confirmation.judge(&blocks);
    for finalist in &mut judged {
        finalist.memory = jobs.memory(&finalist.settings);
    }
    let chosen = judged.iter().position(|finalist| finalist.standing == SettingsVerdict::Confirmed);
    Ok((judged, chosen))
}

/// The speedup of settings over others, as a geometric mean with weights, with the interval of its blocks.
pub(super) fn mean_speedup(
    blocks: &[SettingsBlock],
    settings: &Settings,
    over: &Settings,
    weights: &Weights,
) -> Option<Estimate> {
    let weight = |measure: &Measure| weight_of(weights, measure);
    let logs: Vec<f64> = blocks.iter().filter_map(|block| block.mean_log_speedup(settings, over, &weight)).collect();
    Estimate::mean(&logs, 0.95).map(Estimate::exp)
}

impl Confirmation<'_> {
    /// The finalists with the results of the launches, the fastest first. Those that failed are left out.
    fn judge(&self, blocks: &[SettingsBlock]) -> Vec<Finalist> {
        let blocks = &without_disturbed(blocks);
        let mut judged: Vec<Finalist> =
            self.finalists.iter().filter_map(|settings| self.judge_one(blocks, settings)).collect();
        judged.sort_by(|one, other| other.speedup.point.total_cmp(&one.speedup.point));
        judged
    }

    fn judge_one(&self, blocks: &[SettingsBlock], settings: &Settings) -> Option<Finalist> {
        let default = Settings::new();
        let speedup = mean_speedup(blocks, settings, &default, self.asked)?;
        let guards = guard(blocks, settings, &default, self.max_loss, LOOKS.len() as u32);
        let guarded: Vec<Guarded> = guards
            .into_iter()
            .map(|(measure, (speedup, guard))| {
                let is_asked_for = matches!(&measure, Measure::Call(cell) if self.asked.contains_key(cell));
                Guarded { name: measure.to_string(), is_asked_for, speedup, guard }
            })
            .collect();
        let has = |wanted: Guard| guarded.iter().any(|guarded| guarded.guard == wanted);
        let gains = speedup.low.is_some_and(|low| low > 1.0) && speedup.point >= 1.0 + self.min_gain;
        let standing = match () {
            () if !gains => SettingsVerdict::NoGain,
            () if has(Guard::Lost) => SettingsVerdict::Harmful,
            () if has(Guard::Undecided) => SettingsVerdict::Undecided,
            () => SettingsVerdict::Confirmed,
        };
        Some(Finalist {
            settings: settings.clone(),
            speedup,
            with_rules: None,
            rules_alone: None,
            rules: RulesUse::LeftOut,
            guarded,
            memory: None,
            pairs: blocks.iter().filter(|block| block.launches.contains_key(settings)).count() as u32,
            standing,
        })
    }
}
