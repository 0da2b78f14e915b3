//! Collectives in which every rank gets something of every other: allgather and alltoall, with and without counts.

use collrules_record::Cell;
use collrules_reference::Reference;
use collrules_rules::Collective;
use mpi::topology::SimpleCommunicator;

use super::data::{Data, Seat, known_byte};
use super::memory::{TooLarge, buffer};
use super::scripted::Stage;
use crate::ffi::{self, Counts, ErrorClass};

/// The buffers of a rank.
pub(super) struct Exchange {
    pub(super) collective: Collective,
    pub(super) place: Seat,
    /// Bytes from one rank to another.
    block: usize,
    /// The same counts for all, for the v-collectives.
    counts: Counts,
    pub(super) send: Vec<u8>,
    pub(super) receive: Vec<u8>,
    pub(super) stage: Stage<u8>,
}

impl Exchange {
    pub(super) fn new(collective: Collective, place: Seat, block: usize) -> Result<Self, TooLarge> {
        let all = block * place.ranks;
        let send = if is_alltoall(collective) { all } else { block };
        let counts = Counts::of(std::iter::repeat_n(block, place.ranks));
        Ok(Self {
            collective,
            place,
            block,
            counts,
            send: buffer(1, send)?,
            receive: buffer(1, all)?,
            stage: Stage::empty(),
        })
    }

    /// The byte that belongs at a place of the receive buffer.
    fn expected(&self, salt: u64, place: usize) -> u8 {
        let (from, within) = (place / self.block, place % self.block);
        let first = if is_alltoall(self.collective) { self.place.rank * self.block } else { 0 };
        known_byte(salt, from, first + within)
    }
}

fn is_alltoall(collective: Collective) -> bool {
    matches!(collective, Collective::Alltoall | Collective::Alltoallv)
}

impl Data for Exchange {
    fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
        match self.collective {
            Collective::Allgather => ffi::allgather(comm, &self.send, &mut self.receive),
            Collective::Allgatherv => ffi::allgatherv(comm, &self.send, &mut self.receive, &self.counts),
            Collective::Alltoall => ffi::alltoall(comm, &self.send, &mut self.receive),
            _ => ffi::alltoallv(comm, &self.send, &mut self.receive, &self.counts),
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
        let rank = self.place.rank;
        self.send.iter_mut().enumerate().for_each(|(place, byte)| *byte = known_byte(salt, rank, place));
        for place in 0..self.receive.len() {
            self.receive[place] = !self.expected(salt, place);
        }
    }

    fn buffers(&mut self) -> (&[u8], &mut [u8]) {
        (&self.send, &mut self.receive)
    }

    fn is_right(&self, salt: u64) -> bool {
        self.receive.iter().enumerate().all(|(place, byte)| *byte == self.expected(salt, place))
    }
}
