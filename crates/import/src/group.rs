//! Grouping by a key.

use std::collections::BTreeMap;

/// Items by key; those of a group keep their order.
pub(super) fn group<K: Ord, T>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> BTreeMap<K, Vec<T>> {
    let mut groups: BTreeMap<K, Vec<T>> = BTreeMap::new();
    items.into_iter().for_each(|item| groups.entry(key(&item)).or_default().push(item));
    groups
}
