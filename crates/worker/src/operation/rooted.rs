//! Collectives with a root, which is rank 0: bcast, gather, scatter.

use collrules_record::Cell;
use collrules_reference::Reference;
use collrules_rules::Collective;
use mpi::topology::SimpleCommunicator;

use super::data::{Data, Seat, known_byte};
use super::memory::{TooLarge, buffer};
use super::scripted::Stage;
use crate::ffi::{self, ErrorClass};

/// The buffers of a rank. All data is the root's, or comes to it.
pub(super) struct Rooted {
    pub(super) collective: Collective,
    pub(super) place: Seat,
    /// The message of bcast, the block of one rank otherwise, in bytes.
    block: usize,
    pub(super) send: Vec<u8>,
    pub(super) receive: Vec<u8>,
    pub(super) stage: Stage<u8>,
}

impl Rooted {
    pub(super) fn new(collective: Collective, place: Seat, block: usize) -> Result<Self, TooLarge> {
        let all = if place.is_root() { block * place.ranks } else { 0 };
        let (send, receive) = match collective {
            Collective::Scatter => (all, block),
            Collective::Gather => (block, all),
            _ => (0, block),
        };
        Ok(Self {
            collective,
            place,
            block,
            send: buffer(1, send)?,
            receive: buffer(1, receive)?,
            stage: Stage::empty(),
        })
    }

    /// The byte that belongs at a place of the receive buffer.
    fn expected(&self, salt: u64, place: usize) -> u8 {
        match self.collective {
            Collective::Scatter => known_byte(salt, 0, self.place.rank * self.block + place),
            Collective::Gather => known_byte(salt, place / self.block, place % self.block),
            _ => known_byte(salt, 0, place),
        }
    }
}

impl Data for Rooted {
    fn call(&mut self, comm: &SimpleCommunicator) -> Result<(), ErrorClass> {
        match self.collective {
            Collective::Scatter => ffi::scatter(comm, &self.send, &mut self.receive),
            Collective::Gather => ffi::gather(comm, &self.send, &mut self.receive),
            _ => ffi::bcast(comm, &mut self.receive),
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
        let has_data_already = self.place.is_root() && self.collective == Collective::Bcast;
        for place in 0..self.receive.len() {
            let expected = self.expected(salt, place);
            self.receive[place] = if has_data_already { expected } else { !expected };
        }
    }

    fn buffers(&mut self) -> (&[u8], &mut [u8]) {
        (&self.send, &mut self.receive)
    }

    fn is_right(&self, salt: u64) -> bool {
        self.receive.iter().enumerate().all(|(place, byte)| *byte == self.expected(salt, place))
    }
}
