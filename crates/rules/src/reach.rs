//! Communicators and message sizes to which each rule of a file applies.

use crate::collective::Collective;
use crate::file::{CollectiveRules, CommRule, Loaded};
use crate::hazard::RankRange;

/// The smallest communicator that coll/tuned handles.
pub(crate) const FIRST: u64 = 2;

/// A file as active in a version.
pub(crate) struct FileView<'l> {
    pub(crate) loaded: &'l Loaded,
    pub(crate) collectives: Vec<Reached<'l>>,
}

impl<'l> FileView<'l> {
    /// Finds the calls that each rule applies to.
    pub(crate) fn new(loaded: &'l Loaded) -> Self {
        Self { loaded, collectives: reached(loaded) }
    }
}

/// The rules that count for a collective.
pub(crate) struct Reached<'l> {
    pub(crate) collective: Collective,
    pub(crate) rules: &'l CollectiveRules,
    /// The communicator rules that apply to some communicator.
    pub(crate) comm_rules: Vec<ReachedCommRule<'l>>,
}

/// A communicator rule and the sizes to which it applies.
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

    /// Returns the rules with their half-open ranges of sizes, in ascending order.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (u64, Option<u64>, Option<usize>)> {
        let ends = self.steps.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        self.steps.iter().zip(ends).map(|((start, rule), end)| (*start, end, *rule))
    }
}

/// Finds the calls that each rule of a file applies to, collective by collective, in time `n log n`.
pub(crate) fn reached(loaded: &Loaded) -> Vec<Reached<'_>> {
    let rules = |collective| Some((collective, loaded.rules_for(collective)?.1));
    let serve = |(collective, rules): (Collective, _)| Reached { collective, rules, comm_rules: comm_rules(rules) };
    Collective::ALL.into_iter().filter_map(rules).map(serve).collect()
}

fn comm_rules(rules: &CollectiveRules) -> Vec<ReachedCommRule<'_>> {
    let mut ranks: Vec<Vec<RankRange>> = vec![Vec::new(); rules.comm_rules.len()];
    for distribution in rules.distributions() {
        let mut steps = rules.steps(*distribution).to_vec();
        // Larger communicators than an int counts do not exist.
        steps.retain(|(start, _)| *start <= i32::MAX as u64);
        let ends = steps.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        for ((start, comm_rule), end) in steps.iter().zip(ends).filter(|(_, end)| end.is_none_or(|end| end > FIRST)) {
            let (Some(comm_rule), first) = (comm_rule, (*start).max(FIRST)) else { continue };
            match ranks[*comm_rule].last_mut().filter(|last| last.end == Some(first)) {
                Some(last) => last.end = end,
                None => ranks[*comm_rule].push(RankRange { first, end }),
            }
        }
    }
    let serving = rules.comm_rules.iter().zip(ranks).filter(|(_, ranks)| !ranks.is_empty());
    serving
        .map(|(comm_rule, mut ranks)| {
            ranks.sort_unstable_by_key(|range| range.first);
            let mut steps = comm_rule.steps().to_vec();
            // Nor do larger messages than a long counts.
            steps.retain(|(start, _)| *start < i64::MAX as u64);
            steps.dedup_by_key(|(_, rule)| *rule);
            ReachedCommRule { comm_rule, ranks, steps }
        })
        .collect()
}
