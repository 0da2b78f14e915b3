//! Mock-ups of collectives that move data, and of barrier.

use collrules_rules::Collective;

use super::padded;
use crate::mockup::MockupPattern;
use crate::program::Program;
use crate::seat::Seat;
use crate::step::{BufferPart, CollectiveCall as Call, NOTHING, Reducing};

pub(super) fn program(pattern: MockupPattern, seat: Seat) -> Option<Program> {
    let mut made = Program::default();
    let (send, receive) = (seat.send(), seat.receive());
    let (bytes, all) = (seat.bytes, seat.bytes * seat.ranks);
    let equal = || vec![bytes; seat.ranks];
    let own = |part: BufferPart| part.cut(seat.rank * bytes, bytes);
    match (seat.collective, pattern) {
        (Collective::Allgather, MockupPattern::Allgatherv) => made.call(Call::Allgatherv(equal()), send, receive),
        (Collective::Allgather | Collective::Allgatherv, MockupPattern::Allreduce) => {
            let blocks = made.extra(all);
            made.copy(send, own(blocks));
            made.call(Call::Allreduce(Reducing::Or), blocks, receive);
        }
        (Collective::Allgather, MockupPattern::Alltoall) | (Collective::Allgatherv, MockupPattern::Alltoallv) => {
            let blocks = made.extra(all);
            (0..seat.ranks).for_each(|to| made.copy(send, blocks.cut(to * bytes, bytes)));
            let is_plain = pattern == MockupPattern::Alltoall;
            made.call(if is_plain { Call::Alltoall } else { Call::Alltoallv(equal()) }, blocks, receive);
        }
        (Collective::Allgather, MockupPattern::GatherBcast) | (Collective::Allgatherv, MockupPattern::GathervBcast) => {
            let call = if pattern == MockupPattern::GatherBcast { Call::Gather } else { Call::Gatherv(equal()) };
            made.call(call, send, if seat.is_root() { receive } else { NOTHING });
            made.call(Call::Bcast, receive, receive);
        }
        (Collective::Alltoall, MockupPattern::Alltoallv) => made.call(Call::Alltoallv(equal()), send, receive),
        (Collective::Alltoallv, MockupPattern::Alltoallw) => made.call(Call::Alltoallw(equal()), send, receive),
        (Collective::Bcast, MockupPattern::Allgatherv) => {
            let counts = (0..seat.ranks).map(|rank| if rank == 0 { bytes } else { 0 }).collect();
            made.call(Call::AllgathervInPlace(counts), NOTHING, receive);
        }
        (Collective::Bcast, MockupPattern::ScatterAllgather) => {
            let (whole, block) = padded(seat);
            let share = made.extra(block);
            // Where all ranks get as much, the caller's buffer does.
            let buffer = if whole == bytes { receive } else { made.extra(whole) };
            if seat.is_root() && buffer != receive {
                made.copy(receive, buffer.cut(0, bytes));
            }
            made.call(Call::Scatter, if seat.is_root() { buffer } else { NOTHING }, share);
            made.call(Call::Allgather, share, buffer);
            if !seat.is_root() && buffer != receive {
                made.copy(buffer, receive);
            }
        }
        (Collective::Bcast, MockupPattern::ScattervAllgatherv) => {
            made.call(Call::ScattervInPlace(seat.shares()), NOTHING, receive);
            made.call(Call::AllgathervInPlace(seat.shares()), NOTHING, receive);
        }
        (Collective::Gather, MockupPattern::Allgather) => {
            let to = if seat.is_root() { receive } else { made.extra(all) };
            made.call(Call::Allgather, send, to);
        }
        (Collective::Gather, MockupPattern::Gatherv) => made.call(Call::Gatherv(equal()), send, receive),
        (Collective::Gather, MockupPattern::Reduce) => {
            let blocks = made.extra(all);
            made.copy(send, own(blocks));
            made.call(Call::Reduce(Reducing::Or), blocks, receive);
        }
        (Collective::Scatter, MockupPattern::Bcast) => {
            let buffer = if seat.is_root() { send } else { made.extra(all) };
            made.call(Call::Bcast, buffer, buffer);
            made.copy(own(buffer), receive);
        }
        (Collective::Scatter, MockupPattern::Scatterv) => made.call(Call::Scatterv(equal()), send, receive),
        (Collective::Barrier, MockupPattern::Allreduce) => {
            let (from, to) = (made.extra(4), made.extra(4));
            made.call(Call::Allreduce(Reducing::Sum), from, to);
        }
        (Collective::Barrier, MockupPattern::GatherBcast) => {
            let token = made.extra(1);
            let all = if seat.is_root() { made.extra(seat.ranks) } else { NOTHING };
            // In the other order ranks would wait for the root alone.
            made.call(Call::Gather, token, all);
            made.call(Call::Bcast, token, token);
        }
        (Collective::Barrier, MockupPattern::Allgather) => {
            let (token, all) = (made.extra(1), made.extra(seat.ranks));
            made.call(Call::Allgather, token, all);
        }
        _ => return None,
    }
    Some(made)
}
