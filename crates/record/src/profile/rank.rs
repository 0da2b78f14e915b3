//! What the profiling library saw on one rank: a file per rank, written anew from time to time and merged later.
//!
//! A file per rank, and no reduction in `MPI_Finalize`: it outlives a program that aborts, is killed or never finalizes,
//! and adds no communication to the program.

use collrules_rules::Operation;
use serde::{Deserialize, Serialize};

use super::Mode;
use crate::format::FormatVersion;

/// The version of the file that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The variable that names the directory of the files.
pub const DIRECTORY: &str = "COLLRULES_PROFILE_DIR";

/// The variable that asks for a barrier before every n-th call of a communicator.
pub const IMBALANCE: &str = "COLLRULES_PROFILE_IMBALANCE";

/// The ending of the files.
pub const ENDING: &str = "rank.json";

/// The ending of the note that a process of another MPI leaves.
pub const FOREIGN: &str = "foreign";

/// What one rank did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankRecord {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The program's name for itself.
    pub program: String,
    /// What `MPI_Get_library_version` says.
    pub library: String,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The size of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// What the host calls itself.
    pub host: String,
    /// Whether the program reached `MPI_Finalize`.
    pub finalized: bool,
    /// Nanoseconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`, or to the time of writing.
    pub wall: u64,
    /// Every n-th call of a communicator had a barrier before it.
    pub imbalance: Option<u32>,
    /// The groups of processes that communicators of this rank were made of.
    pub groups: Vec<Group>,
    /// Calls, by group, operation, mode, size and what the calls had in common.
    pub calls: Vec<RankCalls>,
    /// The times of some calls, the same ones on all ranks.
    #[serde(default)]
    pub kept: Kept,
    /// Messages from rank to rank.
    pub messages: Activity,
    /// Waiting for requests, and looking after them.
    pub waiting: Activity,
}

/// Blocking calls of which the time was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Every n-th call of a group, from its first one on, as far as there was room.
    pub every: u32,
    /// The calls.
    pub calls: Vec<KeptCall>,
}

/// A call of which the time was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "KeptWords", from = "KeptWords")]
pub struct KeptCall {
    /// The place of the group.
    pub group: usize,
    /// The blocking calls of the group before it.
    pub turn: u32,
    /// The operation.
    pub operation: Operation,
    /// The message bytes.
    pub bytes: u64,
    /// Nanoseconds in it.
    pub time: u64,
}

/// The same without names, since there are a thousand of them.
type KeptWords = (usize, u32, Operation, u64, u64);

impl From<KeptCall> for KeptWords {
    fn from(call: KeptCall) -> Self {
        (call.group, call.turn, call.operation, call.bytes, call.time)
    }
}

impl From<KeptWords> for KeptCall {
    fn from((group, turn, operation, bytes, time): KeptWords) -> Self {
        Self { group, turn, operation, bytes, time }
    }
}

/// Processes in an order, of which communicators were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Tells groups of other processes, or of another order, apart; the same on all ranks. 0 where groups were too many
    /// to be told apart.
    pub members: u64,
    /// How many processes there are; 0 where that was not kept either.
    pub size: u32,
    /// Whether the communicator was one between two groups.
    pub between_groups: bool,
    /// The name of the first communicator, where the program or MPI gave it one.
    pub name: String,
    /// How many communicators were made of it.
    pub communicators: u64,
    /// The members as ranks in `MPI_COMM_WORLD`: first, step, count. Its first process alone writes them down.
    pub ranks: Option<Vec<(u32, u32, u32)>>,
    /// What calls of an operation passed, mixed over the calls in their order: the same on two ranks that passed the same.
    pub passed: Vec<(Operation, u64)>,
}

/// Calls that had much in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankCalls {
    /// The place of the group.
    pub group: usize,
    /// The operation.
    pub operation: Operation,
    /// How it was called.
    pub mode: Mode,
    /// The smallest and the largest message bytes that belong here; the same where sizes are told apart.
    pub bytes: (u64, u64),
    /// Whether the send buffer was the receive buffer.
    pub in_place: bool,
    /// Whether the reduction operation commutes.
    pub commutative: bool,
    /// Whether a datatype was not a predefined one.
    pub derived: bool,
    /// Whether the counts for the ranks differed.
    pub unequal: bool,
    /// Whether arguments of scatter or gather that MPI ignores differed from those that it looks at.
    pub ignored_differ: bool,
    /// How many calls.
    pub calls: u64,
    /// Nanoseconds in them.
    pub time: u64,
    /// Nanoseconds in the longest.
    pub longest: u64,
    /// The message bytes of all calls.
    pub sum: u64,
    /// The root of the first call, and whether a later call had another.
    pub root: Option<(i32, bool)>,
    /// Of calls with a barrier before them: how many, nanoseconds in the barrier, nanoseconds in the call.
    pub sampled: (u64, u64, u64),
}

/// How often something was done, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// How often.
    pub calls: u64,
    /// For how many nanoseconds.
    pub time: u64,
}
