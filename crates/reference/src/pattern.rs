//! Patterns: a few messages between a few ranks, or the operation alone, timed to know the machine.
//!
//! The ranks of such a script are the parts that there are to play, from 0 on. Who plays them is not its matter.

use crate::blocks::{Blocks, Range};
use crate::script::Script;
use crate::step::{Buffer, Step};

/// The first rank sends so many elements to the second and gets so many back.
pub fn ping_pong(there: u64, back: u64) -> Script {
    let (question, answer) = (Range::one(0), Range::one(1));
    let asks =
        vec![Step::Send { to: 1, blocks: question }, Step::Receive { from: 1, blocks: answer, into: Buffer::Vector }];
    let answers =
        vec![Step::Receive { from: 0, blocks: question, into: Buffer::Vector }, Step::Send { to: 0, blocks: answer }];
    Script::of_parts(vec![asks, answers], Blocks::of([there, back]))
}

/// The first rank sends so many elements to the second, which does not answer, then as many to the third, which answers with
/// nothing.
pub fn one_to_two(elements: u64) -> Script {
    let (message, answer) = (Range::one(0), Range::one(2));
    let takes = Step::Receive { from: 0, blocks: message, into: Buffer::Vector };
    let parts = vec![
        vec![
            Step::Send { to: 1, blocks: message },
            Step::Send { to: 2, blocks: message },
            Step::Receive { from: 2, blocks: answer, into: Buffer::Vector },
        ],
        vec![takes],
        vec![takes, Step::Send { to: 0, blocks: answer }],
    ];
    Script::of_parts(parts, Blocks::of([elements, 0, 0]))
}

/// The first rank sends so many elements to the second so many times, busy for so many nanoseconds between two of them, and gets
/// an empty answer to the last.
pub fn train(elements: u64, messages: u32, nanoseconds: u64) -> Script {
    let (message, answer) = (Range::one(0), Range::one(1));
    let times = messages as usize;
    let mut sends = vec![Step::Send { to: 1, blocks: message }];
    for _ in 1..times {
        sends.extend((nanoseconds > 0).then_some(Step::Busy { nanoseconds }));
        sends.push(Step::Send { to: 1, blocks: message });
    }
    sends.push(Step::Receive { from: 1, blocks: answer, into: Buffer::Vector });
    let mut takes = vec![Step::Receive { from: 0, blocks: message, into: Buffer::Vector }; times];
    takes.push(Step::Send { to: 0, blocks: answer });
    Script::of_parts(vec![sends, takes], Blocks::of([elements, 0]))
}

/// The second rank sends so many elements to the first, which is busy for so many nanoseconds before it takes them.
pub fn late_receive(elements: u64, nanoseconds: u64) -> Script {
    let message = Range::one(1);
    let takes = vec![Step::Busy { nanoseconds }, Step::Receive { from: 1, blocks: message, into: Buffer::Vector }];
    Script::of_parts(vec![takes, vec![Step::Send { to: 0, blocks: message }]], Blocks::of([0, elements]))
}

/// Every rank applies the operation to so many elements of its own, and nobody sends anything.
pub fn reduce_local(elements: u64, ranks: u32) -> Script {
    let blocks = Range::one(0);
    let parts = vec![vec![Step::Reduce { blocks }]; ranks as usize];
    Script::of_parts(parts, Blocks::of(std::iter::once(elements).chain(std::iter::repeat_n(0, ranks as usize - 1))))
}
