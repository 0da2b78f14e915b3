//! What a program calls, as plain data: `profile.json`.
//!
//! | module | job |
//! |---|---|
//! | here | the profile of a job |
//! | [`rank`] | what one rank leaves behind, of which a profile is made |
//! | [`sizes`] | message sizes in steps finer than powers of two |
//! | [`weight`] | what programs spend in calls, as weights for tuning |
//! | [`prospect`] | what a program could gain |

pub mod prospect;
pub mod rank;
pub mod sizes;
pub mod weight;

use collrules_rules::{Collective, Operation, names};
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::format::FormatVersion;
use crate::placement::Nodes;
use crate::units::{Bytes, Ranks, Seconds};

/// The name of the file.
pub const FILE: &str = "profile.json";

/// The same as a page.
pub const PAGE: &str = "profile.html";

/// The version of `profile.json` that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// How a collective was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The call returns when it is done. Rules act on these alone.
    Blocking,
    /// The call returns at once (`MPI_Ibcast`); the time is that of the call, without waiting for it.
    NonBlocking,
    /// The call makes a request to be started again and again (`MPI_Bcast_init`).
    Persistent,
}

names!(Mode {
    Blocking "blocking",
    NonBlocking "non-blocking",
    Persistent "persistent",
});

/// What a program called, on all ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The words that started the job.
    pub command: Vec<String>,
    /// What the program calls itself.
    pub program: String,
    /// What `MPI_Get_library_version` says.
    pub library: String,
    /// When the job was started.
    pub started: String,
    /// The size of `MPI_COMM_WORLD`.
    pub ranks: Ranks,
    /// How many of its ranks each node had, in the order of the nodes' first ranks.
    pub nodes: Nodes,
    /// Time between the end of `MPI_Init` and the beginning of `MPI_Finalize`.
    pub wall: Spread,
    /// Ranks that left nothing.
    pub missing: Vec<u32>,
    /// Ranks that did not reach `MPI_Finalize`: what they did since they last wrote is not known.
    pub unfinished: Vec<u32>,
    /// The code that the launcher exited with.
    pub exit_code: Option<i32>,
    /// Every n-th call of a communicator had a barrier before it.
    pub imbalance: Option<u32>,
    /// The communicators that collectives were called on: those of equal size and layout are one.
    pub communicators: Vec<Communicator>,
    /// The calls, by communicator, operation, mode and size.
    pub calls: Vec<Calls>,
    /// Messages from rank to rank.
    pub messages: Activity,
    /// Waiting for requests, and looking after them.
    pub waiting: Activity,
}

/// A time on several ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many ranks.
    pub ranks: u32,
    /// The sum over the ranks.
    pub total: Seconds,
    /// The least of a rank.
    pub fastest: Seconds,
    /// The most of a rank.
    pub slowest: Seconds,
}

impl Spread {
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
    /// Their size; 0 where that was not kept.
    pub ranks: Ranks,
    /// Their ranks on each node; empty where that is not known.
    pub nodes: Nodes,
    /// Whether they are between two groups: rules don't act on these.
    pub between_groups: bool,
    /// Those of the program, by their members.
    pub groups: Vec<Group>,
    /// Operations of which all ranks passed the same counts and datatypes in every blocking call.
    pub agree: Vec<Operation>,
    /// Operations of which some ranks passed other counts or datatypes; what is in neither list is not known.
    pub disagree: Vec<Operation>,
}

/// Members of communicators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The name of the first communicator, where it has one.
    pub name: String,
    /// How many communicators were made of it.
    pub communicators: u64,
    /// The members as ranks in `MPI_COMM_WORLD`: first, step, count; missing where they are not known.
    pub ranks: Option<Vec<(u32, u32, u32)>>,
}

/// Calls on communicators of a size and a layout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// The place of the communicator.
    pub communicator: usize,
    /// The operation.
    pub operation: Operation,
    /// How it was called.
    pub mode: Mode,
    /// The message bytes of a call, as cells have them; the smallest, where several sizes share an entry.
    pub bytes: Bytes,
    /// The largest; missing where it is the same.
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
    /// Of these, calls with other values in arguments that MPI ignores than in those that it looks at.
    pub ignored_differ: u64,
    /// Whether all calls had the same root; missing without a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_root: Option<bool>,
    /// The time in them on the ranks that called.
    pub time: Spread,
    /// The longest call.
    pub longest: Seconds,
    /// Calls of which all ranks kept the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// What calls with a barrier before them showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<Sampled>,
}

/// Calls of which all ranks of the communicator kept the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Each {
    /// How many.
    pub calls: u64,
    /// The sum over them of the time on the rank that was slowest in each.
    pub slowest: Seconds,
    /// The sum over them of the mean over the ranks.
    pub mean: Seconds,
}

/// Calls with a barrier before them, on all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// How many.
    pub rank_calls: u64,
    /// The time in the barrier: waiting for late ranks.
    pub waiting: Seconds,
    /// The time in the call itself.
    pub own: Seconds,
}

impl Sampled {
    /// The share of the call itself in both.
    pub fn share(&self) -> Option<f64> {
        let both = self.waiting.0 + self.own.0;
        (both > 0.0).then(|| self.own.0 / both)
    }
}

/// How often something was done, and for how long.
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
        }
    }

    /// The time in all calls on the rank that was slowest in each, as far as times were kept; else that of the rank with the
    /// largest sum.
    pub fn slowest(&self) -> Seconds {
        let kept = self.each.filter(|each| each.mean.0 > 0.0);
        kept.map_or(self.time.slowest, |each| Seconds(self.time.mean().0 * each.slowest.0 / each.mean.0))
    }

    /// The mean of the message bytes.
    pub fn mean_bytes(&self) -> Bytes {
        Bytes(self.sum.checked_div(self.rank_calls).unwrap_or(self.bytes.0))
    }

    /// Calls of a communicator: those of all ranks by its size.
    pub fn calls(&self, communicator: &Communicator) -> f64 {
        self.rank_calls as f64 / f64::from(communicator.ranks.0.max(1))
    }
}

impl Profile {
    /// Whether all ranks left all that they did.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.unfinished.is_empty()
    }

    /// What a time of all ranks is by the clock on the wall, were it spread evenly.
    pub fn wall_of(&self, total: Seconds) -> Seconds {
        Seconds(total.0 / f64::from(self.wall.ranks.max(1)))
    }

    /// The communicator of calls.
    pub fn communicator(&self, calls: &Calls) -> &Communicator {
        &self.communicators[calls.communicator]
    }

    /// The cell of calls, where rules can act on them: tunable, blocking, on a communicator of several ranks.
    pub fn cell(&self, calls: &Calls) -> Option<Cell> {
        let communicator = self.communicator(calls);
        let collective = Collective::of(calls.operation)?;
        let acts = calls.mode == Mode::Blocking && !communicator.between_groups && communicator.ranks.0 > 1;
        let bytes = if collective.has_sizes() { calls.mean_bytes() } else { Bytes(0) };
        acts.then_some(Cell { collective, ranks: communicator.ranks, bytes })
    }

    /// Whether every place that one part of the profile names in another is there.
    pub fn is_consistent(&self) -> bool {
        self.calls.iter().all(|calls| calls.communicator < self.communicators.len())
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
