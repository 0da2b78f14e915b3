//! Calls that move or sum data: their buffers, the known data in them, and what has to come of it.

use std::ops::Not;

use bytemuck::Pod;
use collrules_guidelines::Seat;
use collrules_record::Cell;
use collrules_reference::Reference;
use collrules_rules::Collective;
use mpi::topology::SimpleCommunicator;

use super::memory::{TooLarge, buffer};
use super::scripted::Stage;
use crate::ffi::Called;
use crate::ffi::calls::{self, Counts};
use crate::ffi::messages::Element;

/// The buffers of a rank in a collective that moves or sums data. What is known about them does without MPI, so that the
/// check itself can be tested.
pub(super) trait Buffers {
    /// One call.
    fn call(&mut self, comm: &SimpleCommunicator) -> Called;
    /// Makes ready for the reference algorithms of the cell.
    fn rehearse(&mut self, cell: Cell, references: &[Reference]) -> Result<(), TooLarge>;
    /// The same by a reference algorithm.
    fn carry_out(&mut self, reference: Reference, comm: &SimpleCommunicator) -> Called;
    /// Puts the known data of `salt` where it is sent from, and something else where results are wanted.
    fn fill(&mut self, salt: u64);
    /// Whether the result is that of the known data of `salt`.
    fn is_right(&self, salt: u64) -> bool;
    /// What is sent, and where the result is wanted, as bytes: for other calls that do the same.
    fn as_bytes(&mut self) -> (&[u8], &mut [u8]);
}

/// Buffers of bytes, which are moved, or of integers, which are summed up.
pub(super) struct Data<T> {
    pub(super) seat: Seat,
    pub(super) send: Vec<T>,
    pub(super) receive: Vec<T>,
    pub(super) stage: Stage<T>,
    /// The elements of each rank's block, where ranks have blocks.
    pub(super) counts: Counts,
    /// How many ranks' data are summed up here, and their weights together.
    summed: (i32, i32),
}

/// What is known of elements.
pub(super) trait Known: Element + Not<Output = Self> + Pod + PartialEq {
    /// What a rank sends at a place of its vector.
    fn sent(salt: u64, rank: usize, place: usize) -> Self;
    /// What belongs at a place of the receive buffer.
    fn expected(data: &Data<Self>, salt: u64, place: usize) -> Self;
    /// One call.
    fn call(data: &mut Data<Self>, comm: &SimpleCommunicator) -> Called;
}

impl<T: Known> Data<T> {
    pub(super) fn new(seat: Seat) -> Result<Self, TooLarge> {
        let elements = |bytes: usize| bytes / size_of::<T>();
        let (block, ranks) = (elements(seat.bytes), seat.ranks);
        let share = |rank: usize| match seat.collective {
            Collective::ReduceScatter => block / ranks + usize::from(rank < block % ranks),
            _ => block,
        };
        let summands = match seat.collective {
            Collective::Scan => seat.rank + 1,
            Collective::Exscan => seat.rank,
            _ => ranks,
        };
        Ok(Self {
            seat,
            send: buffer(!T::default(), elements(seat.send().len))?,
            receive: buffer(!T::default(), elements(seat.receive().len))?,
            stage: Stage::empty(),
            counts: Counts::of((0..ranks).map(share)),
            summed: (summands as i32, (0..summands).map(weight).sum()),
        })
    }

    /// Whether nothing is promised to this rank.
    fn is_open(&self) -> bool {
        self.seat.collective == Collective::Exscan && self.seat.is_root()
    }
}

impl<T: Known> Buffers for Data<T> {
    fn call(&mut self, comm: &SimpleCommunicator) -> Called {
        T::call(self, comm)
    }

    fn rehearse(&mut self, cell: Cell, references: &[Reference]) -> Result<(), TooLarge> {
        self.stage = Stage::new(cell, self.seat.rank, references, self.receive.len())?;
        Ok(())
    }

    fn carry_out(&mut self, reference: Reference, comm: &SimpleCommunicator) -> Called {
        self.stage.carry_out(reference, &self.send, &mut self.receive, comm)
    }

