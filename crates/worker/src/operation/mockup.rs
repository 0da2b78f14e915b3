//! A mock-up on the caller's buffers: its own buffers exist before it is timed, its copies are a part of it.

use std::rc::Rc;

use collrules_guidelines::program::Reducing;
use collrules_guidelines::{Buffer, Call, Part, Program, Seat, Step};
use mpi::topology::SimpleCommunicator;

use super::memory::{TooLarge, buffer};
use crate::ffi::calls::{self, Counts, Types};
use crate::ffi::{Called, messages};
use crate::nodes::Parts;

/// A program with its buffers.
pub(super) struct Prepared {
    /// In elements of four bytes, so that what is reduced is aligned.
    extra: Vec<Vec<i32>>,
    steps: Vec<Ready>,
    /// For calls on nodes and lanes.
    parts: Option<Rc<Parts>>,
}

/// A step, with what its call takes beside the buffers.
struct Ready {
    step: Step,
    /// Whether this rank makes the call, or passes by.
    takes_part: bool,
    counts: Option<Counts>,
    types: Option<Types>,
}

impl Prepared {
    pub(super) fn new(program: Program, seat: Seat, parts: Option<Rc<Parts>>) -> Result<Self, TooLarge> {
        let extra = program.extra.iter().map(|len| buffer(0, len.div_ceil(4))).collect::<Result<_, _>>()?;
        let steps = program.steps.into_iter().map(|step| Ready {
            counts: counts(&step),
            types: matches!(step, Step::Call { call: Call::Alltoallw(_), .. }).then(|| Types::of(seat.ranks)),
            takes_part: !matches!(step, Step::Call { on, .. } if seat.seat_in(on).is_none()),
            step,
        });
        Ok(Self { extra, steps: steps.collect(), parts })
    }

    /// Carries it out, but for the call that is skipped.
    pub(super) fn run(
        &mut self,
        comm: &SimpleCommunicator,
        (send, receive): (&[u8], &mut [u8]),
        skipped: Option<usize>,
    ) -> Called {
        let mut buffers = Buffers { send, receive, extra: &mut self.extra };
        let mut number = 0;
        for ready in &self.steps {
            match &ready.step {
                Step::Copy { from, to } => {
                    let (from, to) = buffers.pair(*from, *to);
                    to.copy_from_slice(from);
                }
                Step::Combine { from, to } => {
                    let (from, to) = buffers.pair(*from, *to);
                    messages::reduce_local(ints(from), ints_mut(to))?;
                }
                Step::Call { on, call, from, to } => {
                    if ready.takes_part && skipped != Some(number) {
                        let comm = self.parts.as_ref().and_then(|parts| parts.among(*on)).unwrap_or(comm);
                        ready.call(comm, call, &mut buffers, *from, *to)?;
                    }
                    number += 1;
                }
            }
        }
        Ok(())
    }
}

fn counts(step: &Step) -> Option<Counts> {
    let Step::Call { call, .. } = step else { return None };
    match call {
        Call::Allgatherv(counts)
        | Call::AllgathervInPlace(counts)
        | Call::Alltoallv(counts)
        | Call::Alltoallw(counts)
        | Call::Gatherv(counts)
        | Call::Scatterv(counts)
        | Call::ScattervInPlace(counts) => Some(Counts::of(counts.iter().copied())),
        // Of elements, not of bytes.
        Call::ReduceScatter(counts) => Some(Counts::of(counts.iter().map(|bytes| bytes / size_of::<i32>()))),
        _ => None,
    }
}

