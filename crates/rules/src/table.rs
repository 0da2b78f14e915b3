//! The rule table: choices, independent of any file format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::Choice;
use crate::collective::Collective;
use crate::steps::Steps;

/// Values over the sizes that are looked up (see [`crate::metric`]).
pub type SizeSteps<V = Choice> = Steps<V>;

/// Per communicator size, values over the sizes that are looked up.
pub type RankSteps<V = Choice> = Steps<SizeSteps<V>>;

/// A decision tree in the terms of a component's rules files: key (a collective, in HAN's files also a level), then
/// communicator size, then the size that is looked up, then a value.
///
/// Total: everything that was not set has the default value, which leaves the decision to the component. Canonical: tables
/// with equal values are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Ord + Serialize, V: Clone + Serialize",
    deserialize = "K: Ord + Deserialize<'de>, V: Deserialize<'de>"
))]
pub struct StepTable<K, V> {
    /// Keys with a value other than the default.
    collectives: BTreeMap<K, RankSteps<V>>,
}

/// The choices of coll/tuned.
pub type RuleTable = StepTable<Collective, Choice>;

impl<K, V> Default for StepTable<K, V> {
    fn default() -> Self {
        Self { collectives: BTreeMap::new() }
    }
}

impl<K: Copy + Ord, V: Copy + Default + PartialEq> StepTable<K, V> {
    /// The table that leaves everything to the component.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the values of a key.
    pub fn set(&mut self, key: K, steps: RankSteps<V>) {
        if steps == all_builtin() {
            self.collectives.remove(&key);
        } else {
            self.collectives.insert(key, steps);
        }
    }

    /// Returns the value for a communicator size and the bytes that Open MPI looks up.
    pub fn lookup(&self, key: K, ranks: u64, lookup_bytes: u64) -> V {
        self.collectives.get(&key).map_or_else(V::default, |steps| *steps.get(ranks).get(lookup_bytes))
    }

    /// The keys with a value other than the default, in the order of the collectives' ids.
    pub fn collectives(&self) -> impl Iterator<Item = (K, &RankSteps<V>)> {
        self.collectives.iter().map(|(key, steps)| (*key, steps))
    }

    /// Returns the values of a key, if any of them is not the default.
    pub fn get(&self, key: K) -> Option<&RankSteps<V>> {
        self.collectives.get(&key)
    }

    /// Returns this table with each value mapped.
    #[must_use]
    pub fn map(&self, value: impl Fn(K, V) -> V) -> Self {
        let mut table = Self::new();
        for (key, blocks) in self.collectives() {
            table.set(key, blocks.map(|sizes| sizes.map(|own| value(key, *own))));
        }
        table
    }

    /// Every value, with its range of communicator sizes and its first lookup bytes.
    pub fn choices(&self) -> impl Iterator<Item = (K, (u64, Option<u64>), u64, V)> {
        self.collectives().flat_map(|(key, blocks)| {
            blocks.iter().flat_map(move |(first, end, sizes)| {
                sizes.iter().map(move |(start, _, value)| (key, (first, end), start, *value))
            })
        })
    }

    /// Returns true if everything is left to the component.
    pub fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }

    /// The number of ranges with a value other than the default.
    pub fn rules(&self) -> usize {
        self.choices().filter(|(.., value)| *value != V::default()).count()
    }
}

/// Steps that leave every communicator size and every message size to the component.
pub fn all_builtin<V: Clone + Default + PartialEq>() -> RankSteps<V> {
    Steps::constant(Steps::constant(V::default()))
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
