//! Origins of the data that ranks hold in the end, to check programs with known data.

use std::collections::{BTreeMap, HashMap};

use crate::play::{Happening, Machine, Stuck, play_and_tell};
use crate::program::Programs;
use crate::step::{Buffer, BufferPart};

/// A byte of some rank's memory in the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The rank.
    pub rank: u32,
    /// Its buffer.
    pub place: Buffer,
    /// The byte's place there.
    pub byte: usize,
}

/// Bytes in a row that come from bytes in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of bytes.
    pub len: usize,
    /// The origins that add up to the first byte; one that was added twice is listed twice.
    pub origins: Vec<Origin>,
}

/// The pieces that a part of a rank's memory consists of when a program is over. Calls change nothing here.
pub fn trace(programs: &(impl Programs + ?Sized), rank: u32, part: BufferPart) -> Result<Vec<Piece>, Stuck> {
    let mut memory = Memory::default();
    play_and_tell(programs, &Machine::default(), &mut |happening| match happening {
        Happening::Message { from, sent, to, received } => memory.write(to, received, memory.read(from, sent)),
        Happening::Copied { rank, from, to } => memory.write(rank, to, memory.read(rank, from)),
        Happening::Reduced { rank, from, to } => {
            memory.write(rank, to, sum_up(memory.read(rank, to), memory.read(rank, from)));
        }
    })?;
    Ok(memory.read(rank, part))
}

/// The changed pieces of all ranks' buffers, by their first bytes; programs touch few of many buffers.
#[derive(Default)]
struct Memory {
    changed: HashMap<(u32, Buffer), BTreeMap<usize, Piece>>,
}

impl Piece {
    fn cut(&self, first: usize, len: usize) -> Self {
        let origins = self.origins.iter().map(|origin| Origin { byte: origin.byte + first, ..*origin });
        Self { len, origins: origins.collect() }
    }
}

impl Memory {
    fn read(&self, rank: u32, part: BufferPart) -> Vec<Piece> {
        let unchanged = |from: usize, to: usize| {
            let origin = Origin { rank, place: part.place, byte: from };
            (from < to).then(|| Piece { len: to - from, origins: vec![origin] })
        };
        let (mut at, end) = (part.first, part.range().end);
        let mut pieces = Vec::new();
        let changed = self.changed.get(&(rank, part.place)).into_iter().flat_map(|pieces| pieces.range(..end));
        for (first, piece) in changed.filter(|(first, piece)| *first + piece.len > part.first) {
            pieces.extend(unchanged(at, *first));
            let (start, stop) = (at.max(*first), end.min(first + piece.len));
            pieces.push(piece.cut(start - first, stop - start));
            at = stop;
        }
        pieces.extend(unchanged(at, end));
        pieces
    }

    fn write(&mut self, rank: u32, part: BufferPart, pieces: Vec<Piece>) {
        let changed = self.changed.entry((rank, part.place)).or_default();
        let end = part.range().end;
        let overlaps = |(first, piece): &(&usize, &Piece)| *first + piece.len > part.first;
        let hidden: Vec<usize> = changed.range(..end).filter(overlaps).map(|(first, _)| *first).collect();
        for first in hidden {
            let Some(piece) = changed.remove(&first) else { continue };
            if first < part.first {
                changed.insert(first, piece.cut(0, part.first - first));
            }
            if first + piece.len > end {
                changed.insert(end, piece.cut(end - first, first + piece.len - end));
            }
        }
        let mut at = part.first;
        for piece in pieces {
            let len = piece.len;
            changed.insert(at, piece);
            at += len;
        }
    }
}

/// Adds up two lists of pieces, byte by byte.
fn sum_up(own: Vec<Piece>, arrived: Vec<Piece>) -> Vec<Piece> {
    let (mut own, mut arrived) = (own.into_iter(), arrived.into_iter());
    let (mut left, mut right) = (own.next(), arrived.next());
    let mut sums = Vec::new();
    while let (Some(one), Some(other)) = (left.take(), right.take()) {
        let len = one.len.min(other.len);
        let mut sum = one.cut(0, len);
        sum.origins.extend(&other.origins);
        sums.push(sum);
        let rest = |piece: &Piece| (piece.len > len).then(|| piece.cut(len, piece.len - len));
        left = rest(&one).or_else(|| own.next());
        right = rest(&other).or_else(|| arrived.next());
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::Blocks;
    use crate::pattern::{ping_pong, reduce_local, rotation};
    use crate::program::Program;
    use crate::step::Step;
    use crate::vector::{OWN, SCRATCH};

    fn part(len: usize) -> BufferPart {
        BufferPart { place: OWN, first: 0, len }
    }

    fn traced(programs: &[Program], rank: u32, len: usize) -> Vec<(usize, Vec<u32>)> {
        let pieces = trace(programs, rank, part(len)).expect("it ends");
        let ranks = |piece: &Piece| piece.origins.iter().map(|origin| origin.rank).collect();
        pieces.iter().map(|piece| (piece.len, ranks(piece))).collect()
    }

    #[test]
    fn a_ping_pong_leaves_both_with_both_messages() {
        let programs = ping_pong(8, 4);
        for rank in 0..2 {
            assert_eq!(traced(&programs, rank, 12), [(8, vec![0]), (4, vec![1])]);
        }
        assert_eq!(traced(&ping_pong(0, 0), 0, 0), []);
    }

    #[test]
    fn an_operation_adds_the_scratch_vector_once() {
        let pieces = trace(reduce_local(4, 3).as_slice(), 2, part(4)).expect("it ends");
        let places: Vec<Buffer> = pieces[0].origins.iter().map(|origin| origin.place).collect();
        assert_eq!((pieces.len(), places), (1, vec![OWN, SCRATCH]));
    }

    #[test]
    fn a_rotation_brings_the_next_rank_s_block() {
        let programs = rotation(&Blocks::equal(2, 4)).expect("4 ranks");
        assert_eq!(traced(&programs, 3, 8), [(2, vec![0]), (6, vec![3])]);
    }

    #[test]
    fn pieces_are_split_where_they_are_written_to() {
        let copy = |from: usize, to: usize, len: usize| {
            let part = |first| BufferPart { place: OWN, first, len };
            Step::Copy { from: part(from), to: part(to) }
        };
        let steps = vec![copy(0, 10, 6), copy(20, 12, 2)];
        let programs = [Program { extra: vec![30], steps }];
        let pieces = trace(programs.as_slice(), 0, BufferPart { place: OWN, first: 9, len: 8 }).expect("it ends");
        let found: Vec<(usize, usize)> = pieces.iter().map(|piece| (piece.len, piece.origins[0].byte)).collect();
        assert_eq!(found, [(1, 9), (2, 0), (2, 20), (2, 4), (1, 16)]);
    }
}
