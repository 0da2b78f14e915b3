//! Record of the profiling library on one rank: a file per rank, rewritten from time to time and merged later.
//!
//! Files instead of a reduction in `MPI_Finalize`: they outlive a program that aborts, is killed or never finalizes,
//! and add no communication to the program.

use collrules_rules::Operation;
use serde::{Deserialize, Serialize};

use super::Mode;
use crate::file::FormatVersion;
use crate::plan::MOST_RANKS;

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

/// The ending of the note that a process leaves that begins an MPI session.
pub const SESSION: &str = "session";

/// Calls of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankRecord {
    /// The format of this structure.
    pub format: FormatVersion,
    /// The program's name, as it sees it.
    pub program: String,
    /// Text of `MPI_Get_library_version`.
    pub library: String,
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The size of `MPI_COMM_WORLD`.
    pub ranks: u32,
    /// The job of the rank: that of mpirun, or one of spawned processes.
    pub job: String,
    /// True if a program started it with `MPI_Comm_spawn`.
    pub spawned: bool,
    /// Number of processes it started, as the root of `MPI_Comm_spawn`.
    pub started: u64,
    /// Name of the host, as MPI returns it.
    pub host: String,
    /// True if the program reached `MPI_Finalize`.
    pub finalized: bool,
    /// Nanoseconds from the end of `MPI_Init` to the beginning of `MPI_Finalize`, or to the time of writing.
    pub wall: u64,
    /// Interval, in calls of a communicator, between those with a barrier before them.
    pub imbalance: Option<u32>,
    /// The groups of processes of this rank's communicators.
    pub groups: Vec<ProcessGroup>,
    /// Calls, by group, operation, mode, size and flags.
    pub calls: Vec<RankCalls>,
    /// The times of some calls, the same ones on all ranks.
    pub kept: KeptCalls,
    /// The times in the barriers before some calls, the same ones on all ranks.
    pub waits: KeptCalls,
    /// Messages from rank to rank.
    pub messages: RankActivity,
    /// Waiting for requests, and testing them.
    pub waiting: RankActivity,
}

impl RankRecord {
    /// Adds its calls, nanoseconds and bytes to those of other ranks. Fails if the sums are impossible, or it names ranks
    /// that a job cannot have.
    pub fn add_to(&self, totals: [u64; 3]) -> Result<[u64; 3], String> {
        let last = |(first, step, count): &(u32, u32, u32)| {
            u64::from(*first) + u64::from(*step) * u64::from(count.saturating_sub(1))
        };
        let is_possible = |runs: &Vec<(u32, u32, u32)>| {
            let members: u64 = runs.iter().map(|(.., count)| u64::from(*count)).sum();
            members <= u64::from(self.ranks) && runs.iter().all(|run| last(run) < u64::from(self.ranks))
        };
        let groups = || self.groups.iter().filter_map(|group| group.ranks.as_ref());
        if self.rank >= self.ranks || self.ranks > MOST_RANKS || !groups().all(is_possible) {
            return Err(format!("it names ranks that a job of {} ranks cannot have", self.ranks));
        }
        let calls = self.calls.iter().flat_map(|of| [[of.calls, of.time, of.sum], [of.sampled.0, 0, 0]]);
        let kept = self.kept.calls.iter().map(|of| [1, of.time, 0]);
        let activity = [self.messages, self.waiting].map(|of| [of.calls, 0, 0]);
        let mut all = calls.chain(kept).chain(activity);
        let add = |[calls, time, bytes]: [u64; 3], more: [u64; 3]| {
            Some([calls.checked_add(more[0])?, time.checked_add(more[1])?, bytes.checked_add(more[2])?])
        };
        all.try_fold(totals, add).ok_or_else(|| "it has impossible numbers of calls, times or bytes".to_owned())
    }
}

/// Blocking calls whose time was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptCalls {
    /// Interval between recorded calls of a group, from its first one on, as far as there was room.
    pub every: u32,
    /// The calls.
    pub calls: Vec<KeptCall>,
}

/// A call whose time was recorded; in files without the names of its fields, since one has a thousand of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(usize, u32, Operation, u64, u64)", from = "(usize, u32, Operation, u64, u64)")]
pub struct KeptCall {
    /// The place of the group.
    pub group: usize,
    /// The number of blocking calls of the group before it.
    pub turn: u32,
    /// The operation.
    pub operation: Operation,
    /// The message bytes.
    pub bytes: u64,
    /// Nanoseconds in it, or in the barrier before it.
    pub time: u64,
}

impl From<KeptCall> for (usize, u32, Operation, u64, u64) {
    fn from(call: KeptCall) -> Self {
        (call.group, call.turn, call.operation, call.bytes, call.time)
    }
}

impl From<(usize, u32, Operation, u64, u64)> for KeptCall {
    fn from((group, turn, operation, bytes, time): (usize, u32, Operation, u64, u64)) -> Self {
        Self { group, turn, operation, bytes, time }
    }
}

