//! Lists with an entry per rank or node, as in files: plain, or packed if that is shorter.
//!
//! Packed, each different entry is once in `values`, and `runs` lists their indices in order: `7x128` is value 7 128
//! times, `0..128` are values 0 to 127, once each. A job of 10,000 nodes with 128 ranks each then needs 10,000 host
//! names instead of 1.28 million.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest list that is accepted: a few bytes could ask for any amount of memory.
const MOST: usize = 1 << 26;

/// Writes a list.
pub(crate) fn serialize<T: Serialize + Ord, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    let (values, runs) = packed(list);
    // A run counts for as much as an entry.
    if values.len() + runs.len() >= list.len() {
        return list.serialize(serializer);
    }
    let words: Vec<String> = runs.iter().map(EntryRange::word).collect();
    Either::Packed { values, runs: words.join(" ") }.serialize(serializer)
}

/// Reads a list, plain or packed.
pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + Clone,
    D: Deserializer<'de>,
{
    match Either::deserialize(deserializer)? {
        Either::Plain(list) => Ok(list),
        Either::Packed { values, runs } => {
            unpacked(&values, &runs).ok_or_else(|| D::Error::custom("`runs` names values that are not there"))
        }
    }
}

/// The two forms.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "a list, or `values` and `runs`")]
enum Either<T> {
    Plain(Vec<T>),
    Packed { values: Vec<T>, runs: String },
}

/// Consecutive entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EntryRange {
    first: usize,
    count: usize,
    /// True if each entry has the next value; otherwise all have the same.
    climbs: bool,
}

impl EntryRange {
    fn word(&self) -> String {
        let mut word = String::new();
        // Writing to a string cannot fail.
        let _ = match self.climbs {
            true => write!(word, "{}..{}", self.first, self.first + self.count),
            false => write!(word, "{}x{}", self.first, self.count),
        };
        word
    }

    fn parse(word: &str) -> Option<Self> {
        if let Some((first, end)) = word.split_once("..") {
            let (first, end): (usize, usize) = (first.parse().ok()?, end.parse().ok()?);
            return Some(Self { first, count: end.checked_sub(first)?, climbs: true });
        }
        let (first, count) = word.split_once('x')?;
        Some(Self { first: first.parse().ok()?, count: count.parse().ok()?, climbs: false })
    }
}

/// The different entries in the order in which they appear, and the runs of their indices.
fn packed<T: Ord>(list: &[T]) -> (Vec<&T>, Vec<EntryRange>) {
    let (mut values, mut places, mut runs) = (Vec::new(), BTreeMap::new(), Vec::<EntryRange>::new());
    for entry in list {
        let value = *places.entry(entry).or_insert_with(|| {
            values.push(entry);
            values.len() - 1
        });
        match runs.last_mut() {
            Some(run) if !run.climbs && run.first == value => run.count += 1,
            Some(run) if (run.climbs || run.count == 1) && run.first + run.count == value => {
                run.count += 1;
                run.climbs = true;
            }
            _ => runs.push(EntryRange { first: value, count: 1, climbs: false }),
        }
    }
    (values, runs)
}

/// Expands runs; none if they name values that are not there, or are too many entries.
fn unpacked<T: Clone>(values: &[T], words: &str) -> Option<Vec<T>> {
    let runs: Vec<EntryRange> = words.split_whitespace().map(EntryRange::parse).collect::<Option<_>>()?;
    let entries = runs.iter().try_fold(0_usize, |entries, run| entries.checked_add(run.count))?;
    if entries > MOST {
        return None;
    }
    let mut list = Vec::new();
    for EntryRange { first, count, climbs } in runs {
        let named = values.get(first..first.checked_add(if climbs { count } else { 1 })?)?;
        list.extend(named.iter().cycle().take(count).cloned());
    }
    Some(list)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        #[serde(default, with = "super")]
        list: Vec<String>,
    }

    fn written(list: impl IntoIterator<Item = String>) -> String {
        serde_json::to_string(&File { list: list.into_iter().collect() }).expect("plain data")
    }

    #[test]
    fn what_repeats_stands_once() {
        let node = |node: usize| format!("n{node}");
        assert_eq!(written((0..4).map(|rank| node(rank / 2))), r#"{"list":["n0","n0","n1","n1"]}"#);
        let by_slot = written((0..12).map(|rank| node(rank / 4)));
        assert_eq!(by_slot, r#"{"list":{"values":["n0","n1","n2"],"runs":"0x4 1x4 2x4"}}"#);
        let by_node = written((0..12).map(|rank| node(rank % 3)));
        assert_eq!(by_node, r#"{"list":{"values":["n0","n1","n2"],"runs":"0..3 0..3 0..3 0..3"}}"#);
        assert_eq!(written([]), r#"{"list":[]}"#);
    }

    #[test]
    fn nothing_is_made_up() {
        for ranks in ["0x2 1x1", "0..2", "x", "0x99999999999", "0x67108864 0x67108864", "3..1"] {
            let text = format!(r#"{{"list":{{"values":["n"],"runs":"{ranks}"}}}}"#);
            assert!(serde_json::from_str::<File>(&text).is_err(), "{ranks}");
        }
        assert!(serde_json::from_str::<File>(r#"{"list":{"runs":""}}"#).is_err());
        assert_eq!(serde_json::from_str::<File>("{}").expect("no list").list.len(), 0);
    }

    proptest! {
        #[test]
        fn every_list_is_read_back(list in proptest::collection::vec("[a-d]", 0..60)) {
            let text = written(list.clone());
            prop_assert_eq!(serde_json::from_str::<File>(&text).expect("reads"), File { list });
        }
    }
}
