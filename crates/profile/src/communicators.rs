//! Communicators of this rank. A call finds its communicator in a cache of 1024 places, or by the number that is stored
//! with the communicator as an attribute; MPI reports when a communicator is freed. A live communicator takes 208
//! bytes, and at most 4096 groups of processes are distinguished.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use collrules_record::profile::rank::ProcessGroup;
use collrules_rules::Operation;

/// Places of the cache.
const CACHE: usize = 1024;

/// Cache places that are tried for a communicator.
const PROBES: usize = 8;

/// Communicators in a piece of the arena.
const PIECE: usize = 256;

/// Maximum number of pieces. Open MPI itself numbers communicators with 16 bits.
const PIECES: usize = 256;

/// Groups that are distinguished by their members; as many more are distinguished by their size.
const GROUPS: usize = 2048;

/// Operations.
const OPERATIONS: usize = Operation::ALL.len();

/// A live communicator.
#[derive(Default)]
pub struct LiveCommunicator {
    handle: AtomicU64,
    group: AtomicU32,
    size: AtomicU32,
    rank: AtomicI32,
    between_groups: AtomicBool,
    /// Blocking collectives so far, without barriers: the same on all ranks.
    turns: AtomicU32,
    passed: [AtomicU64; OPERATIONS],
}

impl LiveCommunicator {
    /// The place of its group.
    pub fn group(&self) -> u16 {
        self.group.load(Relaxed) as u16
    }

    /// Its size.
    pub fn size(&self) -> u32 {
        self.size.load(Relaxed)
    }

    /// The rank of this process.
    pub fn rank(&self) -> i32 {
        self.rank.load(Relaxed)
    }

    /// Returns true if it is an intercommunicator.
    pub fn is_between_groups(&self) -> bool {
        self.between_groups.load(Relaxed)
    }

    /// Counts a call, and returns true for every n-th one. MPI demands that all ranks of a communicator make its calls
    /// in the same order, so that all get the same result.
    pub fn takes_turn(&self, every: u32) -> bool {
        self.turns.fetch_add(1, Relaxed) % every == every - 1
    }

    /// Adds the arguments of a call to the hash of earlier ones. MPI forbids two threads in collectives of one
    /// communicator at once.
    pub fn pass(&self, operation: Operation, what: u64) {
        let passed = &self.passed[operation.id() as usize];
        let before = passed.load(Relaxed);
        passed.store((before.rotate_left(5) ^ what).wrapping_mul(0x517C_C1B7_2722_0A95).wrapping_add(1), Relaxed);
    }
}

/// Description of a communicator by MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its size.
    pub size: u32,
    /// The rank of this process.
    pub rank: i32,
    /// True if it is an intercommunicator.
    pub between_groups: bool,
    /// Its name.
    pub name: String,
    /// Its members as ranks in `MPI_COMM_WORLD`.
    pub members: Vec<i32>,
}

impl Described {
    fn fingerprint(&self) -> u64 {
        // FNV-1a, 64 bits.
        let bytes = self.members.iter().flat_map(|rank| rank.to_le_bytes()).chain([u8::from(self.between_groups)]);
        let hash = bytes
            .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
        hash.max(1)
    }

    fn group(&self, exactly: bool) -> ProcessGroup {
        ProcessGroup {
            members: if exactly { self.fingerprint() } else { 0 },
            size: self.size,
            between_groups: self.between_groups,
            name: if exactly { self.name.clone() } else { String::new() },
            communicators: 0,
            ranks: if exactly && self.rank == 0 { runs(&self.members) } else { None },
            passed: Vec::new(),
        }
    }
}

/// Numbers as first, step and count of runs; none if there would be many runs.
fn runs(numbers: &[i32]) -> Option<Vec<(u32, u32, u32)>> {
    const MOST: usize = 1024;
    let mut runs: Vec<(u32, u32, u32)> = Vec::new();
    for number in numbers {
        let number = u32::try_from(*number).ok()?;
        if let Some((first, step, count)) = runs.last_mut() {
            if *count == 1 && number > *first {
                *step = number - *first;
            }
            if *step > 0 && u64::from(*first) + u64::from(*step) * u64::from(*count) == u64::from(number) {
                *count += 1;
                continue;
            }
        }
        runs.push((number, 0, 1));
    }
    // A run of one has no step.
    runs.iter_mut().filter(|run| run.2 == 1).for_each(|run| run.1 = 0);
    (runs.len() <= MOST).then_some(runs)
}

#[derive(Default)]
struct Books {
    free: Vec<u16>,
    next: usize,
    groups: Vec<(ProcessGroup, [u64; OPERATIONS])>,
}

