//! Result of the search for settings, in sentences and tables.

use collrules_record::Estimate;
use collrules_record::settings::{
    FailedSettings, Finalist, Guard, MemoryUse, RulesUse, SettingEffect, Settings, SettingsFailure, SettingsFindings,
    SettingsVerdict,
};
use collrules_rules::settings::catalogue::SettingPlace;
use collrules_rules::settings::offer::SettingOmission;
use collrules_rules::settings::show_value;
use collrules_rules::words::{counted, listed, some};

use crate::document::{Block, Document};
use crate::words::{describe_way, ratio, times};

/// Names that a sentence lists at most.
const LISTED: usize = 4;

/// Reason why the rules of a run are not part of its tuning.
pub(crate) const RULES_ADD_NOTHING: &str = "With these settings the rules add nothing, so no rules are installed.";

/// Like [`RULES_ADD_NOTHING`], without time to compare them.
pub(crate) const RULES_NOT_COMPARED: &str =
    "The rules were not compared with these settings, so no rules are installed.";

/// Settings in words: `btl_sm_eager_limit = 32 KiB and smsc = ^cma`.
pub(crate) fn name(settings: &Settings) -> String {
    let each: Vec<String> =
        settings.iter().map(|(name, value)| format!("{name} = {}", show_value(name, value))).collect();
    listed(&each)
}

/// The reason why a setting is not tried, in a phrase.
pub fn omission(left_out: &SettingOmission) -> String {
    match left_out {
        SettingOmission::Preset(source) => {
            format!("already set by {source}; name it with --setting to try other values")
        }
        SettingOmission::OtherTransport => "another transport carries the messages".to_owned(),
        SettingOmission::NoRanks(SettingPlace::Node) => "no two ranks share a node".to_owned(),
        SettingOmission::NoRanks(_) => "all ranks are on one node".to_owned(),
        SettingOmission::NoOtherValue => "this Open MPI has no other value".to_owned(),
    }
}

/// The failure of launches with settings, in a phrase.
pub fn failure(why: &SettingsFailure) -> String {
    match why {
        SettingsFailure::Job(message) => message.clone(),
        SettingsFailure::Wrong { measure, finding } => format!("wrong result in {measure}: {finding}"),
        SettingsFailure::Ignored { name, set, found } => format!("Open MPI ignores {name} = {set}: ranks have {found}"),
    }
}

/// The result, verdict first.
pub fn sentences(found: &SettingsFindings) -> Vec<String> {
    let mut said = Vec::new();
    match found.chosen.and_then(|chosen| found.finalists.get(chosen)) {
        Some(finalist) => said.extend(describe_chosen(found, finalist)),
        None if found.loses() => said.push("Settings: the chosen ones are removed.".to_owned()),
        None => match found.finalists.first() {
            Some(finalist) => said.extend(describe_refused(finalist)),
            None => said.push("Settings: none of those that were tried makes these collectives faster.".to_owned()),
        },
    }
    if let Some(chosen) = found.chosen {
        for finalist in found.finalists.iter().take(chosen) {
            said.extend(describe_refused(finalist));
        }
    }
    said.extend(validation_sentence(found));
    said.extend(
        found.failed.iter().map(|failed| format!("Left out: {} ({}).", name(&failed.settings), failure(&failed.why))),
    );
    said.push(format!(
        "{} of {} settings were tried in {}, which took {}.",
        counted(found.effects.len(), "value"),
        found.settings().len(),
        counted(found.launches, "launch"),
        found.seconds.rounded(),
    ));
    said
}

/// The last comparison of the whole tuning with the default.
pub fn document(found: &SettingsFindings) -> Document {
    let compared = found.validation.as_ref().and_then(|validation| validation.compared.as_ref());
    Document {
        subject: "the whole tuning in fresh launches".to_owned(),
        answer: validation_sentence(found).into_iter().collect(),
        blocks: compared.map(guards).into_iter().collect(),
        ..Document::default()
    }
}

/// The last comparison of the whole tuning with the default, verdict first.
pub(crate) fn validation_sentence(found: &SettingsFindings) -> Option<String> {
    let validation = found.validation.as_ref()?;
    let verdict = match (&validation.failed, &validation.compared) {
        (Some(why), _) => format!("FAILED: jobs with it do not end well ({})", failure(why)),
        (None, None) => return None,
        (None, Some(whole)) => {
            let over = format!("{} over all sizes ({})", ratio(whole.speedup), counted(whole.pairs as usize, "pair"));
            let lost = with_guard(whole, Guard::Lost);
            let undecided = || with_guard(whole, Guard::Undecided).len();
            match whole.standing {
                _ if !lost.is_empty() => format!("SLOWER: {over}; it slows down {}", some(&lost, LISTED)),
                _ if validation.loses() => format!("SLOWER: {over}"),
                SettingsVerdict::Confirmed => {
                    format!("CONFIRMED: {over}; a loss beyond the limit is excluded everywhere")
                }
                _ if undecided() > 0 => format!("{over}; {}", not_excluded(whole)),
                _ => format!("NOT CONFIRMED: {over}"),
            }
        }
    };
    Some(format!("Whole tuning in fresh launches: {verdict}."))
}

