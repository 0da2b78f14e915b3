//! A vector and its division into a block per rank.

/// Blocks in a row, by the ranks that own them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockRange {
    /// The first.
    pub first: u32,
    /// The one after the last.
    pub end: u32,
}

impl BlockRange {
    /// The block of a rank.
    pub fn block(rank: u32) -> Self {
        Self { first: rank, end: rank + 1 }
    }

    /// The blocks of all ranks.
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

/// Division of a vector into a block per rank. An element is whatever the caller counts: bytes, or numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Beginning of each block, followed by the end of the last one.
    firsts: Vec<u64>,
}

impl Blocks {
    /// Blocks with these numbers of elements, in rank order.
    pub fn from_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut firsts = vec![0];
        let mut end = 0;
        firsts.extend(counts.into_iter().map(|count| {
            end += count;
            end
        }));
        Self { firsts }
    }

    /// Returns blocks of the same length, one for every rank.
    pub fn equal(block: u64, ranks: u32) -> Self {
        Self::from_counts(std::iter::repeat_n(block, ranks as usize))
    }

    /// A vector in blocks as equal as can be: the remainder goes to the first ranks, an element each.
    pub fn share(elements: u64, ranks: u32) -> Self {
        let ranks = u64::from(ranks.max(1));
        Self::from_counts((0..ranks).map(|rank| elements / ranks + u64::from(rank < elements % ranks)))
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        (self.firsts.len() - 1) as u32
    }

    /// Elements of the whole vector.
    pub fn total(&self) -> u64 {
        self.firsts[self.firsts.len() - 1]
    }

    /// Returns the range of these blocks in the vector.
    pub fn elements(&self, blocks: BlockRange) -> std::ops::Range<u64> {
        self.firsts[blocks.first as usize]..self.firsts[blocks.end as usize]
    }

    /// Returns the number of elements in these blocks.
    pub fn len(&self, blocks: BlockRange) -> u64 {
        let elements = self.elements(blocks);
        elements.end - elements.start
    }

    /// Returns true if there are no elements in these blocks.
    pub fn is_empty(&self, blocks: BlockRange) -> bool {
        self.len(blocks) == 0
    }
}
