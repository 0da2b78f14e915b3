//! Rules that apply to no call, and rules that apply to more calls than they seem to.

use std::collections::HashSet;

use super::code::Code;
use super::collect::Collector;
use super::words::Strict;
use crate::behaviour::Behaviour;
use crate::collective::Collective;
use crate::file::{CollectiveRules, CommRule, Format, Loaded, RuleState, load};
use crate::reach::{FIRST, FileView};

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
    let (mut live_comm_rules, mut live_rules) = (HashSet::new(), HashSet::new());
    for reached in views.iter().chain(&others).flat_map(|view| &view.comm_rules) {
        live_comm_rules.insert(reached.comm_rule.span.start);
        live_rules.extend(reached.rules().map(|rule| rule.span.start));
    }
    for FileView { loaded, collectives, comm_rules } in views {
        let version = loaded.behaviour;
        for (collective, rules) in collectives {
            for comm_rule in &rules.comm_rules {
                let said =
                    strict.flagged.contains(&comm_rule.span.start) || comm_rule.listed.is_none() && comm_rule.max < 0;
                if !live_comm_rules.contains(&comm_rule.span.start) {
                    // What leaves the decision to Open MPI is a guard, and may be one too many.
                    if !said && !is_guard(comm_rule) {
                        let message = format!("these {collective} rules serve no communicator");
                        problems.merge(Code::DeadCommRule, comm_rule.size, version, message);
                    }
                    continue;
                }
                for rule in &comm_rule.rules {
                    let said = strict.flagged.contains(&rule.span.start) || rule.state == RuleState::Disabled;
                    if !said && !rule.choice.is_builtin() && !live_rules.contains(&rule.span.start) {
                        let why =
                            if rule.min > rule.max { "its sizes end before they begin" } else { "others come first" };
                        let message = format!("this {collective} rule serves no message: {why}");
                        problems.merge(Code::DeadRule, rule.span, version, message);
                    }
                }
            }
            below_first(version, *collective, rules, problems);
        }
        for reached in comm_rules {
            let (collective, CommRule { listed: None, rules, size, .. }) = (reached.collective, reached.comm_rule)
            else {
                continue;
            };
            let gap = reached.ranges().find(|(_, _, rule)| rule.is_none() && !rules.is_empty());
            if let Some((start, end, _)) = gap {
                let end = end.map_or("on".to_owned(), |end| format!("to {}", end - 1));
                let message = format!("no {collective} rule is for looked-up sizes from {start} {end}");
                problems.merge(Code::Gap, *size, version, message);
            }
        }
    }
}

/// Returns true if rules leave all decisions to Open MPI.
fn is_guard(comm_rule: &CommRule) -> bool {
    comm_rule.rules.iter().all(|rule| rule.choice.is_builtin())
}

fn below_first(version: Behaviour, collective: Collective, rules: &CollectiveRules, problems: &mut Collector) {
    let Some(first) = rules.comm_rules.first().filter(|first| !is_guard(first)) else { return };
    let Some(size) = first.listed.filter(|size| *size > FIRST as i32) else { return };
    if rules.comm_rules.len() == 1 {
        let message = format!("the {collective} rules for {size} ranks serve communicators of every size");
        problems.merge(Code::LoneSize, first.size, version, message);
    } else if !version.first_match {
        let message =
            format!("the {collective} rules for {size} ranks serve communicators of 2 to {} ranks as well", size - 1);
        problems.merge(Code::BelowFirst, first.size, version, message);
    }
}
