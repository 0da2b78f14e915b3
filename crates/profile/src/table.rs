//! Counters of calls with common properties, found and increased without locks. The memory is allocated once: 8192
//! entries of 104 bytes, of which the system provides those that are used.
//!
//! The first 4096 sizes have an entry each. Later ones share entries of an eighth of a doubling, and once 6144 entries
//! are taken, one for each operation and mode. Nothing is dropped.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::Duration;

use collrules_record::profile::Mode;
use collrules_record::profile::rank::{RankCalls, step};
use collrules_rules::Operation;

/// Entries; a power of two.
const CAPACITY: usize = 8192;

/// Entries with a single size.
const EXACT: usize = 4096;

/// Entries in all; more would make probing slow.
const MOST: usize = 6144;

/// The send buffer is the receive buffer.
pub const IN_PLACE: u8 = 1;
/// The reduction operation does not commute.
pub const NOT_COMMUTATIVE: u8 = 2;
/// A datatype is not a predefined one.
pub const DERIVED: u8 = 4;
/// The counts for the ranks differ.
pub const UNEQUAL: u8 = 8;
/// Arguments that MPI ignores differ from those that it looks at.
pub const IGNORED_DIFFER: u8 = 16;

/// The root of calls without one.
pub const NO_ROOT: i32 = i32::MIN;

/// Common properties of the calls of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallKey {
    /// The group of processes.
    pub group: u16,
    /// The operation.
    pub operation: Operation,
    /// Mode of the calls.
    pub mode: Mode,
    /// See the constants above.
    pub flags: u8,
}

/// The group of entries without a group of their own.
pub const ANY_GROUP: u16 = u16::MAX;

impl CallKey {
    /// The key as a number that is not 0, different if the size of its entry is a step instead of exact.
    fn packed(self, is_step: bool) -> u64 {
        1 << 63
            | u64::from(is_step) << 40
            | u64::from(self.flags) << 32
            | (self.mode as u64) << 24
            | u64::from(self.operation.id()) << 16
            | u64::from(self.group)
    }

    fn unpack(packed: u64) -> Option<Self> {
        let byte = |place: u32| (packed >> place) as u8;
        Some(Self {
            group: packed as u16,
            operation: Operation::from_id(u32::from(byte(16)))?,
            mode: *Mode::ALL.get(usize::from(byte(24)))?,
            flags: byte(32),
        })
    }
}

/// Facts about a call before it is made.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts {
    /// Key of the entry that counts it.
    pub key: CallKey,
    /// Its message bytes.
    pub bytes: u64,
    /// Its root, or [`NO_ROOT`].
    pub root: i32,
    /// Hash of those arguments that ranks should agree on.
    pub passed: u64,
}

/// Counters of calls.
#[derive(Default)]
struct CallCounters {
    /// 0 if nothing is counted yet; written last.
    key: AtomicU64,
    bytes: AtomicU64,
    calls: AtomicU64,
    time: AtomicU64,
    longest: AtomicU64,
    sum: AtomicU64,
    least: AtomicU64,
    most: AtomicU64,
    /// The root of the first call, plus an offset that makes the smallest value 1; 0 before that call.
    root: AtomicI64,
    roots_differ: AtomicU64,
    sampled: [AtomicU64; 3],
}

impl CallCounters {
    fn add(&self, call: &CallFacts, time: Duration, waited: Option<Duration>) {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let time = nanoseconds(time);
        self.calls.fetch_add(1, Relaxed);
        self.time.fetch_add(time, Relaxed);
        self.sum.fetch_add(call.bytes, Relaxed);
        if time > self.longest.load(Relaxed) {
            self.longest.fetch_max(time, Relaxed);
        }
        if call.bytes < self.least.load(Relaxed) {
            self.least.fetch_min(call.bytes, Relaxed);
        }
        if call.bytes > self.most.load(Relaxed) {
            self.most.fetch_max(call.bytes, Relaxed);
        }
        if call.root != NO_ROOT {
            let root = i64::from(call.root) - i64::from(NO_ROOT);
            let first = match self.root.load(Relaxed) {
                0 => self.root.compare_exchange(0, root, Relaxed, Relaxed).map_or_else(|first| first, |_| root),
                first => first,
            };
            if first != root {
                self.roots_differ.store(1, Relaxed);
            }
        }
        if let Some(waited) = waited {
            let [calls, before, own] = &self.sampled;
            calls.fetch_add(1, Relaxed);
            before.fetch_add(nanoseconds(waited), Relaxed);
            own.fetch_add(time, Relaxed);
        }
    }

