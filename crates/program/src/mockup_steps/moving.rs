//! Mock-ups of collectives that move data, and of barrier.

use collrules_rules::Collective;

use super::padded;
use crate::mockup::MockupPattern;
use crate::program::Program;
use crate::seat::Seat;
use crate::step::{BufferPart, CollectiveCall, NOTHING, Reducing};

pub(super) fn program(pattern: MockupPattern, seat: Seat) -> Option<Program> {
    let mut made = Program::default();
    let (send, receive) = (seat.send(), seat.receive());
    let (bytes, all) = (seat.bytes, seat.bytes * seat.ranks);
    let equal = || vec![bytes; seat.ranks];
    let own = |part: BufferPart| part.cut(seat.rank * bytes, bytes);
    match (seat.collective, pattern) {
        (Collective::Allgather, MockupPattern::Allgatherv) => {
            made.call(CollectiveCall::Allgatherv(equal()), send, receive)
        }
        (Collective::Allgather | Collective::Allgatherv, MockupPattern::Allreduce) => {
            let blocks = made.extra(all);
            made.copy(send, own(blocks));
            made.call(CollectiveCall::Allreduce(Reducing::Or), blocks, receive);
        }
        (Collective::Allgather, MockupPattern::Alltoall) | (Collective::Allgatherv, MockupPattern::Alltoallv) => {
            let blocks = made.extra(all);
            (0..seat.ranks).for_each(|to| made.copy(send, blocks.cut(to * bytes, bytes)));
            let call = if pattern == MockupPattern::Alltoall {
                CollectiveCall::Alltoall
            } else {
                CollectiveCall::Alltoallv(equal())
            };
            made.call(call, blocks, receive);
        }
        (Collective::Allgather, MockupPattern::GatherBcast) | (Collective::Allgatherv, MockupPattern::GathervBcast) => {
            let call = if pattern == MockupPattern::GatherBcast {
                CollectiveCall::Gather
            } else {
                CollectiveCall::Gatherv(equal())
            };
            made.call(call, send, if seat.is_root() { receive } else { NOTHING });
            made.call(CollectiveCall::Bcast, receive, receive);
        }
        (Collective::Alltoall, MockupPattern::Alltoallv) => {
            made.call(CollectiveCall::Alltoallv(equal()), send, receive)
        }
        (Collective::Alltoallv, MockupPattern::Alltoallw) => {
            made.call(CollectiveCall::Alltoallw(equal()), send, receive)
        }
        (Collective::Bcast, MockupPattern::Allgatherv) => {
            let counts = (0..seat.ranks).map(|rank| if rank == 0 { bytes } else { 0 }).collect();
            made.call(CollectiveCall::AllgathervInPlace(counts), NOTHING, receive);
        }
        (Collective::Bcast, MockupPattern::ScatterAllgather) => {
            let (whole, block) = padded(seat);
            let share = made.extra(block);
            // Where all ranks get as much, the caller's buffer does.
            let buffer = if whole == bytes { receive } else { made.extra(whole) };
            if seat.is_root() && buffer != receive {
                made.copy(receive, buffer.cut(0, bytes));
            }
            made.call(CollectiveCall::Scatter, if seat.is_root() { buffer } else { NOTHING }, share);
            made.call(CollectiveCall::Allgather, share, buffer);
            if !seat.is_root() && buffer != receive {
                made.copy(buffer, receive);
            }
        }
        (Collective::Bcast, MockupPattern::ScattervAllgatherv) => {
            made.call(CollectiveCall::ScattervInPlace(seat.shares()), NOTHING, receive);
            made.call(CollectiveCall::AllgathervInPlace(seat.shares()), NOTHING, receive);
        }
        (Collective::Gather, MockupPattern::Allgather) => {
            let to = if seat.is_root() { receive } else { made.extra(all) };
            made.call(CollectiveCall::Allgather, send, to);
        }
        (Collective::Gather, MockupPattern::Gatherv) => made.call(CollectiveCall::Gatherv(equal()), send, receive),
        (Collective::Gather, MockupPattern::Reduce) => {
            let blocks = made.extra(all);
            made.copy(send, own(blocks));
            made.call(CollectiveCall::Reduce(Reducing::Or), blocks, receive);
        }
        (Collective::Scatter, MockupPattern::Bcast) => {
            let buffer = if seat.is_root() { send } else { made.extra(all) };
            made.call(CollectiveCall::Bcast, buffer, buffer);
            made.copy(own(buffer), receive);
        }
        (Collective::Scatter, MockupPattern::Scatterv) => made.call(CollectiveCall::Scatterv(equal()), send, receive),
        (Collective::Barrier, MockupPattern::Allreduce) => {
            let (from, to) = (made.extra(4), made.extra(4));
            made.call(CollectiveCall::Allreduce(Reducing::Sum), from, to);
        }
        (Collective::Barrier, MockupPattern::GatherBcast) => {
            let token = made.extra(1);
            let all = if seat.is_root() { made.extra(seat.ranks) } else { NOTHING };
            // In the other order ranks would wait for the root alone.
            made.call(CollectiveCall::Gather, token, all);
            made.call(CollectiveCall::Bcast, token, token);
        }
        (Collective::Barrier, MockupPattern::Allgather) => {
            let (token, all) = (made.extra(1), made.extra(seat.ranks));
            made.call(CollectiveCall::Allgather, token, all);
        }
        _ => return None,
    }
    Some(made)
}
