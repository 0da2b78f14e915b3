//! The one interpreter of programs: mock-ups and reference algorithms on the caller's buffers, patterns on their own. Buffers
//! exist before a program is timed; its copies are a part of it.

use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use collrules_program::{Buffer, BufferPart, CollectiveCall, DataType, Reducing, Seat, Step};
use mpi::topology::SimpleCommunicator;

use super::memory::PageAligned;
use crate::communicators::Parts;
use crate::ffi::CallResult;
use crate::ffi::calls::{self, BlockCounts, BlockTypes};
use crate::ffi::messages::{self, Peers};

/// The bytes of the largest element of reductions.
const LARGEST: usize = size_of::<f64>();

/// Buffers of a program in addition to the caller's.
pub(super) struct Extra(Vec<PageAligned>);

/// The steps of a program, ready to run.
pub(super) struct PreparedProgram {
    steps: Vec<Ready>,
    /// The bytes of an element.
    element: usize,
    /// The datatype of reductions.
    data: DataType,
    /// Communicators for calls on nodes and lanes.
    parts: Option<Rc<Parts>>,
    /// The datatypes of the ranks' blocks.
    types: BlockTypes,
}

/// A step, with the arguments of its call other than buffers.
struct Ready {
    step: Step,
    /// True if this rank makes the call, false if it skips the step.
    takes_part: bool,
    /// The blocks of the ranks; none if the call has blocks of one length.
    counts: BlockCounts,
}

impl Extra {
    /// Buffers of these numbers of bytes.
    pub(super) fn new(lengths: &[usize]) -> Result<Self, String> {
        lengths.iter().map(|len| PageAligned::new(len.next_multiple_of(LARGEST), 0)).collect::<Result<_, _>>().map(Self)
    }

    /// A buffer as elements of some kind.
    pub(super) fn elements<T: bytemuck::Pod>(&self, number: usize) -> &[T] {
        self.0.get(number).map_or(&[], |buffer| bytemuck::cast_slice(buffer))
    }

    /// The elements, mutable.
    pub(super) fn elements_mut<T: bytemuck::Pod>(&mut self, number: usize) -> &mut [T] {
        self.0.get_mut(number).map_or(&mut [], |buffer| bytemuck::cast_slice_mut(buffer))
    }
}

impl PreparedProgram {
    /// The steps of a rank for a call, some of which need the communicators of nodes.
    pub(super) fn of_call(steps: Vec<Step>, seat: Seat, parts: Option<Rc<Parts>>) -> Self {
        let steps = steps.into_iter().map(|step| Ready {
            counts: counts(&step),
            takes_part: !matches!(step, Step::Call { on, .. } if seat.seat_in(on).is_none()),
            step,
        });
        let (data, types) = (seat.arguments.data, BlockTypes::new(seat.ranks));
        Self { steps: steps.collect(), element: seat.element(), data, parts, types }
    }

    /// Steps without calls, on elements of this size.
    pub(super) fn of_messages(steps: Vec<Step>, element: usize) -> Self {
        let ready = |step| Ready { step, takes_part: false, counts: BlockCounts::default() };
        let (steps, types) = (steps.into_iter().map(ready).collect(), BlockTypes::new(0));
        Self { steps, element, data: DataType::default(), parts: None, types }
    }

    /// Runs the program, except for the skipped call.
    pub(super) fn run(
        &self,
        peers: &impl Peers,
        (send, receive): (&[u8], &mut [u8]),
        extra: &mut Extra,
        skipped: Option<usize>,
    ) -> CallResult {
        let mut buffers = ProgramBuffers { send, receive, extra: &mut extra.0 };
        let element = self.element;
        let mut number = 0;
        for ready in &self.steps {
            match &ready.step {
                Step::Send { to, part } => peers.send(buffers.read(*part), element, *to)?,
                Step::Receive { from, part } => peers.receive(buffers.write(*part), element, *from)?,
                Step::Exchange { to, send, from, receive } => {
                    let (data, into) = buffers.pair(*send, *receive);
                    peers.exchange(data, *to, into, *from, element)?;
                }
                // A message is complete when `MPI_Send` returns, and expecting one only saves time.
                Step::Expect { .. } | Step::Settle => {}
                // Without yielding the processor, like a computation.
                Step::Busy { nanoseconds } => {
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_nanos(*nanoseconds) {
                        std::hint::spin_loop();
                    }
                }
                Step::Copy { from, to } => {
                    let (from, to) = buffers.pair(*from, *to);
                    to.copy_from_slice(from);
                }
                Step::Reduce { from, to } => {
                    let (from, to) = buffers.pair(*from, *to);
                    peers.add(from, to, self.data)?;
                }
                Step::Call { on, call, from, to } => {
                    let among = self.parts.as_ref().and_then(|parts| parts.among(*on));
                    if let Some(comm) = among.or_else(|| peers.communicator())
                        && ready.takes_part
                        && skipped != Some(number)
                    {
                        self.call(comm, (call, &ready.counts), buffers.pair(*from, *to))?;
                    }
                    number += 1;
                }
            }
        }
        Ok(())
    }

