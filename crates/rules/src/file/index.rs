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

/// Search index of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// The list ascends (without overlaps for first match), so it is its own index. Long lists have a separate list of
    /// starts, since entries are wide and each step of a search would miss the cache.
    Sorted(Option<Box<Starts>>),
    /// Starts of the steps from 0 on, with the entry that applies in each; for unordered lists.
    Steps(Vec<(u64, Option<u32>)>),
}

/// The starts of a long list, and every [`STRIDE`]th of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Starts {
    all: Vec<u64>,
    coarse: Vec<u64>,
}

const STRIDE: usize = 32;

impl Starts {
    /// The starts of a list, if it is long enough to need them.
    fn new(ranges: impl ExactSizeIterator<Item = SizeRange>) -> Option<Box<Self>> {
        if ranges.len() <= 2 * STRIDE {
            return None;
        }
        let all: Vec<u64> = ranges.map(|range| range.min).collect();
        let coarse = all.iter().copied().step_by(STRIDE).collect();
        Some(Box::new(Self { all, coarse }))
    }

    /// Counts the starts that are not larger than a size.
    fn passed(&self, size: u64) -> usize {
        let coarse = self.coarse.partition_point(|start| *start <= size);
        let Some(begin) = coarse.checked_sub(1).map(|coarse| coarse * STRIDE) else { return 0 };
        let end = self.all.len().min(begin + STRIDE);
        begin + self.all[begin..end].partition_point(|start| *start <= size)
    }
}

impl Index {
    /// The index of a list, in time linear in its length if it is ordered, else `n log n`.
    pub(super) fn new(search: SearchMethod, ranges: impl ExactSizeIterator<Item = SizeRange> + Clone) -> Self {
        match search {
            SearchMethod::Walk if ranges.clone().is_sorted_by_key(|range| range.min) => {
                Self::Sorted(Starts::new(ranges))
            }
            SearchMethod::Walk => Self::Steps(walk(ranges)),
            SearchMethod::FirstMatch if disjoint(ranges.clone()) => Self::Sorted(Starts::new(ranges)),
            SearchMethod::FirstMatch => Self::Steps(first_match(&ranges.collect::<Vec<_>>())),
        }
    }

    /// Finds the entry of a list that applies to a size; `range` gives the range of an entry.
    pub(super) fn find<T>(
        &self,
        search: SearchMethod,
        list: &[T],
        range: impl Fn(&T) -> SizeRange,
        size: u64,
    ) -> Option<usize> {
        match self {
            Self::Sorted(starts) => {
                let passed = match starts {
                    Some(starts) => starts.passed(size),
                    None => list.partition_point(|entry| range(entry).min <= size),
                };
                match search {
                    SearchMethod::Walk if list.is_empty() => None,
                    SearchMethod::Walk => Some(passed.saturating_sub(1)),
                    SearchMethod::FirstMatch => passed.checked_sub(1).filter(|place| size <= range(&list[*place]).max),
                }
            }
            Self::Steps(steps) => {
                let place = steps.partition_point(|(start, _)| *start <= size);
                place.checked_sub(1).and_then(|place| steps[place].1).map(|entry| entry as usize)
            }
        }
    }

    /// Returns the list as steps: strictly ascending starts from 0 on, with the entry that applies from there.
    pub(super) fn steps<T>(
        &self,
        search: SearchMethod,
        list: &[T],
        range: impl Fn(&T) -> SizeRange,
    ) -> Vec<(u64, Option<usize>)> {
        let mut steps = vec![(0, None)];
        let mut set = |start: u64, entry: Option<usize>| match steps.last_mut() {
            Some(last) if last.0 == start => last.1 = entry,
            _ => steps.push((start, entry)),
        };
        match self {
            Self::Steps(own) => own.iter().for_each(|(start, entry)| set(*start, entry.map(|entry| entry as usize))),
            Self::Sorted(_) => {
                for (entry, range) in list.iter().map(range).enumerate() {
                    let below_first = search == SearchMethod::Walk && entry == 0;
                    set(if below_first { 0 } else { range.min }, Some(entry));
                    if search == SearchMethod::FirstMatch && range.max < u64::MAX {
                        set(range.max + 1, None);
                    }
                }
            }
        }
        steps
    }
}

