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

use collrules_record::Mockup;
use collrules_rules::Collective;

pub(crate) use self::parts::most_pieces;
use crate::program::{Call, NOTHING, Part, Program, Reducing, Seat};

/// What a rank does instead of the collective; nothing where the mock-up is none of this collective and message.
pub fn program(mockup: Mockup, seat: Seat) -> Option<Program> {
    match mockup {
        Mockup::Pattern(pattern) if pattern.needs_nodes() => nodes::program(pattern, seat),
        Mockup::Pattern(pattern) if seat.collective.reduces() => reducing::program(pattern, seat),
        Mockup::Pattern(pattern) => moving::program(pattern, seat),
        Mockup::Split { pieces, barrier } => parts::split(seat, pieces as usize, barrier),
        Mockup::Pad(bytes) => parts::pad(seat, bytes.0 as usize),
    }
}

/// The call of the collective itself. A bcast has one buffer, which it takes for both.
fn own(seat: Seat, from: Part, to: Part) -> (Call, Part, Part) {
    let equal = || vec![seat.bytes; seat.ranks];
    let call = match seat.collective {
        Collective::Allgather => Call::Allgather,
        Collective::Allgatherv => Call::Allgatherv(equal()),
        Collective::Allreduce => Call::Allreduce(Reducing::Sum),
        Collective::Alltoall => Call::Alltoall,
        Collective::Alltoallv => Call::Alltoallv(equal()),
        Collective::Barrier => return (Call::Barrier, NOTHING, NOTHING),
        Collective::Bcast => return (Call::Bcast, to, to),
        Collective::Exscan => Call::Exscan,
        Collective::Gather => Call::Gather,
        Collective::Reduce => Call::Reduce(Reducing::Sum),
        Collective::ReduceScatter => Call::ReduceScatter(seat.shares()),
        Collective::ReduceScatterBlock => Call::ReduceScatterBlock,
        Collective::Scan => Call::Scan,
        Collective::Scatter => Call::Scatter,
    };
    (call, from, to)
}

/// A message rounded up so that every rank gets as many elements, and the block of one.
fn padded(seat: Seat) -> (usize, usize) {
    let whole = seat.bytes.next_multiple_of(seat.ranks * seat.element());
    (whole, whole / seat.ranks)
}

/// Blocks of whole chunks of four elements, dealt out evenly; what is left over goes behind the last rank that got one more.
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

/// Where a rank's block begins.
fn first(blocks: &[usize], rank: usize) -> usize {
    blocks[..rank].iter().sum()
}