    fn fill(&mut self, salt: u64) {
        let rank = self.seat.rank;
        self.send.iter_mut().enumerate().for_each(|(place, element)| *element = T::sent(salt, rank, place));
        let has_data_already = self.seat.is_root() && self.seat.collective == Collective::Bcast;
        for place in 0..self.receive.len() {
            let expected = T::expected(self, salt, place);
            self.receive[place] = if has_data_already { expected } else { !expected };
        }
    }

    fn is_right(&self, salt: u64) -> bool {
        let right = |(place, element): (usize, &T)| *element == T::expected(self, salt, place);
        self.is_open() || self.receive.iter().enumerate().all(right)
    }

    fn as_bytes(&mut self) -> (&[u8], &mut [u8]) {
        (bytemuck::cast_slice(&self.send), bytemuck::cast_slice_mut(&mut self.receive))
    }
}

/// Random-looking bits, the upper ones best, that follow from a salt, the rank whose data it is, and a place in it.
fn mixed(salt: u64, rank: usize, place: usize) -> u64 {
    (place as u64 ^ salt.rotate_left(32) ^ (rank as u64).rotate_left(44)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Known for u8 {
    fn sent(salt: u64, rank: usize, place: usize) -> Self {
        (mixed(salt, rank, place) >> 56) as u8
    }

    fn expected(data: &Data<Self>, salt: u64, place: usize) -> Self {
        let Seat { collective, rank, bytes: block, .. } = data.seat;
        match collective {
            Collective::Bcast => Self::sent(salt, 0, place),
            Collective::Scatter => Self::sent(salt, 0, rank * block + place),
            Collective::Alltoall | Collective::Alltoallv => {
                Self::sent(salt, place / block, rank * block + place % block)
            }
            _ => Self::sent(salt, place / block, place % block),
        }
    }

    fn call(data: &mut Data<Self>, comm: &SimpleCommunicator) -> Called {
        let (send, receive) = (&data.send, &mut data.receive);
        match data.seat.collective {
            Collective::Bcast => calls::bcast(comm, receive),
            Collective::Scatter => calls::scatter(comm, send, receive),
            Collective::Gather => calls::gather(comm, send, receive),
            Collective::Allgather => calls::allgather(comm, send, receive),
            Collective::Allgatherv => calls::allgatherv(comm, send, receive, &data.counts),
            Collective::Alltoall => calls::alltoall(comm, send, receive),
            _ => calls::alltoallv(comm, send, receive, &data.counts),
        }
    }
}

/// A multiple, different from place to place, of the rank's weight, and something on top. So the sum over ranks takes no loop
/// over them, and still a contribution that is missing or counted twice is seen. Below 2^14, so that sums over 2^16 ranks fit
/// into a C `int`.
impl Known for i32 {
    fn sent(salt: u64, rank: usize, place: usize) -> Self {
        let (base, factor) = terms(salt, place);
        base + factor * weight(rank)
    }

    fn expected(data: &Data<Self>, salt: u64, place: usize) -> Self {
        let first = match data.seat.collective {
            Collective::ReduceScatter | Collective::ReduceScatterBlock => data.counts.first(data.seat.rank),
            _ => 0,
        };
        let ((base, factor), (summands, weights)) = (terms(salt, first + place), data.summed);
        summands * base + factor * weights
    }

    fn call(data: &mut Data<Self>, comm: &SimpleCommunicator) -> Called {
        let (send, receive) = (&data.send, &mut data.receive);
        match data.seat.collective {
            Collective::Allreduce => calls::allreduce(comm, send, receive),
            Collective::Reduce => calls::reduce(comm, send, receive),
            Collective::ReduceScatter => calls::reduce_scatter(comm, send, receive, &data.counts),
            Collective::ReduceScatterBlock => calls::reduce_scatter_block(comm, send, receive),
            Collective::Scan => calls::scan(comm, send, receive),
            _ => calls::exscan(comm, send, receive),
        }
    }
}

fn terms(salt: u64, place: usize) -> (i32, i32) {
    let bits = mixed(salt, 0, place);
    ((bits >> 54) as i32, 1 + (bits >> 40 & 7) as i32)
}

/// From 0 to 1023.
fn weight(rank: usize) -> i32 {
    (mixed(0, rank, 0) >> 54) as i32
}
