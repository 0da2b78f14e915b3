//! The search for settings of a whole job: its result.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::settings::offer::SettingOmission;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::file::Digests;
use crate::file::FormatVersion;
use crate::pattern::ArmSubject;
use crate::units::{Bytes, Ranks, Seconds};
use crate::validation::Round;

/// The format of `settings.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 3, minor: 0 };

/// Settings by name: MCA parameters, and environment variables after `env:`. Empty is the default.
pub type Settings = BTreeMap<String, String>;

/// The text form of settings: `NAME=VALUE NAME=VALUE`, or `default`.
pub fn describe(settings: &Settings) -> String {
    if settings.is_empty() {
        return "default".to_owned();
    }
    let each: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    each.join(" ")
}

/// Rules that the parameter files name together with settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RulesUse {
    /// None: there are none, or they are not shown to be faster under the settings.
    #[default]
    LeftOut,
    /// None: they were not compared under the settings.
    NotCompared,
    /// Those that were decided without the settings.
    Shared,
}

/// The result of a search for settings: `settings.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingsFindings {
    /// Its format.
    pub format: FormatVersion,
    /// The host names of the nodes.
    pub nodes: Vec<String>,
    /// The ranks of each job.
    pub ranks: Ranks,
    /// Number of all launches.
    pub launches: u32,
    /// Duration of all launches.
    pub seconds: Seconds,
    /// The effect of each value of each setting.
    pub effects: Vec<SettingEffect>,
    /// Settings that were not tried.
    pub left_out: Vec<LeftOutSetting>,
    /// Combinations with which jobs failed.
    pub failed: Vec<FailedSettings>,
    /// The best combinations, compared with the default over all sizes and the guard set; the best comes first.
    pub finalists: Vec<Finalist>,
    /// The index of the finalist that is part of the tuning.
    pub chosen: Option<usize>,
    /// Last comparison of the whole tuning with the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<WholeValidation>,
}

/// Comparison of a whole tuning with the default: settings, with the rules that are named with them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeValidation {
    /// The digests of the rules files.
    pub digests: Digests,
    /// The result; missing if jobs with the tuning failed.
    pub compared: Option<Finalist>,
    /// The failure of a job with the tuning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<SettingsFailure>,
}

impl WholeValidation {
    /// Returns true if jobs failed, a size or a member of the guard set is slower by more than the limit, or the mean
    /// over the requested sizes is slower.
    pub fn loses(&self) -> bool {
        let is_slower = |it: &Finalist| {
            let is_lost = it.guarded.iter().any(|guarded| guarded.guard == Guard::Lost);
            is_lost || it.speedup.high.is_some_and(|high| high < 1.0)
        };
        self.failed.is_some() || self.compared.as_ref().is_some_and(is_slower)
    }
}

/// The effect of a value of a setting, as a speedup over the screened sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingEffect {
    /// The setting.
    pub name: String,
    /// The value.
    pub value: String,
    /// The speedup over the default, with all other settings at their default.
    pub alone: Option<Estimate>,
    /// The speedup over the default of this setting, with the others as in the best combination.
    pub combined: Option<Estimate>,
    /// The speedup alone for each class of message sizes, by the largest size of the class.
    pub classes: Vec<(Bytes, f64)>,
}

/// A setting that was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutSetting {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: SettingOmission,
}

/// Reason why the launches of a combination do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsFailure {
    /// The job failed; the first line of its message.
    Job(String),
    /// Results were wrong.
    Wrong {
        /// Name of the collective or messages.
        measure: String,
        /// The check's finding, as in the samples.
        finding: String,
    },
    /// Ranks have another value than the one that was set.
    Ignored {
        /// The parameter.
        name: String,
        /// The value that was set.
        set: String,
        /// The value of a rank.
        found: String,
    },
}

/// A combination with which jobs failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedSettings {
    /// The combination.
    pub settings: Settings,
    /// The failure.
    pub why: SettingsFailure,
}

/// A combination that was compared with the default over all sizes and the guard set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finalist {
    /// The combination.
    pub settings: Settings,
    /// The speedup over the default, as a geometric mean over the requested collectives and sizes.
    pub speedup: Estimate,
    /// The speedup together with the fastest rules under it; missing if there are none, or they were not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_rules: Option<Estimate>,
    /// The rules that add to the settings, and are part of the parameter files.
    #[serde(default)]
    pub rules: RulesUse,
    /// Comparison of the rules under the settings with the settings alone; missing without rules that add to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<Round>,
    /// Results for every size and every member of the guard set.
    pub guarded: Vec<Guarded>,
    /// Limit of their losses, as a share.
    #[serde(default = "usual_limit")]
    pub max_loss: f64,
    /// Memory of a rank after it exchanged messages with all others; missing where the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryUse>,
    /// Pairs of launches.
    pub pairs: u32,
    /// The speedup of a second launch of the default over the first one: 1 if the comparison is right. Missing without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Estimate>,
    /// Reason why launches were compared one after the other; missing if they were compared side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// Verdict on installing it for all.
    pub standing: SettingsVerdict,
}

