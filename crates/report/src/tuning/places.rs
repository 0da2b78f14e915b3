//! The communicator and message sizes of a collective that its maps show.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;
use collrules_record::units::{Bytes, Ranks};

/// The rows and columns of the maps of a collective.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) ranks: BTreeSet<Ranks>,
    /// The columns; a collective without message sizes has one, of 0 bytes.
    pub(super) sizes: BTreeSet<Bytes>,
    /// Message sizes that have no column.
    pub(super) left_out: usize,
}

impl Places {
    /// Of all cells of a collective.
    pub(super) fn from_cells(cells: impl Iterator<Item = Cell>) -> Self {
        let cells: BTreeSet<Cell> = cells.collect();
        let sizes = regular_sizes(&cells);
        let all: BTreeSet<Bytes> = cells.iter().map(|cell| cell.bytes).collect();
        Self { ranks: cells.iter().map(|cell| cell.ranks).collect(), left_out: all.len() - sizes.len(), sizes }
    }
}

/// The message sizes that have no holes: every communicator was measured at them, unless all its sizes are smaller or
/// larger. Others come from looking closer at the crossover of some communicator.
fn regular_sizes(cells: &BTreeSet<Cell>) -> BTreeSet<Bytes> {
    let mut spans: BTreeMap<Ranks, (Bytes, Bytes)> = BTreeMap::new();
    for cell in cells {
        let span = spans.entry(cell.ranks).or_insert((cell.bytes, cell.bytes));
        *span = (span.0.min(cell.bytes), span.1.max(cell.bytes));
    }
    let Some(collective) = cells.first().map(|cell| cell.collective) else { return BTreeSet::new() };
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
        assert_eq!(regular_sizes(&cells.into()), [4, 8, 16].map(Bytes).into());
        assert_eq!(regular_sizes(&BTreeSet::new()), BTreeSet::new());
    }
}
