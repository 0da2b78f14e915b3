//! Calls of a program, as plain data: `profile.json`.
//!
//! | module | job |
//! |---|---|
//! | here | the profile of a job |
//! | [`rank`] | the record of one rank, from which a profile is made |
//! | [`weight`] | time that programs spend in calls, as weights for tuning |

pub mod rank;
pub mod weight;

use collrules_rules::{Collective, Operation, names};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::file::FormatVersion;
use crate::placement::Nodes;
use crate::units::{Bytes, Ranks, Seconds};

/// The name of the file.
pub const FILE: &str = "profile.json";

/// Profile as a page.
pub const PAGE: &str = "profile.html";

/// The version of `profile.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

names! {
    /// Mode of a collective call.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Mode {
        /// The call returns when it is done. Rules act on these alone.
        Blocking "blocking",
        /// The call returns at once (`MPI_Ibcast`); the time is that of the call, without waiting for it.
        NonBlocking "non-blocking",
        /// The call makes a request that is started again and again (`MPI_Bcast_init`).
        Persistent "persistent",
    }
}

/// Calls of a program, on all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The words that started the job.
    pub command: Vec<String>,
    /// Name by which the program was started.
    pub program: String,
    /// Text of `MPI_Get_library_version`.
    pub library: String,
    /// When the job was started.
    pub started: String,
    /// The size of `MPI_COMM_WORLD`.
    pub ranks: Ranks,
    /// Number of its ranks on each node, in the order of the nodes' first ranks.
    pub nodes: Nodes,
    /// Time between the end of `MPI_Init` and the beginning of `MPI_Finalize`.
    pub wall: Spread,
    /// Ranks that left nothing.
    pub missing: Vec<u32>,
    /// The worlds that the program started by `MPI_Comm_spawn`. Their ranks are numbered after those of
    /// `MPI_COMM_WORLD`, and their calls count like all others.
    pub spawned: Vec<Spawned>,
    /// Number of processes that the program started by `MPI_Comm_spawn`.
    pub started_processes: u64,
    /// Ranks that did not reach `MPI_Finalize`; calls after their last record are missing.
    pub unfinished: Vec<u32>,
    /// The code that the launcher exited with.
    pub exit_code: Option<i32>,
    /// Interval, in calls of a communicator, between those with a barrier before them.
    pub imbalance: Option<u32>,
    /// The communicators of the collectives; those of equal size and layout are joined.
    pub communicators: Vec<Communicator>,
    /// The calls, by communicator, operation, mode and size.
    pub calls: Vec<Calls>,
    /// Messages from rank to rank.
    pub messages: Activity,
    /// Waiting for requests, and testing them.
    pub waiting: Activity,
}

/// A world of processes that a program started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spawned {
    /// The number that its first rank has in the profile.
    pub first: u32,
    /// The size of its `MPI_COMM_WORLD`.
    pub ranks: Ranks,
    /// Number of them that left a record.
    pub seen: u32,
}

/// A time on several ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of ranks.
    pub ranks: u32,
    /// The sum over the ranks.
    pub total: Seconds,
    /// The least of a rank.
    pub fastest: Seconds,
    /// The most of a rank.
    pub slowest: Seconds,
}

/// The most threads of a rank that call MPI at the same time.
const THREADS: f64 = 1024.0;

/// The longest time of a job: 30 years.
const LONGEST: f64 = 1e9;

impl Spread {
    /// Returns true if these are possible times of ranks.
    pub fn is_possible(&self) -> bool {
        let (total, fastest, slowest) = (self.total.0, self.fastest.0, self.slowest.0);
        let ranks = f64::from(self.ranks);
        // The sum has an error of rounding.
        (0.0..=slowest).contains(&fastest)
            && slowest <= LONGEST
            && (0.0..=slowest * ranks * (1.0 + 1e-6) + 1e-9).contains(&total)
    }

