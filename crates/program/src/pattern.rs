//! Patterns: a few messages between a few ranks, or the operation alone, timed to know the machine.
//!
//! The ranks of these programs are the parts of a pattern, from 0 on. Empty messages are sent too, since they take
//! time.

use crate::blocks::{BlockRange, Blocks};
use crate::program::Program;
use crate::ring::back;
use crate::step::{BufferPart, Step};
use crate::vector::{OWN, SCRATCH, Vector};

/// Bytes of a vector that holds a message and then its answer.
fn parts(message: u64, answer: u64) -> (BufferPart, BufferPart) {
    let part = |first: u64, len: u64| BufferPart { place: OWN, first: first as usize, len: len as usize };
    (part(0, message), part(message, answer))
}

/// Programs, each with a vector of this many bytes.
fn on_vectors<const N: usize>(bytes: u64, steps: [Vec<Step>; N]) -> Vec<Program> {
    steps.into_iter().map(|steps| Program { extra: vec![bytes as usize], steps }).collect()
}

/// The first rank sends `there` bytes to the second, and gets `back` bytes.
pub fn ping_pong(there: u64, back: u64) -> Vec<Program> {
    let (question, answer) = parts(there, back);
    let asks = vec![Step::Send { to: 1, part: question }, Step::Receive { from: 1, part: answer }];
    let answers = vec![Step::Receive { from: 0, part: question }, Step::Send { to: 0, part: answer }];
    on_vectors(there + back, [asks, answers])
}

/// The first rank sends `there` bytes to the second, which does not answer, then `there` bytes to the third, which
/// answers with `back`.
pub fn one_to_two(there: u64, back: u64) -> Vec<Program> {
    let (message, answer) = parts(there, back);
    let takes = Step::Receive { from: 0, part: message };
    let sends = vec![
        Step::Send { to: 1, part: message },
        Step::Send { to: 2, part: message },
        Step::Receive { from: 2, part: answer },
    ];
    let answers = vec![takes.clone(), Step::Send { to: 0, part: answer }];
    on_vectors(there + back, [sends, vec![takes], answers])
}

/// The first rank sends `there` bytes to the second several times, with computation between them, and gets an answer to
/// the last.
pub fn train(there: u64, back: u64, messages: u32, nanoseconds: u64) -> Vec<Program> {
    let (message, answer) = parts(there, back);
    let times = messages as usize;
    let mut sends = vec![Step::Send { to: 1, part: message }];
    for _ in 1..times {
        sends.extend((nanoseconds > 0).then_some(Step::Busy { nanoseconds }));
        sends.push(Step::Send { to: 1, part: message });
    }
    sends.push(Step::Receive { from: 1, part: answer });
    let mut takes = vec![Step::Receive { from: 0, part: message }; times];
    takes.push(Step::Send { to: 0, part: answer });
    on_vectors(there + back, [sends, takes])
}

/// The second rank sends bytes to the first, which computes for some nanoseconds before it receives them.
pub fn late_receive(bytes: u64, nanoseconds: u64) -> Vec<Program> {
    let (message, _) = parts(bytes, 0);
    let takes = vec![Step::Busy { nanoseconds }, Step::Receive { from: 1, part: message }];
    on_vectors(bytes, [takes, vec![Step::Send { to: 0, part: message }]])
}

/// Every rank sends its block to the rank before; none for fewer than 2 ranks.
pub fn rotation(blocks: &Blocks) -> Option<Vec<Program>> {
    let on = Vector { blocks, element: 1, place: OWN, left_out: 0 };
    let ranks = blocks.ranks();
    let rotate = |rank: u32| {
        let (before, after) = (back(rank, 1, ranks), back(rank, ranks - 1, ranks));
        let (send, receive) = (on.part(BlockRange::block(rank)), on.part(BlockRange::block(after)));
        let step = Step::Exchange { to: before, send, from: after, receive };
        let steps = step.without_empty_messages().into_iter().collect();
        Program { extra: vec![blocks.total() as usize], steps }
    };
    (ranks >= 2).then(|| (0..ranks).map(rotate).collect())
}

/// Every rank applies the operation to bytes of its own; no rank sends anything.
pub fn reduce_local(bytes: u64, ranks: u32) -> Vec<Program> {
    let len = bytes as usize;
    let part = |place| BufferPart { place, first: 0, len };
    let steps = vec![Step::Reduce { from: part(SCRATCH), to: part(OWN) }];
    (0..ranks).map(|_| Program { extra: vec![len, len], steps: steps.clone() }).collect()
}
