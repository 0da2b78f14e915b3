//! Adds calls to counters, and counters to the record of this rank.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use collrules_record::profile::rank::{FORMAT, KeptCall, ProcessGroup, RankActivity, RankRecord};

use crate::communicators::{CommunicatorTable, LiveCommunicator};
use crate::kept::CallSampler;
use crate::table::{ANY_GROUP, CallFacts, CounterTable};

/// Calls other than collectives that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherCall {
    /// Messages from rank to rank.
    Messages,
    /// Waiting for requests, or testing them.
    Waiting,
}

#[derive(Default)]
struct Counter {
    calls: AtomicU64,
    time: AtomicU64,
}

impl Counter {
    fn add(&self, time: Duration) {
        self.calls.fetch_add(1, Relaxed);
        self.time.fetch_add(time.as_nanos() as u64, Relaxed);
    }

    fn activity(&self) -> RankActivity {
        RankActivity { calls: self.calls.load(Relaxed), time: self.time.load(Relaxed) }
    }
}

/// All counts of this rank.
pub struct Recorder {
    /// A record of the process, without counts.
    pub process: RankRecord,
    /// Its communicators.
    pub communicators: CommunicatorTable,
    table: CounterTable,
    kept: CallSampler,
    waits: CallSampler,
    messages: Counter,
    waiting: Counter,
    started: AtomicU64,
    begin: Instant,
    finalized: AtomicBool,
}

thread_local! {
    /// True if this thread is in a counted call; calls made inside it are not counted.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function inside a call, so that nothing in it is counted; none if the thread is inside one already.
pub fn inside<T>(run: impl FnOnce() -> T) -> Option<T> {
    // A thread that ends has no such variable any more.
    if INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true) {
        return None;
    }
    let result = run();
    let _ = INSIDE.try_with(|inside| inside.set(false));
    Some(result)
}

/// Returns true if this thread is in a counted call.
pub fn is_inside() -> bool {
    INSIDE.try_with(Cell::get).unwrap_or(true)
}

impl Recorder {
    /// Begins counting now.
    pub fn new(process: RankRecord) -> Self {
        Self {
            process,
            communicators: CommunicatorTable::default(),
            table: CounterTable::default(),
            kept: CallSampler::default(),
            waits: CallSampler::default(),
            messages: Counter::default(),
            waiting: Counter::default(),
            started: AtomicU64::new(0),
            begin: Instant::now(),
            finalized: AtomicBool::new(false),
        }
    }

    /// Times and counts a call of a collective. `barrier` is called first if one is due.
    pub fn collective(
        &self,
        known: Option<&LiveCommunicator>,
        seen: CallFacts,
        barrier: impl FnOnce(),
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        let waited = known.filter(|known| seen.is_sampled(known, self.process.imbalance)).map(|_| {
            let begin = Instant::now();
            barrier();
            begin.elapsed()
        });
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let kept_call = |known: &LiveCommunicator, turn: u32, time: Duration| KeptCall {
            group: usize::from(known.group()),
            turn,
            operation: seen.key.operation,
            bytes: seen.bytes,
            time: nanoseconds(time),
        };
        if let Some((known, waited)) = known.zip(waited)
            && let Some(turn) = self.communicators.sampled_turn(known)
        {
            self.waits.add(kept_call(known, turn, waited));
        }
        let begin = Instant::now();
        let code = call();
        let time = begin.elapsed();
        if let Some(known) = known
            && seen.is_blocking()
        {
            known.pass(seen.key.operation, seen.passed);
            if let Some(turn) = self.communicators.turn(known) {
                self.kept.add(kept_call(known, turn, time));
            }
        }
        self.table.add(&seen, time, waited);
        code
    }

    /// Times and counts any other call.
    pub fn other_call(&self, what: OtherCall, call: impl FnOnce() -> c_int) -> c_int {
        let begin = Instant::now();
        let code = call();
        let counter = match what {
            OtherCall::Messages => &self.messages,
            OtherCall::Waiting => &self.waiting,
        };
        counter.add(begin.elapsed());
        code
    }

    /// Counts processes that the program started.
    pub fn start(&self, processes: u64) {
        self.started.fetch_add(processes, Relaxed);
    }

    /// Notes that the program reached `MPI_Finalize`.
    pub fn finalize(&self) {
        self.finalized.store(true, Relaxed);
    }

    /// The record of everything so far.
    pub fn record(&self) -> RankRecord {
        let mut groups = self.communicators.groups();
        let mut calls = self.table.counted();
        if calls.iter().any(|entry| entry.group >= groups.len()) {
            // Those that no group has to itself.
            groups.push(ProcessGroup::default());
            let last = groups.len() - 1;
            calls.iter_mut().filter(|entry| entry.group == usize::from(ANY_GROUP)).for_each(|entry| entry.group = last);
        }
        // A group that was made after the list was taken.
        calls.retain(|entry| entry.group < groups.len());
        RankRecord {
            format: FORMAT,
            started: self.started.load(Relaxed),
            finalized: self.finalized.load(Relaxed),
            wall: self.begin.elapsed().as_nanos() as u64,
            groups,
            calls,
            kept: self.kept.calls(),
            waits: self.waits.calls(),
            messages: self.messages.activity(),
            waiting: self.waiting.activity(),
            ..self.process.clone()
        }
    }
}

impl CallFacts {
    fn is_blocking(&self) -> bool {
        self.key.mode == collrules_record::profile::Mode::Blocking
    }

    fn is_sampled(&self, known: &LiveCommunicator, every: Option<u32>) -> bool {
        let counts = self.is_blocking() && self.key.operation != collrules_rules::Operation::Barrier;
        every.is_some_and(|every| counts && !known.is_between_groups() && known.takes_turn(every))
    }
}
