//! Mock-ups that use the division of ranks into nodes. `hier`: on each node to its first rank (the leader), then among
//! the leaders, then back. `lane`: each rank of a node exchanges its part with the ranks in the same place on other
//! nodes, so all of them use the network at once.
//!
//! Ranks are consecutive on nodes, so that reductions go in rank order.

use collrules_rules::Collective;

use super::first;
use crate::mockup::MockupPattern;
use crate::program::Program;
use crate::seat::Seat;
use crate::step::{BufferPart, CollectiveCall as Call, NOTHING, RankGroup, Reducing};

const SUM: Reducing = Reducing::Sum;

/// Returns the program of a rank; none unless there are several nodes with equally many ranks, several each.
pub(super) fn program(pattern: MockupPattern, seat: Seat) -> Option<Program> {
    seat.even?;
    match pattern {
        MockupPattern::Hier => hier(seat),
        MockupPattern::Lane => lane(seat),
        _ => None,
    }
}

fn hier(seat: Seat) -> Option<Program> {
    let mut made = Program::default();
    let (send, receive, bytes) = (seat.send(), seat.receive(), seat.bytes);
    let ((nodes, each), (node, place)) = (seat.shape(), seat.place());
    let leads = place == 0;
    match seat.collective {
        Collective::Barrier => {
            made.call_on(RankGroup::Node, Call::Barrier, NOTHING, NOTHING);
            made.call_on(RankGroup::Leaders, Call::Barrier, NOTHING, NOTHING);
            made.call_on(RankGroup::Node, Call::Barrier, NOTHING, NOTHING);
        }
        Collective::Bcast => {
            made.call_on(RankGroup::Leaders, Call::Bcast, receive, receive);
            made.call_on(RankGroup::Node, Call::Bcast, receive, receive);
        }
        Collective::Allreduce => {
            let sum = if leads { made.extra(bytes) } else { NOTHING };
            made.call_on(RankGroup::Node, Call::Reduce(SUM), send, sum);
            made.call_on(RankGroup::Leaders, Call::Allreduce(SUM), sum, receive);
            made.call_on(RankGroup::Node, Call::Bcast, receive, receive);
        }
        Collective::Reduce => {
            let sum = if leads { made.extra(bytes) } else { NOTHING };
            made.call_on(RankGroup::Node, Call::Reduce(SUM), send, sum);
            let to = if seat.is_root() { receive } else { NOTHING };
            made.call_on(RankGroup::Leaders, Call::Reduce(SUM), sum, to);
        }
        Collective::Scan => {
            let before = made.extra(bytes);
            let sum = if leads { made.extra(bytes) } else { NOTHING };
            made.call_on(RankGroup::Node, Call::Scan, send, receive);
            made.call_on(RankGroup::Node, Call::Reduce(SUM), send, sum);
            // What it leaves on the first node is undefined, and not used.
            made.call_on(RankGroup::Leaders, Call::Exscan, sum, before);
            made.call_on(RankGroup::Node, Call::Bcast, before, before);
            if node > 0 {
                made.reduce(before, receive);
            }
        }
        Collective::Allgather => {
            let blocks = if leads { made.extra(each * bytes) } else { NOTHING };
            made.call_on(RankGroup::Node, Call::Gather, send, blocks);
            made.call_on(RankGroup::Leaders, Call::Allgather, blocks, receive);
            made.call_on(RankGroup::Node, Call::Bcast, receive, receive);
        }
        Collective::Gather => {
            let blocks = if leads { made.extra(each * bytes) } else { NOTHING };
            made.call_on(RankGroup::Node, Call::Gather, send, blocks);
            made.call_on(RankGroup::Leaders, Call::Gather, blocks, receive);
        }
        Collective::Scatter => {
            let blocks = if leads { made.extra(each * bytes) } else { NOTHING };
            made.call_on(RankGroup::Leaders, Call::Scatter, send, blocks);
            made.call_on(RankGroup::Node, Call::Scatter, blocks, receive);
        }
        Collective::Alltoall => {
            let all = each * seat.ranks * bytes;
            let [one, other] = if leads { [made.extra(all), made.extra(all)] } else { [NOTHING, NOTHING] };
            made.call_on(RankGroup::Node, Call::Gather, send, one);
            if leads {
                let run = each * bytes;
                for (to, from) in (0..nodes).flat_map(|to| (0..each).map(move |from| (to, from))) {
                    made.copy(one.cut((from * nodes + to) * run, run), other.cut((to * each + from) * run, run));
                }
            }
            made.call_on(RankGroup::Leaders, Call::Alltoall, other, one);
            if leads {
                for (from, to) in (0..seat.ranks).flat_map(|from| (0..each).map(move |to| (from, to))) {
                    let block = one.cut((from * each + to) * bytes, bytes);
                    made.copy(block, other.cut((to * seat.ranks + from) * bytes, bytes));
                }
            }
            made.call_on(RankGroup::Node, Call::Scatter, other, receive);
        }
        _ => return None,
    }
    Some(made)
}