    /// Makes a call with a buffer to read and one to write.
    fn call(
        &self,
        comm: &SimpleCommunicator,
        (call, counts): (&CollectiveCall, &BlockCounts),
        (send, receive): (&[u8], &mut [u8]),
    ) -> CallResult {
        match call {
            CollectiveCall::Allgather => calls::allgather(comm, Some(send), receive),
            CollectiveCall::Allgatherv(_) => calls::allgatherv(comm, Some(send), receive, counts),
            CollectiveCall::AllgathervInPlace(_) => calls::allgatherv(comm, None, receive, counts),
            CollectiveCall::Allreduce(Reducing::Or) => calls::allreduce(comm, Some(send), receive),
            CollectiveCall::Allreduce(Reducing::Sum) => calls::allreduce(comm, Some(ints(send)), ints_mut(receive)),
            CollectiveCall::Alltoall => calls::alltoall(comm, Some(send), receive),
            CollectiveCall::Alltoallv(_) => calls::alltoallv(comm, Some(send), receive, counts),
            CollectiveCall::Alltoallw(_) => calls::alltoallw(comm, send, receive, counts, &self.types),
            CollectiveCall::Barrier => calls::barrier(comm),
            CollectiveCall::Bcast => calls::bcast(comm, 0, send, receive),
            CollectiveCall::Exscan => calls::exscan(comm, Some(ints(send)), ints_mut(receive)),
            CollectiveCall::Scan => calls::scan(comm, Some(ints(send)), ints_mut(receive)),
            CollectiveCall::Gather => calls::gather(comm, 0, Some(send), receive),
            CollectiveCall::Gatherv(_) => calls::gatherv(comm, send, receive, counts),
            CollectiveCall::Reduce(Reducing::Or) => calls::reduce(comm, 0, Some(send), receive),
            CollectiveCall::Reduce(Reducing::Sum) => calls::reduce(comm, 0, Some(ints(send)), ints_mut(receive)),
            CollectiveCall::ReduceScatter(_) => {
                calls::reduce_scatter(comm, Some(ints(send)), ints_mut(receive), counts)
            }
            CollectiveCall::ReduceScatterBlock => {
                calls::reduce_scatter_block(comm, Some(ints(send)), ints_mut(receive))
            }
            CollectiveCall::Scatter => calls::scatter(comm, 0, send, Some(receive)),
            CollectiveCall::Scatterv(_) => calls::scatterv(comm, send, receive, counts),
            CollectiveCall::ScattervInPlace(_) => calls::scatterv_in_place(comm, receive, counts),
            CollectiveCall::Shift => messages::shift(comm, send, receive),
        }
    }
}

fn counts(step: &Step) -> BlockCounts {
    let Step::Call { call, .. } = step else { return BlockCounts::default() };
    // Reductions count elements, the others bytes.
    let unit = if let CollectiveCall::ReduceScatter(_) = call { size_of::<i32>() } else { 1 };
    BlockCounts::from_blocks(call.counts().into_iter().flatten().map(|bytes| bytes / unit))
}

/// Elements of a reduction. An empty slice may have any address.
fn ints(bytes: &[u8]) -> &[i32] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

fn ints_mut(bytes: &mut [u8]) -> &mut [i32] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}

/// Bytes of one buffer: a range to read, and a range to write.
fn disjoint(buffer: &mut [u8], reading: Range<usize>, writing: Range<usize>) -> (&[u8], &mut [u8]) {
    let both = buffer.get_disjoint_mut([reading, writing]);
    let [from, to] = both.expect("no step writes to what it reads");
    (from, to)
}

/// The caller's buffers and the program's own.
struct ProgramBuffers<'a> {
    send: &'a [u8],
    receive: &'a mut [u8],
    extra: &'a mut [PageAligned],
}

impl ProgramBuffers<'_> {
    fn read(&self, part: BufferPart) -> &[u8] {
        let buffer = match part.place {
            Buffer::Send => self.send,
            Buffer::Receive => &*self.receive,
            Buffer::Extra(at) => &self.extra[at],
        };
        &buffer[part.first..part.first + part.len]
    }

    fn write(&mut self, part: BufferPart) -> &mut [u8] {
        let range = part.first..part.first + part.len;
        match part.place {
            // Nothing is written to the caller's input: programs name it if nothing is received.
            Buffer::Send => &mut [],
            Buffer::Receive => &mut self.receive[range],
            Buffer::Extra(at) => &mut self.extra[at][range],
        }
    }

    /// A part to read, and a part to write: none to read if they are the same.
    fn pair(&mut self, from: BufferPart, to: BufferPart) -> (&[u8], &mut [u8]) {
        let (reading, writing) = (from.first..from.first + from.len, to.first..to.first + to.len);
        match (from.place, to.place) {
            (Buffer::Send, _) => {
                let send = self.send;
                (&send[reading], self.write(to))
            }
            _ if from == to => (&[], self.write(to)),
            (Buffer::Receive, Buffer::Extra(at)) => (&self.receive[reading], &mut self.extra[at][writing]),
            (Buffer::Extra(at), Buffer::Receive) => (&self.extra[at][reading], &mut self.receive[writing]),
            (Buffer::Extra(one), Buffer::Extra(other)) if one == other => {
                disjoint(&mut self.extra[one], reading, writing)
            }
            (Buffer::Extra(one), Buffer::Extra(other)) => {
                let [one, other] = self.extra.get_disjoint_mut([one, other]).expect("they differ");
                (&one[reading], &mut other[writing])
            }
            // Nothing is received.
            (_, Buffer::Send) => (self.read(from), &mut []),
            (Buffer::Receive, Buffer::Receive) => disjoint(self.receive, reading, writing),
        }
    }
}
