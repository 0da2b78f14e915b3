//! Differences between the choices of two tables or two files.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::call::Distribution;
use crate::choice::Choice;
use crate::collective::Collective;
use crate::file::{CollectiveRules, Loaded};
use crate::han::HanTable;
use crate::hazard::RankRange;
use crate::kind::{Key, Part, RuleChoice, Rules};
use crate::metric::{self, Metric};
use crate::registry;
use crate::release::Release;
use crate::steps::{Steps, earlier};
use crate::table::{RankSteps, RuleTable, SizeSteps, StepTable, all_builtin};
use crate::units::{Bytes, Ranks};

/// Sizes in bytes `first..end`; open above if there is no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ByteRange {
    /// The smallest size.
    pub first: u64,
    /// The end, excluded.
    pub end: Option<u64>,
}

/// Calls for which two tables differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The collective.
    pub collective: Collective,
    /// The part of its calls.
    #[serde(flatten)]
    pub part: Part,
    /// The communicator sizes.
    pub ranks: RankRange,
    /// The lookup bytes (see [`crate::metric`]).
    pub sizes: ByteRange,
    /// Choice of the left table.
    pub left: RuleChoice,
    /// Choice of the right table.
    pub right: RuleChoice,
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.end.map(Bytes)) {
            (0, None) => f.write_str("any size"),
            (0, Some(Bytes(1))) => f.write_str("0 B"),
            (0, Some(end)) => write!(f, "less than {end}"),
            (first, None) => write!(f, "{} and more", Bytes(first)),
            (first, Some(end)) if end.0 <= first => f.write_str("none"),
            (first, Some(end)) if end.0 == first + 1 => write!(f, "{}", Bytes(first)),
            (first, Some(end)) => write!(f, "{} to less than {end}", Bytes(first)),
        }
    }
}

impl Difference {
    /// Returns true if a call can reach the difference: communicators have two ranks or more, and some collectives look
    /// up no size.
    pub fn is_reachable(&self, release: Release) -> bool {
        let sized = || match self.part {
            Part::Distribution(_) => metric::metric(release, self.collective, Ranks(2)) != Metric::None,
            Part::Level(_) => self.collective.has_sizes(),
        };
        self.ranks.end.is_none_or(|end| end > 2) && (self.sizes.first == 0 || sized())
    }

    /// The smallest communicator that meets it.
    pub fn smallest(&self) -> u64 {
        self.ranks.first.max(2)
    }
}

/// All differences between two tables: by key, communicator sizes, lookup bytes. Neighbouring communicator sizes
/// with the same differences are joined.
///
/// Takes time linear in the number of overlaps between blocks of the two tables.
pub fn tables<K: Key, V>(left: &StepTable<K, V>, right: &StepTable<K, V>) -> Vec<Difference>
where
    V: Copy + Default + PartialEq + Into<RuleChoice>,
{
    let builtin = all_builtin();
    let keys: BTreeSet<K> = left.collectives().chain(right.collectives()).map(|(key, _)| key).collect();
    let mut differences = Vec::new();
    for key in keys {
        let (collective, part) = key.calls();
        let [left, right] = [left, right].map(|table| table.get(key).unwrap_or(&builtin));
        for (ranks, cells) in blocks(left, right) {
            let difference = |(sizes, left, right): (_, V, V)| Difference {
                collective,
                part,
                ranks,
                sizes,
                left: left.into(),
                right: right.into(),
            };
            differences.extend(cells.into_iter().map(difference));
        }
    }
    differences
}

/// The size ranges in which two blocks differ, with both values.
type Cells<V> = Vec<(ByteRange, V, V)>;

