//! Facts about the clock and the harness of a launch: the lines of `clock.jsonl`.

use collrules_rules::names;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::units::{Ranks, Seconds};

/// Method that brings ranks together before a timed call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lower")]
pub enum SyncMethod {
    /// A dissemination barrier; the time is that of the slowest rank
    #[default]
    Barrier,
    /// A common start on a clock that all ranks share; the time ends when the last rank is done
    RoundTime,
}

names!(SyncMethod { Barrier "barrier", RoundTime "roundtime", });

/// One fact about clocks and harness in a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum ClockFact {
    /// Before anything was timed.
    Harness(Harness),
    /// The common clock was compared between ranks, and set again if it was off.
    Check(ClockCheck),
    /// Entries of ranks into calls of a cell for which ranks were late, in the first visit to the cell.
    Arrivals(Arrivals),
    /// After everything was timed.
    End(LaunchEnd),
}

/// Entries of ranks into calls for which ranks were late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// The cell.
    pub cell: Cell,
    /// The time from the first to the last entry, in the call of the visit with the median spread.
    pub spread: Seconds,
    /// The intended lateness of each rank for that call.
    pub asked: Vec<Seconds>,
    /// Entry of each rank on the common clock, relative to the first one.
    pub entries: Vec<Seconds>,
}

/// Effect of the harness on a timing, measured at the start of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Harness {
    /// Method that brings ranks together.
    pub sync: SyncMethod,
    /// The ranks it was measured on: all of the job.
    pub ranks: Ranks,
    /// The smallest difference between two readings of the clock.
    pub step: Seconds,
    /// Time of an empty call: the median, on the rank where it is largest. It is part of every timing.
    pub empty_call: Seconds,
    /// Overhead of a turn besides the call and its synchronisation, timing included, on the rank where it is largest.
    pub turn: Seconds,
    /// The median time that the barrier before a call takes.
    pub barrier: Seconds,
    /// Time between the first and the last rank that leave that barrier, on the common clock: the median.
    pub exit_skew: Seconds,
    /// The number of different clocks among the ranks.
    pub clocks: u32,
    /// Error of the ping-pong between ranks that share a clock, for which the truth is known. Missing if no ranks share
    /// a clock, and with a single rank per clock.
    pub known_error: Option<Seconds>,
    /// Resident memory of the rank with the most, in bytes; missing if the system does not report it.
    pub resident: Option<u64>,
    /// Bytes of the last-level cache that buffers rotate through; missing if they do not rotate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<u64>,
}

/// A comparison of the common clock between ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockCheck {
    /// Seconds after the start of the launch.
    pub at: Seconds,
    /// Largest offset of any rank's clock from that of rank 0.
    pub error: Seconds,
    /// Offset beyond which the clock is set again.
    pub bound: Seconds,
    /// Resolution of the comparison: half the shortest round trip, on the rank where it is longest.
    pub uncertainty: Seconds,
    /// True if the clocks were set again.
    pub set_anew: bool,
    /// Fastest drift between clocks, in seconds per second; relative to the common clock at the time of the check.
    pub drift: f64,
}

/// Counts at the end of a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchEnd {
    /// Calls timed, warm-up included.
    pub calls: u64,
    /// Number of calls for which a rank was too late, and which did not count; 0 with a barrier.
    pub late: u64,
    /// Calls that were repeated for that reason; included in `calls`.
    pub repeated: u64,
    /// Rounds that were abandoned because a call repeatedly failed to begin in time; they left no samples.
    pub given_up: u64,
    /// Communicators made.
    pub communicators: u64,
    /// The largest number at one time.
    pub most_communicators: u64,
    /// Resident memory of the rank with the most, in bytes; missing if the system does not report it.
    pub resident: Option<u64>,
    /// Share of a processor that the busiest rank used while the job slept between its turns; missing if it never slept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asleep: Option<f64>,
}

/// A line of `clock.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockLine {
    /// The launch of the MPI job, from 0.
    pub launch: u32,
    /// Fact that the line records.
    #[serde(flatten)]
    pub fact: ClockFact,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_is() {
        let check = ClockCheck {
            at: Seconds(1.5),
            error: Seconds(2e-7),
            bound: Seconds(1e-6),
            uncertainty: Seconds(3e-7),
            set_anew: false,
            drift: 1e-6,
        };
        let line = ClockLine { launch: 2, fact: ClockFact::Check(check) };
        let text = serde_json::to_string(&line).expect("plain data");
        assert!(text.starts_with(r#"{"launch":2,"record":"check","at":1.5,"#), "{text}");
        assert_eq!(serde_json::from_str::<ClockLine>(&text).expect("reads back"), line);
    }
}
