//! Mock-ups made of the collective itself: on parts of the data, or on padded data.

use collrules_rules::Collective;
use collrules_rules::collective::{CallData, Extent};

use super::first;
use crate::program::Program;
use crate::seat::Seat;
use crate::step::{BufferPart, CollectiveCall as Call, NOTHING};

/// The call of the collective itself. A bcast has one buffer, which is both.
pub(super) fn own(seat: Seat, from: BufferPart, to: BufferPart) -> (Call, BufferPart, BufferPart) {
    let share = seat.collective.data().receives == Extent::Share;
    let call = Call::of(seat.collective, if share { seat.shares() } else { vec![seat.bytes; seat.ranks] });
    let from = if call == Call::Bcast { to } else { from };
    (call, from, to)
}

/// The first element and the number of elements of a piece: what does not divide evenly goes to the first pieces.
fn piece(elements: usize, pieces: usize, number: usize) -> (usize, usize) {
    let (each, more) = (elements / pieces, elements % pieces);
    (number * each + number.min(more), each + usize::from(number < more))
}

/// The largest number of pieces of which each has data for every rank.
pub fn most_pieces(seat: Seat) -> usize {
    match seat.collective.data().receives {
        Extent::Nothing => 0,
        Extent::Share => seat.bytes / seat.element() / seat.ranks,
        Extent::Message | Extent::Blocks => seat.bytes / seat.element(),
    }
}

/// A call for each piece of the data.
pub(super) fn split(seat: Seat, pieces: usize, barrier: bool) -> Option<Program> {
    let CallData { sends, receives, .. } = seat.collective.data();
    if pieces < 2 || pieces > most_pieces(seat) {
        return None;
    }
    let element = seat.element();
    let cut = |bytes: usize, number: usize| {
        let (first, len) = piece(bytes / element, pieces, number);
        (first * element, len * element)
    };
    let mut made = Program::default();
    let (send, receive) = (seat.send(), seat.receive());
    let largest = seat.with_bytes(match receives {
        // The first piece has the most of every share.
        Extent::Share => seat.shares().iter().map(|share| cut(*share, 0).1).sum(),
        _ => cut(seat.bytes, 0).1,
    });
    let is_packed = sends == Extent::Blocks && send.len > 0 || receives == Extent::Share;
    let packed = is_packed.then(|| made.extra(largest.send().len));
    let is_staged = receives == Extent::Blocks && receive.len > 0;
    let staged = is_staged.then(|| made.extra(largest.receive().len));
    for number in 0..pieces {
        if barrier && number > 0 {
            made.call(Call::Barrier, NOTHING, NOTHING);
        }
        if receives == Extent::Share {
            let (shares, parts): (Vec<usize>, Vec<(usize, usize)>) =
                seat.shares().into_iter().map(|share| (share, cut(share, number))).unzip();
            let counts: Vec<usize> = parts.iter().map(|(_, len)| *len).collect();
            let from = packed.unwrap_or(NOTHING);
            for (rank, (begin, len)) in parts.iter().enumerate() {
                made.copy(send.cut(first(&shares, rank) + begin, *len), from.cut(first(&counts, rank), *len));
            }
            let (begin, len) = parts[seat.rank];
            let total = counts.iter().sum();
            made.call(Call::ReduceScatter(counts), from.cut(0, total), receive.cut(begin, len));
            continue;
        }
        let (begin, len) = cut(seat.bytes, number);
        let part = seat.with_bytes(len);
        let blocks = |whole: BufferPart, rank: usize| whole.cut(rank * seat.bytes + begin, len);
        let from = match packed {
            Some(packed) => {
                let packed = packed.cut(0, len * seat.ranks);
                (0..seat.ranks).for_each(|rank| made.copy(blocks(send, rank), packed.cut(rank * len, len)));
                packed
            }
            None => send.cut_if_any(begin, len),
        };
        let to = staged.map_or_else(|| receive.cut_if_any(begin, len), |staged| staged.cut(0, len * seat.ranks));
        let (call, from, to) = own(part, from, to);
        made.call(call, from, to);
        if let Some(staged) = staged {
            (0..seat.ranks).for_each(|rank| made.copy(staged.cut(rank * len, len), blocks(receive, rank)));
        }
    }
    Some(made)
}

/// One call with a larger message.
pub(super) fn pad(seat: Seat, bytes: usize) -> Option<Program> {
    let CallData { sends, receives, .. } = seat.collective.data();
    if receives == Extent::Nothing || bytes <= seat.bytes || !bytes.is_multiple_of(seat.element()) {
        return None;
    }
    let larger = seat.with_bytes(bytes);
    let mut made = Program::default();
    let (send, receive) = (seat.send(), seat.receive());
    if seat.collective == Collective::Bcast {
        let buffer = made.extra(bytes);
        if seat.is_root() {
            made.copy(receive, buffer.cut(0, seat.bytes));
        }
        made.call(Call::Bcast, buffer, buffer);
        if !seat.is_root() {
            made.copy(buffer, receive);
        }
        return Some(made);
    }
    let (from, to) = (made.extra(larger.send().len), made.extra(larger.receive().len));
    if send.len > 0 {
        match (sends, receives) {
            (Extent::Blocks, _) => (0..seat.ranks).for_each(|rank| {
                made.copy(send.cut(rank * seat.bytes, seat.bytes), from.cut(rank * bytes, seat.bytes));
            }),
            (_, Extent::Share) => {
                let (small, large) = (seat.shares(), larger.shares());
                for rank in 0..seat.ranks {
                    made.copy(send.cut(first(&small, rank), small[rank]), from.cut(first(&large, rank), small[rank]));
                }
            }
            _ => made.copy(send, from.cut(0, seat.bytes)),
        }
    }
    let (call, from, to) = own(larger, from, to);
    made.call(call, from, to);
    if receive.len > 0 {
        if receives == Extent::Blocks {
            (0..seat.ranks).for_each(|rank| {
                made.copy(to.cut(rank * bytes, seat.bytes), receive.cut(rank * seat.bytes, seat.bytes));
            });
        } else {
            made.copy(to, receive);
        }
    }
    Some(made)
}