fn lane(seat: Seat) -> Option<Program> {
    let mut made = Program::default();
    let (send, receive, bytes) = (seat.send(), seat.receive(), seat.bytes);
    let ((nodes, each), (node, place)) = (seat.shape(), seat.place());
    let (strip, all) = (nodes * bytes, seat.ranks * bytes);
    let shares = seat.shares_among(each);
    let own = |vector: BufferPart| vector.cut(first(&shares, place), shares[place]);
    match seat.collective {
        Collective::Bcast => {
            made.call_on(RankGroup::FirstNode, Call::ScattervInPlace(shares.clone()), NOTHING, receive);
            made.call_on(RankGroup::Lane, Call::Bcast, own(receive), own(receive));
            made.call_on(RankGroup::Node, Call::AllgathervInPlace(shares.clone()), NOTHING, receive);
        }
        Collective::Allreduce => {
            let share = made.extra(shares[place]);
            made.call_on(RankGroup::Node, Call::ReduceScatter(shares.clone()), send, share);
            made.call_on(RankGroup::Lane, Call::Allreduce(SUM), share, own(receive));
            made.call_on(RankGroup::Node, Call::AllgathervInPlace(shares.clone()), NOTHING, receive);
        }
        Collective::Reduce => {
            let share = made.extra(shares[place]);
            let sum = if node == 0 { made.extra(shares[place]) } else { NOTHING };
            made.call_on(RankGroup::Node, Call::ReduceScatter(shares.clone()), send, share);
            made.call_on(RankGroup::Lane, Call::Reduce(SUM), share, sum);
            made.call_on(RankGroup::FirstNode, Call::Gatherv(shares.clone()), sum, receive);
        }
        Collective::Scan => {
            let share = made.extra(shares[place]);
            let before = made.extra(bytes);
            made.call_on(RankGroup::Node, Call::Scan, send, receive);
            made.call_on(RankGroup::Node, Call::ReduceScatter(shares.clone()), send, share);
            // What it leaves on the first node is undefined, and not used.
            made.call_on(RankGroup::Lane, Call::Exscan, share, own(before));
            made.call_on(RankGroup::Node, Call::AllgathervInPlace(shares.clone()), NOTHING, before);
            if node > 0 {
                made.reduce(before, receive);
            }
        }
        Collective::Allgather => {
            let (mine, blocks) = (made.extra(strip), made.extra(all));
            made.call_on(RankGroup::Lane, Call::Allgather, send, mine);
            made.call_on(RankGroup::Node, Call::Allgather, mine, blocks);
            reordered(&mut made, seat, blocks, receive, false);
        }
        Collective::Gather => {
            let mine = if node == 0 { made.extra(strip) } else { NOTHING };
            let blocks = if seat.is_root() { made.extra(all) } else { NOTHING };
            made.call_on(RankGroup::Lane, Call::Gather, send, mine);
            made.call_on(RankGroup::FirstNode, Call::Gather, mine, blocks);
            if seat.is_root() {
                reordered(&mut made, seat, blocks, receive, false);
            }
        }
        Collective::Scatter => {
            let mine = if node == 0 { made.extra(strip) } else { NOTHING };
            let blocks = if seat.is_root() { made.extra(all) } else { NOTHING };
            if seat.is_root() {
                reordered(&mut made, seat, send, blocks, true);
            }
            made.call_on(RankGroup::FirstNode, Call::Scatter, blocks, mine);
            made.call_on(RankGroup::Lane, Call::Scatter, mine, receive);
        }
        Collective::Alltoall => {
            let (one, other) = (made.extra(all), made.extra(all));
            reordered(&mut made, seat, send, one, true);
            made.call_on(RankGroup::Node, Call::Alltoall, one, other);
            reordered(&mut made, seat, other, one, false);
            made.call_on(RankGroup::Lane, Call::Alltoall, one, receive);
        }
        _ => return None,
    }
    Some(made)
}

/// Copies the blocks of all ranks from rank order, node after node, into the order of lanes, lane after lane; or back.
fn reordered(made: &mut Program, seat: Seat, from: BufferPart, to: BufferPart, into_lanes: bool) {
    let (nodes, each) = seat.shape();
    for rank in 0..seat.ranks {
        let (node, place) = (rank / each, rank % each);
        let (by_rank, by_lane) = (rank * seat.bytes, (place * nodes + node) * seat.bytes);
        let (begin, end) = if into_lanes { (by_rank, by_lane) } else { (by_lane, by_rank) };
        made.copy(from.cut(begin, seat.bytes), to.cut(end, seat.bytes));
    }
}
