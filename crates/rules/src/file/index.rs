//! Search for the entry of a list that applies to a size, in logarithmic time for any order of the list.

/// A range of sizes, both ends included; empty if the end lies before the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeRange {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// Method by which Open MPI searches a list of ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchMethod {
    /// Up to 5.0: advance while an entry's `min` is not larger than the size, and use the last one; if even the first
    /// is larger, use that. The ends do not matter.
    Walk,
    /// From 6.0 on: the first range that holds the size.
    FirstMatch,
}

/// The entries of a list by size: strictly ascending starts from 0 on, with the place of the entry that applies from there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index(Vec<(u64, Option<usize>)>);

impl Index {
    /// The index of a list, in time `n log n`.
    pub(super) fn new(search: SearchMethod, ranges: impl ExactSizeIterator<Item = SizeRange>) -> Self {
        match search {
            SearchMethod::Walk => Self(walk(ranges)),
            SearchMethod::FirstMatch => Self(first_match(&ranges.collect::<Vec<_>>())),
        }
    }

    /// Finds the place of the entry that applies to a size.
    pub(super) fn find(&self, size: u64) -> Option<usize> {
        let place = self.0.partition_point(|(start, _)| *start <= size);
        place.checked_sub(1).and_then(|place| self.0[place].1)
    }

    /// The starts with their entries.
    pub(super) fn steps(&self) -> &[(u64, Option<usize>)] {
        &self.0
    }
}

/// The walk stops at the first entry that is too large, so the largest entry so far counts.
fn walk(ranges: impl ExactSizeIterator<Item = SizeRange>) -> Vec<(u64, Option<usize>)> {
    let mut steps = vec![(0, (ranges.len() > 0).then_some(0))];
    let mut largest = 0;
    for (place, range) in ranges.enumerate() {
        largest = range.min.max(largest);
        steps.pop_if(|last| last.0 == largest);
        steps.push((largest, Some(place)));
    }
    steps
}

/// Paints each range over the sizes that earlier ones left free.
fn first_match(ranges: &[SizeRange]) -> Vec<(u64, Option<usize>)> {
    let edges = |range: &SizeRange| [Some(range.min), range.max.checked_add(1)];
    let mut starts: Vec<u64> = ranges.iter().flat_map(edges).flatten().chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut steps: Vec<(u64, Option<usize>)> = starts.into_iter().map(|start| (start, None)).collect();
    // For each step the next that may be free, itself included; painted ones point onwards.
    let mut free: Vec<usize> = (0..=steps.len()).collect();
    for (place, range) in ranges.iter().enumerate().filter(|(_, range)| range.min <= range.max) {
        let mut at = next_free(&mut free, steps.partition_point(|(start, _)| *start < range.min));
        while let Some(step) = steps.get_mut(at).filter(|step| step.0 <= range.max) {
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
    fn slowly(search: SearchMethod, ranges: &[SizeRange], size: u64) -> Option<usize> {
        match search {
            SearchMethod::FirstMatch => ranges.iter().position(|range| (range.min..=range.max).contains(&size)),
            SearchMethod::Walk => {
                let mut best = if ranges.is_empty() { None } else { Some(0) };
                for (place, range) in ranges.iter().enumerate() {
                    if range.min > size {
                        break;
                    }
                    best = Some(place);
                }
                best
            }
        }
    }

    fn ranges() -> impl Strategy<Value = Vec<SizeRange>> {
        let edge = || prop_oneof![8 => 0u64..20, 1 => Just(u64::MAX), 1 => u64::MAX - 2..u64::MAX];
        let random = prop::collection::vec((edge(), edge()).prop_map(|(min, max)| SizeRange { min, max }), 0..12);
        let sorted = prop::collection::vec(0u64..300, 0..200).prop_map(|mut starts| {
            starts.sort_unstable();
            let ends = starts.clone().into_iter().skip(1).map(|next| next.saturating_sub(1)).chain([u64::MAX]);
            starts.iter().zip(ends).map(|(min, max)| SizeRange { min: *min, max }).collect()
        });
        prop_oneof![random, sorted]
    }

    proptest! {
        #[test]
        fn every_list_is_searched_as_open_mpi_does(ranges in ranges(), size in 0u64..310) {
            for search in [SearchMethod::Walk, SearchMethod::FirstMatch] {
                let index = Index::new(search, ranges.iter().copied());
                let steps = index.steps();
                prop_assert!(steps[0].0 == 0 && steps.windows(2).all(|pair| pair[0].0 < pair[1].0));
                for size in [size, 0, u64::MAX, u64::MAX - 1, u64::MAX - 2] {
                    let expected = slowly(search, &ranges, size);
                    prop_assert_eq!(index.find(size), expected, "{:?}", search);
                    let place = steps.partition_point(|(start, _)| *start <= size);
                    prop_assert_eq!(steps[place - 1].1, expected, "{:?} by steps", search);
                }
            }
        }
    }
}
