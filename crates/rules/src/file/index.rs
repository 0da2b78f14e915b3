//! Search for the entry of a list that applies to a size, in logarithmic time for any order of the list.

use std::ops::RangeInclusive;

use crate::steps::Steps;

/// The index of a list, in time `n log n`: by size, the place of the entry that applies. From 6.0 on, the `first_match`
/// counts. Up to 5.0, Open MPI advances while the start of an entry is not larger than the size, and uses the last one; if
/// even the first is larger, it uses that.
pub(super) fn index(
    first_match: bool,
    ranges: impl ExactSizeIterator<Item = RangeInclusive<u64>>,
) -> Steps<Option<usize>> {
    Steps::ascending(if first_match { find_first_matches(&ranges.collect::<Vec<_>>()) } else { walk(ranges) })
}

/// The walk stops at the first entry that is too large, so the largest entry so far counts.
fn walk(ranges: impl ExactSizeIterator<Item = RangeInclusive<u64>>) -> Vec<(u64, Option<usize>)> {
    let mut steps = vec![(0, (ranges.len() > 0).then_some(0))];
    let mut largest = 0;
    for (place, range) in ranges.enumerate() {
        largest = (*range.start()).max(largest);
        steps.pop_if(|last| last.0 == largest);
        steps.push((largest, Some(place)));
    }
    steps
}

/// Paints each range over the sizes that earlier ones left free.
fn find_first_matches(ranges: &[RangeInclusive<u64>]) -> Vec<(u64, Option<usize>)> {
    let edges = |range: &RangeInclusive<u64>| [Some(*range.start()), range.end().checked_add(1)];
    let mut starts: Vec<u64> = ranges.iter().flat_map(edges).flatten().chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut steps: Vec<(u64, Option<usize>)> = starts.into_iter().map(|start| (start, None)).collect();
    // For each step the next that may be free, itself included; painted ones point onwards.
    let mut free: Vec<usize> = (0..=steps.len()).collect();
    for (place, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
        let mut at = next_free(&mut free, steps.partition_point(|(start, _)| start < range.start()));
        while let Some(step) = steps.get_mut(at).filter(|step| step.0 <= *range.end()) {
            step.1 = Some(place);
            free[at] = at + 1;
            at = next_free(&mut free, at + 1);
        }
    }
    steps
}

/// The first free step from here on, with path halving.
fn next_free(free: &mut [usize], mut at: usize) -> usize {
    while free[at] != at {
        free[at] = free[free[at]];
        at = free[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The lookups as Open MPI does them, step by step.
    fn slowly(first_match: bool, ranges: &[RangeInclusive<u64>], size: u64) -> Option<usize> {
        match first_match {
            true => ranges.iter().position(|range| range.contains(&size)),
            false => {
                let mut best = if ranges.is_empty() { None } else { Some(0) };
                for (place, range) in ranges.iter().enumerate() {
                    if *range.start() > size {
                        break;
                    }
                    best = Some(place);
                }
                best
            }
        }
    }

    fn ranges() -> impl Strategy<Value = Vec<RangeInclusive<u64>>> {
        let edge = || prop_oneof![8 => 0u64..20, 1 => Just(u64::MAX), 1 => u64::MAX - 2..u64::MAX];
        let random = prop::collection::vec((edge(), edge()).prop_map(|(min, max)| min..=max), 0..12);
        let sorted = prop::collection::vec(0u64..300, 0..200).prop_map(|mut starts| {
            starts.sort_unstable();
            let ends = starts.clone().into_iter().skip(1).map(|next| next.saturating_sub(1)).chain([u64::MAX]);
            starts.iter().zip(ends).map(|(min, max)| *min..=max).collect()
        });
        prop_oneof![random, sorted]
    }

    proptest! {
        #[test]
        fn every_list_is_searched_as_open_mpi_does(ranges in ranges(), size in 0u64..310) {
            for first_match in [false, true] {
                let steps = index(first_match, ranges.iter().cloned());
                for size in [size, 0, u64::MAX, u64::MAX - 1, u64::MAX - 2] {
                    let expected = slowly(first_match, &ranges, size);
                    prop_assert_eq!(*steps.get(size), expected, "{}", first_match);
                }
            }
        }
    }
}
