//! Which communicators and message sizes each rule of a file serves.

use crate::call::Distribution;
use crate::collective::Collective;
use crate::file::{CollectiveRules, CommRule, Loaded, Lookup, Reason, Rule};
use crate::hazard::RankRange;
use crate::units::Ranks;

/// The smallest communicator that coll/tuned serves.
pub(crate) const FIRST: u64 = 2;

/// A file as a version has it in force.
pub(crate) struct View<'l> {
    pub(crate) loaded: &'l Loaded,
    pub(crate) collectives: Vec<Reached<'l>>,
}

impl<'l> View<'l> {
    /// Finds out what serves what.
    pub(crate) fn new(loaded: &'l Loaded) -> Self {
        Self { loaded, collectives: reached(loaded) }
    }
}

/// The rules that count for a collective.
pub(crate) struct Reached<'l> {
    pub(crate) collective: Collective,
    pub(crate) rules: &'l CollectiveRules,
    /// The communicator rules that serve anybody.
    pub(crate) comm_rules: Vec<ReachedCommRule<'l>>,
}

/// A communicator rule and what it serves.
pub(crate) struct ReachedCommRule<'l> {
    pub(crate) comm_rule: &'l CommRule,
    /// The communicator sizes, in ascending order.
    pub(crate) ranks: Vec<RankRange>,
    /// The rules by lookup bytes: each start and the rule from there on.
    pub(crate) steps: Vec<(u64, Option<usize>)>,
}

impl ReachedCommRule<'_> {
    /// The smallest communicator.
    pub(crate) fn first(&self) -> u64 {
        self.ranks.first().map_or(FIRST, |range| range.first)
    }

    /// Rules with the sizes that they serve, half-open, in ascending order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, Option<u64>, Option<usize>)> {
        let ends = self.steps.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        self.steps.iter().zip(ends).map(|((start, rule), end)| (*start, end, *rule))
    }
}

/// What a file serves, collective by collective, in time `n log n`.
pub(crate) fn reached(loaded: &Loaded) -> Vec<Reached<'_>> {
    let rules = |collective| Some((collective, loaded.rules_for(collective)?.1));
    let serve = |(collective, rules): (Collective, _)| Reached {
        collective,
        rules,
        comm_rules: comm_rules(loaded, collective, rules),
    };
    Collective::ALL.into_iter().filter_map(rules).map(serve).collect()
}

fn comm_rules<'l>(loaded: &Loaded, collective: Collective, rules: &'l CollectiveRules) -> Vec<ReachedCommRule<'l>> {
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
            ReachedCommRule { comm_rule, ranks, steps }
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
