//! The rule table: choices, independent of any file format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use crate::collective::Collective;
use crate::steps::Steps;

/// Choices over lookup bytes (see [`crate::metric`]).
pub type SizeSteps = Steps<Choice>;

/// Per communicator size, choices over lookup bytes.
pub type RankSteps = Steps<SizeSteps>;

/// The decision tree in Open MPI's terms: collective, then communicator size, then lookup bytes, then a choice.
///
/// Total: everything that was not set is left to the builtin. Canonical: tables with equal choices are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleTable {
    /// Collectives with a choice other than the builtin.
    collectives: BTreeMap<Collective, RankSteps>,
}

impl RuleTable {
    /// The table that leaves everything to the builtin.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the choices for a collective.
    pub fn set(&mut self, collective: Collective, steps: RankSteps) {
        if steps == all_builtin() {
            self.collectives.remove(&collective);
        } else {
            self.collectives.insert(collective, steps);
        }
    }

    /// Returns the choice for a communicator size and the bytes that Open MPI looks up.
    pub fn lookup(&self, collective: Collective, ranks: u64, lookup_bytes: u64) -> Choice {
        self.collectives.get(&collective).map_or(Choice::BUILTIN, |steps| *steps.get(ranks).get(lookup_bytes))
    }

    /// The collectives with a choice other than the builtin, in the order of their ids.
    pub fn collectives(&self) -> impl Iterator<Item = (Collective, &RankSteps)> {
        self.collectives.iter().map(|(collective, steps)| (*collective, steps))
    }

    /// Returns the choices for a collective, if any of them is not the builtin.
    pub fn get(&self, collective: Collective) -> Option<&RankSteps> {
        self.collectives.get(&collective)
    }

    /// Returns this table with each choice mapped.
    #[must_use]
    pub fn map(&self, choice: impl Fn(Collective, Choice) -> Choice) -> Self {
        let mut table = Self::new();
        for (collective, blocks) in self.collectives() {
            table.set(collective, blocks.map(|sizes| sizes.map(|own| choice(collective, *own))));
        }
        table
    }

    /// Every choice, with its range of communicator sizes and its first lookup bytes.
    pub fn choices(&self) -> impl Iterator<Item = (Collective, (u64, Option<u64>), u64, Choice)> {
        self.collectives().flat_map(|(collective, blocks)| {
            blocks.iter().flat_map(move |(first, end, sizes)| {
                sizes.iter().map(move |(start, _, choice)| (collective, (first, end), start, *choice))
            })
        })
    }

    /// Returns true if everything is left to the builtin.
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }

    /// The number of ranges with a choice other than the builtin.
    pub fn rules(&self) -> usize {
        self.choices().filter(|(.., choice)| !choice.is_builtin()).count()
    }
}

/// Steps that leave every communicator size and every message size to the builtin.
pub fn all_builtin() -> RankSteps {
    Steps::constant(Steps::constant(Choice::BUILTIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_changes_nothing_is_empty() {
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, all_builtin());
        assert!(table.is_empty());
        assert_eq!(table, RuleTable::new());
    }

    #[test]
    fn lookups_meet_the_ranges_that_were_set() {
        let pipeline = Choice::plain(3).with_segsize(8192);
        let mut sizes = Steps::constant(Choice::BUILTIN);
        sizes.set(65536, Some(1 << 20), pipeline);
        let mut ranks = all_builtin();
        ranks.set(4, Some(5), sizes);
        let mut table = RuleTable::new();
        table.set(Collective::Bcast, ranks);
        assert_eq!(table.lookup(Collective::Bcast, 4, 65536), pipeline);
        assert_eq!(table.lookup(Collective::Bcast, 4, 65535), Choice::BUILTIN);
        assert_eq!(table.lookup(Collective::Bcast, 4, 1 << 20), Choice::BUILTIN);
        assert_eq!(table.lookup(Collective::Bcast, 5, 65536), Choice::BUILTIN);
        assert_eq!(table.lookup(Collective::Scatter, 4, 65536), Choice::BUILTIN);
        assert_eq!(table.rules(), 1);
    }
}