impl Books {
    /// The place of a group: one for its members, for its size, or for all that remain.
    fn group(&mut self, described: &Described) -> u16 {
        for (exactly, most) in [(true, GROUPS), (false, 2 * GROUPS)] {
            let group = described.group(exactly);
            let alike = |known: &ProcessGroup| {
                (known.members, known.size, known.between_groups) == (group.members, group.size, group.between_groups)
            };
            let place = self.groups.iter().position(|(known, _)| alike(known));
            if place.is_none() && self.groups.len() >= most {
                continue;
            }
            let place = place.unwrap_or_else(|| {
                self.groups.push((group, [0; OPERATIONS]));
                self.groups.len() - 1
            });
            self.groups[place].0.communicators += 1;
            return place as u16;
        }
        crate::table::ANY_GROUP
    }

    fn fold(&mut self, known: &LiveCommunicator) {
        let group = usize::from(known.group());
        let Some((_, sums)) = self.groups.get_mut(group) else { return };
        for (sum, passed) in sums.iter_mut().zip(&known.passed) {
            // The order of communicators differs between ranks, a sum does not.
            *sum = sum.wrapping_add(passed.load(Relaxed));
        }
    }
}

/// All communicators of this rank.
pub struct CommunicatorTable {
    /// A handle and, in the last 16 bits, its number; 0 if there is none.
    cache: Box<[AtomicU64]>,
    arena: Box<[OnceLock<Box<[LiveCommunicator]>>]>,
    books: Mutex<Books>,
    /// Blocking collectives so far of groups that are distinguished by their members.
    turns: Box<[AtomicU32]>,
    /// Those of them that had a barrier before them.
    sampled_turns: Box<[AtomicU32]>,
}

impl Default for CommunicatorTable {
    fn default() -> Self {
        Self {
            cache: (0..CACHE).map(|_| AtomicU64::new(0)).collect(),
            arena: (0..PIECES).map(|_| OnceLock::new()).collect(),
            books: Mutex::default(),
            turns: (0..GROUPS).map(|_| AtomicU32::new(0)).collect(),
            sampled_turns: (0..GROUPS).map(|_| AtomicU32::new(0)).collect(),
        }
    }
}

impl CommunicatorTable {
    /// The number of blocking collectives before this one on all communicators of the same group; none if its members
    /// are unknown, or the call is between two groups.
    pub fn turn(&self, known: &LiveCommunicator) -> Option<u32> {
        take_turn(&self.turns, known)
    }

    /// The number of such collectives with a barrier before them.
    pub fn sampled_turn(&self, known: &LiveCommunicator) -> Option<u32> {
        take_turn(&self.sampled_turns, known)
    }

    /// A communicator that was looked for before.
    pub fn find(&self, handle: u64) -> Option<&LiveCommunicator> {
        let words = places(handle).map(|place| self.cache[place].load(Relaxed));
        let mut words = words.filter(|word| word >> 16 == handle);
        words.next().map(|word| self.known(word as u16))
    }

    /// The communicator with this number.
    fn known(&self, number: u16) -> &LiveCommunicator {
        let number = usize::from(number);
        let piece =
            self.arena[number / PIECE].get_or_init(|| (0..PIECE).map(|_| LiveCommunicator::default()).collect());
        &piece[number % PIECE]
    }

    /// A communicator that is known by its number.
    pub fn numbered(&self, handle: u64, number: u16) -> &LiveCommunicator {
        self.remember(handle, number);
        self.known(number)
    }

    /// A new communicator, with the number to store with it; none if all numbers are in use.
    pub fn admit(&self, handle: u64, described: &Described) -> Option<(u16, &LiveCommunicator)> {
        let mut books = self.books.lock().ok()?;
        let number = match books.free.pop() {
            Some(number) => number,
            None if books.next < PIECE * PIECES => {
                books.next += 1;
                (books.next - 1) as u16
            }
            None => return None,
        };
        let known = self.known(number);
        known.group.store(u32::from(books.group(described)), Relaxed);
        known.size.store(described.size, Relaxed);
        known.rank.store(described.rank, Relaxed);
        known.between_groups.store(described.between_groups, Relaxed);
        known.turns.store(0, Relaxed);
        known.passed.iter().for_each(|passed| passed.store(0, Relaxed));
        known.handle.store(handle, Relaxed);
        drop(books);
        self.remember(handle, number);
        Some((number, known))
    }

    fn remember(&self, handle: u64, number: u16) {
        if handle >> 48 != 0 {
            return;
        }
        let word = handle << 16 | u64::from(number);
        let empty = places(handle)
            .find(|place| matches!(self.cache[*place].load(Relaxed), found if found == 0 || found == word));
        if let Some(place) = empty.or_else(|| places(handle).next()) {
            self.cache[place].store(word, Relaxed);
        }
    }

