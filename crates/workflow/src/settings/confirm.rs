//! Comparison of the finalists with the default in fresh launches, over all sizes and the guard set.

use std::collections::BTreeSet;

use collrules_record::settings::{Finalist, Guard, Guarded, Measure, SearchStage, Settings, SettingsVerdict, describe};
use collrules_record::{Cell, Estimate};
use collrules_tuner::settings::{SettingsBlock, SettingsLauncher, guard};

use super::jobs::SettingsJobs;
use crate::error::WorkflowError;

/// Numbers of pairs of launches after which the finalists are judged.
const LOOKS: [u32; 4] = [4, 8, 12, 16];

/// Finalists to confirm, with the rules of the run and the limits for a decision.
pub(super) struct Confirmation<'a> {
    pub(super) finalists: &'a [Settings],
    /// Settings that switch the rules of the run on; empty without rules.
    pub(super) rules: &'a Settings,
    pub(super) asked: &'a [Cell],
    pub(super) max_loss: f64,
    pub(super) min_gain: f64,
}

/// Compares the finalists with the default, and the best of them also with the rules of the run, until one is
/// confirmed, all are decided, or no time is left. Returns them, the best first, and the index of the one that may be
/// installed.
pub(super) fn confirm(
    confirmation: &Confirmation<'_>,
    jobs: &mut SettingsJobs<'_, '_>,
) -> Result<(Vec<Finalist>, Option<usize>), WorkflowError> {
    let Confirmation { finalists, rules, .. } = confirmation;
    let with_rules =
        |settings: &Settings| settings.iter().chain(rules.iter()).map(|(k, v)| (k.clone(), v.clone())).collect();
    let mut open: Vec<Settings> = finalists.to_vec();
    if let Some(best) = finalists.first().filter(|_| !rules.is_empty()) {
        open.extend([with_rules(best), (*rules).clone()]);
    }
    for settings in *finalists {
        jobs.session.say(&format!("settings: comparing {} with the default over all sizes", describe(settings)));
    }
    let mut blocks: Vec<SettingsBlock> = Vec::new();
    let mut judged: Vec<Finalist> = Vec::new();
    'looks: for pairs in LOOKS {
        while (blocks.len() as u32) < pairs {
            match jobs.block(SearchStage::Confirmation, blocks.len() as u32, &open)? {
                Some(block) => blocks.push(block),
                None => break 'looks,
            }
        }
        judged = confirmation.judge(&blocks);
        let is_open =
            |finalist: &Finalist| matches!(finalist.standing, SettingsVerdict::Undecided | SettingsVerdict::Confirmed);
        if judged.first().is_none_or(|best| best.standing == SettingsVerdict::Confirmed) || !judged.iter().any(is_open)
        {
            break;
        }
    }
    if judged.is_empty() || blocks.len() as u32 > judged[0].pairs {
        judged = confirmation.judge(&blocks);
    }
    for finalist in &mut judged {
        finalist.memory = jobs.memory(&finalist.settings);
    }
    let chosen = judged.iter().position(|finalist| finalist.standing == SettingsVerdict::Confirmed);
    Ok((judged, chosen))
}

impl Confirmation<'_> {
    /// The finalists with the results of the launches, the fastest first. Those that failed are left out.
    fn judge(&self, blocks: &[SettingsBlock]) -> Vec<Finalist> {
        let mut judged: Vec<Finalist> =
            self.finalists.iter().filter_map(|settings| self.judge_one(blocks, settings)).collect();
        judged.sort_by(|one, other| other.best_speedup().total_cmp(&one.best_speedup()));
        judged
    }

    fn judge_one(&self, blocks: &[SettingsBlock], settings: &Settings) -> Option<Finalist> {
        let default = Settings::new();
        let both: Settings = settings.iter().chain(self.rules.iter()).map(|(k, v)| (k.clone(), v.clone())).collect();
        let alone = self.speedup(blocks, settings)?;
        let with_rules = if self.rules.is_empty() { None } else { self.speedup(blocks, &both) };
        let rules_alone = if self.rules.is_empty() { None } else { self.speedup(blocks, self.rules) };
        // The rules stay if they add to the gain of the settings.
        let keeps_rules = with_rules.is_some_and(|both| both.point >= alone.point);
        let (best, speedup) = if keeps_rules { (&both, with_rules.unwrap_or(alone)) } else { (settings, alone) };
        let asked: BTreeSet<&Cell> = self.asked.iter().collect();
        let guards = guard(blocks, best, &default, self.max_loss, LOOKS.len() as u32);
        let guarded: Vec<Guarded> = guards
            .into_iter()
            .map(|(measure, (speedup, guard))| {
                let is_asked_for = matches!(&measure, Measure::Call(cell) if asked.contains(cell));
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
            speedup: alone,
            with_rules,
            rules_alone,
            keeps_rules,
            guarded,
            memory: None,
            pairs: blocks.len() as u32,
            standing,
        })
    }

    /// The speedup over the default, as a geometric mean over the tuned sizes, with the interval of its blocks.
    fn speedup(&self, blocks: &[SettingsBlock], settings: &Settings) -> Option<Estimate> {
        let asked: BTreeSet<&Cell> = self.asked.iter().collect();
        let wanted = |measure: &Measure| matches!(measure, Measure::Call(cell) if asked.contains(cell));
        let logs = blocks.iter().filter_map(|block| block.mean_log_speedup(settings, &Settings::new(), &wanted));
        Estimate::mean(logs, 0.95).map(Estimate::exp)
    }
}
