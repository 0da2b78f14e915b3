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
use crate::words::{describe_control, describe_way, percent, ratio, times};

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
    match found.chosen() {
        Some(finalist) => said.extend(describe_chosen(found, finalist)),
        None if found.loses() => said.push("Settings: the chosen ones are removed.".to_owned()),
        None => match found.foremost() {
            Some(finalist) => said.extend(describe_refused(found, finalist)),
            None => said.push(describe_uncompared(found)),
        },
    }
    if let Some(chosen) = found.chosen {
        for finalist in found.finalists.iter().take(chosen) {
            said.extend(describe_refused(found, finalist));
        }
    }
    said.extend(validation_sentence(found));
    said.extend(
        found.failed.iter().map(|failed| format!("Left out: {} ({}).", name(&failed.settings), failure(&failed.why))),
    );
    said.push(describe_tried(found));
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
                    format!("CONFIRMED: {over}; no size is more than {} slower", percent(whole.max_loss))
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
    found.iter().map(|guarded| format!("{} {}", guarded.subject, times(guarded.speedup.point))).collect()
}

fn not_excluded(finalist: &Finalist) -> String {
    let undecided = with_guard(finalist, Guard::Undecided);
    format!(
        "{} of {} may be more than {} slower; a longer --budget would tell",
        undecided.len(),
        counted(finalist.guarded.len(), "call"),
        percent(finalist.max_loss),
    )
}

/// The reason why settings that were compared are not installed.
pub(crate) fn refusal(found: &SettingsFindings, finalist: &Finalist) -> String {
    match finalist.standing {
        _ if found.loses() => "removed, since the whole tuning was slower in fresh launches".to_owned(),
        SettingsVerdict::NoGain => "not shown to be faster".to_owned(),
        SettingsVerdict::Harmful => format!("slower for {}", some(&with_guard(finalist, Guard::Lost), LISTED)),
        SettingsVerdict::Undecided => not_excluded(finalist),
        SettingsVerdict::Confirmed => finalist.control.map_or("another is better".to_owned(), describe_control),
    }
}

/// The best value of a search that compared none over all sizes.
fn describe_uncompared(found: &SettingsFindings) -> String {
    let gain = |effect: &&SettingEffect| effect.alone.and_then(|alone| alone.low).filter(|low| *low > 1.0);
    let seem = found.effects.iter().filter(|effect| gain(effect).is_some());
    let best = seem.max_by(|a, b| gain(a).unwrap_or(1.0).total_cmp(&gain(b).unwrap_or(1.0)));
    let alone = best.and_then(|best| Some((best, best.alone?)));
    match alone {
        Some((SettingEffect { name, value, .. }, alone)) => format!(
            "Settings: none was compared with the default over all sizes. In the search, {name} = {} looked {} faster; a \
             longer --budget would tell.",
            show_value(name, value),
            ratio(alone),
        ),
        None => "Settings: none of those that were tried is shown to be faster.".to_owned(),
    }
}

/// A line for the last screen on a search that ended without settings to install; none if one was compared.
pub(crate) fn describe_end(found: &SettingsFindings) -> Option<String> {
    let is_none = found.finalists.is_empty() && !found.effects.is_empty();
    is_none.then(|| describe_uncompared(found).trim_start_matches("Settings: ").to_owned())
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
        "{began} size was more than {} slower, and none of {controls} other calls: other sizes, other collectives, plain \
         messages. The settings act on programs without collectives too.",
        percent(finalist.max_loss),
    ));
    said
}

/// Describes what the settings cost in memory here.
fn describe_memory(memory: MemoryUse) -> String {
    let mebibytes = |bytes: f64| format!("{:.1} MiB", bytes / f64::from(1 << 20));
    let (with, without) = (mebibytes(memory.settings), mebibytes(memory.default));
    format!("Memory of a rank: {with} instead of {without} with {}.", counted(memory.peers as usize, "peer"))
}

