//! Meaning of a HAN file, independent of how it is written, and the lookup of the rule for a call.

use crate::collective::Collective;
use crate::file::{Lookup, Reason, RuleRef};
use crate::steps::Steps;
use crate::table::StepTable;

use super::model::{Configuration, HanFile, HanFileRule, LevelRules};
use super::vocabulary::{ComponentChoice, Level};

/// HAN's choices by collective and level; none if its parameters decide.
pub type HanTable = StepTable<(Collective, Level), Option<ComponentChoice>>;

impl HanFile {
    /// Looks up the choice for a call, given the ranks of the level's communicator and the size that HAN looks up; none if
    /// HAN's parameters decide.
    pub fn lookup(
        &self,
        collective: Collective,
        level: Level,
        ranks: u32,
        lookup_bytes: u64,
    ) -> Lookup<Option<ComponentChoice>> {
        let none = |reason| Lookup { lookup_bytes, rule: None, choice: None, reason };
        let LevelRules { configurations, .. } = match self.rules_for(collective, level) {
            Ok(found) => found,
            Err(reason) => return none(reason),
        };
        let fits = |configuration: &Configuration| i64::from(configuration.size) <= i64::from(ranks);
        let Some(comm_rule) = configurations.iter().rposition(fits) else { return none(Reason::NoCommRule) };
        let Configuration { span, rules, .. } = &configurations[comm_rule];
        let Some(rule) = rules.iter().rposition(|rule| rule.size <= lookup_bytes) else {
            return none(Reason::NoSize { comm_rule, span: *span });
        };
        let HanFileRule { choice, span, .. } = rules[rule];
        let rule = RuleRef { comm_rule, rule, span };
        Lookup { lookup_bytes, rule: Some(rule), choice: Some(choice), reason: Reason::Rule }
    }

    /// The rules that count for a collective and a level.
    fn rules_for(&self, collective: Collective, level: Level) -> Result<&LevelRules, Reason> {
        let rules = self.collectives.iter().rfind(|rules| rules.id == collective.id()).ok_or(Reason::NoRules)?;
        rules.levels.iter().rfind(|rules| rules.level == level).ok_or(Reason::NoLevel)
    }

    /// Returns the meaning of the file, for known collectives. Takes linear time.
    pub fn to_table(&self) -> HanTable {
        let mut table = HanTable::default();
        let sizes =
            |found: &Configuration| last_that_fits(None, found.rules.iter().map(|rule| (rule.size, Some(rule.choice))));
        // No communicator has fewer ranks than one.
        let bound = |found: &Configuration| u64::try_from(found.size).ok().filter(|size| *size > 1).unwrap_or(0);
        for (collective, level) in Collective::ALL.into_iter().flat_map(|one| Level::ALL.map(|level| (one, level))) {
            if let Ok(rules) = self.rules_for(collective, level) {
                let ranks = rules.configurations.iter().map(|found| (bound(found), sizes(found)));
                table.set((collective, level), last_that_fits(Steps::constant(None), ranks));
            }
        }
        table
    }
}

/// The values from lower bounds on, in file order, of which the last that fits counts; below all of them another.
fn last_that_fits<V: Clone + PartialEq>(below: V, bounds: impl DoubleEndedIterator<Item = (u64, V)>) -> Steps<V> {
    let mut steps: Vec<(u64, V)> = Vec::new();
    for (bound, value) in bounds.rev() {
        // A bound hides all earlier ones that fit as well.
        if steps.last().is_none_or(|(lowest, _)| bound < *lowest) {
            steps.push((bound, value));
        }
    }
    if steps.last().is_none_or(|(lowest, _)| *lowest > 0) {
        steps.push((0, below));
    }
    Steps::ascending(steps.into_iter().rev())
}