    /// Adds a rank.
    pub fn add(&mut self, time: Seconds) {
        self.fastest = if self.ranks == 0 { time } else { Seconds(self.fastest.0.min(time.0)) };
        self.slowest = Seconds(self.slowest.0.max(time.0));
        self.total.0 += time.0;
        self.ranks += 1;
    }

    /// The mean over its ranks.
    pub fn mean(&self) -> Seconds {
        Seconds(if self.ranks == 0 { 0.0 } else { self.total.0 / f64::from(self.ranks) })
    }
}

/// Communicators of a size and a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    /// Their size; 0 if it was not recorded.
    pub ranks: Ranks,
    /// Their ranks on each node; empty if unknown.
    pub nodes: Nodes,
    /// True if they are intercommunicators: rules don't act on these.
    pub between_groups: bool,
    /// The groups of processes of these communicators.
    pub groups: Vec<CommunicatorGroup>,
    /// Operations of which all ranks passed the same counts and datatypes in every blocking call.
    pub agree: Vec<Operation>,
    /// Operations of which some ranks passed other counts or datatypes; those in neither list are unknown.
    pub disagree: Vec<Operation>,
}

/// Members of communicators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicatorGroup {
    /// The name of the first communicator, if it has one.
    pub name: String,
    /// Number of communicators of these members.
    pub communicators: u64,
    /// The members as ranks in `MPI_COMM_WORLD`: first, step, count; missing if unknown.
    pub ranks: Option<Vec<(u32, u32, u32)>>,
}

/// Calls on communicators of a size and a layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The place of the communicator.
    pub communicator: usize,
    /// The operation.
    pub operation: Operation,
    /// Mode of the calls.
    pub mode: Mode,
    /// The message bytes of a call, as cells have them; the smallest if several sizes share an entry.
    pub bytes: Bytes,
    /// The largest; missing if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Bytes>,
    /// The message bytes of all calls of all ranks.
    pub sum: u64,
    /// Calls of all ranks. A call of a communicator is one of each of its ranks.
    pub rank_calls: u64,
    /// Of these, calls with the send buffer in place of the receive buffer or the other way round.
    pub in_place: u64,
    /// Of these, calls with an operation that does not commute.
    pub not_commutative: u64,
    /// Of these, calls with a datatype that is not predefined.
    pub derived: u64,
    /// Of these, calls with unequal counts for the ranks.
    pub unequal: u64,
    /// Of these, calls in which ignored arguments differ from those that MPI uses.
    pub ignored_differ: u64,
    /// True if all calls had the same root; missing without a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_root: Option<bool>,
    /// The time in them on the ranks that called.
    pub time: Spread,
    /// The longest call.
    pub longest: Seconds,
    /// Calls whose time all ranks recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// Times of the calls that had a barrier before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
    /// For some calls that had a barrier before them, the time of each rank's arrival after that of the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Vec<Seconds>>,
}

/// Calls whose time all ranks of the communicator recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Each {
    /// Number of calls.
    pub calls: u64,
    /// The sum over them of the time on the rank that was slowest in each.
    pub slowest: Seconds,
    /// The sum over them of the mean over the ranks.
    pub mean: Seconds,
}

/// Calls that the profiler timed after a barrier, summed over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Number of calls, of all ranks.
    pub rank_calls: u64,
    /// The time in the barrier: waiting for late ranks.
    pub waiting: Seconds,
    /// The time in the call itself.
    pub own: Seconds,
}

impl Sampled {
    /// The share of the call itself in the sum of both.
    pub fn share(&self) -> Option<f64> {
        let both = self.waiting.0 + self.own.0;
        (both > 0.0).then(|| self.own.0 / both)
    }
}

/// Number and time of calls that are no collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Calls of all ranks.
    pub rank_calls: u64,
    /// The time in them.
    pub time: Spread,
}