/// The sizes and messages with this verdict, the slowest first.
fn with_guard(finalist: &Finalist, wanted: Guard) -> Vec<String> {
    let mut found: Vec<_> = finalist.guarded.iter().filter(|guarded| guarded.guard == wanted).collect();
    found.sort_by(|one, other| one.speedup.point.total_cmp(&other.speedup.point));
    found.iter().map(|guarded| format!("{} {}", guarded.name, times(guarded.speedup.point))).collect()
}

fn not_excluded(finalist: &Finalist) -> String {
    let undecided = with_guard(finalist, Guard::Undecided);
    format!(
        "for {} of {} a loss beyond the limit is not excluded; a longer --budget may decide it",
        undecided.len(),
        counted(finalist.guarded.len(), "size"),
    )
}

/// The reason why settings that are faster are not installed.
pub(crate) fn refusal(finalist: &Finalist) -> String {
    let lost = with_guard(finalist, Guard::Lost);
    if lost.is_empty() { not_excluded(finalist) } else { format!("slower for {}", some(&lost, LISTED)) }
}

fn describe_chosen(found: &SettingsFindings, finalist: &Finalist) -> Vec<String> {
    let mut said = vec![format!(
        "Settings: {} faster with {}, over all sizes that were asked for ({} on {}, {}{}).",
        ratio(finalist.speedup),
        name(&finalist.settings),
        counted(finalist.pairs, "pair"),
        some(&found.nodes, LISTED),
        describe_way(finalist.apart.as_deref()),
        finalist.control.map_or_else(String::new, |control| format!("; control {}", ratio(control))),
    )];
    if let Some(both) = finalist.with_rules {
        said.push(format!("With the rules on top: {}.", ratio(both)));
    }
    if finalist.rules == RulesUse::NotCompared {
        said.push(RULES_NOT_COMPARED.to_owned());
    }
    said.extend(finalist.memory.map(describe_memory));
    let controls = finalist.guarded.iter().filter(|guarded| !guarded.is_asked_for).count();
    let began = if found.validation.is_some() { "When they were chosen, no" } else { "No" };
    said.push(format!(
        "{began} size was slower by more than the limit, and neither was any of the {controls} members of the guard set: \
         other collectives and plain messages. The settings act on programs without collectives too."
    ));
    said
}

/// Smallest relevant difference of memory, as a share.
const MEMORY_RESOLUTION: f64 = 0.01;

/// Describes what the settings cost in memory here, and in jobs of 64, 1024 and 16384 ranks.
fn describe_memory(memory: MemoryUse) -> String {
    let mebibytes = |bytes: f64| format!("{:.1} MiB", bytes / f64::from(1 << 20));
    let mut said = format!(
        "Memory of a rank: {} instead of {} with {}.",
        mebibytes(memory.settings),
        mebibytes(memory.default),
        counted(memory.peers as usize, "peer"),
    );
    if memory.settings - memory.default > MEMORY_RESOLUTION * memory.default {
        let [small, medium, large] = [64, 1024, 16384].map(|ranks| mebibytes(memory.extra(ranks)));
        said += &format!(
            " If all of this grows with the peers on a node or over the network, a rank that talks to all others needs up \
             to {small} more in a job of 64 ranks, {medium} with 1024, {large} with 16384."
        );
    }
    said
}

/// Describes why a combination is not installed for all.
fn describe_refused(finalist: &Finalist) -> Vec<String> {
    if finalist.standing == SettingsVerdict::NoGain {
        return vec![format!(
            "Settings: {} is not shown to be faster: {}.",
            name(&finalist.settings),
            ratio(finalist.speedup)
        )];
    }
    let why = refusal(finalist);
    let set: Vec<String> = finalist.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    vec![format!(
        "Settings: {} is {} faster, but not installed for all: {why}. A program may gain from it: collrules try \
         --setting {}",
        name(&finalist.settings),
        ratio(finalist.speedup),
        set.join(" --setting "),
    )]
}

/// Result of the search, the effect of each value, and losses.
pub(crate) fn blocks(found: &SettingsFindings) -> Vec<Block> {
    vec![
        Block::List(sentences(found)),
        Block::open("", "Effects of settings", vec![effects(found)]),
        Block::section(
            "",
            "Every size under the settings",
            found.finalists.get(found.chosen.unwrap_or(0)).map(guards).into_iter().collect(),
        ),
    ]
}