/// The communicator sizes in which two functions differ in the same way.
fn blocks<V: Copy + PartialEq>(left: &RankSteps<V>, right: &RankSteps<V>) -> Vec<(RankRange, Cells<V>)> {
    let mut blocks: Vec<(RankRange, Cells<V>)> = Vec::new();
    for (first, end, left, right) in both(left, right) {
        let cells = cells(left, right);
        match blocks.last_mut() {
            Some((ranks, before)) if *before == cells => ranks.end = end,
            _ => blocks.push((RankRange { first, end }, cells)),
        }
    }
    blocks
}

fn cells<V: Copy + PartialEq>(left: &SizeSteps<V>, right: &SizeSteps<V>) -> Cells<V> {
    let different = |(first, end, left, right): (u64, Option<u64>, &V, &V)| {
        (left != right).then_some((ByteRange { first, end }, *left, *right))
    };
    both(left, right).filter_map(different).collect()
}

/// The ranges on which both functions are constant, in order, with both values.
fn both<'s, V: Clone + PartialEq>(
    left: &'s Steps<V>,
    right: &'s Steps<V>,
) -> impl Iterator<Item = (u64, Option<u64>, &'s V, &'s V)> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let first = start?;
        let ((_, left_end, left_value), (_, right_end, right_value)) = (*left.peek()?, *right.peek()?);
        let end = earlier(left_end, right_end);
        left.next_if(|_| left_end == end);
        right.next_if(|_| right_end == end);
        start = end;
        Some((first, end, left_value, right_value))
    })
}

/// Returns the part of a choice that a release uses: parameters that the algorithm ignores become 0. A choice of an
/// algorithm that the release does not have is returned unchanged.
fn heeded(release: Release, collective: Collective, choice: Choice) -> Choice {
    if choice.is_builtin() {
        return Choice::BUILTIN;
    }
    registry::algorithm(release, collective, choice.algorithm).map_or(choice, |algorithm| algorithm.uses.keep(choice))
}

/// Returns the meaning of a file for each distribution that it distinguishes: one table if it distinguishes none.
pub fn meanings(loaded: &Loaded) -> Vec<(Distribution, RuleTable)> {
    distributions(&[Some(loaded)])
        .iter()
        .map(|distribution| (*distribution, loaded.to_table_for(*distribution)))
        .collect()
}

/// The calls for which two files of coll/tuned differ under a release: choices as far as the release uses them, and only
/// for calls that can occur. A file that is not active (none) has no choices.
pub fn files(release: Release, left: Option<&Loaded>, right: Option<&Loaded>) -> Vec<Difference> {
    let table = |loaded: Option<&Loaded>, distribution| {
        let table = loaded.map_or_else(RuleTable::new, |loaded| loaded.to_table_for(distribution));
        table.map(|collective, choice| heeded(release, collective, choice))
    };
    let mut differences: Vec<Difference> = Vec::new();
    for &distribution in distributions(&[left, right]) {
        let found = tables(&table(left, distribution), &table(right, distribution));
        let part = Part::Distribution(distribution);
        differences.extend(found.into_iter().map(|difference| Difference { part, ..difference }));
    }
    differences.retain(|difference| difference.is_reachable(release));
    differences
}

/// Like [`files`], for files of either component.
pub fn rules(release: Release, left: Option<&Rules>, right: Option<&Rules>) -> Vec<Difference> {
    let [(left, left_han), (right, right_han)] = [left, right].map(|rules| match rules {
        None => (None, HanTable::new()),
        Some(Rules::Tuned(loaded)) => (Some(loaded), HanTable::new()),
        Some(Rules::Han(file)) => (None, file.to_table()),
    });
    let mut differences = tables(&left_han, &right_han);
    differences.retain(|difference| difference.is_reachable(release));
    differences.extend(files(release, left, right));
    differences
}

/// The distributions that files distinguish, or any.
fn distributions(files: &[Option<&Loaded>]) -> &'static [Distribution] {
    let all = files.iter().flatten().flat_map(|loaded| &loaded.collectives).map(CollectiveRules::distributions);
    all.max_by_key(|distributions| distributions.len()).unwrap_or(&Distribution::ALL[..1])
}
