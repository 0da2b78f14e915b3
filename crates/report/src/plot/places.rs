//! Places of the cells of a collective in a heatmap: communicator sizes in rows, message sizes in columns.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;
use collrules_record::units::{Bytes, Ranks};

use super::axis::X;
use super::heatmap::{Heatmap, Tile};

/// The rows and columns of the heatmaps of a collective.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    pub(crate) ranks: Vec<Ranks>,
    /// The columns; a collective without message sizes has one, of 0 bytes.
    pub(crate) sizes: Vec<Bytes>,
    /// Labels below the columns.
    labels: Vec<String>,
    /// Message sizes that have no column.
    pub(crate) left_out: usize,
}

impl Places {
    /// Of all cells of a collective.
    pub(crate) fn from_cells(cells: impl Iterator<Item = Cell>) -> Self {
        let cells: BTreeSet<Cell> = cells.collect();
        let sizes = regular_sizes(&cells);
        let has_sizes = cells.first().is_some_and(|cell| cell.collective.has_sizes());
        let label = |size: &Bytes| if has_sizes { X::MessageBytes.value(size.0) } else { String::new() };
        let all: BTreeSet<Bytes> = cells.iter().map(|cell| cell.bytes).collect();
        Self {
            ranks: cells.iter().map(|cell| cell.ranks).collect::<BTreeSet<_>>().into_iter().collect(),
            labels: sizes.iter().map(label).collect(),
            left_out: all.len() - sizes.len(),
            sizes,
        }
    }

    /// The row and column of a cell; none of sizes that have no column.
    pub(crate) fn at(&self, cell: Cell) -> Option<(usize, usize)> {
        Some((self.ranks.binary_search(&cell.ranks).ok()?, self.sizes.binary_search(&cell.bytes).ok()?))
    }

    /// A heatmap of these tiles.
    pub(crate) fn heatmap(&self, description: String, tiles: impl Iterator<Item = Tile>) -> Heatmap {
        let rows = self.ranks.iter().map(ToString::to_string).collect();
        Heatmap { description, columns: self.labels.clone(), rows, tiles: tiles.collect(), join: false }
    }
}

/// The message sizes that have no holes: every communicator was measured at them, unless all its sizes are smaller or
/// larger. Others come from looking closer at the crossover of some communicator.
fn regular_sizes(cells: &BTreeSet<Cell>) -> Vec<Bytes> {
    let mut spans: BTreeMap<Ranks, (Bytes, Bytes)> = BTreeMap::new();
    for cell in cells {
        let span = spans.entry(cell.ranks).or_insert((cell.bytes, cell.bytes));
        *span = (span.0.min(cell.bytes), span.1.max(cell.bytes));
    }
    let Some(collective) = cells.first().map(|cell| cell.collective) else { return Vec::new() };
    let sizes: BTreeSet<Bytes> = cells.iter().map(|cell| cell.bytes).collect();
    let regular = |bytes: &Bytes| {
        spans.iter().all(|(ranks, (first, last))| {
            let cell = Cell { collective, ranks: *ranks, bytes: *bytes };
            bytes < first || bytes > last || cells.contains(&cell)
        })
    };
    sizes.into_iter().filter(regular).collect()
}

#[cfg(test)]
mod tests {
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn sizes_with_holes_are_left_out_and_missing_ends_are_not() {
        let cell = |(ranks, bytes): (u32, u64)| Cell {
            collective: Collective::Bcast,
            ranks: Ranks(ranks),
            bytes: Bytes(bytes),
        };
        // 6 was measured on 4 ranks alone; 16 was too large for 8.
        let cells = [(4, 4), (4, 6), (4, 8), (4, 16), (8, 4), (8, 8)].map(cell);
        assert_eq!(regular_sizes(&cells.into()), [4, 8, 16].map(Bytes));
        assert_eq!(regular_sizes(&BTreeSet::new()), []);
    }
}
