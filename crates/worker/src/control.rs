//! Commands and answers between rank 0 and the others, and events for the controller.
//!
//! All communication is point to point: in a probe, collectives may fail. Ranks sleep while they wait, so that ranks
//! outside of a measurement leave the processors to the others.

use std::cell::Cell;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use collrules_runner::wire::{MARK, WorkerEvent};
use mpi::Rank;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{Destination, Source};
use serde::Serialize;
use serde::de::DeserializeOwned;

const COMMAND: mpi::Tag = 1;
const ANSWER: mpi::Tag = 2;

/// Pauses between checks for a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    first: Duration,
    longest: Duration,
    /// Ratio of one pause to the one before.
    growth: f64,
}

impl Pauses {
    /// Short at first, as most waits are short.
    const USUAL: Self = Self { first: Duration::from_micros(20), longest: Duration::from_millis(2), growth: 2.0 };

    /// For a job that sleeps between turns: a message is found after a fifth of the sleep before it, at the cost of few
    /// wake-ups.
    pub(crate) const BETWEEN_TURNS: Self =
        Self { first: Duration::from_micros(200), longest: Duration::from_millis(20), growth: 1.2 };
}

/// The channel between rank 0 and the others, over a communicator of its own.
pub(crate) struct Control {
    world: SimpleCommunicator,
    pauses: Cell<Pauses>,
}

impl Control {
    /// A channel over all ranks of a communicator that has no other use.
    pub(crate) fn new(world: SimpleCommunicator) -> Self {
        Self { world, pauses: Cell::new(Pauses::USUAL) }
    }

    pub(crate) fn world(&self) -> &SimpleCommunicator {
        &self.world
    }

    pub(crate) fn is_root(&self) -> bool {
        self.world.rank() == 0
    }

    pub(crate) fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    pub(crate) fn ranks(&self) -> u32 {
        self.world.size() as u32
    }

    /// Changes the pauses of this rank while it waits.
    pub(crate) fn pause_by(&self, pauses: Pauses) {
        self.pauses.set(pauses);
    }

    /// Returns true if a command has arrived. Lets messages on their way make progress.
    pub(crate) fn has_command(&self) -> bool {
        let rank = self.world.rank();
        self.world.process_at_rank(rank & (rank - 1)).immediate_probe_with_tag(COMMAND).is_some()
    }

    /// Hands a value from rank 0 to all ranks, along a binomial tree. Only rank 0 passes one.
    pub(crate) fn broadcast<T: Serialize + DeserializeOwned>(&self, value: Option<T>) -> T {
        let (rank, size) = (self.world.rank(), self.world.size());
        let text = match &value {
            Some(value) => serde_json::to_vec(value).expect("commands are plain data"),
            None => self.receive(rank & (rank - 1), COMMAND),
        };
        for child in children(rank, size).rev() {
            self.world.process_at_rank(child).send_with_tag(&text[..], COMMAND);
        }
        value.unwrap_or_else(|| serde_json::from_slice(&text).expect("rank 0 sent the same type"))
    }

    /// Collects one value of each of the first `ranks` ranks on rank 0, in rank order; the others get nothing. Uses the
    /// tree of [`Self::broadcast`], so that rank 0 receives from few ranks only.
    pub(crate) fn gather<T: Serialize + DeserializeOwned>(&self, ranks: u32, value: T) -> Vec<T> {
        let rank = self.world.rank();
        let own = if self.is_root() { Vec::new() } else { serde_json::to_vec(&value).expect("answers are plain data") };
        // This JSON has no line breaks, so they can separate the values.
        let texts = children(rank, ranks as Rank).map(|child| self.receive(child, ANSWER));
        if self.is_root() {
            let read = |line: &[u8]| serde_json::from_slice(line).expect("all ranks send the same type");
            let others = texts.flat_map(|text| text.split(|byte| *byte == b'\n').map(read).collect::<Vec<T>>());
            return std::iter::once(value).chain(others).collect();
        }
        let text = texts.fold(own, |mut text, other| {
            text.push(b'\n');
            text.extend(other);
            text
        });
        self.world.process_at_rank(rank & (rank - 1)).send_with_tag(&text[..], ANSWER);
        Vec::new()
    }

    fn receive(&self, from: Rank, tag: mpi::Tag) -> Vec<u8> {
        let source = self.world.process_at_rank(from);
        let Pauses { first: mut pause, longest, growth } = self.pauses.get();
        loop {
            if let Some(message) = source.immediate_matched_probe_with_tag(tag) {
                return message.matched_receive_vec::<u8>().0;
            }
            thread::sleep(pause);
            pause = pause.mul_f64(growth).min(longest);
        }
    }
}

/// Reports an event on the standard output, if this is rank 0.
pub(crate) fn report(control: &Control, event: &WorkerEvent) {
    if control.is_root() {
        emit(event);
    }
}

/// Writes an event line. Errors are left to `leave_with_controller`: they mean that the controller no longer reads.
pub(crate) fn emit(event: &WorkerEvent) {
    let mut out = io::stdout().lock();
    if let Ok(text) = serde_json::to_string(event) {
        let _ = writeln!(out, "{MARK}{text}");
        let _ = out.flush();
    }
}

/// Returns the children of a rank in the binomial tree over `size` ranks with rank 0 as the root: the ranks that differ
/// from it in one bit below its own lowest. The subtree of a child spans the ranks up to the next child.
pub(crate) fn children(rank: Rank, size: Rank) -> impl DoubleEndedIterator<Item = Rank> {
    let bits = if rank == 0 { Rank::BITS - 1 } else { rank.trailing_zeros() };
    (0..bits).map(move |bit| rank + (1 << bit)).take_while(move |child| *child < size).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks below one, itself first, each child with its whole subtree.
    fn below(rank: Rank, size: Rank) -> Vec<Rank> {
        std::iter::once(rank).chain(children(rank, size).flat_map(|child| below(child, size))).collect()
    }

    #[test]
    fn the_tree_has_every_rank_in_order_and_few_at_its_root() {
        for size in 1..=70 {
            assert_eq!(below(0, size), (0..size).collect::<Vec<_>>());
        }
        assert_eq!(children(0, 1_280_000).count(), 21);
    }
}