/// The limit of files that do not name it.
fn usual_limit() -> f64 {
    0.05
}

impl Finalist {
    /// The speedup of what the parameter files set.
    pub fn best_speedup(&self) -> Estimate {
        self.with_rules.filter(|_| self.rules == RulesUse::Shared).unwrap_or(self.speedup)
    }
}

/// Memory of the largest rank at the end of a launch, in bytes, as medians over launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// By default.
    pub default: f64,
    /// With the settings.
    pub settings: f64,
    /// The other ranks of the job.
    pub peers: u32,
}

impl SettingsFindings {
    /// Fails if a name or value holds a control character: with a line break, it would be several lines of a parameter
    /// file.
    pub(crate) fn check(&self) -> Result<(), String> {
        let validated = self.validation.iter().filter_map(|validation| validation.compared.as_ref());
        let compared = self.finalists.iter().chain(validated).map(|finalist| &finalist.settings);
        let combinations = compared.chain(self.failed.iter().map(|failed| &failed.settings)).flatten();
        let effects = self.effects.iter().map(|effect| (&effect.name, &effect.value));
        let is_odd = |(name, value): &(&String, &String)| format!("{name}{value}").contains(char::is_control);
        match combinations.chain(effects).find(is_odd) {
            Some((name, value)) => Err(format!("the setting {name:?} = {value:?} holds a control character")),
            None => Ok(()),
        }
    }

    /// The settings that were tried.
    pub fn settings(&self) -> BTreeSet<&str> {
        self.effects.iter().map(|effect| effect.name.as_str()).collect()
    }

    /// The combination that is part of the tuning.
    pub fn chosen(&self) -> Option<&Finalist> {
        self.finalists.get(self.chosen?)
    }

    /// The combination to tell of: the chosen one, or else the best that further launches may confirm, or else the best.
    pub fn foremost(&self) -> Option<&Finalist> {
        let is_open = |it: &&Finalist| matches!(it.standing, SettingsVerdict::Confirmed | SettingsVerdict::Undecided);
        self.chosen().or_else(|| self.finalists.iter().find(is_open)).or(self.finalists.first())
    }

    /// Leaves out the rules that are part of the tuning with the chosen settings, and what was compared with them.
    pub fn leave_out_rules(&mut self) {
        self.validation = None;
        if let Some(chosen) = self.chosen.and_then(|chosen| self.finalists.get_mut(chosen)) {
            (chosen.rules, chosen.with_rules, chosen.under) = (RulesUse::LeftOut, None, None);
        }
    }

    /// Forgets comparisons of other rules than those of the run: the settings are alone until its rules are compared with them.
    pub fn forget_rules(&mut self) {
        self.leave_out_rules();
        if let Some(chosen) = self.chosen.and_then(|chosen| self.finalists.get_mut(chosen)) {
            chosen.rules = RulesUse::NotCompared;
        }
    }

    /// Returns true if the last comparison of the whole tuning with the default shows a loss.
    pub fn loses(&self) -> bool {
        self.validation.as_ref().is_some_and(WholeValidation::loses)
    }
}

/// A size or message that a setting must not slow down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guarded {
    /// The calls or messages.
    pub subject: ArmSubject,
    /// True if it was requested, and counts in the mean; otherwise it is in the guard set.
    pub is_asked_for: bool,
    /// The speedup over the default.
    pub speedup: Estimate,
    /// Verdict on a loss beyond the limit.
    pub guard: Guard,
}

/// Verdict on a loss above the limit: excluded or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Excluded: the lower end of the interval is above the limit.
    Passed,
    /// The interval lies below the limit.
    Lost,
    /// The interval contains the limit.
    Undecided,
}

/// Verdict on installing a combination for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsVerdict {
    /// It may be installed: it is faster, and nothing loses more than the limit.
    Confirmed,
    /// It is faster, but slows something down.
    Harmful,
    /// It is faster, but a loss of something cannot be excluded.
    Undecided,
    /// It is not shown to be faster.
    NoGain,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_is_more_than_a_line() {
        let found = |name: &str, value: &str| -> SettingsFindings {
            let text = serde_json::json!({
                "format": FORMAT, "nodes": [], "ranks": 2, "launches": 0, "seconds": 0.0, "effects": [], "left_out": [],
                "failed": [{ "settings": { name: value }, "why": { "job": "" } }], "finalists": [], "chosen": null
            });
            serde_json::from_value(text).expect("findings")
        };
        assert_eq!(found("coll_sm_priority", "0").check(), Ok(()));
        assert!(found("coll_sm_priority = 1\ncoll", "0").check().is_err());
        assert!(found("coll_sm_priority", "0\rcoll = ^tuned").check().is_err());
    }
}