    fn counted(&self, key: CallKey) -> Option<RankCalls> {
        let [calls, before, own] = &self.sampled;
        let root = self.root.load(Relaxed);
        let has = |flag| key.flags & flag != 0;
        let counted = RankCalls {
            group: usize::from(key.group),
            operation: key.operation,
            mode: key.mode,
            bytes: (self.least.load(Relaxed), self.most.load(Relaxed)),
            in_place: has(IN_PLACE),
            commutative: !has(NOT_COMMUTATIVE),
            derived: has(DERIVED),
            unequal: has(UNEQUAL),
            ignored_differ: has(IGNORED_DIFFER),
            calls: self.calls.load(Relaxed),
            time: self.time.load(Relaxed),
            longest: self.longest.load(Relaxed),
            sum: self.sum.load(Relaxed),
            root: (root != 0).then(|| ((root + i64::from(NO_ROOT)) as i32, self.roots_differ.load(Relaxed) != 0)),
            sampled: (calls.load(Relaxed), before.load(Relaxed), own.load(Relaxed)),
        };
        (counted.calls > 0).then_some(counted)
    }

    fn begin(&self, bytes: u64) {
        self.bytes.store(bytes, Relaxed);
        self.least.store(u64::MAX, Relaxed);
    }
}

/// All counters of a rank.
pub struct CounterTable {
    entries: Box<[CallCounters]>,
    /// One for each operation and mode.
    rest: Box<[CallCounters]>,
    /// Number of entries that are taken; locked while one is being taken.
    taken: Mutex<usize>,
}

impl Default for CounterTable {
    fn default() -> Self {
        let rest = Operation::ALL.len() * Mode::ALL.len();
        let empty = |count| (0..count).map(|_| CallCounters::default()).collect();
        let table = Self { entries: empty(CAPACITY), rest: empty(rest), taken: Mutex::new(0) };
        table.rest.iter().for_each(|entry| entry.begin(0));
        table
    }
}

impl CounterTable {
    /// Counts a call of this duration, and the duration of the barrier before it, if there was one.
    pub fn add(&self, call: &CallFacts, time: Duration, waited: Option<Duration>) {
        let exact = self.entry(call.key.packed(false), call.bytes, EXACT);
        let entry = exact.or_else(|| self.entry(call.key.packed(true), step(call.bytes), MOST));
        entry.unwrap_or_else(|| self.rest(call.key.operation, call.key.mode)).add(call, time, waited);
    }

    fn rest(&self, operation: Operation, mode: Mode) -> &CallCounters {
        &self.rest[operation.id() as usize * Mode::ALL.len() + mode as usize]
    }

