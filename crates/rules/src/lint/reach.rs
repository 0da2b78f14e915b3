//! Rules that apply to no call, and rules that apply to more calls than they seem to.

use std::collections::HashSet;

use super::code::Code;
use super::collect::Collector;
use super::words::Strict;
use crate::behaviour::Behaviour;
use crate::file::{Format, Loaded, RuleState, load};
use crate::reach::{FIRST, FileView, Reached};

/// The beginning of an entry of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum FileEntry {
    CommRule(usize),
    Rule(usize),
}

/// Reports rules that never apply in any version, and those that apply to more calls than they seem to.
pub(super) fn check(source: &[u8], views: &[FileView<'_>], strict: &Strict, problems: &mut Collector) {
    if views.is_empty() {
        return;
    }
    let json = views.iter().all(|view| view.loaded.format == Format::Json);
    // Files for several versions hold rules for some of them: the whole truth is with all versions.
    let others: Vec<Loaded> = Behaviour::distinct()
        .iter()
        .filter(|version| views.iter().all(|view| view.loaded.behaviour.name() != version.name()))
        .filter(|version| !json || version.reads_json)
        .filter_map(|version| load(source, version).into_accepted())
        .collect();
    let others: Vec<FileView<'_>> = others.iter().map(FileView::new).collect();
    let mut live: HashSet<FileEntry> = HashSet::new();
    for view in views.iter().chain(&others) {
        for served in &view.collectives {
            for comm_rule in &served.comm_rules {
                live.insert(FileEntry::CommRule(comm_rule.comm_rule.span.start));
                let rules = comm_rule.steps.iter().filter_map(|(_, rule)| *rule);
                live.extend(rules.map(|rule| FileEntry::Rule(comm_rule.comm_rule.rules[rule].span.start)));
            }
        }
    }
    for FileView { loaded, collectives } in views {
        let versions = [loaded.behaviour];
        for served in collectives {
            let name = served.collective.name();
            for comm_rule in &served.rules.comm_rules {
                let said =
                    strict.flagged.contains(&comm_rule.span.start) || comm_rule.listed.is_none() && comm_rule.max < 0;
                if !live.contains(&FileEntry::CommRule(comm_rule.span.start)) {
                    // What leaves the decision to Open MPI is a guard, and may be one too many.
                    if !said && !comm_rule.rules.iter().all(|rule| rule.choice.is_builtin()) {
                        let message = || format!("these {name} rules serve no communicator");
                        problems.merge(Code::DeadCommRule, comm_rule.size, 0, &versions, message);
                    }
                    continue;
                }
                for rule in &comm_rule.rules {
                    let said = strict.flagged.contains(&rule.span.start) || rule.state == RuleState::Disabled;
                    if !said && !rule.choice.is_builtin() && !live.contains(&FileEntry::Rule(rule.span.start)) {
                        let why =
                            if rule.min > rule.max { "its sizes end before they begin" } else { "others come first" };
                        let message = || format!("this {name} rule serves no message: {why}");
                        problems.merge(Code::DeadRule, rule.span, 0, &versions, message);
                    }
                }
            }
            below_first(loaded, served, problems);
            gaps(loaded, served, problems);
        }
    }
}

fn below_first(loaded: &Loaded, served: &Reached<'_>, problems: &mut Collector) {
    let Some(first) = served.rules.comm_rules.first() else { return };
    let Some(size) = first.listed.filter(|size| *size > FIRST as i32) else { return };
    if first.rules.iter().all(|rule| rule.choice.is_builtin()) {
        return;
    }
    let name = served.collective.name();
    if served.rules.comm_rules.len() == 1 {
        let message = || format!("the {name} rules for {size} ranks serve communicators of every size");
        problems.merge(Code::LoneSize, first.size, 0, &[loaded.behaviour], message);
    } else if !loaded.behaviour.first_match {
        let message =
            || format!("the {name} rules for {size} ranks serve communicators of 2 to {} ranks as well", size - 1);
        problems.merge(Code::BelowFirst, first.size, 0, &[loaded.behaviour], message);
    }
}

fn gaps(loaded: &Loaded, served: &Reached<'_>, problems: &mut Collector) {
    for comm_rule in served
        .comm_rules
        .iter()
        .filter(|comm_rule| comm_rule.comm_rule.listed.is_none() && !comm_rule.comm_rule.rules.is_empty())
    {
        let Some((start, end, _)) = comm_rule.ranges().find(|(_, _, rule)| rule.is_none()) else { continue };
        let end = end.map_or("on".to_owned(), |end| format!("to {}", end - 1));
        let name = served.collective.name();
        let message = || format!("no {name} rule is for looked-up sizes from {start} {end}");
        problems.merge(Code::Gap, comm_rule.comm_rule.size, 0, &[loaded.behaviour], message);
    }
}