/// Returns true if no range is empty and each begins after the one before.
fn disjoint(mut ranges: impl Iterator<Item = SizeRange>) -> bool {
    let mut free = Some(0);
    ranges.all(|range| {
        let good = free.is_some_and(|free| range.min >= free) && range.min <= range.max;
        free = range.max.checked_add(1);
        good
    })
}

/// The walk stops at the first entry that is too large, so the largest entry so far counts.
fn walk(ranges: impl Iterator<Item = SizeRange>) -> Vec<(u64, Option<u32>)> {
    let mut steps: Vec<(u64, Option<u32>)> = Vec::new();
    let mut largest = 0;
    for (place, range) in (0u32..).zip(ranges) {
        largest = range.min.max(largest);
        match steps.last_mut() {
            Some(last) if last.0 == largest => last.1 = Some(place),
            None if largest > 0 => steps.extend([(0, Some(place)), (largest, Some(place))]),
            _ => steps.push((largest, Some(place))),
        }
    }
    steps
}

/// Paints each range over the sizes that earlier ones left free.
fn first_match(ranges: &[SizeRange]) -> Vec<(u64, Option<u32>)> {
    let edges = |range: &SizeRange| [Some(range.min), range.max.checked_add(1)];
    let mut starts: Vec<u64> = ranges.iter().flat_map(edges).flatten().chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut steps: Vec<(u64, Option<u32>)> = starts.into_iter().map(|start| (start, None)).collect();
    // For each step the next that may be free, itself included; painted ones point onwards.
    let mut free: Vec<u32> = (0..=steps.len() as u32).collect();
    for (place, range) in (0u32..).zip(ranges).filter(|(_, range)| range.min <= range.max) {
        let mut at = next_free(&mut free, steps.partition_point(|(start, _)| *start < range.min));
        while let Some(step) = steps.get_mut(at).filter(|step| step.0 <= range.max) {
            step.1 = Some(place);
            free[at] = at as u32 + 1;
            at = next_free(&mut free, at + 1);
        }
    }
    steps
}

/// The first free step from here on, with path halving.
fn next_free(free: &mut [u32], mut at: usize) -> usize {
    while free[at] as usize != at {
        free[at] = free[free[at] as usize];
        at = free[at] as usize;
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
                let steps = index.steps(search, &ranges, |range| *range);
                prop_assert!(steps[0].0 == 0 && steps.windows(2).all(|pair| pair[0].0 < pair[1].0));
                for size in [size, 0, u64::MAX, u64::MAX - 1, u64::MAX - 2] {
                    let expected = slowly(search, &ranges, size);
                    prop_assert_eq!(index.find(search, &ranges, |range| *range, size), expected, "{:?}", search);
                    let place = steps.partition_point(|(start, _)| *start <= size);
                    prop_assert_eq!(steps[place - 1].1, expected, "{:?} by steps", search);
                }
            }
        }
    }

    #[test]
    fn lists_in_order_need_no_index() {
        let list = |pairs: &[(u64, u64)]| -> Vec<SizeRange> {
            pairs.iter().map(|(min, max)| SizeRange { min: *min, max: *max }).collect()
        };
        let gaps = list(&[(2, 3), (4, 4), (8, u64::MAX)]);
        for search in [SearchMethod::Walk, SearchMethod::FirstMatch] {
            assert_eq!(Index::new(search, gaps.iter().copied()), Index::Sorted(None));
        }
        let repeated = list(&[(2, 3), (2, 3)]);
        assert_eq!(Index::new(SearchMethod::Walk, repeated.iter().copied()), Index::Sorted(None));
        assert!(matches!(Index::new(SearchMethod::FirstMatch, repeated.iter().copied()), Index::Steps(_)));
    }
}
