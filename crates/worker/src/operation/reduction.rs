//! Collectives with an operation: sums of `MPI_INT`.

use collrules_record::Cell;
use collrules_reference::Reference;
use collrules_rules::Collective;
use mpi::topology::SimpleCommunicator;

use super::data::{Data, Seat, mixed};
use super::memory::{TooLarge, buffer};
use super::scripted::Stage;
use crate::ffi::{self, Counts, ErrorClass};

/// The element at a place of the known vector of a rank: a multiple, different from place to place, of the rank's weight,
/// and something on top. So the sum over ranks takes no loop over them, and still a contribution that is missing or counted
/// twice is seen. Below 2^14, so that sums over 2^16 ranks fit into a C `int`.
fn known_int(salt: u64, weight: i32, place: usize) -> i32 {
    let (base, factor) = terms(salt, place);
    base + factor * weight
}

fn terms(salt: u64, place: usize) -> (i32, i32) {
    let bits = mixed(salt, 0, place);
    ((bits >> 54) as i32, 1 + (bits >> 40 & 7) as i32)
}

/// From 0 to 1023.
fn weight(rank: usize) -> i32 {
    (mixed(0, rank, 0) >> 54) as i32
}

/// The buffers of a rank, in elements.
pub(super) struct Reduction {
    pub(super) collective: Collective,
    pub(super) place: Seat,
    /// Elements of the result on each rank, for reduce_scatter.
    pub(super) counts: Counts,
    pub(super) send: Vec<i32>,
    pub(super) receive: Vec<i32>,
    pub(super) stage: Stage<i32>,
    /// How many ranks' data are summed up here, and their weights together.
    summands: i32,
    weights: i32,
}

impl Reduction {
    /// `elements` are those of the whole vector, and those of one rank's block for reduce_scatter_block.
    pub(super) fn new(collective: Collective, place: Seat, elements: usize) -> Result<Self, TooLarge> {
        let ranks = place.ranks;
        // What does not divide evenly goes to the first ranks, one element each, as OSU deals it out.
        let share = |rank: usize| elements / ranks + usize::from(rank < elements % ranks);
        let counts = Counts::of((0..ranks).map(share));
        let (send, receive) = match collective {
            Collective::Reduce if !place.is_root() => (elements, 0),
            Collective::ReduceScatter => (elements, share(place.rank)),
            Collective::ReduceScatterBlock => (elements * ranks, elements),
            _ => (elements, elements),
        };
        let summands = match collective {
            Collective::Scan => place.rank + 1,
            Collective::Exscan => place.rank,
            _ => ranks,
        };
        let weights = (0..summands).map(weight).sum();
        let (send, receive, summands) = (buffer(1, send)?, buffer(1, receive)?, summands as i32);
        Ok(Self { collective, place, counts, send, receive, stage: Stage::empty(), summands, weights })
    }

    /// Where in the vector the result of this rank begins.
    fn first(&self) -> usize {
        match self.collective {
            Collective::ReduceScatter => self.counts.first(self.place.rank),
            Collective::ReduceScatterBlock => self.place.rank * self.receive.len(),
            _ => 0,
        }
    }

    /// The sum that belongs at a place of the receive buffer.
    fn expected(&self, salt: u64, place: usize) -> i32 {
        let (base, factor) = terms(salt, self.first() + place);
        self.summands * base + factor * self.weights
    }
}

impl Data for Reduction {
    fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
        let (send, receive) = (&self.send, &mut self.receive);
        match self.collective {
            Collective::Allreduce => ffi::allreduce(comm, send, receive),
            Collective::Reduce => ffi::reduce(comm, send, receive),
            Collective::ReduceScatter => ffi::reduce_scatter(comm, send, receive, &self.counts),
            Collective::ReduceScatterBlock => ffi::reduce_scatter_block(comm, send, receive),
            Collective::Scan => ffi::scan(comm, send, receive),
            _ => ffi::exscan(comm, send, receive),
        }
    }

    fn rehearse(&mut self, cell: Cell, references: &[Reference]) -> Result<(), TooLarge> {
        self.stage = Stage::new(cell, self.place, references, self.receive.len())?;
        Ok(())
    }

    fn carry_out(&mut self, reference: Reference, comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
        self.stage.carry_out(reference, &self.send, &mut self.receive, comm)
    }

    fn fill(&mut self, salt: u64) {
        let weight = weight(self.place.rank);
        self.send.iter_mut().enumerate().for_each(|(place, element)| *element = known_int(salt, weight, place));
        // No sum is negative.
        self.receive.fill(-1);
    }

    fn buffers(&mut self) -> (&[u8], &mut [u8]) {
        (ffi::bytes_of(&self.send), ffi::bytes_of_mut(&mut self.receive))
    }

    fn is_right(&self, salt: u64) -> bool {
        // What exscan leaves on rank 0 is undefined.
        (self.collective == Collective::Exscan && self.place.is_root())
            || self.receive.iter().enumerate().all(|(place, element)| *element == self.expected(salt, place))
    }
}
