//! Total step functions: the canonical form of sorted half-open ranges.

use serde::{Deserialize, Serialize};

/// A function from `0..=u64::MAX` that changes its value at finitely many places.
///
/// Ranges are half-open and cover everything, so overlaps and gaps are impossible. Neighbours with equal values are
/// merged, so equal functions compare equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u64, V)>", into = "Vec<(u64, V)>", bound(serialize = "V: Clone + Serialize"))]
pub struct Steps<V> {
    /// Start and value of each step; the first start is 0, starts ascend strictly, neighbours differ.
    steps: Vec<(u64, V)>,
}

/// The earlier of two ends; none means no end.
pub fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Returns true if a value is in `first..end`, or, without an end, is at least `first`.
pub fn within(first: u64, end: Option<u64>, value: u64) -> bool {
    value >= first && end.is_none_or(|end| value < end)
}

impl<V> From<Steps<V>> for Vec<(u64, V)> {
    fn from(steps: Steps<V>) -> Self {
        steps.steps
    }
}

impl<V> TryFrom<Vec<(u64, V)>> for Steps<V> {
    type Error = &'static str;

    fn try_from(steps: Vec<(u64, V)>) -> Result<Self, &'static str> {
        let ascends = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let is_total = steps.first().is_some_and(|(start, _)| *start == 0);
        if ascends && is_total { Ok(Self { steps }) } else { Err("steps must begin at 0 and ascend") }
    }
}

impl<V: Clone + PartialEq> Steps<V> {
    /// Returns these steps with each value mapped.
    pub fn map<W: Clone + PartialEq>(&self, value: impl Fn(&V) -> W) -> Steps<W> {
        Steps::ascending(self.steps.iter().map(|(start, own)| (*start, value(own))))
    }

    /// The function with one value everywhere.
    pub fn constant(value: V) -> Self {
        Self { steps: vec![(0, value)] }
    }

    /// The function with these steps, whose starts ascend strictly from 0 on. Takes linear time.
    pub(crate) fn ascending(steps: impl IntoIterator<Item = (u64, V)>) -> Self {
        let mut merged: Vec<(u64, V)> = Vec::new();
        for (start, value) in steps {
            debug_assert!(merged.last().map_or(start == 0, |(last, _)| start > *last));
            if merged.last().is_none_or(|(_, last)| *last != value) {
                merged.push((start, value));
            }
        }
        Self { steps: merged }
    }

    /// Returns these steps with the value at `last` from there on.
    pub(crate) fn truncate(mut self, last: u64) -> Self {
        self.steps.retain(|(start, _)| *start <= last);
        self
    }

    /// Sets the value on `start..end`, or from `start` on if there is no end. An empty range changes nothing.
    pub fn set(&mut self, start: u64, end: Option<u64>, value: V) {
        if end.is_some_and(|end| end <= start) {
            return;
        }
        let after = end.map(|end| (end, self.get(end).clone()));
        self.steps.retain(|(at, _)| *at < start || end.is_some_and(|end| *at > end));
        let place = self.steps.partition_point(|(at, _)| *at < start);
        self.steps.splice(place..place, std::iter::once((start, value)).chain(after));
        self.steps.dedup_by(|later, earlier| later.1 == earlier.1);
    }

    /// The value at a point.
    pub fn get(&self, at: u64) -> &V {
        let place = self.steps.partition_point(|(start, _)| *start <= at);
        &self.steps[place - 1].1
    }

    /// The range of equal values around a point: its start and its end.
    pub fn around(&self, at: u64) -> (u64, Option<u64>) {
        let place = self.steps.partition_point(|(start, _)| *start <= at);
        (self.steps[place - 1].0, self.steps.get(place).map(|(start, _)| *start))
    }

    /// The steps as (start, end, value), in order; the last has no end.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Option<u64>, &V)> {
        let ends = self.steps.iter().skip(1).map(|(start, _)| Some(*start)).chain([None]);
        self.steps.iter().zip(ends).map(|((start, value), end)| (*start, end, value))
    }

    /// The number of steps, at least 1.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// The value, if it is the same everywhere.
    pub fn as_constant(&self) -> Option<&V> {
        match self.steps.as_slice() {
            [(_, value)] => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_neighbours_merge() {
        let mut steps = Steps::constant(0);
        steps.set(4, Some(8), 1);
        steps.set(8, Some(16), 1);
        assert_eq!(steps.iter().collect::<Vec<_>>(), [(0, Some(4), &0), (4, Some(16), &1), (16, None, &0)]);
        steps.set(2, None, 0);
        assert_eq!(steps, Steps::constant(0));
    }

    #[test]
    fn a_list_is_checked_when_it_is_read() {
        let steps = Steps::try_from(vec![(0, 'a'), (5, 'b')]).expect("a step function");
        let text = serde_json::to_string(&steps).expect("serialises");
        assert_eq!(text, r#"[[0,"a"],[5,"b"]]"#);
        assert_eq!(serde_json::from_str::<Steps<char>>(&text).expect("reads back"), steps);
        for bad in ["[]", r#"[[1,"a"]]"#, r#"[[0,"a"],[0,"b"]]"#, r#"[[0,"a"],[3,"b"],[2,"c"]]"#] {
            assert!(serde_json::from_str::<Steps<char>>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_step_function_agrees_with_an_array(
            writes in prop::collection::vec((0u64..40, prop::option::of(0u64..40), 0u8..3), 0..30),
        ) {
            let mut steps = Steps::constant(0u8);
            let mut array = [0u8; 48];
            for (start, end, value) in writes {
                steps.set(start, end, value);
                let end = end.map_or(array.len(), |end| end as usize);
                if (start as usize) < end {
                    array[start as usize..end].fill(value);
                }
            }
            for (at, value) in array.iter().enumerate() {
                prop_assert_eq!(steps.get(at as u64), value);
            }
            let ranges: Vec<_> = steps.iter().collect();
            prop_assert_eq!(ranges[0].0, 0);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].1 == Some(pair[1].0) && pair[0].2 != pair[1].2));
        }
    }
}
