//! The program of each mock-up.
//!
//! | module | mock-ups of |
//! |---|---|
//! | `moving` | collectives that move data, and barrier |
//! | `reducing` | collectives with an operation |
//! | `nodes` | both, by calls on nodes and between them |
//! | `parts` | splits and pads of all |

mod moving;
mod nodes;
mod parts;
mod reducing;
#[cfg(test)]
mod tests;

pub use self::parts::most_pieces;
use crate::mockup::Mockup;
use crate::program::Program;
use crate::seat::Seat;

impl Mockup {
    /// Returns the program of a rank that replaces the collective; none if the mock-up does not apply to this
    /// collective and message.
    pub fn program(self, seat: Seat) -> Option<Program> {
        match self {
            Self::Pattern(pattern) if self.needs_nodes() => nodes::program(pattern, seat),
            Self::Pattern(pattern) if seat.collective.reduces() => reducing::program(pattern, seat),
            Self::Pattern(pattern) => moving::program(pattern, seat),
            Self::Split { pieces, barrier } => parts::split(seat, pieces as usize, barrier),
            Self::Pad(bytes) => parts::pad(seat, bytes.0 as usize),
        }
    }
}

/// A message rounded up to equal blocks for all ranks, and one such block.
fn padded(seat: Seat) -> (usize, usize) {
    let whole = seat.bytes.next_multiple_of(seat.ranks * seat.element());
    (whole, whole / seat.ranks)
}

/// Blocks of whole chunks of four elements, dealt out evenly; the rest goes to the next rank.
fn chunked(seat: Seat) -> Vec<usize> {
    const CHUNK: usize = 4;
    let (element, elements) = (seat.element(), seat.bytes / seat.element());
    let (chunks, rest) = (elements / CHUNK, elements % CHUNK);
    let block = |rank: usize| {
        let dealt = chunks / seat.ranks + usize::from(rank < chunks % seat.ranks);
        (dealt * CHUNK + if rank == chunks % seat.ranks { rest } else { 0 }) * element
    };
    (0..seat.ranks).map(block).collect()
}

/// Returns the beginning of a rank's block.
fn first(blocks: &[usize], rank: usize) -> usize {
    blocks[..rank].iter().sum()
}