    /// Removes a communicator that MPI frees.
    pub fn forget(&self, number: u16) {
        let Ok(mut books) = self.books.lock() else { return };
        let known = self.known(number);
        let handle = known.handle.swap(0, Relaxed);
        if handle == 0 {
            return;
        }
        for place in places(handle) {
            let word = handle << 16 | u64::from(number);
            let _ = self.cache[place].compare_exchange(word, 0, Relaxed, Relaxed);
        }
        books.fold(known);
        books.free.push(number);
    }

    /// All groups so far.
    pub fn groups(&self) -> Vec<ProcessGroup> {
        let Ok(books) = self.books.lock() else { return Vec::new() };
        let mut all = Books { groups: books.groups.clone(), ..Books::default() };
        let live = (0..books.next).map(|number| self.known(number as u16));
        live.filter(|known| known.handle.load(Relaxed) != 0).for_each(|known| all.fold(known));
        let group = |(mut group, sums): (ProcessGroup, [u64; OPERATIONS])| {
            let passed = Operation::ALL.into_iter().zip(sums);
            group.passed = passed.filter(|(_, sum)| *sum != 0).collect();
            group
        };
        all.groups.into_iter().map(group).collect()
    }
}

fn take_turn(turns: &[AtomicU32], known: &LiveCommunicator) -> Option<u32> {
    let turns = turns.get(usize::from(known.group())).filter(|_| !known.is_between_groups())?;
    Some(turns.fetch_add(1, Relaxed))
}

fn places(handle: u64) -> impl Iterator<Item = usize> {
    let start = (handle.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize;
    (0..PROBES).map(move |step| (start + step) % CACHE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(rank: i32, members: &[i32]) -> Described {
        let size = members.len() as u32;
        Described { size, rank, between_groups: false, name: "some".to_owned(), members: members.to_vec() }
    }

    #[test]
    fn ranks_are_written_as_runs() {
        assert_eq!(runs(&[0, 1, 2, 3]), Some(vec![(0, 1, 4)]));
        assert_eq!(runs(&[1, 5, 9, 2, 3, 3]), Some(vec![(1, 4, 3), (2, 1, 2), (3, 0, 1)]));
        assert_eq!(runs(&[7]), Some(vec![(7, 0, 1)]));
        assert_eq!(runs(&[]), Some(Vec::new()));
        assert_eq!(runs(&[3, -32766]), None);
    }

    #[test]
    fn handles_are_found_until_they_are_freed_and_may_come_again() {
        let all = CommunicatorTable::default();
        for round in 0..3 {
            for handle in 1..3000u64 {
                let (number, known) = all.admit(handle * 64, &described(0, &[0, handle as i32])).expect("room");
                known.pass(Operation::Bcast, handle);
                assert!(std::ptr::eq(all.find(handle * 64).expect("just seen"), known));
                all.forget(number);
                assert!(all.find(handle * 64).is_none(), "{handle} in round {round}");
            }
        }
        let groups = all.groups();
        // 2048 groups by their members, all others by their size.
        assert_eq!(groups.len(), GROUPS + 1);
        assert!(groups[..GROUPS].iter().all(|group| group.communicators == 3 && group.passed.len() == 1));
        assert_eq!((groups[GROUPS].members, groups[GROUPS].communicators), (0, 3 * (2999 - GROUPS as u64)));
    }

    #[test]
    fn ranks_that_pass_the_same_agree_whatever_the_order_of_communicators() {
        let rank = |rank: i32, order: [u64; 2], bytes: [u64; 2]| {
            let all = CommunicatorTable::default();
            for handle in order {
                let (_, known) = all.admit(handle, &described(rank, &[0, 1])).expect("room");
                bytes.into_iter().for_each(|bytes| known.pass(Operation::Bcast, bytes * handle));
            }
            all.groups()[0].passed.clone()
        };
        assert_eq!(rank(0, [64, 128], [8, 16]), rank(1, [128, 64], [8, 16]));
        assert_ne!(rank(0, [64, 128], [8, 16]), rank(1, [64, 128], [16, 8]));
    }

    #[test]
    fn only_the_first_of_a_group_writes_down_who_is_in_it() {
        assert_eq!(described(0, &[4, 6]).group(true).ranks, Some(vec![(4, 2, 2)]));
        assert_eq!(described(1, &[4, 6]).group(true).ranks, None);
    }

    #[test]
    fn every_third_call_is_chosen() {
        let known = LiveCommunicator::default();
        let turns: Vec<bool> = (0..6).map(|_| known.takes_turn(3)).collect();
        assert_eq!(turns, [false, false, true, false, false, true]);
    }
}
