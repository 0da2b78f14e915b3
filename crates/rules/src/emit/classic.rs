//! The text of a classic file: plain decimal numbers, one rule per line, each line with its comment.

use std::fmt::Write;

use super::notes::{Notes, harmless};
use crate::choice::Choice;
use crate::collective::Collective;
use crate::hazard::RankRange;
use crate::registry;
use crate::table::{RankSteps, RuleTable, SizeSteps};

/// A communicator rule: the listed size, the comments above it, and the message rules.
struct CommRuleText {
    size: u64,
    notes: Vec<String>,
    rules: Vec<RuleText>,
}

/// A message rule: its numbers and its comment.
type RuleText = (Vec<u64>, String);

/// The text of a table that the format can express, of version 2 with a version line and a fifth column.
///
/// Every file has a comment: a lone `0` would be JSON to Open MPI 6.0.
pub(super) fn text(table: &RuleTable, notes: &Notes, version_2: bool) -> String {
    let collectives: Vec<(Collective, Vec<CommRuleText>)> = table
        .collectives()
        .map(|(collective, blocks)| (collective, comm_rules(collective, blocks, notes, version_2)))
        .collect();
    let every_comm_rule = || collectives.iter().flat_map(|(_, comm_rules)| comm_rules);
    let mut columns = [1; 4];
    for (numbers, _) in every_comm_rule().flat_map(|comm_rule| &comm_rule.rules) {
        for (width, number) in columns.iter_mut().zip(numbers) {
            *width = (*width).max(number.to_string().len());
        }
    }
    let aligned = |(numbers, _): &RuleText| {
        let widths = columns.into_iter().chain([1]);
        let columns: Vec<String> =
            numbers.iter().zip(widths).map(|(number, width)| format!("{number:>width$}")).collect();
        columns.join(" ")
    };
    let opening = |comm_rule: &CommRuleText| format!("{} {}", comm_rule.size, comm_rule.rules.len());
    let lines = every_comm_rule()
        .flat_map(|comm_rule| comm_rule.rules.iter().map(aligned).chain([opening(comm_rule)]))
        .map(|line| line.len());
    let width = lines.fold(columns.iter().sum::<usize>() + columns.len() - 1, usize::max);

    let mut text = if version_2 { "rule-file-version-2\n".to_owned() } else { String::new() };
    let full_line = |text: &mut String, comment: &str| {
        text.push_str(format!("# {}", harmless(comment)).trim_end());
        text.push('\n');
    };
    for line in header(notes, version_2) {
        full_line(&mut text, &line);
    }
    let _ = writeln!(text, "\n{:<width$}  # collectives", collectives.len());
    for (collective, comm_rules) in &collectives {
        let _ = writeln!(text, "\n{:<width$}  # {collective}", collective.id());
        let _ = writeln!(text, "{:<width$}  # communicator sizes", comm_rules.len());
        for comm_rule in comm_rules {
            comm_rule.notes.iter().for_each(|line| full_line(&mut text, line));
            let _ = writeln!(text, "{:<width$}  # communicator size, message sizes", opening(comm_rule));
            for rule in &comm_rule.rules {
                let _ = writeln!(text, "{:<width$}  # {}", aligned(rule), rule.1);
            }
        }
    }
    text
}

fn header(notes: &Notes, version_2: bool) -> Vec<String> {
    let version = if version_2 { 2 } else { 1 };
    let title = format!("Rules for Open MPI's coll/tuned, classic format, version {version}.");
    let rule = [
        "",
        "A rule: message size in bytes from which on it holds, as Open MPI looks it up; algorithm;",
        "fan-in and fan-out; segment size in bytes. Algorithm 0 leaves the decision to Open MPI.",
    ];
    let requests = ["A fifth number bounds the outstanding requests."];
    let doubled = [
        "A size of communicators where the rules change is listed twice: Open MPI up to 5.0 takes it",
        "for the beginning of a rule, 6.0 for the end, and so both read the same.",
    ];
    let own = notes.header.iter().map(String::as_str);
    let gap = if notes.header.is_empty() { None } else { Some("") };
    let about_requests = if version_2 { &requests[..] } else { &[] };
    let fixed = rule.iter().chain(about_requests).chain(&doubled).copied();
    own.chain(gap).chain([title.as_str()]).chain(fixed).map(str::to_owned).collect()
}

/// The communicator rules: with blocks b0 b1 .. that begin at 0 s1 s2 .., the list s1:b0 s1:b1 s2:b1 s2:b2 ..
///
/// Up to 5.0 a rule applies from its size on, of two with the same size the later counts, and below the first size the
/// first rule applies. In 6.0 a rule applies up to its size, and at a repeated size the later one has an empty range.
fn comm_rules(collective: Collective, blocks: &RankSteps, notes: &Notes, version_2: bool) -> Vec<CommRuleText> {
    let blocks: Vec<_> = blocks.iter().collect();
    let rule = |size: u64, (first, end, sizes): &(u64, Option<u64>, &SizeSteps), again: bool| {
        let ranks = RankRange { first: *first, end: *end };
        let words = if again { format!("{ranks}, repeated for Open MPI 6.0") } else { ranks.to_string() };
        let own = notes.blocks.get(&(collective, *first)).filter(|_| !again);
        CommRuleText {
            size,
            notes: std::iter::once(words).chain(own.into_iter().flatten().cloned()).collect(),
            rules: sizes
                .iter()
                .map(|(size, _, choice)| {
                    let note = notes.rules.get(&(collective, *first, size)).filter(|_| !again);
                    message_rule(collective, size, *choice, note, version_2)
                })
                .collect(),
        }
    };
    if let [only] = &blocks[..] {
        return vec![rule(only.0, only, false)];
    }
    let pairs = blocks.windows(2).enumerate();
    pairs.flat_map(|(index, pair)| [rule(pair[1].0, &pair[0], index > 0), rule(pair[1].0, &pair[1], false)]).collect()
}

fn message_rule(collective: Collective, size: u64, choice: Choice, note: Option<&String>, version_2: bool) -> RuleText {
    let Choice { algorithm, faninout, segsize, max_requests } =
        if choice.is_builtin() { Choice::BUILTIN } else { choice };
    let mut numbers = vec![size, algorithm.into(), faninout.into(), segsize];
    if version_2 && max_requests > 0 {
        numbers.push(max_requests.into());
    }
    let known = registry::in_any_release(collective, algorithm);
    let words = registry::words(known, Choice { algorithm, faninout, segsize, max_requests });
    let note = note.map(|note| format!("; {}", harmless(note))).unwrap_or_default();
    (numbers, words + &note)
}
