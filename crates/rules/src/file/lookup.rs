//! Lookup of the rule for a call, and the meaning of a whole file.

use super::model::{CommRule, Loaded, Rule};
use crate::call::{Call, Distribution};
use crate::choice::Choice;
use crate::collective::Collective;
use crate::span::Span;
use crate::steps::Steps;
use crate::table::RuleTable;
use crate::units::Ranks;

/// A rule by its place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleRef {
    /// Place among the communicator rules of the collective.
    pub comm_rule: usize,
    /// Place among the rules of the communicator rule.
    pub rule: usize,
    /// The rule in the source.
    pub span: Span,
}

/// Result of looking up a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup<C = Choice> {
    /// The size that was looked up.
    pub lookup_bytes: u64,
    /// The rule that applies; none if there is none and the builtin decides.
    pub rule: Option<RuleRef>,
    /// Choice of the rule; the default without a rule, and in coll/tuned for a rule with algorithm 0, regardless of its
    /// other fields.
    pub choice: C,
    /// Reason for the result.
    pub reason: Reason,
}

/// Reason why a rule decides a call, or none does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The file has no communicator rules for the collective.
    #[error("the file has no rules for the collective")]
    NoRules,
    /// HAN: the file has no rules for the collective on this level.
    #[error("the file has no rules for the collective on this level")]
    NoLevel,
    /// No communicator rule fits (6.0, HAN).
    #[error("no rules are for communicators of this size")]
    NoCommRule,
    /// The communicator rule that applies has no message rules.
    #[error("there are no message rules for communicators of this size")]
    EmptyCommRule {
        /// Its place among the communicator rules of the collective.
        comm_rule: usize,
        /// Its place in the source.
        span: Span,
    },
    /// The communicator rule that applies has no matching message rule, and no other is tried (6.0, HAN).
    #[error("the rules that apply to communicators of this size leave a gap here, and no others are tried")]
    NoSize {
        /// Its place among the communicator rules of the collective.
        comm_rule: usize,
        /// Its place in the source.
        span: Span,
    },
    /// A rule fits.
    #[error("the rule fits")]
    Rule,
    /// A rule fits and leaves the decision to the builtin.
    #[error("the rule says algorithm 0, which leaves the decision to Open MPI")]
    RuleBuiltin,
    /// A rule applies, although the communicator is smaller than the first size listed (up to 5.0).
    #[error("the communicator is smaller than the first size listed, which applies to it nonetheless")]
    BelowFirst,
}

impl<C> Lookup<C> {
    /// The place of the rule that applies, or of the communicator rule that was searched for one.
    pub fn place(&self) -> Option<Span> {
        match (self.rule, self.reason) {
            (Some(rule), _) => Some(rule.span),
            (None, Reason::EmptyCommRule { span, .. } | Reason::NoSize { span, .. }) => Some(span),
            _ => None,
        }
    }
}

impl Loaded {
    /// Looks up the rule and choice for a call. Takes logarithmic time, whatever the order of the rules, and allocates
    /// nothing.
    pub fn lookup(&self, call: &Call) -> Lookup {
        let lookup_bytes = call.lookup_bytes(self.behaviour.release);
        self.lookup_by_size(call.collective, call.ranks, lookup_bytes, call.distribution)
    }

    /// Like [`lookup`](Self::lookup), given the size that is looked up.
    pub fn lookup_by_size(
        &self,
        collective: Collective,
        ranks: Ranks,
        lookup_bytes: u64,
        distribution: Distribution,
    ) -> Lookup {
        let builtin = |reason| Lookup { lookup_bytes, rule: None, choice: Choice::BUILTIN, reason };
        let Some(rules) = self.rules_for(collective).filter(|rules| !rules.comm_rules.is_empty()) else {
            return builtin(Reason::NoRules);
        };
        let Some(comm_rule) = *rules.index_for(distribution).get(ranks.0.into()) else {
            return builtin(Reason::NoCommRule);
        };
        let CommRule { span, rules: list, index, min, .. } = &rules.comm_rules[comm_rule];
        if list.is_empty() {
            return builtin(Reason::EmptyCommRule { comm_rule, span: *span });
        }
        let Some(rule) = *index.get(lookup_bytes) else {
            return builtin(Reason::NoSize { comm_rule, span: *span });
        };
        let choice = list[rule].effect();
        let reason = if choice.is_builtin() {
            Reason::RuleBuiltin
        } else if !self.behaviour.first_match && i64::from(ranks.0) < i64::from(*min) {
            Reason::BelowFirst
        } else {
            Reason::Rule
        };
        let rule = RuleRef { comm_rule, rule, span: list[rule].span };
        Lookup { lookup_bytes, rule: Some(rule), choice, reason }
    }

    /// Returns the meaning of the file to its version, for communicators of no particular distribution. Impossible
    /// sizes get the choice below them.
    pub fn to_table(&self) -> RuleTable {
        self.to_table_for(Distribution::Any)
    }

    /// Returns true if some rules apply to one distribution over nodes only.
    pub fn names_layouts(&self) -> bool {
        let mut rules = Collective::ALL.into_iter().filter_map(|collective| self.rules_for(collective));
        rules.any(|rules| rules.distributions().len() > 1)
    }

    /// Returns the meaning of the file for communicators with this distribution over nodes.
    ///
    /// Takes time and memory in proportion to the table, which repeats the sizes of a communicator rule for every range
    /// of communicator sizes that uses it (one, unless JSON rules overlap).
    pub fn to_table_for(&self, distribution: Distribution) -> RuleTable {
        let mut table = RuleTable::new();
        for collective in Collective::ALL {
            let Some(rules) = self.rules_for(collective) else { continue };
            let choice = |comm_rule: &CommRule, rule: Option<usize>| {
                rule.map_or(Choice::BUILTIN, |rule| comm_rule.rules[rule].effect())
            };
            let sizes = |comm_rule: &CommRule| comm_rule.index.map(|rule| choice(comm_rule, *rule));
            let builtin = || Steps::constant(Choice::BUILTIN);
            let ranks = rules.index_for(distribution);
            let ranks = ranks.map(|place| place.map_or_else(builtin, |place| sizes(&rules.comm_rules[place])));
            table.set(collective, ranks);
        }
        table
    }
}

impl Rule {
    /// Returns the effective choice: in a rule for the builtin, all other fields are ignored.
    pub fn effect(&self) -> Choice {
        if self.choice.is_builtin() { Choice::BUILTIN } else { self.choice }
    }
}
