//! Synchronisation of ranks before every timed call, and the one loop that times both real calls and its own cost.

use std::thread;

use collrules_record::clock::SyncMethod;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination, Source, send_receive_into};
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::clock::hierarchy::CommonClock;
use crate::clock::{now, seconds};
use crate::control::children;

const START: mpi::Tag = 14;

/// Time in nanoseconds from now to a start that rank 0 sets: initial, minimum, maximum.
const FIRST_LEAD: i64 = 50_000;
const LEAST_LEAD: i64 = 5_000;
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
    lead: i64,
}

/// The start of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    /// Nanoseconds of the clock that [`Synchroniser::end`] reads.
    pub(crate) at: i64,
    pub(crate) late: Lateness,
}

/// Number of ranks that were late for a call, whose duration is then invalid: as one number, so that a sum over ranks counts
/// both kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lateness(pub(crate) u64);

impl Lateness {
    /// It waited for the start, and the system resumed it too late.
    const OVERSLEPT: Self = Self(1);
    /// The start was over when it received it.
    const MISSED: Self = Self(1 << 32);

    /// The ranks that missed the start.
    pub(crate) fn missed(self) -> u64 {
        self.0 >> 32
    }

    /// All that were late.
    pub(crate) fn ranks(self) -> u64 {
        self.missed() + (self.0 & 0xffff_ffff)
    }
}

impl Synchroniser {
    pub(crate) fn new(method: SyncMethod, tolerance: i64) -> Self {
        Self { method, tolerance, lead: FIRST_LEAD }
    }

    pub(crate) fn is_round_time(&self) -> bool {
        self.method == SyncMethod::RoundTime
    }

    /// Begins a call on all ranks of a communicator; with a delay, on this rank later by this many nanoseconds, and on the
    /// common clock.
    pub(crate) fn begin(&self, comm: &SimpleCommunicator, clock: &CommonClock, delay: Option<i64>) -> Begun {
        dissemination_barrier(comm);
        let (at, late) = match self.method {
            SyncMethod::Barrier if delay.is_none() => (now(), Lateness::default()),
            SyncMethod::Barrier => (clock.common(now()), Lateness::default()),
            SyncMethod::RoundTime => {
                let at = self.agree(comm, clock);
                (at, wait(at, self.tolerance, clock))
            }
        };
        let Some(delay) = delay.filter(|delay| *delay > 0) else { return Begun { at, late } };
        wait(at + delay, i64::MAX / 2, clock);
        Begun { at: clock.common(now()), late }
    }

    /// The end time of a call on this rank.
    pub(crate) fn end(&self, clock: &CommonClock) -> i64 {
        match self.method {
            SyncMethod::Barrier => now(),
            SyncMethod::RoundTime => clock.common(now()),
        }
    }

    /// Adapts the lead of starts, on rank 0, to the number of missed starts in a visit.
    pub(crate) fn learn(&mut self, missed: u64, calls: u64) {
        if missed * 20 > calls {
            self.lead = (self.lead * 2).min(MOST_LEAD);
        } else if missed == 0 {
            self.lead = (self.lead * 9 / 10).max(LEAST_LEAD);
        }
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

/// Waits for a common time, with a tolerance, both in nanoseconds.
fn wait(until: i64, tolerance: i64, clock: &CommonClock) -> Lateness {
    let mut time = clock.common(now());
    if time > until + tolerance {
        return Lateness::MISSED;
    }
    while time < until {
        // A rank that yields the processor shortly before the start may resume too late.
        if until - time > LONG_WAIT {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        time = clock.common(now());
    }
    if time > until + tolerance { Lateness::OVERSLEPT } else { Lateness::default() }
}

/// Timing of one call on this rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallTiming {
    /// Start in nanoseconds, on the clock that also gives the end.
    pub(crate) at: i64,
    pub(crate) seconds: f64,
    /// True if this rank was late.
    pub(crate) late: Lateness,
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
    fn sums_over_ranks_tell_who_was_late() {
        let ranks = [Lateness::default(), Lateness::MISSED, Lateness::OVERSLEPT, Lateness::OVERSLEPT];
        let late = Lateness(ranks.into_iter().map(|late| late.0).sum());
        assert_eq!((late.ranks(), late.missed()), (3, 1));
        assert_eq!(Lateness::default().ranks(), 0);
    }

    #[test]
    fn starts_move_away_while_they_are_missed() {
        let mut sync = Synchroniser::new(SyncMethod::RoundTime, 1000);
        sync.learn(10, 100);
        assert_eq!(sync.lead, 2 * FIRST_LEAD);
        (0..100).for_each(|_| sync.learn(100, 100));
        assert_eq!(sync.lead, MOST_LEAD);
        (0..1000).for_each(|_| sync.learn(0, 100));
        assert_eq!(sync.lead, LEAST_LEAD);
    }

    #[test]
    fn a_call_takes_what_lies_between_its_beginning_and_its_end() {
        let time = std::cell::Cell::new(0);
        let begin =
            |_| Begun { at: time.get(), late: if time.get() > 0 { Lateness::MISSED } else { Lateness::default() } };
        let call = |place: usize| {
            time.set(time.get() + 1000 * (place as i64 + 1));
            if place < 2 { Ok(()) } else { Err("out") }
        };
        let mut taken = Vec::new();
        assert_eq!(time_calls(5, begin, call, || time.get(), &mut taken), Err((2, "out")));
        let expected = [(1e-6, Lateness::default()), (2e-6, Lateness::MISSED), (3e-6, Lateness::MISSED)];
        assert_eq!(taken.len(), 3);
        for (turn, (seconds, late)) in taken.iter().zip(expected) {
            assert!((turn.seconds - seconds).abs() < 1e-15 && turn.late == late, "{taken:?}");
        }
    }
}