/// Describes why a combination is not installed for all.
fn describe_refused(found: &SettingsFindings, finalist: &Finalist) -> Vec<String> {
    let why = refusal(found, finalist);
    if finalist.standing == SettingsVerdict::NoGain {
        return vec![format!("Settings: {} is {why}: {}.", name(&finalist.settings), ratio(finalist.speedup))];
    }
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
        Block::section("", "Every size under the settings", found.foremost().map(guards).into_iter().collect()),
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

/// The values that were tried, of all that were to be.
fn describe_tried(found: &SettingsFindings) -> String {
    let is_tried = |it: &&SettingEffect| it.alone.is_some() || it.combined.is_some() || fails_alone(&found.failed, it);
    let (tried, all) = (found.effects.iter().filter(is_tried).count(), found.effects.len());
    let values = counted(all, "value");
    let (values, others) = match tried < all {
        true => (format!("{tried} of {values}"), " There was no time for the others."),
        false => (values, ""),
    };
    let (launches, took) = (counted(found.launches, "launch"), found.seconds.rounded());
    format!("{values} of {} settings were tried in {launches}, which took {took}.{others}", found.settings().len())
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
    let limit = 1.0 - finalist.max_loss;
    let rows = finalist.guarded.iter().map(|guarded| {
        let guard = match guarded.guard {
            Guard::Passed if guarded.speedup.low.is_none_or(|low| low < limit) => "no, together with similar sizes",
            Guard::Passed => "no",
            Guard::Lost => "SLOWER",
            Guard::Undecided => "possible",
        };
        let asked = if guarded.is_asked_for { "yes" } else { "guard" };
        [guarded.subject.to_string(), asked.to_owned(), ratio(guarded.speedup), guard.to_owned()]
    });
    let loses = format!("more than {} slower", percent(finalist.max_loss));
    Block::table(["size or message", "asked for", "speedup", loses.as_str()], rows)
}

#[cfg(test)]
mod tests {
    use collrules_record::condition::Condition;
    use collrules_record::pattern::ArmSubject;
    use collrules_record::settings::{FORMAT, Guarded};
    use collrules_record::{Bytes, Cell, Ranks, Seconds};
    use collrules_rules::Collective;

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
        let timed = SettingEffect { alone: Some(estimate(1.5)), ..effect("b", "1") };
        let found = |effects| SettingsFindings { effects, failed: failed.to_vec(), ..searched(Vec::new()) };
        let text = describe_tried(&found(vec![timed.clone(), effect("a", "1"), effect("b", "2")]));
        assert!(text.starts_with("2 of 3 values of 2 settings were tried in 24 launches"), "{text}");
        let text = describe_tried(&found(vec![timed, effect("a", "1")]));
        assert!(text.starts_with("2 values of 2 settings were tried"), "{text}");
    }

    fn estimate(point: f64) -> Estimate {
        Estimate { point, low: Some(point * 0.95), high: Some(point * 1.05), level: 0.95, samples: 8 }
    }

    /// A search with these finalists, of which none is part of the tuning.
    fn searched(finalists: Vec<Finalist>) -> SettingsFindings {
        SettingsFindings {
            format: FORMAT,
            nodes: vec!["a".to_owned()],
            ranks: Ranks(8),
            launches: 24,
            seconds: Seconds(60.0),
            effects: Vec::new(),
            left_out: Vec::new(),
            failed: Vec::new(),
            finalists,
            chosen: None,
            validation: None,
        }
    }

    /// A combination that is 1.5 times as fast as the default, with this verdict.
    fn finalist(standing: SettingsVerdict, guard: Guard) -> Finalist {
        let cell = Cell { collective: Collective::Bcast, ranks: Ranks(8), bytes: Bytes(8) };
        let guarded = |speedup| Guarded {
            subject: ArmSubject::Call(cell, Condition::UNALIGNED),
            is_asked_for: true,
            speedup,
            guard,
        };
        Finalist {
            settings: Settings::from([("smsc".to_owned(), "^cma".to_owned())]),
            speedup: estimate(1.5),
            with_rules: None,
            rules: RulesUse::LeftOut,
            under: None,
            guarded: vec![guarded(estimate(0.98)), guarded(estimate(1.2))],
            max_loss: 0.1,
            memory: None,
            pairs: 8,
            control: Some(estimate(1.13)),
            apart: None,
            standing,
        }
    }

    #[test]
    fn each_refusal_has_its_own_reason() {
        let refused = |standing, guard| {
            let finalist = finalist(standing, guard);
            refusal(&searched(vec![finalist.clone()]), &finalist)
        };
        let control = refused(SettingsVerdict::Confirmed, Guard::Passed);
        assert!(control.contains(&ratio(estimate(1.13))) && !control.contains("slower"), "{control}");
        let open = refused(SettingsVerdict::Undecided, Guard::Undecided);
        assert!(open.starts_with("2 of 2 calls") && open.contains("10 %"), "{open}");
        let lost = refused(SettingsVerdict::Harmful, Guard::Lost);
        assert!(lost.contains(" 0.98x"), "{lost}");
        assert!(sentences(&searched(vec![finalist(SettingsVerdict::NoGain, Guard::Passed)]))[0].contains("not shown"));
    }

    /// More time would help the other one.
    #[test]
    fn what_is_open_is_told_of_before_what_is_harmful() {
        let harmful = finalist(SettingsVerdict::Harmful, Guard::Lost);
        let open = finalist(SettingsVerdict::Undecided, Guard::Undecided);
        let found = searched(vec![harmful, open.clone()]);
        assert_eq!(found.foremost(), Some(&open));
        assert!(sentences(&found)[0].contains("2 of 2 calls"), "{:?}", sentences(&found));
    }

    #[test]
    fn a_value_that_looked_faster_is_not_called_slow() {
        let mut found = searched(Vec::new());
        found.effects = [("slow", 0.9), ("fast", 1.58)]
            .map(|(value, point)| SettingEffect {
                name: "smsc".to_owned(),
                value: value.to_owned(),
                alone: Some(estimate(point)),
                combined: None,
                classes: Vec::new(),
            })
            .to_vec();
        let end = describe_end(&found).expect("a line");
        assert!(end.contains("smsc = fast") && end.contains("1.58x") && !end.contains("slow"), "{end}");
        found.effects.pop();
        assert!(!describe_end(&found).expect("a line").contains("0.90x"));
        assert_eq!(describe_end(&searched(vec![finalist(SettingsVerdict::NoGain, Guard::Passed)])), None);
    }

    #[test]
    fn losses_are_judged_by_the_limit_that_is_named() {
        let Block::Table(table) = guards(&finalist(SettingsVerdict::Confirmed, Guard::Passed)) else {
            panic!("no table")
        };
        let text = table.text(120);
        assert!(text.contains("more than 10 % slower"), "{text}");
        let words = |row: usize| text.lines().nth(row).and_then(|line| line.split(") ").nth(1)).map(str::trim);
        assert_eq!(words(2), Some("no"), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("no")), "0.93 is within 10 %: {text}");
        let strict = Finalist { max_loss: 0.05, ..finalist(SettingsVerdict::Confirmed, Guard::Passed) };
        let Block::Table(table) = guards(&strict) else { panic!("no table") };
        assert!(table.text(120).contains("similar sizes"), "0.93 alone excludes no loss of 5 %");
    }
}
