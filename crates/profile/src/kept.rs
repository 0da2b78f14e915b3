//! Times of single calls, which show the slowest rank of each call without messages from rank to rank.
//!
//! Each rank keeps at most 1024 calls: every n-th call of a group of processes, where n doubles whenever there is no
//! room. MPI requires that all ranks of a communicator make its calls in the same order, so ranks keep the same calls,
//! or some of the same if one of them is in more groups.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use collrules_record::profile::rank;

/// Calls that are kept.
const MOST: usize = 1024;

/// The largest interval between kept calls; if there is still no room, there are more groups than places.
const RAREST: u32 = 1 << 24;

/// The calls that are kept.
pub struct CallSampler {
    /// Copy of the `every` of the calls, for reading without the lock.
    every: AtomicU32,
    calls: Mutex<rank::KeptCalls>,
}

impl Default for CallSampler {
    fn default() -> Self {
        Self {
            every: AtomicU32::new(1),
            calls: Mutex::new(rank::KeptCalls { every: 1, calls: Vec::with_capacity(MOST) }),
        }
    }
}

impl CallSampler {
    /// Keeps a call of a group, if it is its turn.
    #[inline]
    pub fn add(&self, call: rank::KeptCall) {
        if call.turn.is_multiple_of(self.every.load(Relaxed)) {
            self.keep(call);
        }
    }

    fn keep(&self, call: rank::KeptCall) {
        let Ok(mut kept) = self.calls.lock() else { return };
        while kept.calls.len() >= MOST && kept.every < RAREST {
            kept.every *= 2;
            let every = kept.every;
            kept.calls.retain(|call| call.turn.is_multiple_of(every));
            self.every.store(every, Relaxed);
        }
        if kept.calls.len() < MOST && call.turn.is_multiple_of(kept.every) {
            kept.calls.push(call);
        }
    }

    /// Returns the calls that are kept now.
    pub fn calls(&self) -> rank::KeptCalls {
        self.calls.lock().map(|kept| kept.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use collrules_rules::Operation;

    use super::*;

    fn call(group: usize, turn: u32) -> rank::KeptCall {
        rank::KeptCall { group, turn, operation: Operation::Bcast, bytes: 8, time: u64::from(turn) }
    }

    #[test]
    fn ranks_with_as_many_calls_keep_the_same_and_others_some_of_the_same() {
        let (one, more) = (CallSampler::default(), CallSampler::default());
        for turn in 0..100_000 {
            one.add(call(0, turn));
            more.add(call(0, turn));
            more.add(call(1, turn));
        }
        let (one, more) = (one.calls(), more.calls());
        assert_eq!((one.every, more.every), (128, 256));
        assert!(one.calls.len() > 700 && one.calls.iter().all(|call| call.turn.is_multiple_of(128)));
        let of_first = more.calls.iter().filter(|call| call.group == 0);
        assert!(of_first.clone().count() > 350 && of_first.clone().all(|call| one.calls.contains(call)));
    }

    #[test]
    fn more_groups_than_room_leave_some_out() {
        let kept = CallSampler::default();
        (0..5000).for_each(|group| kept.add(call(group, 0)));
        let kept = kept.calls();
        assert_eq!((kept.calls.len(), kept.calls.capacity() >= MOST), (MOST, true));
    }
}
