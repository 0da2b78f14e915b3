//! Contents of a source file that are missing from its meaning, or that the target format cannot express.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::{Collective, json_name};
use crate::emit::TargetFormat;
use crate::file::{COMM_RULE_KEYS, CollectiveRules, Format, Loaded, ROOT_KEYS, RULE_KEYS, Rule, RuleState};
use crate::json::{Document, JsonValue};
use crate::lines::Lines;
use crate::reach::FileView;
use crate::registry;
use crate::span::Span;

/// Content of the source that the result lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The line in the source, counted from 1.
    pub line: usize,
    /// Kind of loss, with details.
    pub lost: Lost,
}

/// Content of a source file that a conversion loses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Lost {
    /// Rules for communicators with one arrangement on nodes, which are not written.
    #[error("the {collective} rules for {distribution} communicators are left out")]
    Distribution {
        /// The collective.
        collective: Collective,
        /// The communicators.
        distribution: Distribution,
    },
    /// A bound on requests, for which version 1 has no column.
    #[error(
        "the bound of {requests} requests of this {collective} rule is left out; {}",
        if *heeded { "its calls change" } else { "its algorithm ignores it" }
    )]
    Requests {
        /// The collective.
        collective: Collective,
        /// The bound.
        requests: u32,
        /// True if the algorithm uses the bound.
        heeded: bool,
    },
    /// A rule that is dropped, since its algorithm does not exist.
    #[error("Open MPI drops this {collective} rule, since its algorithm does not exist; it is left out")]
    Disabled {
        /// The collective.
        collective: Collective,
    },
    /// A rule for an algorithm that no release with the target format has: there it would be dropped.
    #[error(
        "this {collective} rule names algorithm {algorithm}, which does not exist: its calls fail, and are left to Open \
         MPI instead"
    )]
    NoAlgorithm {
        /// The collective.
        collective: Collective,
        /// The id.
        algorithm: u32,
    },
    /// A rule that applies to no call.
    #[error("this {collective} rule serves no call and is left out")]
    DeadRule {
        /// The collective.
        collective: Collective,
    },
    /// A communicator rule that applies to no call.
    #[error("these {collective} rules for a communicator size serve no call and are left out")]
    DeadCommRule {
        /// The collective.
        collective: Collective,
    },
    /// Rules that later ones for the same collective replace.
    #[error("later rules for {name} replace these, which are left out")]
    Replaced {
        /// The collective.
        name: &'static str,
    },
    /// Rules for a collective that coll/tuned has no algorithms for.
    #[error("coll/tuned has no algorithms for {name}; its rules are left out")]
    Untuned {
        /// The collective.
        name: &'static str,
    },
    /// Comments.
    #[error("{}", comments_are_left_out(*count))]
    Comments {
        /// Number of lines.
        count: usize,
    },
    /// Members that Open MPI does not read.
    #[error(
        "the member `{}`, which Open MPI does not read, is left out{}",
        key.escape_debug(),
        if *count > 1 { format!(", {count} times from here on") } else { String::new() }
    )]
    Members {
        /// Their name.
        key: String,
        /// Number of these members.
        count: usize,
    },
}

fn comments_are_left_out(count: usize) -> String {
    match count {
        1 => "a comment is left out".to_owned(),
        _ => format!("comments are left out, on {count} lines from here on"),
    }
}

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
) -> Vec<Loss> {
    let mut live = BTreeSet::new();
    for reached in std::iter::once(source).chain(alike).flat_map(|loaded| FileView::new(loaded).comm_rules) {
        live.insert(reached.comm_rule.span);
        live.extend(reached.rules().map(|rule| rule.span));
    }
    let mut found: Vec<(Span, Lost)> = Vec::new();
    match source.format {
        Format::Classic { .. } => comments(bytes, &mut found),
        Format::Json => members(bytes, &mut found),
    }
    for rules in &source.collectives {
        let name = json_name(rules.id);
        match rules.collective {
            None => found.push((rules.name, Lost::Untuned { name })),
            Some(_) if rules.replaced => found.push((rules.name, Lost::Replaced { name })),
            Some(collective) => of_rules(collective, rules, &live, format, &mut found),
        }
    }
    let mut losses: Vec<Loss> =
        found.into_iter().map(|(span, lost)| Loss { line: lines.position(span.start).0, lost }).collect();
    losses.sort_by_key(|loss| loss.line);
    losses
}

fn of_rules(
    collective: Collective,
    rules: &CollectiveRules,
    live: &BTreeSet<Span>,
    format: TargetFormat,
    found: &mut Vec<(Span, Lost)>,
) {
    for comm_rule in &rules.comm_rules {
        let rules_nothing = || comm_rule.rules.iter().all(|rule| rule.choice.is_builtin());
        if !live.contains(&comm_rule.span) {
            if rules_nothing() {
                // Calls that there are not, left to the builtin: nothing is lost.
                continue;
            }
            found.push((comm_rule.span, Lost::DeadCommRule { collective }));
        } else if comm_rule.distribution != Distribution::Any {
            found.push((comm_rule.span, Lost::Distribution { collective, distribution: comm_rule.distribution }));
        } else {
            let lost = |rule| Some((rule, lost(collective, rule, live, format)?));
            found.extend(comm_rule.rules.iter().filter_map(lost).map(|(rule, lost)| (rule.span, lost)));
        }
    }
}

/// Returns the loss of a rule, if the rule cannot be kept in full.
fn lost(collective: Collective, rule: &Rule, live: &BTreeSet<Span>, format: TargetFormat) -> Option<Lost> {
    let Choice { algorithm, max_requests: requests, .. } = rule.choice;
    let known = registry::in_any_release(collective, algorithm);
    if rule.state == RuleState::Disabled {
        return Some(Lost::Disabled { collective });
    } else if !live.contains(&rule.span) {
        return Some(Lost::DeadRule { collective });
    } else if algorithm == 0 {
        return None;
    }
    match format {
        TargetFormat::Json if known.is_none() => Some(Lost::NoAlgorithm { collective, algorithm }),
        TargetFormat::Classic if requests != 0 => {
            let heeded = known.is_none_or(|known| known.uses.max_requests);
            Some(Lost::Requests { collective, requests, heeded })
        }
        _ => None,
    }
}

fn comments(bytes: &[u8], found: &mut Vec<(Span, Lost)>) {
    let mut first = None;
    let (mut count, mut start) = (0, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(place) = line.iter().position(|byte| *byte == b'#') {
            first.get_or_insert(Span::at(start + place));
            count += 1;
        }
        start += line.len() + 1;
    }
    found.extend(first.map(|span| (span, Lost::Comments { count })));
}

fn members(bytes: &[u8], found: &mut Vec<(Span, Lost)>) {
    let Ok(document) = Document::parse(bytes) else { return };
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
    found.extend(unread.into_iter().map(|(key, (span, count))| (span, Lost::Members { key, count })));
}