    /// The entry of a key and a size; a new one only if fewer than `most` are in use.
    fn entry(&self, key: u64, bytes: u64, most: usize) -> Option<&CallCounters> {
        let mixed = (key ^ bytes.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let start = (mixed >> 40) as usize;
        let mut taken = None;
        let mut place = start % CAPACITY;
        loop {
            let entry = &self.entries[place];
            match entry.key.load(Acquire) {
                found if found == key && entry.bytes.load(Relaxed) == bytes => return Some(entry),
                0 if taken.is_none() => {
                    // Looked at again, since another thread may have taken it meanwhile.
                    let held = self.taken.lock().ok()?;
                    if *held >= most {
                        return None;
                    }
                    taken = Some(held);
                }
                0 => {
                    entry.begin(bytes);
                    entry.key.store(key, Release);
                    if let Some(taken) = &mut taken {
                        **taken += 1;
                    }
                    return Some(entry);
                }
                _ => place = (place + 1) % CAPACITY,
            }
        }
    }

    /// Returns the counts so far.
    pub fn counted(&self) -> Vec<RankCalls> {
        let of = |entry: &CallCounters| match entry.key.load(Acquire) {
            0 => None,
            packed => entry.counted(CallKey::unpack(packed)?),
        };
        let mut all: Vec<RankCalls> = self.entries.iter().filter_map(of).collect();
        for operation in Operation::ALL {
            for mode in Mode::ALL {
                let key = CallKey { group: ANY_GROUP, operation, mode, flags: 0 };
                all.extend(self.rest(operation, mode).counted(key));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn call(bytes: u64, root: i32) -> CallFacts {
        let key = CallKey { group: 3, operation: Operation::Bcast, mode: Mode::NonBlocking, flags: DERIVED | IN_PLACE };
        CallFacts { key, bytes, root, passed: 0 }
    }

    fn add(table: &CounterTable, bytes: u64, root: i32) {
        table.add(&call(bytes, root), Duration::from_nanos(bytes + 1), None);
    }

    #[test]
    fn keys_read_back() {
        for operation in Operation::ALL {
            for mode in Mode::ALL {
                let key = CallKey { group: 65_000, operation, mode, flags: 31 };
                assert_eq!(CallKey::unpack(key.packed(true)), Some(key));
            }
        }
    }

    #[test]
    fn threads_count_every_call_once() {
        let table = CounterTable::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let table = &table;
                scope.spawn(move || (0..20_000u64).for_each(|turn| add(table, turn % 50, thread)));
            }
        });
        let counted = table.counted();
        assert_eq!(counted.len(), 50);
        assert!(counted.iter().all(|entry| entry.calls == 1600 && entry.bytes.0 == entry.bytes.1));
        assert!(counted.iter().all(|entry| entry.root.is_some_and(|(_, differ)| differ)));
        assert!(counted.iter().all(|entry| entry.time == 1600 * (entry.bytes.0 + 1) && entry.sampled == (0, 0, 0)));
    }

    #[test]
    fn more_sizes_than_room_share_entries_and_nothing_is_dropped() {
        let table = CounterTable::default();
        (0..2_000_000u64).step_by(7).for_each(|bytes| add(&table, bytes, 0));
        for group in 0..8_000 {
            let key = CallKey { group, operation: Operation::Reduce, mode: Mode::Blocking, flags: 0 };
            let call = CallFacts { key, ..call(8, NO_ROOT) };
            table.add(&call, Duration::from_nanos(9), Some(Duration::from_nanos(2)));
        }
        let counted = table.counted();
        let calls = |operation| -> u64 {
            counted.iter().filter(|entry| entry.operation == operation).map(|entry| entry.calls).sum()
        };
        assert_eq!((calls(Operation::Bcast), calls(Operation::Reduce)), (2_000_000u64.div_ceil(7), 8_000));
        let sum: u64 = counted.iter().filter(|entry| entry.group == 3).map(|entry| entry.sum).sum();
        assert_eq!(sum, (0..2_000_000).step_by(7).sum::<u64>() + 8);
        let rest = counted
            .iter()
            .find(|entry| entry.group == usize::from(ANY_GROUP))
            .expect("there is no room for all groups");
        assert_eq!((rest.bytes, rest.root, rest.sampled.1), ((8, 8), None, 2 * rest.calls));
        let wide = counted.iter().filter(|entry| entry.bytes.0 < entry.bytes.1);
        assert!(
            wide.clone().count() > 20 && wide.clone().all(|entry| entry.bytes.1 - entry.bytes.0 <= entry.bytes.0 / 8)
        );
    }
}
