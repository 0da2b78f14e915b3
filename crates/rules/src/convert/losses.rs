//! Contents of a source file that are missing from its meaning, or that the target format cannot express.

use std::collections::{BTreeMap, BTreeSet};

use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::{Collective, json_name};
use crate::emit::TargetFormat;
use crate::file::{COMM_RULE_KEYS, CollectiveRules, Format, Loaded, ROOT_KEYS, RULE_KEYS, Rule, RuleState};
use crate::json::{JsonDocument, JsonValue};
use crate::lines::Lines;
use crate::reach::FileView;
use crate::registry;
use crate::span::Span;

/// All losses, by line.
///
/// A rule is dead if it applies to no call in any of the versions that read the source alike: if communicator sizes are
/// listed twice, each release uses another half of them.
pub(super) fn list_losses(
    bytes: &[u8],
    lines: &Lines<'_>,
    source: &Loaded,
    alike: &[Loaded],
    format: TargetFormat,
) -> Vec<(usize, String)> {
    let mut live = BTreeSet::new();
    for reached in std::iter::once(source).chain(alike).flat_map(|loaded| FileView::new(loaded).comm_rules) {
        live.insert(reached.comm_rule.span);
        live.extend(reached.rules().map(|rule| rule.span));
    }
    let mut found: Vec<(Span, String)> = Vec::new();
    match source.format {
        Format::Classic { .. } => comments(bytes, &mut found),
        Format::Json => members(bytes, &mut found),
    }
    for rules in &source.collectives {
        let name = json_name(rules.id);
        match rules.collective {
            None => {
                let words = format!("coll/tuned has no algorithms for {name}; its rules are left out");
                found.push((rules.name, words));
            }
            Some(_) if rules.replaced => {
                let words = format!("later rules for {name} replace these, which are left out");
                found.push((rules.name, words));
            }
            Some(collective) => of_rules(collective, rules, &live, format, &mut found),
        }
    }
    let mut losses: Vec<(usize, String)> =
        found.into_iter().map(|(span, words)| (lines.position(span.start).0, words)).collect();
    losses.sort_by_key(|(line, _)| *line);
    losses
}

fn of_rules(
    collective: Collective,
    rules: &CollectiveRules,
    live: &BTreeSet<Span>,
    format: TargetFormat,
    found: &mut Vec<(Span, String)>,
) {
    for comm_rule in &rules.comm_rules {
        let rules_nothing = || comm_rule.rules.iter().all(|rule| rule.choice.is_builtin());
        if !live.contains(&comm_rule.span) {
            if rules_nothing() {
                // Calls that there are not, left to the builtin: nothing is lost.
                continue;
            }
            let words = format!("these {collective} rules for a communicator size apply to no call and are left out");
            found.push((comm_rule.span, words));
        } else if comm_rule.distribution != Distribution::Any {
            let words = format!("the {collective} rules for {} communicators are left out", comm_rule.distribution);
            found.push((comm_rule.span, words));
        } else {
            found.extend(comm_rule.rules.iter().filter_map(|rule| lost(collective, rule, live, format)));
        }
    }
}

/// Returns the loss of a rule, if the rule cannot be kept in full.
fn lost(collective: Collective, rule: &Rule, live: &BTreeSet<Span>, format: TargetFormat) -> Option<(Span, String)> {
    let Choice { algorithm, max_requests: requests, .. } = rule.choice;
    let known = registry::in_any_release(collective, algorithm);
    let this = format!("this {collective} rule");
    let words = if rule.state == RuleState::Disabled {
        format!("Open MPI drops {this}, since its algorithm does not exist; it is left out")
    } else if !live.contains(&rule.span) {
        format!("{this} applies to no call and is left out")
    } else if algorithm == 0 {
        return None;
    } else if format == TargetFormat::Json && known.is_none() {
        let fails = "which does not exist: its calls fail, and are left to Open MPI instead";
        format!("{this} names algorithm {algorithm}, {fails}")
    } else if format == TargetFormat::Classic && requests != 0 {
        let heeded = known.is_none_or(|known| known.uses.max_requests);
        let effect = if heeded { "its calls change" } else { "its algorithm ignores it" };
        format!("the bound of {requests} requests of {this} is left out; {effect}")
    } else {
        return None;
    };
    Some((rule.span, words))
}

fn comments(bytes: &[u8], found: &mut Vec<(Span, String)>) {
    let mut first = None;
    let (mut count, mut start) = (0, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(place) = line.iter().position(|byte| *byte == b'#') {
            first.get_or_insert(Span::at(start + place));
            count += 1;
        }
        start += line.len() + 1;
    }
    let words = match count {
        1 => "a comment is left out".to_owned(),
        _ => format!("comments are left out, on {count} lines from here on"),
    };
    found.extend(first.map(|span| (span, words)));
}

fn members(bytes: &[u8], found: &mut Vec<(Span, String)>) {
    let Ok(document) = JsonDocument::parse(bytes) else { return };
    let mut unread: BTreeMap<String, (Span, usize)> = BTreeMap::new();
    let mut look = |value: JsonValue<'_>, known: &[&str]| {
        for member in value.members() {
            let key = String::from_utf8_lossy(member.key);
            if !known.contains(&key.as_ref()) {
                unread.entry(key.into_owned()).or_insert((member.key_span, 0)).1 += 1;
            }
        }
    };
    let root = document.root();
    look(root, &ROOT_KEYS);
    let collectives = root.get("collectives").map(|member| member.value);
    for comm_rule in collectives.into_iter().flat_map(JsonValue::members).flat_map(|member| member.value.items()) {
        look(comm_rule, &COMM_RULE_KEYS);
        let rules = comm_rule.get("rules").map(|member| member.value);
        rules.into_iter().flat_map(JsonValue::items).for_each(|rule| look(rule, &RULE_KEYS));
    }
    found.extend(unread.into_iter().map(|(key, (span, count))| {
        let times = if count > 1 { format!(", {count} times from here on") } else { String::new() };
        let words = format!("the member `{}`, which Open MPI does not read, is left out{times}", key.escape_debug());
        (span, words)
    }));
}
