//! Communicators and message sizes to which each rule of a file applies.

use crate::behaviour::Behaviour;
use crate::collective::Collective;
use crate::file::{CollectiveRules, CommRule, Loaded, Rule};
use crate::hazard::RankRange;
use crate::steps::Steps;

/// The smallest communicator that coll/tuned handles.
pub(crate) const FIRST: u64 = 2;

/// A file as active in a version.
pub(crate) struct FileView<'l> {
    pub(crate) loaded: &'l Loaded,
    /// The rules that count for each collective.
    pub(crate) collectives: Vec<(Collective, &'l CollectiveRules)>,
    /// The communicator rules that apply to some communicator, collective by collective.
    pub(crate) comm_rules: Vec<ReachedCommRule<'l>>,
}

impl<'l> FileView<'l> {
    /// Finds the calls that each rule applies to, in time `n log n`.
    pub(crate) fn new(loaded: &'l Loaded) -> Self {
        let rules = |collective| Some((collective, loaded.rules_for(collective)?));
        let collectives: Vec<_> = Collective::ALL.into_iter().filter_map(rules).collect();
        let reached = |(collective, rules): &(Collective, &'l CollectiveRules)| comm_rules(loaded, *collective, rules);
        Self { loaded, comm_rules: collectives.iter().flat_map(reached).collect(), collectives }
    }
}

/// A communicator rule and the calls to which it applies.
pub(crate) struct ReachedCommRule<'l> {
    pub(crate) version: Behaviour,
    pub(crate) collective: Collective,
    pub(crate) comm_rule: &'l CommRule,
    /// The communicator sizes, in ascending order.
    pub(crate) ranks: Vec<RankRange>,
    /// The rules by lookup bytes.
    pub(crate) steps: Steps<Option<&'l Rule>>,
}

impl<'l> ReachedCommRule<'l> {
    /// The smallest communicator.
    pub(crate) fn first(&self) -> u64 {
        self.ranks.first().map_or(FIRST, |range| range.first)
    }

    /// The rules that apply to some call.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &'l Rule> {
        self.steps.iter().filter_map(|(.., rule)| *rule)
    }
}

fn comm_rules<'l>(loaded: &Loaded, collective: Collective, rules: &'l CollectiveRules) -> Vec<ReachedCommRule<'l>> {
    let mut ranks: Vec<Vec<RankRange>> = vec![Vec::new(); rules.comm_rules.len()];
    for distribution in rules.distributions() {
        // Larger communicators than an int counts do not exist.
        let steps = rules.index_for(*distribution).clone().truncate(i32::MAX as u64);
        for (start, end, comm_rule) in steps.iter().filter(|(_, end, _)| end.is_none_or(|end| end > FIRST)) {
            let (Some(comm_rule), first) = (comm_rule, start.max(FIRST)) else { continue };
            match ranks[*comm_rule].last_mut().filter(|last| last.end == Some(first)) {
                Some(last) => last.end = end,
                None => ranks[*comm_rule].push(RankRange { first, end }),
            }
        }
    }
    let used = rules.comm_rules.iter().zip(ranks).filter(|(_, ranks)| !ranks.is_empty());
    used.map(|(comm_rule, mut ranks)| {
        ranks.sort_unstable_by_key(|range| range.first);
        // Nor do larger messages than a long counts.
        let steps = comm_rule.index.map(|rule| rule.map(|rule| &comm_rule.rules[rule]));
        let steps = steps.truncate(i64::MAX as u64 - 1);
        ReachedCommRule { version: loaded.behaviour, collective, comm_rule, ranks, steps }
    })
    .collect()
}
