//! Order in which calls add up, which determines the last bits of floating-point sums.
//!
//! Two calls give the same bits if they add up in the same order; `a + b` and `b + a` are the same. The orders were
//! measured with floats and doubles of 12 decades under 4.1.4, 5.0.11 and 6.0.0a1, and read in `coll_base_*.c` of these;
//! `tests/cli/bits.rs` tests the real releases. For 4.0 they are unknown.
//!
//! | module | job |
//! |---|---|
//! | `default` | the default algorithm of Open MPI |

mod default;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use crate::choice::Choice;
use crate::collective::Collective;
use crate::hazard::RankRange;
use crate::metric::{Metric, metric};
use crate::names;
pub use crate::order::{Order, Place};
use crate::registry::{self, When};
use crate::release::Release;
use crate::units::Ranks;

pub use default::default_choices;

/// The largest size of an element in bytes (`MPI_C_LONG_DOUBLE_COMPLEX`): with few elements, some algorithms fall back
/// to others.
const LARGEST_ELEMENT: u64 = 32;

names! {
    /// Bits that rules must keep.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Keep, read as "kind of bits to keep" {
        /// Those of Open MPI's default at the same size.
        Default "default",
        /// Equal bits on all ranks.
        Ranks "ranks",
        /// Equal bits for every message size.
        Sizes "sizes",
    }
}

/// The effect of a choice on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The collective has no operation.
    None,
    /// Its sums have the default's order at all of these sizes.
    Same,
    /// The order of its sums is unknown under this release.
    Unknown,
    /// Its sums have another order at some of these sizes.
    Other,
    /// The order of its sums depends on which ranks share a node, as with HAN.
    Nodes,
}

/// The effect of HAN's own algorithms on the bits of a collective.
///
/// HAN adds up within each node first, then between nodes (`coll_han_allreduce.c`, `coll_han_reduce.c`), and gives all ranks one
/// result. Its other reductions go to the component below it.
pub fn han_effect(collective: Collective) -> Effect {
    match collective {
        Collective::Allreduce | Collective::Reduce => Effect::Nodes,
        _ if collective.reduces() => Effect::Unknown,
        _ => Effect::None,
    }
}

impl Effect {
    /// A short phrase; none if the collective has no sum.
    pub fn phrase(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Same => Some("same bits as the default"),
            Self::Other => Some("changes the order of sums"),
            Self::Unknown => Some("order of sums unknown"),
            Self::Nodes => Some("order of sums depends on the nodes"),
        }
    }
}

/// Returns true if the summation orders of a release are known.
pub fn is_known(release: Release) -> bool {
    matches!(release, Release::V4_1 | Release::V5_0 | Release::V6_0)
}

/// The orders in which a choice adds up in calls of these message bytes, whatever the datatype; none if unknown. Choice
/// 0 is the default.
pub fn orders(
    release: Release,
    collective: Collective,
    choice: Choice,
    ranks: Ranks,
    bytes: &RangeInclusive<u64>,
) -> Option<BTreeSet<Order>> {
    if !is_known(release) {
        return None;
    }
    if choice.is_builtin() {
        let mut all = BTreeSet::new();
        for (choice, bytes) in default_choices(release, collective, ranks, bytes)? {
            all.extend(orders(release, collective, choice, ranks, &bytes)?);
        }
        return Some(all);
    }
    let few = |elements: u32| *bytes.start() < u64::from(elements) * LARGEST_ELEMENT;
    let falls_back = |when: When| match when {
        When::FewerThanRanks => few(ranks.0),
        When::FewerThanPowerOfTwo => few(1 << ranks.0.max(1).ilog2()),
        When::FewerThanSegments => true,
        _ => false,
    };
    let algorithm = registry::algorithm(release, collective, choice.algorithm).ok()?;
    let own = match algorithm.sums? {
        Order::Chain(_) if algorithm.uses.faninout => Order::Chain(choice.faninout.max(1)),
        order => order,
    };
    let mut all = BTreeSet::from([own]);
    for fallback in algorithm.fallbacks.iter().filter(|fallback| falls_back(fallback.when)) {
        all.extend(orders(release, collective, Choice::plain(fallback.runs), ranks, bytes)?);
    }
    Some(all)
}

