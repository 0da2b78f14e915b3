//! The groups in which a cell's alternatives race.

use std::collections::{BTreeMap, BTreeSet};

use collrules_rules::{Choice, Collective, registry};
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::policy::Assumptions;

/// Visits that a test of two alternatives needs: with fewer, no interval of a median has its level.
pub const TEST_VISITS: u32 = 6;

/// A group of alternatives that race with each other: each is eliminated only by the leader of its own group, however fast
/// the others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The default, with which all others are compared. It races in every group, and is never eliminated.
    Default,
    /// Candidate that becomes the default once another component is switched off. It races with rules, and no launch
    /// alone eliminates it.
    Fallback,
    /// Candidates that rules may choose, also as remedies of a violated guideline.
    Permitted,
    /// Candidates that rules may choose only under an assumption that is not made, such as commuting operations.
    NeedsAssumption,
    /// Other calls that do the same.
    Mockup,
    /// Algorithms with messages of the worker, which no rule can choose.
    Reference,
}

impl Group {
    /// The group of an alternative.
    pub fn classify(collective: Collective, candidate: Candidate, assumptions: Assumptions) -> Self {
        let needs_more = |choice: Choice| {
            let algorithm = registry::in_any_release(collective, choice.algorithm);
            algorithm.is_some_and(|algorithm| assumptions.lacking(algorithm, choice.segsize).is_some())
        };
        match candidate {
            Candidate::Builtin | Candidate::Rules => Self::Default,
            Candidate::Component(_) => Self::Fallback,
            Candidate::Mockup(_) => Self::Mockup,
            Candidate::Reference(_) => Self::Reference,
            Candidate::Tuned(choice) if needs_more(choice) => Self::NeedsAssumption,
            Candidate::Tuned(_) | Candidate::Han(_) => Self::Permitted,
        }
    }

    /// Returns true if an alternative of this group may eliminate one of the other group. A permitted rule that is
    /// faster makes an alternative that needs an assumption irrelevant.
    pub fn may_eliminate(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Default) => false,
            (Self::Default, _) => true,
            (Self::Fallback | Self::Permitted, Self::Fallback | Self::Permitted | Self::NeedsAssumption) => true,
            (own, other) => own == other,
        }
    }

    /// Returns true if its alternatives are tested against the default one by one, instead of only choosing the best of
    /// them.
    pub fn is_tested(self) -> bool {
        matches!(self, Self::Mockup | Self::Reference)
    }
}

/// The groups in which the alternatives of a cell race; unlisted ones are permitted rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Question(BTreeMap<Group, BTreeSet<Candidate>>);

impl Question {
    /// The question of a cell with these alternatives, if programs meet these assumptions.
    pub fn new(collective: Collective, candidates: &[Candidate], assumptions: Assumptions) -> Self {
        let mut groups: BTreeMap<Group, BTreeSet<Candidate>> = BTreeMap::new();
        for candidate in candidates {
            groups.entry(Group::classify(collective, *candidate, assumptions)).or_default().insert(*candidate);
        }
        groups.remove(&Group::Permitted);
        Self(groups)
    }

    /// Moves alternatives that are not permitted to the group of those that need an assumption.
    pub fn restrict(&mut self, collective: Collective, candidates: &[Candidate], permits: impl Fn(Candidate) -> bool) {
        let rules = candidates.iter().copied().filter(|one| self.group(collective, *one) == Group::Permitted);
        let barred: BTreeSet<Candidate> = rules.filter(|one| !permits(*one)).collect();
        if !barred.is_empty() {
            self.0.entry(Group::NeedsAssumption).or_default().extend(barred);
        }
    }

    /// Returns true if all alternatives are permitted rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The group of an alternative. One that rules cannot choose is never a permitted rule, listed or not.
    pub fn group(&self, collective: Collective, candidate: Candidate) -> Group {
        let listed = self.0.iter().find(|(_, candidates)| candidates.contains(&candidate));
        listed.map_or_else(|| Group::classify(collective, candidate, Assumptions::ALL), |(group, _)| *group)
    }

    /// Visits that all launches together have to make if the budget allows.
    pub fn least_visits(&self) -> u32 {
        if self.0.keys().any(|group| group.is_tested()) { TEST_VISITS } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_lift_what_needs_them() {
        let ring = Candidate::Tuned(Choice::plain(4));
        let of = |collective, assumptions| Group::classify(collective, ring, assumptions);
        let usual = Assumptions::default();
        assert_eq!(of(Collective::Allreduce, usual), Group::NeedsAssumption);
        assert_eq!(of(Collective::Allreduce, Assumptions { commutative_ops: true, ..usual }), Group::Permitted);
        assert_eq!(of(Collective::Allgather, usual), Group::Permitted, "no operation, no order");
        let segmented = Candidate::Tuned(Choice::plain(3).with_segsize(8192));
        let bcast = |uniform_datatypes| {
            Group::classify(Collective::Bcast, segmented, Assumptions { uniform_datatypes, ..usual })
        };
        assert_eq!((bcast(true), bcast(false)), (Group::Permitted, Group::NeedsAssumption));
    }

    #[test]
    fn only_the_own_group_and_the_default_eliminate() {
        use Group::{Default, Fallback, Mockup, NeedsAssumption, Permitted, Reference};
        let all = [Default, Fallback, Permitted, NeedsAssumption, Mockup, Reference];
        let by = |group: Group| all.into_iter().filter(|other| other.may_eliminate(group)).collect::<Vec<_>>();
        assert!(by(Default).is_empty());
        assert_eq!(
            (by(Permitted), by(Fallback)),
            (vec![Default, Fallback, Permitted], vec![Default, Fallback, Permitted])
        );
        assert_eq!(by(NeedsAssumption), [Default, Fallback, Permitted, NeedsAssumption]);
        assert_eq!((by(Mockup), by(Reference)), (vec![Default, Mockup], vec![Default, Reference]));
    }

    #[test]
    fn a_question_keeps_the_groups_of_its_alternatives() {
        let all = ["builtin", "tuned:3/0/0/0", "tuned:4/0/0/0", "mockup:reduce+bcast", "chan:long", "component:tuned"];
        let all = all.map(|name| name.parse::<Candidate>().expect("a candidate"));
        let question = Question::new(Collective::Allreduce, &all, Assumptions::default());
        let groups = all.map(|candidate| question.group(Collective::Allreduce, candidate));
        let expected = [
            Group::Default,
            Group::Permitted,
            Group::NeedsAssumption,
            Group::Mockup,
            Group::Reference,
            Group::Fallback,
        ];
        assert_eq!((groups, question.least_visits()), (expected, TEST_VISITS));
        let rules = Question::new(Collective::Allreduce, &all[..3], Assumptions::default());
        assert_eq!(rules.least_visits(), 1);
        let text = serde_json::to_string(&question).expect("is plain data");
        assert_eq!(serde_json::from_str::<Question>(&text).expect("reads back"), question);
    }
}
