//! The program of a rank: its steps, and buffers of its own.

use crate::seat::Seat;
use crate::step::{Buffer, BufferPart, CollectiveCall, RankGroup, Step};

/// The steps of a rank, with its own buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The bytes of each extra buffer.
    pub extra: Vec<usize>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// Programs of the ranks that play together.
pub trait Programs {
    /// The number of ranks.
    fn ranks(&self) -> u32;
    /// The steps of a rank, in order.
    fn steps(&self, rank: u32) -> Box<dyn Iterator<Item = Step> + '_>;
}

impl Programs for [Program] {
    fn ranks(&self) -> u32 {
        self.len() as u32
    }

    fn steps(&self, rank: u32) -> Box<dyn Iterator<Item = Step> + '_> {
        Box::new(self[rank as usize].steps.iter().cloned())
    }
}

impl Program {
    /// The bytes that it needs in addition to the caller's buffers, arrays of counts included.
    pub fn memory(&self, seat: Seat) -> usize {
        let arrays = |(on, call, ..): (RankGroup, &CollectiveCall, BufferPart, BufferPart)| {
            seat.seat_in(on).map_or(0, |(ranks, rank)| call.arrays(ranks, rank == 0))
        };
        // The next call uses the arrays of the one before: most of these mock-ups have the same counts in both.
        self.extra.iter().sum::<usize>() + self.calls().map(arrays).max().unwrap_or(0)
    }

    /// The number of bytes that are copied.
    pub fn copied(&self) -> usize {
        self.steps.iter().map(|step| if let Step::Copy { to, .. } = step { to.len } else { 0 }).sum()
    }

    /// The number of bytes that are reduced outside of calls.
    pub fn reduced(&self) -> usize {
        self.steps.iter().map(|step| if let Step::Reduce { to, .. } = step { to.len } else { 0 }).sum()
    }

    /// The calls, in order, with their ranks, and the parts that are sent and received.
    pub fn calls(&self) -> impl Iterator<Item = (RankGroup, &CollectiveCall, BufferPart, BufferPart)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Call { on, call, from, to } => Some((*on, call, *from, *to)),
            _ => None,
        })
    }

    /// Adds a buffer of this many bytes.
    pub fn extra(&mut self, len: usize) -> BufferPart {
        self.extra.push(len);
        BufferPart { place: Buffer::Extra(self.extra.len() - 1), first: 0, len }
    }

    /// Adds a copy of as many bytes as fit.
    pub fn copy(&mut self, from: BufferPart, to: BufferPart) {
        if to.len > 0 {
            self.steps.push(Step::Copy { from: from.cut(0, to.len), to });
        }
    }

    /// Adds the operation on two parts.
    pub fn reduce(&mut self, from: BufferPart, to: BufferPart) {
        self.steps.push(Step::Reduce { from, to });
    }

    /// Adds a call of all ranks.
    pub fn call(&mut self, call: CollectiveCall, from: BufferPart, to: BufferPart) {
        self.call_on(RankGroup::All, call, from, to);
    }

    /// Adds a call of a group.
    pub fn call_on(&mut self, on: RankGroup, call: CollectiveCall, from: BufferPart, to: BufferPart) {
        self.steps.push(Step::Call { on, call, from, to });
    }

    /// The program with other numbers for the ranks.
    pub fn rename(self, name: impl Fn(u32) -> u32) -> Self {
        Self { steps: self.steps.into_iter().map(|step| step.rename(&name)).collect(), ..self }
    }
}
