//! Mock-ups of collectives with an operation. Reductions go in rank order, so they are right for operations that do not
//! commute, if the calls that they consist of are.

use collrules_rules::Collective;

use super::{chunked, first, padded};
use crate::mockup::MockupPattern;
use crate::program::Program;
use crate::seat::Seat;
use crate::step::{BufferPart, CollectiveCall as Call, NOTHING, Reducing};

const SUM: Reducing = Reducing::Sum;

pub(super) fn program(pattern: MockupPattern, seat: Seat) -> Option<Program> {
    let mut made = Program::default();
    let (send, receive) = (seat.send(), seat.receive());
    let (bytes, all) = (seat.bytes, seat.bytes * seat.ranks);
    match (seat.collective, pattern) {
        (Collective::Allreduce, MockupPattern::ReduceBcast) => {
            made.call(Call::Reduce(SUM), send, if seat.is_root() { receive } else { NOTHING });
            made.call(Call::Bcast, receive, receive);
        }
        (Collective::Allreduce, MockupPattern::ReduceScatterBlockAllgather) => {
            let (from, share) = shared_out(&mut made, seat);
            let to = if from == send { receive } else { from };
            made.call(Call::Allgather, share, to);
            if to != receive {
                made.copy(to, receive);
            }
        }
        (Collective::Allreduce, MockupPattern::ReduceScatterAllgatherv) => {
            let blocks = chunked(seat);
            let own = receive.cut(first(&blocks, seat.rank), blocks[seat.rank]);
            made.call(Call::ReduceScatter(blocks.clone()), send, own);
            made.call(Call::AllgathervInPlace(blocks), NOTHING, receive);
        }
        (Collective::Allreduce, MockupPattern::AllgatherLocal) => {
            let vectors = made.extra(all);
            made.call(Call::Allgather, send, vectors);
            fold(&mut made, seat, vectors, receive);
        }
        (Collective::Exscan, MockupPattern::ScanShift) => {
            let inclusive = made.extra(bytes);
            made.call(Call::Scan, send, inclusive);
            made.call(Call::Shift, inclusive, receive);
        }
        (Collective::Reduce, MockupPattern::Allreduce) => {
            let to = if seat.is_root() { receive } else { made.extra(bytes) };
            made.call(Call::Allreduce(SUM), send, to);
        }
        (Collective::Reduce, MockupPattern::ReduceScatterBlockGather) => {
            let (from, share) = shared_out(&mut made, seat);
            if from == send || !seat.is_root() {
                made.call(Call::Gather, share, receive);
            } else {
                let whole = made.extra(from.len);
                made.call(Call::Gather, share, whole);
                made.copy(whole, receive);
            }
        }
        (Collective::Reduce, MockupPattern::ReduceScatterGatherv) => {
            let blocks = chunked(seat);
            let block = made.extra(blocks[seat.rank]);
            made.call(Call::ReduceScatter(blocks.clone()), send, block);
            made.call(Call::Gatherv(blocks), block, receive);
        }
        (Collective::Reduce, MockupPattern::ReduceScatter) => {
            let counts = (0..seat.ranks).map(|rank| if rank == 0 { bytes } else { 0 }).collect();
            made.call(Call::ReduceScatter(counts), send, receive);
        }
        (Collective::Reduce, MockupPattern::GatherLocal) => {
            let vectors = if seat.is_root() { made.extra(all) } else { NOTHING };
            made.call(Call::Gather, send, vectors);
            if seat.is_root() {
                fold(&mut made, seat, vectors, receive);
            }
        }
        (Collective::ReduceScatter, MockupPattern::Allreduce) => {
            let vector = made.extra(bytes);
            made.call(Call::Allreduce(SUM), send, vector);
            made.copy(vector.cut(first(&seat.shares(), seat.rank), receive.len), receive);
        }
        (Collective::ReduceScatter, MockupPattern::ReduceThenScatterv) => {
            let vector = if seat.is_root() { made.extra(bytes) } else { NOTHING };
            made.call(Call::Reduce(SUM), send, vector);
            made.call(Call::Scatterv(seat.shares()), vector, receive);
        }
        (Collective::ReduceScatterBlock, MockupPattern::ReduceThenScatter) => {
            let vector = if seat.is_root() { made.extra(all) } else { NOTHING };
            made.call(Call::Reduce(SUM), send, vector);
            made.call(Call::Scatter, vector, receive);
        }
        (Collective::ReduceScatterBlock, MockupPattern::ReduceScatter) => {
            made.call(Call::ReduceScatter(vec![bytes; seat.ranks]), send, receive);
        }
        (Collective::ReduceScatterBlock, MockupPattern::Allreduce) => {
            let vector = made.extra(all);
            made.call(Call::Allreduce(SUM), send, vector);
            made.copy(vector.cut(seat.rank * bytes, bytes), receive);
        }
        (Collective::Scan, MockupPattern::ExscanReduceLocal) => {
            if seat.is_root() {
                // What exscan leaves on rank 0 is undefined.
                made.call(Call::Exscan, send, receive);
                made.copy(send, receive);
            } else {
                let before = made.extra(bytes);
                made.call(Call::Exscan, send, before);
                made.copy(send, receive);
                made.reduce(before, receive);
            }
        }
        _ => return None,
    }
    Some(made)
}

/// A reduce_scatter_block of the vector, padded with copies of its first element if necessary: the part that is sent,
/// and the place of this rank's block.
fn shared_out(made: &mut Program, seat: Seat) -> (BufferPart, BufferPart) {
    let (send, element) = (seat.send(), seat.element());
    let (whole, block) = padded(seat);
    let share = made.extra(block);
    let from = if whole == seat.bytes { send } else { made.extra(whole) };
    if from != send {
        made.copy(send, from.cut(0, seat.bytes));
        (seat.bytes..whole).step_by(element).for_each(|place| made.copy(send, from.cut(place, element)));
    }
    made.call(Call::ReduceScatterBlock, from, share);
    (from, share)
}

/// Reduces the vectors of all ranks, one behind the other, in rank order.
fn fold(made: &mut Program, seat: Seat, vectors: BufferPart, to: BufferPart) {
    let vector = |rank: usize| vectors.cut(rank * seat.bytes, seat.bytes);
    made.copy(vector(seat.ranks - 1), to);
    (0..seat.ranks - 1).rev().for_each(|rank| made.reduce(vector(rank), to));
}
