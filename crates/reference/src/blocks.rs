//! A vector and its division into a block per rank.

/// Blocks in a row, by the ranks to whom they belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first.
    pub first: u32,
    /// The one after the last.
    pub end: u32,
}

impl Range {
    /// The block of a rank.
    pub fn one(rank: u32) -> Self {
        Self { first: rank, end: rank + 1 }
    }

    /// The blocks of so many ranks.
    pub fn all(ranks: u32) -> Self {
        Self { first: 0, end: ranks }
    }

    pub(crate) fn contains(self, rank: u32) -> bool {
        (self.first..self.end).contains(&rank)
    }

    pub(crate) fn ranks(self) -> u32 {
        self.end - self.first
    }
}

/// How many elements belong to each rank. An element is whatever the caller counts: bytes, or numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Where each block begins, and at the end where the last one ends.
    firsts: Vec<u64>,
}

impl Blocks {
    /// Blocks of these many elements, in rank order.
    pub fn of(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut firsts = vec![0];
        let mut end = 0;
        firsts.extend(counts.into_iter().map(|count| {
            end += count;
            end
        }));
        Self { firsts }
    }

    /// The same block for every rank.
    pub fn equal(block: u64, ranks: u32) -> Self {
        Self::of(std::iter::repeat_n(block, ranks as usize))
    }

    /// A vector in blocks as equal as can be: what does not divide goes to the first ranks, an element each.
    pub fn share(elements: u64, ranks: u32) -> Self {
        let ranks = u64::from(ranks.max(1));
        Self::of((0..ranks).map(|rank| elements / ranks + u64::from(rank < elements % ranks)))
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        (self.firsts.len() - 1) as u32
    }

    /// Elements of the whole vector.
    pub fn total(&self) -> u64 {
        self.firsts[self.firsts.len() - 1]
    }

    /// Where in the vector these blocks are.
    pub fn elements(&self, blocks: Range) -> std::ops::Range<u64> {
        self.firsts[blocks.first as usize]..self.firsts[blocks.end as usize]
    }

    /// How many elements are in these blocks.
    pub fn len(&self, blocks: Range) -> u64 {
        let elements = self.elements(blocks);
        elements.end - elements.start
    }

    /// Whether there is nothing in these blocks.
    pub fn is_empty(&self, blocks: Range) -> bool {
        self.len(blocks) == 0
    }
}
