//! A call to its counters, and counters to the record of this rank.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use collrules_record::profile::rank::{Activity, FORMAT, Group, KeptCall, RankRecord};

use crate::communicators::{Communicators, Known};
use crate::kept::Kept;
use crate::table::{self, ANY_GROUP, Call, Table};

/// What is known of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The program's name for itself.
    pub program: String,
    /// What MPI calls itself.
    pub library: String,
    /// What the host calls itself.
    pub host: String,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its size.
    pub ranks: u32,
    /// A barrier before every n-th call.
    pub imbalance: Option<u32>,
}

/// What is done beside collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Messages from rank to rank.
    Messages,
    /// Waiting for requests, or looking after them.
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

    fn activity(&self) -> Activity {
        Activity { calls: self.calls.load(Relaxed), time: self.time.load(Relaxed) }
    }
}

/// All that is counted on this rank.
pub struct Recorder {
    /// The process.
    pub process: Process,
    /// Its communicators.
    pub communicators: Communicators,
    table: Table,
    kept: Kept,
    messages: Counter,
    waiting: Counter,
    begin: Instant,
    finalized: AtomicBool,
}

thread_local! {
    /// Whether this thread is in a call that is counted: what a call calls is not.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs this as the inside of a call: nothing in it is counted. Nothing where the thread is inside already.
pub fn inside<T>(run: impl FnOnce() -> T) -> Option<T> {
    // A thread that ends has no such variable any more.
    if INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true) {
        return None;
    }
    let result = run();
    let _ = INSIDE.try_with(|inside| inside.set(false));
    Some(result)
}

/// Whether this thread is in a call.
pub fn is_inside() -> bool {
    INSIDE.try_with(Cell::get).unwrap_or(true)
}

impl Recorder {
    /// Begins now.
    pub fn new(process: Process) -> Self {
        Self {
            process,
            communicators: Communicators::default(),
            table: Table::default(),
            kept: Kept::default(),
            messages: Counter::default(),
            waiting: Counter::default(),
            begin: Instant::now(),
            finalized: AtomicBool::new(false),
        }
    }

    /// Times and counts a call of a collective. `barrier` is called before it where a barrier is due.
    pub fn collective(
        &self,
        known: Option<&Known>,
        seen: Seen,
        barrier: impl FnOnce(),
        call: impl FnOnce() -> c_int,
    ) -> c_int {
        let waited = known.filter(|known| seen.is_sampled(known, self.process.imbalance)).map(|_| {
            let begin = Instant::now();
            barrier();
            begin.elapsed()
        });
        let begin = Instant::now();
        let code = call();
        let time = begin.elapsed();
        if let Some(known) = known
            && seen.is_blocking()
        {
            known.pass(seen.key.operation, seen.passed);
            if let Some(turn) = self.communicators.turn(known) {
                let (group, operation) = (usize::from(known.group()), seen.key.operation);
                self.kept.add(KeptCall { group, turn, operation, bytes: seen.bytes, time: time.as_nanos() as u64 });
            }
        }
        self.table.add(&Call { key: seen.key, bytes: seen.bytes, root: seen.root, time, waited });
        code
    }

    /// Times and counts something else.
    pub fn beside(&self, what: Beside, call: impl FnOnce() -> c_int) -> c_int {
        let begin = Instant::now();
        let code = call();
        let counter = match what {
            Beside::Messages => &self.messages,
            Beside::Waiting => &self.waiting,
        };
        counter.add(begin.elapsed());
        code
    }

    /// The program reached `MPI_Finalize`.
    pub fn finalize(&self) {
        self.finalized.store(true, Relaxed);
    }

    /// All that was seen so far.
    pub fn record(&self) -> RankRecord {
        let mut groups = self.communicators.groups();
        let mut calls = self.table.counted();
        if calls.iter().any(|entry| entry.group >= groups.len()) {
            // Those that no group has to itself.
            groups.push(Group::default());
            let last = groups.len() - 1;
            calls.iter_mut().filter(|entry| entry.group == usize::from(ANY_GROUP)).for_each(|entry| entry.group = last);
        }
        // A group that was made after the list was taken.
        calls.retain(|entry| entry.group < groups.len());
        let Process { program, library, host, rank, ranks, imbalance } = self.process.clone();
        RankRecord {
            format: FORMAT,
            program,
            library,
            rank,
            ranks,
            host,
            finalized: self.finalized.load(Relaxed),
            wall: self.begin.elapsed().as_nanos() as u64,
            imbalance,
            groups,
            calls,
            kept: self.kept.calls(),
            messages: self.messages.activity(),
            waiting: self.waiting.activity(),
        }
    }
}

/// What is seen of a call before it is made.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What it has in common with others.
    pub key: table::Key,
    /// Its message bytes.
    pub bytes: u64,
    /// Its root, or [`table::NO_ROOT`].
    pub root: i32,
    /// What it passes, as far as ranks should agree on it.
    pub passed: u64,
}

impl Seen {
    fn is_blocking(&self) -> bool {
        self.key.mode == collrules_record::profile::Mode::Blocking
    }

    fn is_sampled(&self, known: &Known, every: Option<u32>) -> bool {
        let counts = self.is_blocking() && self.key.operation != collrules_rules::Operation::Barrier;
        every.is_some_and(|every| counts && !known.is_between_groups() && known.takes_turn(every))
    }
}
