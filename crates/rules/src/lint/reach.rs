//! Which communicators and sizes each rule serves, and rules that serve none.

use std::collections::HashSet;

use super::code::Code;
use super::collect::Collector;
use super::strict::Strict;
use crate::behaviour::Behaviour;
use crate::call::Distribution;
use crate::collective::Collective;
use crate::file::{CollectiveRules, CommRule, Format, Loaded, Lookup, Reason, Rule, RuleState, load};
use crate::hazard::RankRange;
use crate::units::Ranks;

/// The smallest communicator that coll/tuned serves.
const FIRST: u64 = 2;

/// A file as a version has it in force.
pub(super) struct View<'l> {
    pub(super) loaded: &'l Loaded,
    pub(super) collectives: Vec<Served<'l>>,
}

impl<'l> View<'l> {
    /// Finds out what serves what.
    pub(super) fn new(loaded: &'l Loaded) -> Self {
        Self { loaded, collectives: served(loaded) }
    }
}

/// The rules that count for a collective.
pub(super) struct Served<'l> {
    pub(super) collective: Collective,
    pub(super) rules: &'l CollectiveRules,
    /// The communicator rules that serve anybody.
    pub(super) comm_rules: Vec<ServedCommRule<'l>>,
}

/// A communicator rule and what it serves.
pub(super) struct ServedCommRule<'l> {
    pub(super) comm_rule: &'l CommRule,
    /// The communicator sizes, in ascending order.
    pub(super) ranks: Vec<RankRange>,
    /// The rules by lookup bytes: each start and the rule from there on.
    pub(super) steps: Vec<(u64, Option<usize>)>,
}

impl ServedCommRule<'_> {
    /// The smallest communicator.
    pub(super) fn first(&self) -> u64 {
        self.ranks.first().map_or(FIRST, |range| range.first)
    }

    /// Rules with the sizes that they serve, half-open, in ascending order.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (u64, Option<u64>, Option<usize>)> {
        let ends = self.steps.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        self.steps.iter().zip(ends).map(|((start, rule), end)| (*start, end, *rule))
    }
}

/// What a file serves, collective by collective, in time `n log n`.
fn served(loaded: &Loaded) -> Vec<Served<'_>> {
    let rules = |collective| Some((collective, loaded.rules_for(collective)?.1));
    let serve = |(collective, rules): (Collective, _)| Served {
        collective,
        rules,
        comm_rules: comm_rules(loaded, collective, rules),
    };
    Collective::ALL.into_iter().filter_map(rules).map(serve).collect()
}

fn comm_rules<'l>(loaded: &Loaded, collective: Collective, rules: &'l CollectiveRules) -> Vec<ServedCommRule<'l>> {
    let alike = rules.comm_rules.iter().all(|comm_rule| comm_rule.distribution == Distribution::Any);
    let distributions = if alike { &Distribution::ALL[..1] } else { &Distribution::ALL };
    let edges = |comm_rule: &CommRule| {
        [i64::from(comm_rule.min), i64::from(comm_rule.max) + 1].map(|edge| u64::try_from(edge).unwrap_or(0))
    };
    let mut points: Vec<u64> = rules.comm_rules.iter().flat_map(edges).chain([FIRST]).collect();
    points.retain(|point| (FIRST..=i32::MAX as u64).contains(point));
    points.sort_unstable();
    points.dedup();
    let mut ranks: Vec<Vec<RankRange>> = vec![Vec::new(); rules.comm_rules.len()];
    let mut by: Vec<Distribution> = vec![Distribution::Any; rules.comm_rules.len()];
    for distribution in distributions {
        for (place, &first) in points.iter().enumerate() {
            let end = points.get(place + 1).copied();
            let lookup = loaded.serve(collective, Ranks(first as u32), 0, *distribution);
            let Some(comm_rule) = comm_rule_of(&lookup) else { continue };
            by[comm_rule] = *distribution;
            match ranks[comm_rule].last_mut().filter(|last| last.end == Some(first)) {
                Some(last) => last.end = end,
                None => ranks[comm_rule].push(RankRange { first, end }),
            }
        }
    }
    let serving = rules.comm_rules.iter().zip(ranks).zip(by).filter(|((_, ranks), _)| !ranks.is_empty());
    serving
        .map(|((comm_rule, mut ranks), distribution)| {
            ranks.sort_unstable_by_key(|range| range.first);
            let serve = |bytes| loaded.serve(collective, Ranks(ranks[0].first as u32), bytes, distribution);
            let steps = steps(comm_rule, |bytes| serve(bytes).rule.map(|rule| rule.rule));
            ServedCommRule { comm_rule, ranks, steps }
        })
        .collect()
}