impl Ready {
    fn call(&self, comm: &SimpleCommunicator, call: &Call, buffers: &mut Buffers<'_>, from: Part, to: Part) -> Called {
        // One buffer is all that these have.
        match (call, &self.counts) {
            (Call::Barrier, _) => return calls::barrier(comm),
            (Call::Bcast, _) if from == to => {
                return match to.place {
                    // The root's alone, which is only read.
                    Buffer::Send => calls::bcast_from(comm, buffers.read(from), &mut []),
                    _ => calls::bcast(comm, buffers.write(to)),
                };
            }
            (Call::AllgathervInPlace(_), Some(counts)) => {
                return calls::allgatherv_in_place(comm, buffers.write(to), counts);
            }
            (Call::ScattervInPlace(_), Some(counts)) => {
                return calls::scatterv_in_place(comm, buffers.write(to), counts);
            }
            _ => {}
        }
        let (send, receive) = buffers.pair(from, to);
        match (call, &self.counts, &self.types) {
            (Call::Allgather, ..) => calls::allgather(comm, send, receive),
            (Call::Allgatherv(_), Some(counts), _) => calls::allgatherv(comm, send, receive, counts),
            (Call::Allreduce(Reducing::Or), ..) => calls::allreduce(comm, send, receive),
            (Call::Allreduce(Reducing::Sum), ..) => calls::allreduce(comm, ints(send), ints_mut(receive)),
            (Call::Alltoall, ..) => calls::alltoall(comm, send, receive),
            (Call::Alltoallv(_), Some(counts), _) => calls::alltoallv(comm, send, receive, counts),
            (Call::Alltoallw(_), Some(counts), Some(types)) => calls::alltoallw(comm, send, receive, counts, types),
            (Call::Bcast, ..) => calls::bcast_from(comm, send, receive),
            (Call::Exscan, ..) => calls::exscan(comm, ints(send), ints_mut(receive)),
            (Call::Scan, ..) => calls::scan(comm, ints(send), ints_mut(receive)),
            (Call::Gather, ..) => calls::gather(comm, send, receive),
            (Call::Gatherv(_), Some(counts), _) => calls::gatherv(comm, send, receive, counts),
            (Call::Reduce(Reducing::Or), ..) => calls::reduce(comm, send, receive),
            (Call::Reduce(Reducing::Sum), ..) => calls::reduce(comm, ints(send), ints_mut(receive)),
            (Call::ReduceScatter(_), Some(counts), _) => {
                calls::reduce_scatter(comm, ints(send), ints_mut(receive), counts)
            }
            (Call::ReduceScatterBlock, ..) => calls::reduce_scatter_block(comm, ints(send), ints_mut(receive)),
            (Call::Scatter, ..) => calls::scatter(comm, send, receive),
            (Call::Scatterv(_), Some(counts), _) => calls::scatterv(comm, send, receive, counts),
            (Call::Shift, ..) => messages::shift(comm, send, receive),
            // Dealt with above, or without the counts that every such call was given.
            _ => Ok(()),
        }
    }
}

fn bytes(elements: &[i32]) -> &[u8] {
    bytemuck::cast_slice(elements)
}

fn bytes_mut(elements: &mut [i32]) -> &mut [u8] {
    bytemuck::cast_slice_mut(elements)
}

/// Elements of a call that sums up. What is empty may lie anywhere.
fn ints(bytes: &[u8]) -> &[i32] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

fn ints_mut(bytes: &mut [u8]) -> &mut [i32] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}

/// The caller's buffers and the mock-up's own.
struct Buffers<'a> {
    send: &'a [u8],
    receive: &'a mut [u8],
    extra: &'a mut [Vec<i32>],
}

impl Buffers<'_> {
    fn read(&self, part: Part) -> &[u8] {
        let buffer = match part.place {
            Buffer::Send => self.send,
            Buffer::Receive => &*self.receive,
            Buffer::Extra(at) => bytes(&self.extra[at]),
        };
        &buffer[part.first..part.first + part.len]
    }

    fn write(&mut self, part: Part) -> &mut [u8] {
        let range = part.first..part.first + part.len;
        match part.place {
            // Nothing is written to what the caller sends: programs name it where nothing is received.
            Buffer::Send => &mut [],
            Buffer::Receive => &mut self.receive[range],
            Buffer::Extra(at) => &mut bytes_mut(&mut self.extra[at])[range],
        }
    }

    /// What is read and what is written, in different buffers.
    fn pair(&mut self, from: Part, to: Part) -> (&[u8], &mut [u8]) {
        let (reading, writing) = (from.first..from.first + from.len, to.first..to.first + to.len);
        match (from.place, to.place) {
            (Buffer::Send, Buffer::Receive) => (&self.send[reading], &mut self.receive[writing]),
            (Buffer::Send, Buffer::Extra(at)) => (&self.send[reading], &mut bytes_mut(&mut self.extra[at])[writing]),
            (Buffer::Receive, Buffer::Extra(at)) => {
                (&self.receive[reading], &mut bytes_mut(&mut self.extra[at])[writing])
            }
            (Buffer::Extra(at), Buffer::Receive) => (&bytes(&self.extra[at])[reading], &mut self.receive[writing]),
            (Buffer::Extra(one), Buffer::Extra(other)) => {
                let [one, other] = self.extra.get_disjoint_mut([one, other]).expect("programs do not copy in place");
                (&bytes(one)[reading], &mut bytes_mut(other)[writing])
            }
            // Nothing is received.
            (_, Buffer::Send) => (self.read(from), &mut []),
            (Buffer::Receive, Buffer::Receive) => (&[], &mut self.receive[writing]),
        }
    }
}
