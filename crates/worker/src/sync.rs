//! Synchronisation of ranks before every timed call, and the one loop that times both real calls and its own cost.

use std::thread;

use collrules_record::clock::SyncMethod;
use collrules_record::estimate::median;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination, Source, send_receive_into};
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::clock::hierarchy::CommonClock;
use crate::clock::{now, seconds};
use crate::control::children;

const START: mpi::Tag = 14;

/// Barriers by which the time is found that a start takes to all ranks.
const BARRIERS: usize = 21;

/// Least time in nanoseconds from now to a start that rank 0 sets.
const LEAST_LEAD: i64 = 5_000;

/// Longest lead, in nanoseconds: more would only wait.
const MOST_LEAD: i64 = 10_000_000;

/// Nanoseconds above which a wait yields the processor.
const LONG_WAIT: i64 = 1_000_000;

/// A barrier: returns on no rank before every rank has entered. In round k each rank sends to the one 2^k after it and
/// receives from the one 2^k before it (Hensgen, Finkel, Manber 1988). All candidates use this barrier of
/// point-to-point messages, so that none is favoured and a timed `MPI_Barrier` never synchronises itself.
pub(crate) fn dissemination_barrier(comm: &SimpleCommunicator) {
    all_agree(comm, true);
}

/// Reduces every rank's value with an operation; all ranks get the result. MPI writes elements of the sent type into
/// any receive buffer: one type for both prevents writing beyond its end.
pub(crate) fn over_ranks<T: Equivalence + Copy>(comm: &SimpleCommunicator, mine: T, operation: SystemOperation) -> T {
    let mut all = mine;
    comm.all_reduce_into(&mine, &mut all, operation);
    all
}

/// Reduces each call's values over ranks, on all ranks.
pub(crate) fn reduce_calls<T: Equivalence + Copy + Default>(
    comm: &SimpleCommunicator,
    values: &[T],
    operation: SystemOperation,
) -> Vec<T> {
    let mut all = vec![T::default(); values.len()];
    comm.all_reduce_into(values, &mut all[..], operation);
    all
}

/// Returns true if all ranks pass true. Uses the exchange of [`dissemination_barrier`], after which a rank has received
/// from every other one, directly or indirectly. It uses no collective, since with a rules file these may fail.
pub(crate) fn all_agree(comm: &SimpleCommunicator, mine: bool) -> bool {
    let (rank, size) = (comm.rank(), comm.size());
    let mut agreed = u8::from(mine);
    let mut distance = 1;
    while distance < size {
        let to = comm.process_at_rank((rank + distance) % size);
        let from = comm.process_at_rank((rank + size - distance) % size);
        let mut heard = 0u8;
        send_receive_into(&agreed, &to, &mut heard, &from);
        agreed &= heard;
        distance *= 2;
    }
    agreed == 1
}

/// Method for starting the calls of a launch, with the clock that times them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synchroniser {
    method: SyncMethod,
    /// Maximum delay of a rank's start, in nanoseconds.
    tolerance: i64,
    /// Nanoseconds from now to a start that rank 0 sets.
    lead: i64,
}

/// The start of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    /// Nanoseconds of the common clock with a delay or a common start, else of the local one.
    pub(crate) at: i64,
    /// True if this rank was late, so that the duration of the call is invalid.
    pub(crate) late: bool,
}

impl Synchroniser {
    /// A method for the ranks of a job, which all call this.
    pub(crate) fn new(method: SyncMethod, tolerance: i64, comm: &SimpleCommunicator) -> Self {
        // In a barrier as many messages follow each other as on the way of a start to the last rank.
        let barrier = |_| {
            let start = now();
            dissemination_barrier(comm);
            (now() - start) as f64
        };
        let barriers = if method == SyncMethod::RoundTime { BARRIERS } else { 0 };
        let mut times: Vec<f64> = (0..barriers).map(barrier).collect();
        let lead = LEAST_LEAD + 2 * median(&mut times).unwrap_or_default() as i64;
        Self { method, tolerance, lead: lead.min(MOST_LEAD) }
    }

    pub(crate) fn is_round_time(&self) -> bool {
        self.method == SyncMethod::RoundTime
    }

    /// Begins a call on all ranks of a communicator; with a delay, on this rank later by this many nanoseconds, and on the
    /// common clock.
    pub(crate) fn begin(&self, comm: &SimpleCommunicator, clock: &CommonClock, delay: Option<i64>) -> Begun {
        dissemination_barrier(comm);
        let (at, late) = match self.method {
            SyncMethod::Barrier if delay.is_none() => (now(), false),
            SyncMethod::Barrier => (clock.common(now()), false),
            SyncMethod::RoundTime => {
                let at = self.agree(comm, clock);
                (at, wait(at, self.tolerance, clock))
            }
        };
        let Some(delay) = delay.filter(|delay| *delay > 0) else { return Begun { at, late } };
        wait(at + delay, i64::MAX / 2, clock);
        Begun { at: clock.common(now()), late }
    }

    /// The start that rank 0 sets, sent along a binomial tree.
    fn agree(&self, comm: &SimpleCommunicator, clock: &CommonClock) -> i64 {
        let (rank, size) = (comm.rank(), comm.size());
        let mut at = clock.common(now()) + self.lead;
        if rank != 0 {
            at = comm.process_at_rank(rank & (rank - 1)).receive_with_tag::<i64>(START).0;
        }
        for child in children(rank, size).rev() {
            comm.process_at_rank(child).send_with_tag(&at, START);
        }
        at
    }
}

/// Waits for a common time in nanoseconds. Returns true if the wait ended later than that by more than the tolerance.
fn wait(until: i64, tolerance: i64, clock: &CommonClock) -> bool {
    let mut time = clock.common(now());
    while time < until {
        // A rank that yields the processor shortly before the start may resume too late.
        if until - time > LONG_WAIT {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        time = clock.common(now());
    }
    time > until + tolerance
}

/// Timing of one call on this rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallTiming {
    /// Start in nanoseconds, on the clock that also gives the end.
    pub(crate) at: i64,
    pub(crate) seconds: f64,
    /// True if this rank was late.
    pub(crate) late: bool,
}

/// Makes this many calls one after the other, each between a start and an end, and appends their times. A failed call
/// ends the loop, with its place.
pub(crate) fn time_calls<E>(
    count: usize,
    mut begin: impl FnMut(usize) -> Begun,
    mut call: impl FnMut(usize) -> Result<(), E>,
    mut end: impl FnMut() -> i64,
    taken: &mut Vec<CallTiming>,
) -> Result<(), (usize, E)> {
    for place in 0..count {
        let Begun { at, late } = begin(place);
        let result = call(place);
        taken.push(CallTiming { at, seconds: seconds(end() - at), late });
        result.map_err(|error| (place, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_what_lies_between_its_beginning_and_its_end() {
        let time = std::cell::Cell::new(0);
        let begin = |_| Begun { at: time.get(), late: time.get() > 0 };
        let call = |place: usize| {
            time.set(time.get() + 1000 * (place as i64 + 1));
            if place < 2 { Ok(()) } else { Err("out") }
        };
        let mut taken = Vec::new();
        assert_eq!(time_calls(5, begin, call, || time.get(), &mut taken), Err((2, "out")));
        let expected = [(1e-6, false), (2e-6, true), (3e-6, true)];
        assert_eq!(taken.len(), 3);
        for (turn, (seconds, late)) in taken.iter().zip(expected) {
            assert!((turn.seconds - seconds).abs() < 1e-15 && turn.late == late, "{taken:?}");
        }
    }
}