fn comm_rule_of(lookup: &Lookup) -> Option<usize> {
    match lookup.reason {
        Reason::EmptyCommRule { comm_rule, .. } | Reason::NoSize { comm_rule, .. } => Some(comm_rule),
        _ => lookup.rule.map(|rule| rule.comm_rule),
    }
}

fn steps(comm_rule: &CommRule, find: impl Fn(u64) -> Option<usize>) -> Vec<(u64, Option<usize>)> {
    // Larger messages than a signed integer counts do not exist.
    let edges = |rule: &Rule| [rule.min, rule.max.saturating_add(1)];
    let mut points: Vec<u64> =
        comm_rule.rules.iter().flat_map(edges).chain([0]).filter(|at| *at < i64::MAX as u64).collect();
    points.sort_unstable();
    points.dedup();
    let mut steps: Vec<(u64, Option<usize>)> = Vec::new();
    for at in points {
        let rule = find(at);
        if steps.last().is_none_or(|(_, last)| *last != rule) {
            steps.push((at, rule));
        }
    }
    steps
}

/// An entry of a file, by where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Entry {
    CommRule(usize),
    Rule(usize),
}

/// Reports rules that never serve, in any version that there is, and those that serve more than they seem to.
pub(super) fn check(source: &[u8], views: &[View<'_>], strict: &Strict, problems: &mut Collector) {
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
    let others: Vec<View<'_>> = others.iter().map(View::new).collect();
    let mut live: HashSet<Entry> = HashSet::new();
    for view in views.iter().chain(&others) {
        for served in &view.collectives {
            for comm_rule in &served.comm_rules {
                live.insert(Entry::CommRule(comm_rule.comm_rule.span.start));
                let rules = comm_rule.steps.iter().filter_map(|(_, rule)| *rule);
                live.extend(rules.map(|rule| Entry::Rule(comm_rule.comm_rule.rules[rule].span.start)));
            }
        }
    }
    for View { loaded, collectives } in views {
        let versions = [loaded.behaviour];
        for served in collectives {
            let name = served.collective.name();
            for comm_rule in &served.rules.comm_rules {
                let said =
                    strict.flagged.contains(&comm_rule.span.start) || comm_rule.listed.is_none() && comm_rule.max < 0;
                if !live.contains(&Entry::CommRule(comm_rule.span.start)) {
                    // What leaves the decision to Open MPI is a guard, and may be one too many.
                    if !said && !comm_rule.rules.iter().all(|rule| rule.choice.is_builtin()) {
                        let message = || format!("these {name} rules serve no communicator");
                        problems.merge(Code::DeadCommRule, comm_rule.size, 0, &versions, message);
                    }
                    continue;
                }
                for rule in &comm_rule.rules {
                    let said = strict.flagged.contains(&rule.span.start) || rule.state == RuleState::Disabled;
                    if !said && !rule.choice.is_builtin() && !live.contains(&Entry::Rule(rule.span.start)) {
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

fn below_first(loaded: &Loaded, served: &Served<'_>, problems: &mut Collector) {
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

fn gaps(loaded: &Loaded, served: &Served<'_>, problems: &mut Collector) {
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
