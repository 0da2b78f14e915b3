//! What a HAN file means, independent of how it is written, and which rule serves a call.

use std::collections::BTreeMap;

use crate::collective::Collective;
use crate::span::Span;
use crate::steps::Steps;

use super::model::{CollectiveRules, Configuration, Loaded, Rule};
use super::vocabulary::{Choice, Level};

/// Choices over the message sizes that HAN looks up; none where its parameters decide.
pub type SizeSteps = Steps<Option<Choice>>;

/// Per communicator size of a level, choices over message sizes.
pub type RankSteps = Steps<SizeSteps>;

/// What is chosen, by collective and level. Canonical: tables that choose alike are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    rules: BTreeMap<(Collective, Level), RankSteps>,
}

impl Table {
    /// Replaces what is chosen for a collective on a level.
    pub fn set(&mut self, collective: Collective, level: Level, ranks: RankSteps) {
        if ranks == all_parameters() {
            self.rules.remove(&(collective, level));
        } else {
            self.rules.insert((collective, level), ranks);
        }
    }

    /// What is chosen for a collective on a level.
    pub fn get(&self, collective: Collective, level: Level) -> Option<&RankSteps> {
        self.rules.get(&(collective, level))
    }

    /// What is chosen for a call; none where HAN's parameters decide.
    pub fn lookup(&self, collective: Collective, level: Level, ranks: u64, bytes: u64) -> Option<Choice> {
        self.get(collective, level).and_then(|steps| *steps.get(ranks).get(bytes))
    }

    /// All rules, by collective and level.
    pub fn iter(&self) -> impl Iterator<Item = (Collective, Level, &RankSteps)> {
        self.rules.iter().map(|((collective, level), ranks)| (*collective, *level, ranks))
    }
}

/// Steps that leave everything to HAN's parameters.
pub fn all_parameters() -> RankSteps {
    Steps::constant(Steps::constant(None))
}

/// Why a call is served as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The file has no rules for the collective.
    NoRules,
    /// The file has no rules for the collective on this level.
    NoLevel,
    /// No configuration fits.
    NoConfiguration,
    /// The configuration that serves has no message size that fits.
    NoSize(Span),
    /// A rule fits.
    Rule(Span),
}

impl Reason {
    /// Where the rule is, or the configuration in which one was looked for.
    pub fn span(self) -> Option<Span> {
        match self {
            Self::NoSize(span) | Self::Rule(span) => Some(span),
            _ => None,
        }
    }

    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoRules => "the file has no rules for the collective",
            Self::NoLevel => "the file has no rules for the collective on this level",
            Self::NoConfiguration => "no configuration is for communicators of this size",
            Self::NoSize(_) => "the last configuration that fits has no rule for this size, and no other is tried",
            Self::Rule(_) => "it is the last rule that fits, in the last configuration that fits",
        }
    }
}

impl Loaded {
    /// What the file chooses for a call, given the ranks of the level's communicator and the size that HAN looks up.
    pub fn lookup(&self, collective: Collective, level: Level, ranks: u32, bytes: u64) -> (Option<Choice>, Reason) {
        let Some(rules) = self.rules_for(collective.id()) else { return (None, Reason::NoRules) };
        let Some(level) = rules.levels.iter().rfind(|rules| rules.level == level) else {
            return (None, Reason::NoLevel);
        };
        let fits = |configuration: &&Configuration| i64::from(configuration.size) <= i64::from(ranks);
        let Some(configuration) = level.configurations.iter().rfind(fits) else {
            return (None, Reason::NoConfiguration);
        };
        match configuration.rules.iter().rfind(|rule| rule.size <= bytes) {
            Some(rule) => (Some(rule.choice), Reason::Rule(rule.span)),
            None => (None, Reason::NoSize(configuration.span)),
        }
    }

    /// The rules that count for a collective.
    pub fn rules_for(&self, id: u32) -> Option<&CollectiveRules> {
        self.collectives.iter().rfind(|rules| rules.id == id)
    }

    /// What the file means, for the collectives that are known here. Takes time `n log n`.
    pub fn to_table(&self) -> Table {
        let mut table = Table::default();
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
                table.set(collective, level, Steps::ascending(steps));
            }
        }
        table
    }
}

fn size_steps(rules: &[Rule]) -> SizeSteps {
    let starts = last_that_fits(rules.iter().map(|rule| rule.size));
    Steps::ascending(starts.into_iter().map(|(start, place)| (start, place.map(|place| rules[place].choice))))
}

/// For lower bounds in the order of the file, the steps from 0 on and the place of the last bound that fits.
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
