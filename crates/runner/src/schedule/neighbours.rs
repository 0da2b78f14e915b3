//! Neighbours of a cell in the grid: the nearest known cells on both sides.

use collrules_record::Cell;

/// Cells of a grid in two orders.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    cells: Vec<Cell>,
    sizes: Axis,
    ranks: Axis,
}

/// The cells in the order of a coordinate, and the place of each.
#[derive(Clone, Debug)]
struct Axis {
    order: Vec<usize>,
    place: Vec<usize>,
}

impl Axis {
    fn new<K: Ord>(cells: &[Cell], key: impl Fn(&Cell) -> K) -> Self {
        let mut order: Vec<usize> = (0..cells.len()).collect();
        order.sort_by_key(|at| key(&cells[*at]));
        let mut place = vec![0; cells.len()];
        order.iter().enumerate().for_each(|(position, at)| place[*at] = position);
        Self { order, place }
    }

    /// The nearest known cells below and above a cell, of those that are on its line.
    fn around(&self, cell: usize, is_alike: impl Fn(usize) -> bool, is_known: impl Fn(usize) -> bool) -> Option<Pair> {
        let (below, above) = self.order.split_at(self.place[cell]);
        let nearest = |cells: &mut dyn Iterator<Item = &usize>| {
            cells.copied().take_while(|other| is_alike(*other)).find(|other| is_known(*other))
        };
        nearest(&mut below.iter().rev()).zip(nearest(&mut above.iter().skip(1)))
    }
}

/// The cells below and above another one.
pub(super) type Pair = (usize, usize);

impl Neighbours {
    /// The neighbours of these cells, which are named by their index.
    pub(super) fn new(cells: Vec<Cell>) -> Self {
        let sizes = Axis::new(&cells, |cell| (cell.collective, cell.ranks, cell.bytes));
        let ranks = Axis::new(&cells, |cell| (cell.collective, cell.bytes, cell.ranks));
        Self { cells, sizes, ranks }
    }

    /// The nearest known message sizes around that of a cell.
    pub(super) fn of_size(&self, cell: usize, is_known: impl Fn(usize) -> bool) -> Option<Pair> {
        let line = |cell: &Cell| (cell.collective, cell.ranks);
        self.sizes.around(cell, |other| line(&self.cells[other]) == line(&self.cells[cell]), is_known)
    }

    /// The nearest known communicator sizes around that of a cell, with its message size.
    pub(super) fn of_ranks(&self, cell: usize, is_known: impl Fn(usize) -> bool) -> Option<Pair> {
        let line = |cell: &Cell| (cell.collective, cell.bytes);
        self.ranks.around(cell, |other| line(&self.cells[other]) == line(&self.cells[cell]), is_known)
    }

    /// Returns true for one of the cells above the first and up to the second of a pair on one line of message sizes.
    pub(super) fn has_between(&self, (below, above): Pair, is_wanted: impl Fn(usize) -> bool) -> bool {
        let Axis { order, place } = &self.sizes;
        order[place[below] + 1..=place[above]].iter().any(|cell| is_wanted(*cell))
    }
}

#[cfg(test)]
mod tests {
    use collrules_record::{Bytes, Ranks};
    use collrules_rules::Collective;

    use super::*;

    #[test]
    fn neighbours_are_on_a_line() {
        let cell = |collective, ranks, bytes| Cell { collective, ranks: Ranks(ranks), bytes: Bytes(bytes) };
        let (bcast, reduce) = (Collective::Bcast, Collective::Reduce);
        let lines = [(bcast, 2), (bcast, 4), (bcast, 8), (reduce, 4)];
        let cells =
            lines.iter().flat_map(|(collective, ranks)| [8, 16, 32].map(|size| cell(*collective, *ranks, size)));
        let neighbours = Neighbours::new(cells.collect());
        assert_eq!(neighbours.of_size(4, |_| true), Some((3, 5)));
        assert_eq!(neighbours.of_size(4, |other| other != 5), None);
        assert_eq!(neighbours.of_size(3, |_| true), None, "the smallest");
        assert_eq!(neighbours.of_ranks(4, |_| true), Some((1, 7)));
        assert_eq!(neighbours.of_ranks(10, |_| true), None, "another collective");
        assert!(neighbours.has_between((3, 5), |cell| cell == 5) && !neighbours.has_between((3, 5), |cell| cell == 3));
    }
}