/// The effect of each value of each setting.
fn effects(found: &SettingsFindings) -> Block {
    let dash = || "\u{2013}".to_owned();
    let rows = found.effects.iter().map(|effect| {
        let class = |wanted: &dyn Fn(u64) -> bool| {
            let logs: Vec<f64> =
                effect.classes.iter().filter(|(end, _)| wanted(end.0)).map(|(_, speedup)| speedup.ln()).collect();
            if logs.is_empty() { dash() } else { times((logs.iter().sum::<f64>() / logs.len() as f64).exp()) }
        };
        let alone = match effect.alone {
            Some(speedup) => describe_effect(speedup),
            None if fails_alone(&found.failed, effect) => "fails".to_owned(),
            None => dash(),
        };
        [
            effect.name.clone(),
            show_value(&effect.name, &effect.value),
            alone,
            effect.combined.map_or_else(dash, ratio),
            class(&|end| end <= 512),
            class(&|end| end > 512 && end <= 64 << 10),
            class(&|end| end > 64 << 10),
        ]
    });
    let heads = ["setting", "value", "alone", "with the best others", "up to 512 B", "up to 64 KiB", "above"];
    Block::table(heads, rows)
}

/// Returns true if jobs with nothing but this value failed.
fn fails_alone(failed: &[FailedSettings], effect: &SettingEffect) -> bool {
    let alone = Settings::from([(effect.name.clone(), effect.value.clone())]);
    failed.iter().any(|failed| failed.settings == alone)
}

/// Largest difference that counts as no effect of a value.
const NO_EFFECT: f64 = 0.03;

/// The speedup by a value; that it has no effect, if its interval says so.
fn describe_effect(speedup: Estimate) -> String {
    let is_within = |end: Option<f64>| end.is_some_and(|end| end.ln().abs() <= NO_EFFECT.ln_1p());
    let none = if is_within(speedup.low) && is_within(speedup.high) { "no effect: " } else { "" };
    format!("{none}{}", ratio(speedup))
}

/// Returns the effect of a combination on every size and every member of the guard set.
fn guards(finalist: &Finalist) -> Block {
    let rows = finalist.guarded.iter().map(|guarded| {
        let guard = match guarded.guard {
            Guard::Passed => "none",
            Guard::Lost => "SLOWER",
            Guard::Undecided => "not excluded",
        };
        let asked = if guarded.is_asked_for { "yes" } else { "guard" };
        [guarded.name.clone(), asked.to_owned(), ratio(guarded.speedup), guard.to_owned()]
    });
    Block::table(["size or message", "asked for", "speedup", "loss above the limit"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_without_an_effect_is_told_from_one_of_which_nothing_is_known() {
        let alone = |low, high| Estimate { point: 1.0, low: Some(low), high: Some(high), level: 0.95, samples: 8 };
        let is_none = |low, high| describe_effect(alone(low, high)).starts_with("no effect");
        assert!(is_none(0.98, 1.02) && !is_none(0.9, 1.02) && !is_none(0.98, 1.1));
    }

    #[test]
    fn a_value_that_was_not_timed_is_told_from_one_that_fails() {
        let set = |settings: &[(&str, &str)]| -> Settings {
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let failed = |settings| FailedSettings { settings: set(settings), why: SettingsFailure::Job(String::new()) };
        let failed = [failed(&[("a", "1")]), failed(&[("a", "1"), ("b", "2")])];
        let effect = |name: &str, value: &str| SettingEffect {
            name: name.to_owned(),
            value: value.to_owned(),
            alone: None,
            combined: None,
            classes: Vec::new(),
        };
        assert!(fails_alone(&failed, &effect("a", "1")));
        assert!(!fails_alone(&failed, &effect("a", "2")) && !fails_alone(&failed, &effect("b", "2")));
    }

    #[test]
    fn memory_is_extrapolated_only_if_it_differs() {
        let mebibytes = |count: f64| count * f64::from(1 << 20);
        let memory = |settings| MemoryUse { default: mebibytes(40.0), settings: mebibytes(settings), peers: 4 };
        assert_eq!(describe_memory(memory(40.1)), "Memory of a rank: 40.1 MiB instead of 40.0 MiB with 4 peers.");
        assert_eq!(describe_memory(memory(38.0)), "Memory of a rank: 38.0 MiB instead of 40.0 MiB with 4 peers.");
        assert_eq!(
            describe_memory(memory(42.0)),
            "Memory of a rank: 42.0 MiB instead of 40.0 MiB with 4 peers. If all of this grows with the peers on a node or \
             over the network, a rank that talks to all others needs up to 31.5 MiB more in a job of 64 ranks, 511.5 MiB \
             with 1024, 8191.5 MiB with 16384."
        );
    }
}
