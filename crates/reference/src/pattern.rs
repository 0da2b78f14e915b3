//! Patterns: a few messages between a few ranks, or the operation alone, timed to know the machine.
//!
//! The ranks of such a script are the parts that there are to play, from 0 on. Who plays them is not its matter.

use crate::blocks::Blocks;
use crate::script::Script;
use crate::step::{Place, Range, Step};

/// The first rank sends so many elements to the second and gets so many back.
pub fn ping_pong(there: u64, back: u64) -> Script {
    let (question, answer) = (Range::one(0), Range::one(1));
    let asks =
        vec![Step::Send { to: 1, blocks: question }, Step::Receive { from: 1, blocks: answer, into: Place::Vector }];
    let answers =
        vec![Step::Receive { from: 0, blocks: question, into: Place::Vector }, Step::Send { to: 0, blocks: answer }];
    Script::of_parts(vec![asks, answers], Blocks::of([there, back]))
}

/// Every rank applies the operation to so many elements of its own, and nobody sends anything.
pub fn reduce_local(elements: u64, ranks: u32) -> Script {
    let blocks = Range::one(0);
    let parts = vec![vec![Step::Reduce { blocks }]; ranks as usize];
    Script::of_parts(parts, Blocks::of(std::iter::once(elements).chain(std::iter::repeat_n(0, ranks as usize - 1))))
}
