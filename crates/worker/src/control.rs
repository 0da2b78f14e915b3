//! Commands and answers between rank 0 and the others.
//!
//! Everything here goes point to point: in a probe, the job's own collectives may be the ones that fail. Ranks sleep
//! while they wait, so that those that take no part in a measurement leave the processors to the others.

use std::thread;
use std::time::Duration;

use mpi::Rank;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{Destination, Source};
use serde::Serialize;
use serde::de::DeserializeOwned;

const COMMAND: mpi::Tag = 1;
const ANSWER: mpi::Tag = 2;

/// Sleeps between two looks for a message: short at first, since most waits are, then long.
const FIRST_SLEEP: Duration = Duration::from_micros(20);
const LONGEST_SLEEP: Duration = Duration::from_millis(2);

/// The channel between rank 0 and the others, over a communicator of its own.
pub(crate) struct Control {
    world: SimpleCommunicator,
}

impl Control {
    /// A channel over all ranks of a communicator that is used for nothing else.
    pub(crate) fn new(world: SimpleCommunicator) -> Self {
        Self { world }
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

    /// Hands a value from rank 0 to all ranks, along a binomial tree. Only rank 0 passes one.
    pub(crate) fn broadcast<T: Serialize + DeserializeOwned>(&self, value: Option<T>) -> T {
        let (rank, size) = (self.world.rank(), self.world.size());
        let text = match &value {
            Some(value) => serde_json::to_vec(value).expect("commands are plain data"),
            None => self.receive(rank & (rank - 1), COMMAND),
        };
        // A rank serves the ranks that differ from it in one bit below its own lowest.
        let lowest = if rank == 0 { (size as u32).next_power_of_two() as Rank } else { rank & -rank };
        let mut bit = lowest >> 1;
        while bit > 0 {
            if rank + bit < size {
                self.world.process_at_rank(rank + bit).send_with_tag(&text[..], COMMAND);
            }
            bit >>= 1;
        }
        value.unwrap_or_else(|| serde_json::from_slice(&text).expect("rank 0 sent the same type"))
    }

    /// Collects one value of each of the first `ranks` ranks on rank 0, in rank order; the others get nothing.
    pub(crate) fn gather<T: Serialize + DeserializeOwned>(&self, ranks: u32, value: T) -> Vec<T> {
        if !self.is_root() {
            let text = serde_json::to_vec(&value).expect("answers are plain data");
            self.world.process_at_rank(0).send_with_tag(&text[..], ANSWER);
            return Vec::new();
        }
        let others = (1..ranks as Rank)
            .map(|rank| serde_json::from_slice(&self.receive(rank, ANSWER)).expect("all ranks send the same type"));
        std::iter::once(value).chain(others.collect::<Vec<T>>()).collect()
    }

    fn receive(&self, from: Rank, tag: mpi::Tag) -> Vec<u8> {
        let source = self.world.process_at_rank(from);
        let mut sleep = FIRST_SLEEP;
        loop {
            if let Some(message) = source.immediate_matched_probe_with_tag(tag) {
                return message.matched_receive_vec::<u8>().0;
            }
            thread::sleep(sleep);
            sleep = (sleep * 2).min(LONGEST_SLEEP);
        }
    }
}