impl Calls {
    /// An entry in which no call has been counted yet.
    pub fn none(communicator: usize, operation: Operation, mode: Mode, bytes: Bytes) -> Self {
        Self {
            communicator,
            operation,
            mode,
            bytes,
            up_to: None,
            sum: 0,
            rank_calls: 0,
            in_place: 0,
            not_commutative: 0,
            derived: 0,
            unequal: 0,
            ignored_differ: 0,
            same_root: None,
            time: Spread::default(),
            longest: Seconds(0.0),
            each: None,
            sampled: None,
            arrivals: Vec::new(),
        }
    }

    /// The sum over all calls of the time on the slowest rank, estimated from recorded calls; otherwise the time of the
    /// rank with the largest sum.
    pub fn slowest(&self) -> Seconds {
        let kept = self.each.filter(|each| each.mean.0 > 0.0);
        kept.map_or(self.time.slowest, |each| Seconds(self.time.mean().0 * each.slowest.0 / each.mean.0))
    }

    /// The mean of the message bytes.
    pub fn mean_bytes(&self) -> Bytes {
        Bytes(self.sum.checked_div(self.rank_calls).unwrap_or(self.bytes.0))
    }

    /// Number of calls of a communicator: those of all ranks divided by its size.
    pub fn calls(&self, communicator: &Communicator) -> f64 {
        self.rank_calls as f64 / f64::from(communicator.ranks.0.max(1))
    }
}

impl Profile {
    /// Returns true if all ranks left a complete record.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unfinished.is_empty()
    }

    /// Converts a time summed over all ranks to wall time, as if it were spread evenly.
    pub fn wall_of(&self, total: Seconds) -> Seconds {
        Seconds(total.0 / f64::from(self.wall.ranks.max(1)))
    }

    /// The communicator of calls.
    pub fn communicator(&self, calls: &Calls) -> &Communicator {
        &self.communicators[calls.communicator]
    }

    /// The cell of calls, if rules can act on them: tunable, blocking, on a communicator of several ranks.
    pub fn cell(&self, calls: &Calls) -> Option<Cell> {
        let communicator = self.communicator(calls);
        let collective = Collective::from_operation(calls.operation)?;
        let acts = calls.mode == Mode::Blocking && !communicator.between_groups && communicator.ranks.0 > 1;
        let bytes = if collective.has_sizes() { calls.mean_bytes() } else { Bytes(0) };
        acts.then_some(Cell { collective, ranks: communicator.ranks, bytes })
    }

    /// Returns true if all references between parts of the profile are valid, and its times are possible.
    pub fn is_consistent(&self) -> bool {
        let times = [self.wall, self.messages.time, self.waiting.time];
        // Threads call side by side, and a call may go on while the record is written.
        let most = THREADS * self.wall.slowest.0 + 1.0;
        let arrive = |calls: &Calls, ranks: Ranks| {
            let is_possible = |time: &Seconds| (0.0..=most).contains(&time.0);
            calls.arrivals.iter().all(|call| call.len() == ranks.0 as usize && call.iter().all(is_possible))
        };
        let fits = |calls: &Calls| {
            let counts = [calls.in_place, calls.not_commutative, calls.derived, calls.unequal, calls.ignored_differ];
            self.communicators.get(calls.communicator).is_some_and(|communicator| arrive(calls, communicator.ranks))
                && calls.time.is_possible()
                && calls.time.slowest.0 <= most
                && (0.0..=most).contains(&calls.longest.0)
                && counts.iter().all(|count| *count <= calls.rank_calls)
        };
        times.iter().all(Spread::is_possible) && self.calls.iter().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_knows_its_ranks() {
        let mut spread = Spread::default();
        assert_eq!(spread.mean(), Seconds(0.0));
        [3.0, 1.0, 2.0].into_iter().for_each(|time| spread.add(Seconds(time)));
        assert_eq!((spread.ranks, spread.mean()), (3, Seconds(2.0)));
        assert_eq!((spread.fastest, spread.slowest), (Seconds(1.0), Seconds(3.0)));
    }
}
