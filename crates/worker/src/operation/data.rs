//! Calls that move or sum data: their buffers, known data, and expected results.

use bytemuck::Pod;
use collrules_program::Seat;
use collrules_rules::Collective;
use mpi::topology::SimpleCommunicator;

use super::slots::{BufferSource, Slots};
use crate::ffi::CallResult;
use crate::ffi::calls::{self, BlockCounts};
use crate::ffi::messages::Element;

/// The buffers of a rank in a collective that moves or sums data. Known data need no MPI, so that the check itself can
/// be tested.
pub(super) trait Buffers {
    /// One call.
    fn call(&mut self, comm: &SimpleCommunicator) -> CallResult;
    /// Advances to the buffers of the next call.
    fn advance(&mut self);
    /// Switches the next calls to in place, or back. False if the collective has no such calls.
    fn call_in_place(&mut self, wanted: bool) -> bool;
    /// Fills the source with the known data of `salt`, and the places for results with other data.
    fn fill(&mut self, salt: u64);
    /// Returns true if the result is that of the known data of `salt`.
    fn is_right(&self, salt: u64) -> bool;
    /// Returns the send and the receive buffer as bytes, for equivalent programs.
    fn as_bytes(&mut self) -> (&[u8], &mut [u8]);
}

/// Buffers of bytes, which are moved, or of numbers, which are summed up.
pub(super) struct Data<T: 'static> {
    pub(super) seat: Seat,
    pub(super) send: Slots<T>,
    pub(super) receive: Slots<T>,
    /// True if this rank's calls take input and result in one buffer.
    is_in_place: bool,
    /// The elements of each rank's block, if ranks have blocks.
    pub(super) counts: BlockCounts,
    /// Number of ranks in this rank's sum, and the sum of their weights.
    summed: (i32, i32),
}

/// Known data of an element type.
pub(super) trait KnownElement: Element + Pod + PartialEq + Send {
    /// Limit of the terms of elements: sums over 2^16 ranks are exact.
    const LARGEST: i32;
    /// A different element.
    fn other(self) -> Self;
    /// Returns the element that a rank sends at a place of its vector.
    fn sent(salt: u64, rank: usize, place: usize) -> Self;
    /// Returns the element expected at a place of the receive buffer.
    fn expected(data: &Data<Self>, salt: u64, place: usize) -> Self;
    /// One call.
    fn call(data: &mut Data<Self>, comm: &SimpleCommunicator) -> CallResult;
}

impl<T: KnownElement> Data<T> {
    /// New data in buffers that every call uses.
    #[cfg(test)]
    pub(super) fn new(seat: Seat) -> Result<Self, String> {
        Self::supplied(seat, &BufferSource::Reused)
    }

    pub(super) fn supplied(seat: Seat, supply: &BufferSource) -> Result<Self, String> {
        let (block, ranks) = (seat.bytes / size_of::<T>(), seat.ranks);
        let share = |rank: usize| match seat.collective {
            Collective::ReduceScatter => block / ranks + usize::from(rank < block % ranks),
            _ => block,
        };
        let summands = match seat.collective {
            Collective::Scan => seat.rank + 1,
            Collective::Exscan => seat.rank,
            _ => ranks,
        };
        let (send, receive) = Slots::pair((seat.send().len, seat.receive().len), supply)?;
        let mut data = Self {
            seat,
            send,
            receive,
            is_in_place: false,
            counts: BlockCounts::from_blocks((0..ranks).map(share)),
            summed: (summands as i32, (0..summands).map(|rank| weight(rank) & T::LARGEST).sum()),
        };
        data.call_in_place(matches!(supply, BufferSource::InPlace));
        Ok(data)
    }

    /// Returns true if MPI defines no result for this rank.
    fn is_open(&self) -> bool {
        match self.seat.collective {
            Collective::Exscan => self.seat.rank == 0,
            // In place, its block is not moved.
            Collective::Scatter => self.is_in_place,
            _ => false,
        }
    }

    /// Place of the result.
    fn result(&self) -> &[T] {
        match self.seat.collective {
            // In place, the result is at the beginning of the vector.
            Collective::ReduceScatter | Collective::ReduceScatterBlock if self.is_in_place => {
                &self.send[..self.receive.len()]
            }
            _ => &self.receive,
        }
    }

    /// Moves the input to its place for calls in place.
    fn put_in_place(&mut self) {
        let own = match self.seat.collective {
            Collective::Gather | Collective::Allgather | Collective::Allgatherv => self.seat.rank * self.send.len(),
            Collective::Scatter | Collective::ReduceScatter | Collective::ReduceScatterBlock => return,
            _ => 0,
        };
        let own = own..own + self.send.len();
        self.receive[own].copy_from_slice(&self.send);
    }
}

impl<T: KnownElement> Buffers for Data<T> {
    fn call(&mut self, comm: &SimpleCommunicator) -> CallResult {
        T::call(self, comm)
    }

    fn advance(&mut self) {
        self.send.advance();
        self.receive.advance();
    }

    fn call_in_place(&mut self, wanted: bool) -> bool {
        let Seat { collective, .. } = self.seat;
        self.is_in_place = wanted && collective.has_in_place() && (!collective.is_rooted() || self.seat.is_root());
        collective.has_in_place()
    }

