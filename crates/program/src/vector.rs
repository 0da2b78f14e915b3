//! A vector in blocks, and its place in the memory of a rank.

use crate::blocks::{BlockRange, Blocks};
use crate::step::{Buffer, BufferPart};

/// A vector of the program's own.
pub(crate) const OWN: Buffer = Buffer::Extra(0);

/// A second vector, for data that is to be reduced.
pub(crate) const SCRATCH: Buffer = Buffer::Extra(1);

/// A vector in blocks, in a buffer.
#[derive(Clone, Copy)]
pub(crate) struct Vector<'a> {
    pub(crate) blocks: &'a Blocks,
    /// The bytes of an element.
    pub(crate) element: usize,
    pub(crate) place: Buffer,
    /// The bytes of the vector before the first one in the buffer.
    pub(crate) left_out: usize,
}

impl Vector<'_> {
    /// The vector in a buffer that begins with these blocks.
    pub(crate) fn starting_at(self, range: BlockRange) -> Self {
        Self { left_out: self.blocks.elements(range).start as usize * self.element, ..self }
    }

    /// The number of ranks that have a block each.
    pub(crate) fn ranks(self) -> u32 {
        self.blocks.ranks()
    }

    /// Blocks of the vector.
    pub(crate) fn part(self, range: BlockRange) -> BufferPart {
        let elements = self.blocks.elements(range);
        let first = (elements.start as usize * self.element).saturating_sub(self.left_out);
        BufferPart { place: self.place, first, len: (elements.end - elements.start) as usize * self.element }
    }

    /// The place for data to be reduced with these blocks.
    pub(crate) fn scratch(self, range: BlockRange) -> BufferPart {
        Self { place: SCRATCH, left_out: 0, ..self }.part(range)
    }
}
