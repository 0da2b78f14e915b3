//! Mock-ups of collectives that move data, and of barrier.

use collrules_record::mockup::Pattern;
use collrules_rules::Collective;

use super::padded;
use crate::program::{Call, NOTHING, Part, Program, Reducing, Seat};

pub(super) fn program(pattern: Pattern, seat: Seat) -> Option<Program> {
    let mut made = Program::default();
    let (send, receive) = (seat.send(), seat.receive());
    let (bytes, all) = (seat.bytes, seat.bytes * seat.ranks);
    let equal = || vec![bytes; seat.ranks];
    let own = |part: Part| part.cut(seat.rank * bytes, bytes);
    match (seat.collective, pattern) {
        (Collective::Allgather, Pattern::Allgatherv) => made.call(Call::Allgatherv(equal()), send, receive),
        (Collective::Allgather | Collective::Allgatherv, Pattern::Allreduce) => {
            let blocks = made.extra(all);
            made.copy(send, own(blocks));
            made.call(Call::Allreduce(Reducing::Or), blocks, receive);
        }
        (Collective::Allgather, Pattern::Alltoall) | (Collective::Allgatherv, Pattern::Alltoallv) => {
            let blocks = made.extra(all);
            (0..seat.ranks).for_each(|to| made.copy(send, blocks.cut(to * bytes, bytes)));
            let call = if pattern == Pattern::Alltoall { Call::Alltoall } else { Call::Alltoallv(equal()) };
            made.call(call, blocks, receive);
        }
        (Collective::Allgather, Pattern::GatherBcast) | (Collective::Allgatherv, Pattern::GathervBcast) => {
            let call = if pattern == Pattern::GatherBcast { Call::Gather } else { Call::Gatherv(equal()) };
            made.call(call, send, if seat.is_root() { receive } else { NOTHING });
            made.call(Call::Bcast, receive, receive);
        }
        (Collective::Alltoall, Pattern::Alltoallv) => made.call(Call::Alltoallv(equal()), send, receive),
        (Collective::Alltoallv, Pattern::Alltoallw) => made.call(Call::Alltoallw(equal()), send, receive),
        (Collective::Bcast, Pattern::Allgatherv) => {
            let counts = (0..seat.ranks).map(|rank| if rank == 0 { bytes } else { 0 }).collect();
            made.call(Call::AllgathervInPlace(counts), NOTHING, receive);
        }
        (Collective::Bcast, Pattern::ScatterAllgather) => {
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
        (Collective::Bcast, Pattern::ScattervAllgatherv) => {
            made.call(Call::ScattervInPlace(seat.shares()), NOTHING, receive);
            made.call(Call::AllgathervInPlace(seat.shares()), NOTHING, receive);
        }
        (Collective::Gather, Pattern::Allgather) => {
            let to = if seat.is_root() { receive } else { made.extra(all) };
            made.call(Call::Allgather, send, to);
        }
        (Collective::Gather, Pattern::Gatherv) => made.call(Call::Gatherv(equal()), send, receive),
        (Collective::Gather, Pattern::Reduce) => {
            let blocks = made.extra(all);
            made.copy(send, own(blocks));
            made.call(Call::Reduce(Reducing::Or), blocks, receive);
        }
        (Collective::Scatter, Pattern::Bcast) => {
            let buffer = if seat.is_root() { send } else { made.extra(all) };
            made.call(Call::Bcast, buffer, buffer);
            made.copy(own(buffer), receive);
        }
        (Collective::Scatter, Pattern::Scatterv) => made.call(Call::Scatterv(equal()), send, receive),
        (Collective::Barrier, Pattern::Allreduce) => {
            let (from, to) = (made.extra(4), made.extra(4));
            made.call(Call::Allreduce(Reducing::Sum), from, to);
        }
        (Collective::Barrier, Pattern::GatherBcast) => {
            let token = made.extra(1);
            let all = if seat.is_root() { made.extra(seat.ranks) } else { NOTHING };
            // The other way round nobody would wait for anybody but the root.
            made.call(Call::Gather, token, all);
            made.call(Call::Bcast, token, token);
        }
        (Collective::Barrier, Pattern::Allgather) => {
            let (token, all) = (made.extra(1), made.extra(seat.ranks));
            made.call(Call::Allgather, token, all);
        }
        _ => return None,
    }
    Some(made)
}
