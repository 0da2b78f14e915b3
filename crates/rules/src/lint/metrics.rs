//! Rules whose message sizes have another meaning than they seem to.

use super::code::Code;
use super::collect::Collector;
use super::problem::Related;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{Loaded, Rule};
use crate::hazard::{self, Hazard};
use crate::metric::{Metric, metric};
use crate::reach::{FileView, Reached, ReachedCommRule};
use crate::release::Release;
use crate::span::Span;
use crate::steps::Steps;
use crate::table::{RuleTable, all_builtin};
use crate::units::Ranks;

/// Reports communicator rules whose choice should not depend on the message size, or not in this way.
pub(super) fn check(view: &FileView<'_>, problems: &mut Collector) {
    let loaded = view.loaded;
    for served in &view.collectives {
        for comm_rule in &served.comm_rules {
            // Choices over sizes; a gap is left to the builtin.
            let rule = |rule: Option<usize>| rule.map(|rule| &comm_rule.comm_rule.rules[rule]);
            let choice = |found: Option<usize>| rule(found).map_or(Choice::BUILTIN, Rule::effect);
            let steps = Steps::ascending(comm_rule.steps.iter().map(|(start, rule)| (*start, choice(*rule))));
            if steps.count() < 2 {
                continue;
            }
            // The places where the choice changes.
            let changes: Vec<Span> = steps
                .iter()
                .skip(1)
                .filter_map(|(start, _, _)| {
                    let place = comm_rule.steps.partition_point(|(at, _)| *at < start);
                    rule(comm_rule.steps.get(place)?.1).map(|rule| rule.span)
                })
                .collect();
            let at = changes.first().copied().unwrap_or(comm_rule.comm_rule.size);
            if !size_dependent(loaded, served, comm_rule, &steps, &changes, problems) {
                unseen(loaded, served, comm_rule, at, problems);
            }
            other_metric(loaded, served, at, problems);
            per_rank(loaded, served, comm_rule, &steps, at, problems);
        }
    }
}

fn size_dependent(
    loaded: &Loaded,
    served: &Reached<'_>,
    comm_rule: &ReachedCommRule<'_>,
    steps: &Steps<Choice>,
    changes: &[Span],
    problems: &mut Collector,
) -> bool {
    let collective = served.collective;
    if !matches!(collective, Collective::Gather | Collective::Scatter) {
        return false;
    }
    let mut comm_rules = all_builtin();
    comm_rules.set(comm_rule.first(), None, steps.clone());
    let mut table = RuleTable::new();
    table.set(collective, comm_rules);
    if !hazard::check(&table).iter().any(|hazard| matches!(hazard, Hazard::SizeDependent { .. })) {
        return true;
    }
    let message = || format!("the {} rules for {} change with the message size", collective.name(), ranks(comm_rule));
    let problem = problems.merge(Code::SizeDependent, comm_rule.comm_rule.size, 0, &[loaded.behaviour], message);
    if problem.related.is_empty() {
        let related = |span: &Span| Related { span: *span, message: "changes here".to_owned() };
        problem.related = changes.iter().take(3).map(related).collect();
    }
    true
}

fn ranks(comm_rule: &ReachedCommRule<'_>) -> String {
    comm_rule.ranks.first().map_or_else(String::new, ToString::to_string)
}

fn unseen(loaded: &Loaded, served: &Reached<'_>, comm_rule: &ReachedCommRule<'_>, at: Span, problems: &mut Collector) {
    let collective = served.collective;
    let seen = match metric(loaded.behaviour.release, collective, Ranks(comm_rule.first() as u32)) {
        Metric::Times(_) => return,
        Metric::None => "always 0",
        Metric::CountFree => "the size of the datatype times the number of ranks",
    };
    let message = || format!("{} rules differ by size, but what is looked up is {seen}", collective.name());
    problems.merge(Code::SizeUnseen, at, 0, &[loaded.behaviour], message);
}

fn other_metric(loaded: &Loaded, served: &Reached<'_>, at: Span, problems: &mut Collector) {
    let collective = served.collective;
    let seen = match collective {
        _ if loaded.behaviour.release != Release::V4_0 => return,
        Collective::Allgatherv => "the total instead of the average",
        Collective::Gather | Collective::Scatter => "the size of the datatype times the ranks, without the count",
        _ => return,
    };
    let message = || format!("for {}, 4.0 looks up {seen}", collective.name());
    problems.merge(Code::OtherMetric, at, 0, &[loaded.behaviour], message);
}

/// Lookup totals of non-empty messages are multiples of the number of ranks. Powers of two that are no multiples, or
/// are smaller than the number of ranks, were probably meant as bytes per rank.
fn per_rank(
    loaded: &Loaded,
    served: &Reached<'_>,
    comm_rule: &ReachedCommRule<'_>,
    steps: &Steps<Choice>,
    at: Span,
    problems: &mut Collector,
) {
    // The size in the list, rather than smaller ones to which it applies as well.
    let listed =
        comm_rule.comm_rule.listed.filter(|_| !loaded.behaviour.shifts_sizes).and_then(|size| u64::try_from(size).ok());
    let count = listed.map_or(comm_rule.first(), |size| size.max(comm_rule.first()));
    let totals = matches!(
        metric(loaded.behaviour.release, served.collective, Ranks(count as u32)),
        Metric::Times(factor) if factor == count && count > 2
    );
    let thresholds: Vec<u64> = steps.iter().skip(1).map(|(start, _, _)| start).collect();
    if !totals || thresholds.len() < 2 || !thresholds.iter().all(|size| size.is_power_of_two()) {
        return;
    }
    let first = thresholds[0];
    if first < count || (thresholds.len() > 2 && !count.is_power_of_two()) {
        let name = served.collective.name();
        let message = || {
            let each = first as f64 / count as f64;
            format!("a threshold of {first} bytes for {name} on {count} ranks is {each:.2} bytes per rank")
        };
        problems.merge(Code::PerRankSizes, at, 0, &[loaded.behaviour], message);
    }
}
