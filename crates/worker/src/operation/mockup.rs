//! A mock-up on the caller's buffers: its own buffers exist before it is timed, its copies are a part of it.

use collrules_guidelines::program::Reducing;
use collrules_guidelines::{Call, Part, Place, Program, Step};
use mpi::topology::SimpleCommunicator;

use super::memory::{TooLarge, buffer};
use crate::ffi::inner::{self, Types};
use crate::ffi::{self, Counts, ErrorClass};

/// A program with its buffers.
pub(super) struct Prepared {
    /// In elements of four bytes, so that what is reduced is aligned.
    extra: Vec<Vec<i32>>,
    steps: Vec<Ready>,
}

/// A step, with what its call takes beside the buffers.
struct Ready {
    step: Step,
    counts: Option<Counts>,
    types: Option<Types>,
}

impl Prepared {
    pub(super) fn new(program: Program, ranks: usize) -> Result<Self, TooLarge> {
        let extra = program.extra.iter().map(|len| buffer(0, len.div_ceil(4))).collect::<Result<_, _>>()?;
        let steps = program.steps.into_iter().map(|step| Ready {
            counts: counts(&step),
            types: matches!(step, Step::Call { call: Call::Alltoallw(_), .. }).then(|| Types::of(ranks)),
            step,
        });
        Ok(Self { extra, steps: steps.collect() })
    }

    /// Carries it out, but for the call that is skipped.
    pub(super) fn run(
        &mut self,
        comm: &SimpleCommunicator,
        (send, receive): (&[u8], &mut [u8]),
        skipped: Option<usize>,
    ) -> Result<(), ErrorClass> {
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
                    inner::reduce_local(from, to)?;
                }
                Step::Call { call, from, to } => {
                    if skipped != Some(number) {
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
        | Call::ReduceScatter(counts)
        | Call::Scatterv(counts)
        | Call::ScattervInPlace(counts) => Some(Counts::of(counts.iter().copied())),
        _ => None,
    }
}

impl Ready {
    fn call(
        &self,
        comm: &SimpleCommunicator,
        call: &Call,
        buffers: &mut Buffers<'_>,
        from: Part,
        to: Part,
    ) -> Result<(), ErrorClass> {
        // One buffer is all that these have.
        match (call, &self.counts) {
            (Call::Barrier, _) => return ffi::barrier(comm),
            (Call::Bcast, _) if from == to => {
                return match to.place {
                    // The root's alone, which is only read.
                    Place::Send => inner::bcast(comm, buffers.read(from), &mut []),
                    _ => ffi::bcast(comm, buffers.write(to)),
                };
            }
            (Call::AllgathervInPlace(_), Some(counts)) => {
                return inner::allgatherv_in_place(comm, buffers.write(to), counts);
            }
            (Call::ScattervInPlace(_), Some(counts)) => {
                return inner::scatterv_in_place(comm, buffers.write(to), counts);
            }
            _ => {}
        }
        let (send, receive) = buffers.pair(from, to);
        match (call, &self.counts, &self.types) {
            (Call::Allgather, ..) => ffi::allgather(comm, send, receive),
            (Call::Allgatherv(_), Some(counts), _) => ffi::allgatherv(comm, send, receive, counts),
            (Call::Allreduce(how), ..) => inner::allreduce(comm, reducing(*how), send, receive),
            (Call::Alltoall, ..) => ffi::alltoall(comm, send, receive),
            (Call::Alltoallv(_), Some(counts), _) => ffi::alltoallv(comm, send, receive, counts),
            (Call::Alltoallw(_), Some(counts), Some(types)) => inner::alltoallw(comm, send, receive, counts, types),
            (Call::Bcast, ..) => inner::bcast(comm, send, receive),
            (Call::Exscan, ..) => inner::scan(comm, true, send, receive),
            (Call::Scan, ..) => inner::scan(comm, false, send, receive),
            (Call::Gather, ..) => ffi::gather(comm, send, receive),
            (Call::Gatherv(_), Some(counts), _) => inner::gatherv(comm, send, receive, counts),
            (Call::Reduce(how), ..) => inner::reduce(comm, reducing(*how), send, receive),
            (Call::ReduceScatter(_), Some(counts), _) => inner::reduce_scatter(comm, send, receive, counts),
            (Call::ReduceScatterBlock, ..) => inner::reduce_scatter_block(comm, send, receive),
            (Call::Scatter, ..) => ffi::scatter(comm, send, receive),
            (Call::Scatterv(_), Some(counts), _) => inner::scatterv(comm, send, receive, counts),
            (Call::Shift, ..) => inner::shift(comm, send, receive),
            // Dealt with above, or without the counts that every such call was given.
            _ => Ok(()),
        }
    }
}

fn reducing(how: Reducing) -> inner::Reducing {
    match how {
        Reducing::Sum => inner::Reducing::Sum,
        Reducing::Or => inner::Reducing::Or,
    }
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
            Place::Send => self.send,
            Place::Receive => &*self.receive,
            Place::Extra(at) => ffi::bytes_of(&self.extra[at]),
        };
        &buffer[part.first..part.first + part.len]
    }

    fn write(&mut self, part: Part) -> &mut [u8] {
        let range = part.first..part.first + part.len;
        match part.place {
            // Nothing is written to what the caller sends: programs name it where nothing is received.
            Place::Send => &mut [],
            Place::Receive => &mut self.receive[range],
            Place::Extra(at) => &mut ffi::bytes_of_mut(&mut self.extra[at])[range],
        }
    }

    /// What is read and what is written, in different buffers.
    fn pair(&mut self, from: Part, to: Part) -> (&[u8], &mut [u8]) {
        let (reading, writing) = (from.first..from.first + from.len, to.first..to.first + to.len);
        match (from.place, to.place) {
            (Place::Send, Place::Receive) => (&self.send[reading], &mut self.receive[writing]),
            (Place::Send, Place::Extra(at)) => {
                (&self.send[reading], &mut ffi::bytes_of_mut(&mut self.extra[at])[writing])
            }
            (Place::Receive, Place::Extra(at)) => {
                (&self.receive[reading], &mut ffi::bytes_of_mut(&mut self.extra[at])[writing])
            }
            (Place::Extra(at), Place::Receive) => {
                (&ffi::bytes_of(&self.extra[at])[reading], &mut self.receive[writing])
            }
            (Place::Extra(one), Place::Extra(other)) => {
                let [one, other] = self.extra.get_disjoint_mut([one, other]).expect("programs do not copy in place");
                (&ffi::bytes_of(one)[reading], &mut ffi::bytes_of_mut(other)[writing])
            }
            // Nothing is received.
            (_, Place::Send) => (self.read(from), &mut []),
            (Place::Receive, Place::Receive) => (&[], &mut self.receive[writing]),
        }
    }
}
