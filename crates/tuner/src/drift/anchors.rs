//! Cells of a run that are worth timing again.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::Cell;

/// Weight of a cell without a rule in the comparison of distances, relative to one with a rule.
const UNRULED: f64 = 0.5;

/// Returns at most `count` of these cells. Each collective in turn adds the one that is farthest from those chosen before,
/// in communicator size and message size; cells with rules count double.
pub fn choose_anchors(cells: BTreeSet<Cell>, count: usize, is_ruled: impl Fn(Cell) -> bool) -> BTreeSet<Cell> {
    let mut left: BTreeMap<_, Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        left.entry(cell.collective).or_default().push(cell);
    }
    let mut left: Vec<(CellSizes, Vec<Cell>)> =
        left.into_values().map(|cells| (CellSizes::from_cells(&cells), cells)).collect();
    let mut chosen = BTreeSet::new();
    while chosen.len() < count && left.iter().any(|(_, cells)| !cells.is_empty()) {
        for (sizes, cells) in &mut left {
            if chosen.len() < count
                && let Some(next) = sizes.farthest(cells, &chosen, &is_ruled)
            {
                chosen.insert(cells.swap_remove(next));
            }
        }
    }
    chosen
}

/// Communicator sizes and message sizes of a collective's cells, for the place of a cell between the smallest and the
/// largest.
struct CellSizes {
    ranks: BTreeSet<u32>,
    bytes: BTreeSet<u64>,
}

impl CellSizes {
    fn from_cells(cells: &[Cell]) -> Self {
        Self {
            ranks: cells.iter().map(|cell| cell.ranks.0).collect(),
            bytes: cells.iter().map(|cell| cell.bytes.0).collect(),
        }
    }

    fn place(&self, cell: Cell) -> (f64, f64) {
        let share = |below: usize, all: usize| below as f64 / (all.max(2) - 1) as f64;
        let ranks = share(self.ranks.range(..cell.ranks.0).count(), self.ranks.len());
        (ranks, share(self.bytes.range(..cell.bytes.0).count(), self.bytes.len()))
    }

    /// Position in `left` of the cell farthest from the chosen ones of its collective; if none is chosen, of the one with
    /// most ranks and bytes.
    fn farthest(&self, left: &[Cell], chosen: &BTreeSet<Cell>, is_ruled: &impl Fn(Cell) -> bool) -> Option<usize> {
        let worth = |cell: Cell| {
            let here = self.place(cell);
            let distance = |other: &Cell| {
                let there = self.place(*other);
                (here.0 - there.0).abs() + (here.1 - there.1).abs()
            };
            let alike = chosen.iter().filter(|other| other.collective == cell.collective);
            let far = alike.map(distance).fold(f64::INFINITY, f64::min);
            let far = if far.is_finite() { far } else { 1.0 + here.0 + here.1 };
            if is_ruled(cell) { far } else { UNRULED * far }
        };
        (0..left.len()).max_by(|a, b| worth(left[*a]).total_cmp(&worth(left[*b])).then(left[*a].cmp(&left[*b])))
    }
}