    fn fill(&mut self, salt: u64) {
        let rank = self.seat.rank;
        self.send.iter_mut().enumerate().for_each(|(place, element)| *element = T::sent(salt, rank, place));
        let has_data_already = self.seat.is_root() && self.seat.collective == Collective::Bcast;
        for place in 0..self.receive.len() {
            let expected = T::expected(self, salt, place);
            self.receive[place] = if has_data_already { expected } else { expected.other() };
        }
        if self.is_in_place {
            self.put_in_place();
        }
    }

    fn is_right(&self, salt: u64) -> bool {
        let right = |(place, element): (usize, &T)| *element == T::expected(self, salt, place);
        self.is_open() || self.result().iter().enumerate().all(right)
    }

    fn as_bytes(&mut self) -> (&[u8], &mut [u8]) {
        (bytemuck::cast_slice(&self.send), bytemuck::cast_slice_mut(&mut self.receive))
    }
}

/// Returns pseudo-random bits, the upper ones best, that depend on a salt, a rank, and a place in its data.
fn mixed(salt: u64, rank: usize, place: usize) -> u64 {
    (place as u64 ^ salt.rotate_left(32) ^ (rank as u64).rotate_left(44)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl KnownElement for u8 {
    const LARGEST: i32 = 0;

    fn other(self) -> Self {
        !self
    }

    fn sent(salt: u64, rank: usize, place: usize) -> Self {
        (mixed(salt, rank, place) >> 56) as u8
    }

    fn expected(data: &Data<Self>, salt: u64, place: usize) -> Self {
        let Seat { collective, rank, bytes: block, arguments, .. } = data.seat;
        let root = arguments.root as usize;
        match collective {
            Collective::Bcast => Self::sent(salt, root, place),
            Collective::Scatter => Self::sent(salt, root, rank * block + place),
            Collective::Alltoall | Collective::Alltoallv => {
                Self::sent(salt, place / block, rank * block + place % block)
            }
            _ => Self::sent(salt, place / block, place % block),
        }
    }

    fn call(data: &mut Data<Self>, comm: &SimpleCommunicator) -> CallResult {
        let (receive, root) = (&mut data.receive, data.seat.arguments.root);
        let send = (!data.is_in_place).then_some(&data.send[..]);
        match data.seat.collective {
            Collective::Barrier => calls::barrier(comm),
            Collective::Bcast => calls::bcast(comm, root, &[], receive),
            Collective::Scatter => calls::scatter(comm, root, &data.send, send.map(|_| &mut receive[..])),
            Collective::Gather => calls::gather(comm, root, send, receive),
            Collective::Allgather => calls::allgather(comm, send, receive),
            Collective::Allgatherv => calls::allgatherv(comm, send, receive, &data.counts),
            Collective::Alltoall => calls::alltoall(comm, send, receive),
            _ => calls::alltoallv(comm, send, receive, &data.counts),
        }
    }
}

/// Elements that are a multiple of the rank's weight, different for each place, plus a term. So the sum over ranks
/// needs no loop, and still shows a contribution that is missing or counted twice. Integers are below 2^14, so that
/// sums over 2^16 ranks fit into a C `int`; floating-point numbers are integers below 2^8, so that these sums are exact
/// in any order.
macro_rules! known_sums {
    ($($type:ty: $largest:expr, $other:expr;)+) => {$(
        impl KnownElement for $type {
            const LARGEST: i32 = $largest;

            fn other(self) -> Self {
                $other(self)
            }

            fn sent(salt: u64, rank: usize, place: usize) -> Self {
                let (base, factor) = terms(salt, place);
                ((base & Self::LARGEST) + factor * (weight(rank) & Self::LARGEST)) as Self
            }

            fn expected(data: &Data<Self>, salt: u64, place: usize) -> Self {
                let first = match data.seat.collective {
                    Collective::ReduceScatter | Collective::ReduceScatterBlock => data.counts.first(data.seat.rank),
                    _ => 0,
                };
                let ((base, factor), (summands, weights)) = (terms(salt, first + place), data.summed);
                (summands * (base & Self::LARGEST) + factor * weights) as Self
            }

            fn call(data: &mut Data<Self>, comm: &SimpleCommunicator) -> CallResult {
                let Seat { collective, arguments, .. } = data.seat;
                let (send, receive) = match collective {
                    _ if !data.is_in_place => (Some(&data.send[..]), &mut data.receive),
                    // Its vector is longer than its result.
                    Collective::ReduceScatter | Collective::ReduceScatterBlock => (None, &mut data.send),
                    _ => (None, &mut data.receive),
                };
                match collective {
                    Collective::Allreduce => calls::allreduce(comm, send, receive),
                    Collective::Reduce => calls::reduce(comm, arguments.root, send, receive),
                    Collective::ReduceScatter => calls::reduce_scatter(comm, send, receive, &data.counts),
                    Collective::ReduceScatterBlock => calls::reduce_scatter_block(comm, send, receive),
                    Collective::Scan => calls::scan(comm, send, receive),
                    _ => calls::exscan(comm, send, receive),
                }
            }
        }
    )+};
}

known_sums! {
    i32: 1023, |it: i32| !it;
    f32: 15, |it: f32| -1.0 - it;
    f64: 15, |it: f64| -1.0 - it;
}

fn terms(salt: u64, place: usize) -> (i32, i32) {
    let bits = mixed(salt, 0, place);
    ((bits >> 54) as i32, 1 + (bits >> 40 & 7) as i32)
}

/// From 0 to 1023.
fn weight(rank: usize) -> i32 {
    (mixed(0, rank, 0) >> 54) as i32
}