/// The effect of a choice on the bits of calls of these message bytes.
pub fn effect(
    release: Release,
    collective: Collective,
    choice: Choice,
    ranks: Ranks,
    bytes: &RangeInclusive<u64>,
) -> Effect {
    if !collective.reduces() {
        return Effect::None;
    }
    if choice.is_builtin() {
        return Effect::Same;
    }
    if ranks.0 > MOST_RANKS {
        return Effect::Unknown;
    }
    let Some(defaults) = default_choices(release, collective, ranks, bytes) else { return Effect::Unknown };
    let single = |choice: Choice, bytes: &RangeInclusive<u64>| -> Option<Option<Vec<u64>>> {
        let orders = orders(release, collective, choice, ranks, bytes)?;
        let traces: BTreeSet<Vec<u64>> =
            orders.into_iter().map(|order| order.trace(ranks.0, collective.is_rooted())).collect();
        Some(traces.iter().next().filter(|_| traces.len() == 1).cloned())
    };
    let mut effect = Effect::Same;
    for (default, part) in defaults {
        if default.algorithm == choice.algorithm && default.faninout.max(1) == choice.faninout.max(1) {
            continue;
        }
        match (single(choice, &part), single(default, &part)) {
            (Some(Some(one)), Some(Some(other))) if one == other => {}
            (Some(_), Some(_)) => return Effect::Other,
            _ => effect = Effect::Unknown,
        }
    }
    effect
}

/// Largest number of communicator sizes of a rule that are examined one by one.
const MOST_SIZES: u64 = 16;

/// The largest communicator whose orders are compared, since each rank takes time and memory.
const MOST_RANKS: u32 = 4096;

/// Returns the worst effect of a rule on the bits of all calls that use it: communicators of these sizes, and lookup
/// bytes from the first up to the end, if any.
pub fn effect_of_rule(
    release: Release,
    collective: Collective,
    choice: Choice,
    ranks: &[RankRange],
    (first, end): (u64, Option<u64>),
) -> Effect {
    if !collective.reduces() || choice.is_builtin() {
        return effect(release, collective, choice, Ranks(2), &(0..=0));
    }
    let mut worst = Effect::Same;
    for range in ranks {
        let sizes = range.first..range.end.unwrap_or(u64::MAX).min(range.first.saturating_add(MOST_SIZES));
        if range.end != Some(sizes.end) {
            worst = worst.max(Effect::Unknown);
        }
        for size in sizes.filter_map(|size| u32::try_from(size).ok()).map(Ranks) {
            let bytes = match metric(release, collective, size) {
                Metric::Times(factor) => {
                    first.div_ceil(factor.max(1))..=end.map_or(u64::MAX, |end| end.saturating_sub(1) / factor.max(1))
                }
                Metric::CountFree | Metric::None => 0..=u64::MAX,
            };
            worst = worst.max(effect(release, collective, choice, size, &bytes));
            if worst == Effect::Other {
                return worst;
            }
        }
    }
    worst
}

