//! Bringing ranks together before every timed call.

use std::thread;

use collrules_record::clock::SyncMethod;
use mpi::collective::{CommunicatorCollectives, SystemOperation};
use mpi::datatype::Equivalence;
use mpi::point_to_point::{Destination, Source, send_receive_into};
use mpi::topology::{Communicator, SimpleCommunicator};

use crate::clock::hierarchy::CommonClock;
use crate::clock::now;

const START: mpi::Tag = 14;

/// How far ahead of now rank 0 sets a start, in nanoseconds: at first, at least, at most.
const FIRST_LEAD: i64 = 50_000;
const LEAST_LEAD: i64 = 5_000;
const MOST_LEAD: i64 = 10_000_000;

/// A wait of more nanoseconds leaves the processor to others meanwhile.
const LONG_WAIT: i64 = 1_000_000;

/// Returns on no rank before every rank has entered: in round k each rank tells the one 2^k after it and hears from
/// the one 2^k before it (Hensgen, Finkel, Manber 1988). One barrier for all candidates, made of point-to-point
/// messages, so that none is favoured and the barrier under test never synchronises itself.
pub(crate) fn dissemination_barrier(comm: &SimpleCommunicator) {
    all_agree(comm, true);
}

/// What an operation makes of every rank's value, on all ranks. MPI writes elements of the type that was sent, whatever receives
/// them: one type for both keeps it from writing further than there is room.
pub(crate) fn over_ranks<T: Equivalence + Copy>(comm: &SimpleCommunicator, mine: T, operation: SystemOperation) -> T {
    let mut all = mine;
    comm.all_reduce_into(&mine, &mut all, operation);
    all
}

/// Whether all ranks say yes. The same exchange: what a rank hears in the end covers every rank at least once. Under a
/// rules file, collectives of the communicator may be the ones that fail.
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

/// How the calls of a launch begin, and by which clock they are timed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synchroniser {
    method: SyncMethod,
    /// How late a rank may be, in nanoseconds.
    tolerance: i64,
    lead: i64,
}

/// The beginning of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    /// In nanoseconds of the clock that [`Synchroniser::end`] reads.
    pub(crate) at: i64,
    pub(crate) began: Began,
}

/// Whether a rank began a call in time. Otherwise what the call takes says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Began {
    InTime,
    /// It waited for the start, and the system did not let it go on in time.
    Overslept,
    /// The start was over when it heard of it.
    Missed,
}

/// How many ranks were late for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lateness {
    pub(crate) overslept: u64,
    pub(crate) missed: u64,
}

impl Began {
    /// A number whose sum over ranks tells how many of each kind there are.
    pub(crate) fn weight(self) -> u64 {
        match self {
            Self::InTime => 0,
            Self::Overslept => 1,
            Self::Missed => 1 << 32,
        }
    }
}

impl Lateness {
    /// What a sum of weights tells.
    pub(crate) fn of(sum: u64) -> Self {
        Self { overslept: sum & 0xffff_ffff, missed: sum >> 32 }
    }

    pub(crate) fn any(self) -> bool {
        self.overslept + self.missed > 0
    }
}

impl Synchroniser {
    pub(crate) fn new(method: SyncMethod, tolerance: i64) -> Self {
        Self { method, tolerance, lead: FIRST_LEAD }
    }

    pub(crate) fn is_round_time(&self) -> bool {
        self.method == SyncMethod::RoundTime
    }

    /// Begins a call on all ranks of a communicator.
    pub(crate) fn begin(&self, comm: &SimpleCommunicator, clock: &CommonClock) -> Begun {
        dissemination_barrier(comm);
        match self.method {
            SyncMethod::Barrier => Begun { at: now(), began: Began::InTime },
            SyncMethod::RoundTime => {
                let at = self.agree(comm, clock);
                Begun { at, began: wait(at, self.tolerance, clock) }
            }
        }
    }

    /// The time at which a call ended here.
    pub(crate) fn end(&self, clock: &CommonClock) -> i64 {
        match self.method {
            SyncMethod::Barrier => now(),
            SyncMethod::RoundTime => clock.common(now()),
        }
    }

    /// Learns from a visit in which starts were missed so many times: rank 0 sets them further ahead, or less far.
    pub(crate) fn learn(&mut self, missed: u64, calls: u64) {
        if missed * 20 > calls {
            self.lead = (self.lead * 2).min(MOST_LEAD);
        } else if missed == 0 {
            self.lead = (self.lead * 9 / 10).max(LEAST_LEAD);
        }
    }

    /// The start that rank 0 sets, told along a binomial tree.
    fn agree(&self, comm: &SimpleCommunicator, clock: &CommonClock) -> i64 {
        let (rank, size) = (comm.rank(), comm.size());
        let mut at = clock.common(now()) + self.lead;
        if rank != 0 {
            at = comm.process_at_rank(rank & (rank - 1)).receive_with_tag::<i64>(START).0;
        }
        // A rank tells the ranks that differ from it in one bit below its own lowest.
        let lowest = if rank == 0 { (size as u32).next_power_of_two() as i32 } else { rank & -rank };
        let mut bit = lowest >> 1;
        while bit > 0 {
            if rank + bit < size {
                comm.process_at_rank(rank + bit).send_with_tag(&at, START);
            }
            bit >>= 1;
        }
        at
    }
}

/// Waits for a common time, with a tolerance, both in nanoseconds.
fn wait(until: i64, tolerance: i64, clock: &CommonClock) -> Began {
    let mut time = clock.common(now());
    if time > until + tolerance {
        return Began::Missed;
    }
    while time < until {
        // Whoever gives the processor away shortly before the start may get it back too late.
        if until - time > LONG_WAIT {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        time = clock.common(now());
    }
    if time > until + tolerance { Began::Overslept } else { Began::InTime }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_weights_tell_who_was_late() {
        let ranks = [Began::InTime, Began::Missed, Began::Overslept, Began::Overslept];
        let late = Lateness::of(ranks.into_iter().map(Began::weight).sum());
        assert_eq!(late, Lateness { overslept: 2, missed: 1 });
        assert!(late.any() && !Lateness::of(Began::InTime.weight()).any());
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
}
