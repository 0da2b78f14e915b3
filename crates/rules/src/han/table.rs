//! Meaning of a HAN file, independent of how it is written, and the lookup of the rule for a call.

use crate::collective::Collective;
use crate::file::{Lookup, Reason, RuleRef};
use crate::steps::Steps;
use crate::table::{SizeSteps, Table};

use super::model::{Configuration, HanCollectiveRules, HanFile, HanFileRule};
use super::vocabulary::{ComponentChoice, Level};

/// HAN's choices by collective and level; none if its parameters decide.
pub type HanTable = Table<(Collective, Level), Option<ComponentChoice>>;

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
        let Some(place) = self.collectives.iter().rposition(|rules| rules.id == collective.id()) else {
            return none(Reason::NoRules);
        };
        let Some(rules) = self.collectives[place].levels.iter().rfind(|rules| rules.level == level) else {
            return none(Reason::NoLevel);
        };
        let fits = |configuration: &Configuration| i64::from(configuration.size) <= i64::from(ranks);
        let Some(comm_rule) = rules.configurations.iter().rposition(fits) else { return none(Reason::NoCommRule) };
        let Configuration { span, rules, .. } = &rules.configurations[comm_rule];
        let Some(rule) = rules.iter().rposition(|rule| rule.size <= lookup_bytes) else {
            return none(Reason::NoSize { comm_rule, span: *span });
        };
        let HanFileRule { choice, span, .. } = rules[rule];
        let rule = RuleRef { collective: place, comm_rule, rule, span };
        Lookup { lookup_bytes, rule: Some(rule), choice: Some(choice), reason: Reason::Rule }
    }

    /// The rules that count for a collective.
    pub fn rules_for(&self, id: u32) -> Option<&HanCollectiveRules> {
        self.collectives.iter().rfind(|rules| rules.id == id)
    }

    /// Returns the meaning of the file, for known collectives. Takes time `n log n`.
    pub fn to_table(&self) -> HanTable {
        let mut table = HanTable::default();
        for collective in Collective::ALL {
            let Some(rules) = self.rules_for(collective.id()) else { continue };
            for level in Level::ALL {
                let Some(rules) = rules.levels.iter().rfind(|rules| rules.level == level) else { continue };
                let list = &rules.configurations;
                let sizes = |configuration: Option<&Configuration>| {
                    configuration.map_or_else(|| Steps::constant(None), |found| size_steps(&found.rules))
                };
                // No communicator has fewer ranks than one.
                let bound = |found: &Configuration| u64::try_from(found.size).ok().filter(|size| *size > 1);
                let starts = last_that_fits(list.iter().map(|found| bound(found).unwrap_or(0)));
                let steps = starts.into_iter().map(|(start, place)| (start, sizes(place.map(|place| &list[place]))));
                table.set((collective, level), Steps::ascending(steps));
            }
        }
        table
    }
}

fn size_steps(rules: &[HanFileRule]) -> SizeSteps<Option<ComponentChoice>> {
    let starts = last_that_fits(rules.iter().map(|rule| rule.size));
    Steps::ascending(starts.into_iter().map(|(start, place)| (start, place.map(|place| rules[place].choice))))
}

/// For lower bounds in file order: the steps from 0 on, each with the place of the last bound that fits.
pub(crate) fn last_that_fits(bounds: impl Iterator<Item = u64>) -> Vec<(u64, Option<usize>)> {
    let mut bounds: Vec<(u64, usize)> = bounds.zip(0..).collect();
    bounds.sort_unstable();
    let mut steps: Vec<(u64, Option<usize>)> = vec![(0, None)];
    for (bound, place) in bounds {
        match steps.last_mut() {
            // A bound that comes later in the file hides all earlier ones that fit as well.
            Some((_, Some(serving))) if *serving > place => {}
            Some((start, serving)) if *start == bound => *serving = Some(place),
            _ => steps.push((bound, Some(place))),
        }
    }
    steps
}