/// Returns true if rules with this choice are known to keep these bits in calls of these message bytes. For
/// [`Keep::Sizes`], all sizes of a communicator must have this choice.
pub fn keeps(
    keep: Keep,
    release: Release,
    collective: Collective,
    choice: Choice,
    ranks: Ranks,
    bytes: &RangeInclusive<u64>,
) -> bool {
    if !collective.reduces() || choice.is_builtin() {
        return true;
    }
    let all = || orders(release, collective, choice, ranks, &(0..=u64::MAX));
    match keep {
        Keep::Default => effect(release, collective, choice, ranks, bytes) == Effect::Same,
        // All algorithms whose orders are known end with one sum for all.
        Keep::Ranks => all().is_some(),
        Keep::Sizes if ranks.0 > MOST_RANKS => false,
        Keep::Sizes => all().is_some_and(|orders| {
            let traces: BTreeSet<Vec<u64>> = orders.iter().map(|order| order.trace(ranks.0, false)).collect();
            traces.len() == 1 && !orders.iter().any(|order| order.depends_on_place(ranks.0))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: RangeInclusive<u64> = 0..=u64::MAX;

    fn keeps_of(keep: Keep, collective: Collective, algorithm: u32, ranks: u32) -> bool {
        keeps(keep, Release::V5_0, collective, Choice::plain(algorithm), Ranks(ranks), &ALL)
    }

    #[test]
    fn a_sum_of_two_has_one_order() {
        for (collective, algorithm) in [(Collective::Allreduce, 4), (Collective::Allreduce, 6), (Collective::Reduce, 3)]
        {
            for keep in [Keep::Default, Keep::Ranks, Keep::Sizes] {
                assert!(keeps_of(keep, collective, algorithm, 2), "{collective} {algorithm} {keep:?}");
            }
        }
    }

    #[test]
    fn sums_that_depend_on_the_size_are_not_kept_over_sizes() {
        assert!(keeps_of(Keep::Sizes, Collective::Allreduce, 3, 8));
        for algorithm in [4, 5, 6] {
            assert!(!keeps_of(Keep::Sizes, Collective::Allreduce, algorithm, 8), "{algorithm}");
        }
        assert!(!keeps_of(Keep::Sizes, Collective::ReduceScatter, 3, 4));
    }

    #[test]
    fn the_default_of_eight_ranks_sums_as_recursive_doubling_does() {
        let effect =
            |algorithm, bytes| effect(Release::V4_1, Collective::Allreduce, Choice::plain(algorithm), Ranks(8), &bytes);
        assert_eq!(effect(3, 4096..=1 << 20), Effect::Same);
        assert_eq!(effect(6, 4096..=1 << 20), Effect::Same);
        assert_eq!(effect(6, 0..=4096), Effect::Other, "few elements run as linear");
        assert_eq!(effect(4, 4096..=1 << 20), Effect::Other);
        assert_eq!(effect(2, 4096..=4096), Effect::Unknown, "depends on the rules for reduce");
        assert_eq!(effect(0, 0..=4096), Effect::Same);
        let reduce = |bytes| super::effect(Release::V4_1, Collective::Reduce, Choice::plain(3), Ranks(3), &bytes);
        assert_eq!(reduce(16..=31), Effect::Same, "3 is the default here");
        assert_eq!(reduce(64..=64), Effect::Other, "a chain adds up as linear does from root 0 alone");
        let bcast = super::effect(Release::V4_1, Collective::Bcast, Choice::plain(3), Ranks(8), &ALL);
        assert_eq!(bcast.phrase(), None);
    }

    /// A rule for a range has the worst effect of all calls that use it, in message bytes: 56 KiB looked up for
    /// reduce_scatter_block on 7 ranks are 8 KiB each.
    #[test]
    fn a_rule_has_the_worst_effect_of_its_calls() {
        let rule = |collective, id, first, end, bytes| {
            effect_of_rule(Release::V5_0, collective, Choice::plain(id), &[RankRange { first, end }], bytes)
        };
        let allreduce = Collective::Allreduce;
        assert_eq!(rule(allreduce, 3, 8, Some(9), (0, None)), Effect::Same);
        assert_eq!(rule(allreduce, 3, 7, Some(9), (16, None)), Effect::Same);
        assert_eq!(rule(allreduce, 3, 3, Some(9), (0, None)), Effect::Other, "the default of 3 ranks takes a ring");
        assert_eq!(rule(allreduce, 3, 3, Some(4), (8, Some(4096))), Effect::Same);
        assert_eq!(rule(allreduce, 3, 8, None, (0, None)), Effect::Other);
        assert_eq!(rule(allreduce, 3, 1 << 31, None, (0, None)), Effect::Unknown, "too many to compare");
        let block = Collective::ReduceScatterBlock;
        assert_eq!(rule(block, 3, 7, Some(8), (8192 * 7, Some(16384 * 7))), Effect::Other);
        assert_eq!(rule(block, 4, 7, Some(8), (8192 * 7, Some(16384 * 7))), Effect::Same, "the default is 4 there");
        assert_eq!(rule(Collective::Bcast, 1, 8, Some(9), (0, None)), Effect::None);
        assert_eq!(han_effect(allreduce).phrase(), Some("order of sums depends on the nodes"));
    }

    #[test]
    fn nothing_is_claimed_of_releases_that_nobody_asked() {
        let knows = |release, id| keeps(Keep::Ranks, release, Collective::Allreduce, Choice::plain(id), Ranks(4), &ALL);
        assert!(!knows(Release::V4_0, 3));
        assert!(knows(Release::V6_0, 3) && !knows(Release::V6_0, 7), "7 calls allgather, and is new there");
    }
}
