//! What is known about the clock and the harness of a launch: the lines of `clock.jsonl`.

use serde::{Deserialize, Serialize};

use crate::units::{Ranks, Seconds};

/// How ranks are brought together before a timed call.
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

/// One thing that was found out about clocks and harness in a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
pub enum ClockFact {
    /// Before anything was timed.
    Harness(Harness),
    /// The common clock was compared between ranks, and set anew where it was off.
    Check(ClockCheck),
    /// After everything was timed.
    End(LaunchEnd),
}

/// What the harness does to a timing, measured at the start of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Harness {
    /// How ranks are brought together.
    pub sync: SyncMethod,
    /// The ranks it was measured on: all of the job.
    pub ranks: Ranks,
    /// The smallest difference between two readings of the clock.
    pub step: Seconds,
    /// What a timing of nothing shows: the median over empty calls, on the rank where it is largest. It is part of
    /// every timing.
    pub empty_call: Seconds,
    /// What a turn costs beside the call and its synchronisation, timing included, on the rank where it is largest.
    pub turn: Seconds,
    /// The median time that the barrier before a call takes.
    pub barrier: Seconds,
    /// How far apart ranks leave that barrier, the last after the first, on the common clock: the median.
    pub exit_skew: Seconds,
    /// The same, exceeded by one barrier in 20.
    pub exit_skew_high: Seconds,
    /// The number of different clocks among the ranks.
    pub clocks: u32,
    /// How far the ping-pong is from the truth where that is known: between ranks that share a clock. Missing where
    /// none do, and on a single rank per clock.
    pub known_error: Option<Seconds>,
    /// Resident memory of the rank that has most, in bytes; missing where the system does not tell.
    pub resident: Option<u64>,
}

/// A comparison of the common clock between ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockCheck {
    /// Seconds after the start of the launch.
    pub at: Seconds,
    /// How far the clock of a rank was off from that of rank 0, where it was furthest.
    pub error: Seconds,
    /// How far off it may be before it is set anew.
    pub bound: Seconds,
    /// What such a comparison can tell: half the shortest round trip, on the rank where it is longest.
    pub uncertainty: Seconds,
    /// Whether the clocks were set anew.
    pub set_anew: bool,
    /// How fast the clocks run apart, as seconds per second, where that is fastest; as the common clock had it when it was
    /// checked.
    pub drift: f64,
}

/// What a launch came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchEnd {
    /// Calls timed, warm-up included.
    pub calls: u64,
    /// How many times a rank was too late for a call, which then did not count; 0 with a barrier.
    pub late: u64,
    /// Calls that were made again for that reason; they are among the calls timed.
    pub repeated: u64,
    /// Rounds that were given up because a call failed to begin in time again and again; they left no samples.
    pub given_up: u64,
    /// Communicators made.
    pub communicators: u64,
    /// The most that there were at one time.
    pub most_communicators: u64,
    /// Resident memory of the rank that has most, in bytes; missing where the system does not tell.
    pub resident: Option<u64>,
}

/// A line of `clock.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockLine {
    /// The launch of the MPI job, from 0.
    pub launch: u32,
    /// What was found out.
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