/// An ordered group of processes from which communicators were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessGroup {
    /// Hash of the members and their order, the same on all ranks; 0 if there were too many groups to distinguish.
    pub members: u64,
    /// Number of processes; 0 if that was not recorded either.
    pub size: u32,
    /// True if the communicator was an intercommunicator.
    pub between_groups: bool,
    /// The name of the first communicator, if the program or MPI gave it one.
    pub name: String,
    /// Number of communicators of these members.
    pub communicators: u64,
    /// The members as ranks in `MPI_COMM_WORLD`: first, step, count. Only its first process records them.
    pub ranks: Option<Vec<(u32, u32, u32)>>,
    /// Hash of the arguments of an operation's calls, in order; equal on ranks that passed the same.
    pub passed: Vec<(Operation, u64)>,
}

/// Calls with common properties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankCalls {
    /// The place of the group.
    pub group: usize,
    /// The operation.
    pub operation: Operation,
    /// Mode of the calls.
    pub mode: Mode,
    /// The smallest and the largest message bytes; the same if sizes are distinguished.
    pub bytes: (u64, u64),
    /// True if the send buffer was the receive buffer.
    pub in_place: bool,
    /// True if the reduction operation commutes.
    pub commutative: bool,
    /// True if a datatype was not a predefined one.
    pub derived: bool,
    /// True if the counts for the ranks differed.
    pub unequal: bool,
    /// True if arguments of scatter or gather that MPI ignores differed from those that it uses.
    pub ignored_differ: bool,
    /// Number of calls.
    pub calls: u64,
    /// Nanoseconds in them.
    pub time: u64,
    /// Nanoseconds in the longest.
    pub longest: u64,
    /// The message bytes of all calls.
    pub sum: u64,
    /// The root of the first call, and true if a later call had another one.
    pub root: Option<(i32, bool)>,
    /// Calls with a barrier before them: their number, nanoseconds in the barrier, nanoseconds in the call.
    pub sampled: (u64, u64, u64),
}

/// Number and time of calls that are no collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankActivity {
    /// Number of calls.
    pub calls: u64,
    /// Nanoseconds in it.
    pub time: u64,
}

/// Steps per doubling, as a power of two.
const STEPS: u32 = 3;

/// The largest size that is not above this one and has at most four leading binary digits: eight steps per doubling.
pub fn step(bytes: u64) -> u64 {
    bytes - bytes % width(bytes)
}

/// The number of sizes with the same step.
pub(super) fn width(bytes: u64) -> u64 {
    1 << bytes.checked_ilog2().unwrap_or_default().saturating_sub(STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_records_are_refused_before_anything_is_allocated_for_them() {
        let record = |ranks: u32, runs: &[(u32, u32, u32)], calls: u64, sum: u64| -> RankRecord {
            let group = ProcessGroup { size: 2, ranks: Some(runs.to_vec()), ..ProcessGroup::default() };
            let calls = serde_json::json!({
                "group": 0, "operation": "bcast", "mode": "blocking", "bytes": [8, 8], "in_place": false,
                "commutative": true, "derived": false, "unequal": false, "ignored_differ": false, "calls": calls,
                "time": 1, "longest": 1, "sum": sum, "root": null, "sampled": [0, 0, 0]
            });
            let text = serde_json::json!({
                "format": FORMAT, "program": "", "library": "", "rank": 0, "ranks": ranks, "host": "", "finalized": true,
                "job": "", "spawned": false, "started": 0, "kept": KeptCalls::default(), "waits": KeptCalls::default(),
                "wall": 1, "imbalance": null, "groups": [group], "calls": [calls],
                "messages": RankActivity::default(), "waiting": RankActivity::default()
            });
            serde_json::from_value(text).expect("a record")
        };
        let most = u32::MAX;
        assert_eq!(record(4, &[(1, 2, 2)], 3, 24).add_to([1, 0, 0]), Ok([4, 1, 24]));
        for runs in [[(1, most, 2)], [(0, 0, most)], [(0, 1, 5)], [(most, most, most)]] {
            assert!(record(4, &runs, 3, 24).add_to([0; 3]).is_err(), "{runs:?}");
        }
        assert!(record(most, &[], 3, 24).add_to([0; 3]).is_err() && record(0, &[], 3, 24).add_to([0; 3]).is_err());
        assert!(record(4, &[], u64::MAX, 24).add_to([1, 0, 0]).is_err(), "with the calls of another rank");
        assert!(record(4, &[], 3, u64::MAX).add_to([0, 0, 1]).is_err());
    }

    #[test]
    fn steps_are_an_eighth_of_a_doubling_and_in_order() {
        assert_eq!(
            [0, 1, 7, 15, 16, 17, 18, 1023, 1024, 1151, 1152].map(step),
            [0, 1, 7, 15, 16, 16, 18, 960, 1024, 1024, 1152]
        );
        for bytes in 1..100_000u64 {
            assert!(step(bytes) <= bytes && bytes < step(bytes) + (step(bytes) / 8).max(1), "{bytes}");
            assert!(step(bytes - 1) <= step(bytes));
        }
    }
}
