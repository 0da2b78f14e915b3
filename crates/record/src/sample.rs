//! One timing, one ended point, and their lines in the samples file.

use std::fmt;

use collrules_rules::read_from_text;

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::file::FormatVersion;
use crate::launch::Launch;
use crate::pattern::{Cast, Pattern, Subject};
use crate::plan::Plan;
use crate::units::{Bytes, Seconds};

/// The format of the samples file that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };

/// The columns of the samples file, in order. Times are in seconds, sizes in bytes.
pub const COLUMNS: [&str; 11] = [
    "launch",
    "visit",
    "round",
    "collective",
    "comm_size",
    "message_bytes",
    "candidate",
    "max_s",
    "min_s",
    "mean_s",
    "ended",
];

/// One timing of a point: the time of the slowest rank, and the fastest and mean time over ranks.
///
/// Samples of different candidates with the same cell, launch, visit and round were taken next to each other in time,
/// and are compared in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The number of the launch, from 0; [`Plan::launch`](crate::Plan::launch) finds the launch.
    pub launch: u32,
    /// The visit to the cell within the launch, from 0.
    pub visit: u32,
    /// The round within the visit, from 0.
    pub round: u32,
    /// Cell that was timed.
    pub cell: Cell,
    /// Candidate that carried out the call.
    pub candidate: Candidate,
    /// Maximum over ranks: the time.
    pub max: Seconds,
    /// Minimum over ranks.
    pub min: Seconds,
    /// Mean over ranks.
    pub mean: Seconds,
}

/// Reason why a point gets no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The candidate failed: a wrong result, an error, a crash. It must not be chosen, even if it was timed.
    Disqualified(String),
    /// The candidate was clearly slower; its samples count.
    Dropped(String),
}

/// A point that gets no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedPoint {
    /// The number of the launch, from 0; [`Plan::launch`](crate::Plan::launch) finds the launch.
    pub launch: u32,
    /// Cell that was timed.
    pub cell: Cell,
    /// Candidate that carried out the call.
    pub candidate: Candidate,
    /// Reason why it ended.
    pub ended: EndReason,
}

/// One timing of a pattern by a cast. Like [`Sample`], but with times of those ranks that count.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternSample {
    /// The number of the launch, from 0.
    pub launch: u32,
    /// The visit to the pattern within the launch, from 0.
    pub visit: u32,
    /// The round within the visit, from 0.
    pub round: u32,
    /// Pattern that was timed.
    pub pattern: Pattern,
    /// Ranks that carried it out.
    pub cast: Cast,
    /// Maximum over ranks: the time.
    pub max: Seconds,
    /// Minimum over ranks.
    pub min: Seconds,
    /// Mean over ranks.
    pub mean: Seconds,
}

/// A cast of a pattern that gets no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedCast {
    /// The number of the launch, from 0.
    pub launch: u32,
    /// Pattern that was timed.
    pub pattern: Pattern,
    /// Ranks that carried it out.
    pub cast: Cast,
    /// Reason why it ended.
    pub ended: EndReason,
}

/// A line of the samples file.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A timing.
    Sample(Sample),
    /// The end of a point.
    Ended(EndedPoint),
    /// A timing of a pattern.
    Pattern(PatternSample),
    /// The end of a cast of a pattern.
    EndedCast(EndedCast),
}

impl Row {
    /// The launch that it belongs to, under this plan. Patterns are timed in launches with all candidates.
    pub fn launch_in(&self, plan: &Plan) -> Launch {
        match self {
            Self::Sample(sample) => plan.launch(sample.cell.collective, sample.candidate, sample.launch),
            Self::Ended(point) => plan.launch(point.cell.collective, point.candidate, point.launch),
            Self::Pattern(sample) => plan.shared(sample.launch),
            Self::EndedCast(ended) => plan.shared(ended.launch),
        }
    }

    /// Returns the cell or pattern of the row.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Sample(sample) => Subject::Cell(sample.cell),
            Self::Ended(point) => Subject::Cell(point.cell),
            Self::Pattern(sample) => Subject::Pattern(sample.pattern),
            Self::EndedCast(ended) => Subject::Pattern(ended.pattern),
        }
    }

    /// The launch number that it carries.
    pub fn launch(&self) -> u32 {
        match self {
            Self::Sample(Sample { launch, .. })
            | Self::Ended(EndedPoint { launch, .. })
            | Self::Pattern(PatternSample { launch, .. })
            | Self::EndedCast(EndedCast { launch, .. }) => *launch,
        }
    }
}

/// A timing in which some times may be missing, such as an imported one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedRow {
    /// The launch of the MPI job, from 0.
    pub launch: u32,
    /// The round, from 0.
    pub round: u32,
    /// Cell that was timed.
    pub cell: Cell,
    /// Candidate that carried out the call.
    pub candidate: Candidate,
    /// Maximum over ranks.
    pub max: Option<Seconds>,
    /// Minimum over ranks.
    pub min: Option<Seconds>,
    /// Mean over ranks.
    pub mean: Option<Seconds>,
}

/// One usable row of a foreign table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableTiming {
    /// Cell that was timed.
    pub cell: Cell,
    /// Candidate that carried out the call.
    pub candidate: Candidate,
    /// The launch of the MPI job; 0 if the table has no such column.
    pub launch: u32,
    /// The time.
    pub time: Seconds,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disqualified(why) => write!(f, "disqualified: {why}"),
            Self::Dropped(why) => write!(f, "dropped: {why}"),
        }
    }
}

impl EndReason {
    fn read(text: &str) -> Option<Self> {
        match text.split_once(": ")? {
            ("disqualified", why) => Some(Self::Disqualified(why.to_owned())),
            ("dropped", why) => Some(Self::Dropped(why.to_owned())),
            _ => None,
        }
    }
}

read_from_text!(EndReason, "says neither `disqualified: ...` nor `dropped: ...`");

/// The shortest possible time of a call or a pattern: less than an instruction of a processor.
const LEAST: f64 = 1e-10;
/// A rate in bytes per second above that of any cache for one process.
const FASTEST: f64 = 1e13;
/// The longest time of a call: eleven days.
const MOST: f64 = 1e6;

/// Seconds of a message on the slowest network in use, 100 Mbit/s Ethernet.
pub const SLOWEST_STEP: f64 = 200e-6;
/// Its bytes per second.
pub const SLOWEST_BYTES: f64 = 12.5e6;

/// Fails for a time that no call can take.
pub fn check_time(Seconds(time): Seconds, bytes: Bytes) -> Result<(), String> {
    let least = LEAST.max(bytes.0 as f64 / FASTEST);
    if !time.is_finite() {
        Err("the time is not a finite number".to_owned())
    } else if time < 0.0 {
        Err("the time is negative".to_owned())
    } else if time < least {
        Err(format!("no call with {bytes} takes {time:.0e} s"))
    } else if time > MOST {
        Err(format!("no call takes {time:.0e} s"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod possible {
    use super::*;

    #[test]
    fn times_that_no_call_can_take_are_refused() {
        for time in [f64::NAN, f64::INFINITY, -1e-6, 0.0, 1e-300, 9e-11, 1e7, 1e300] {
            let why = check_time(Seconds(time), Bytes(8)).expect_err("impossible");
            assert!(why.len() < 60, "{why}");
        }
        assert!(check_time(Seconds(1e-7), Bytes(8)).is_ok() && check_time(Seconds(1e5), Bytes(8)).is_ok());
        // 100 MB in 1 us.
        assert!(check_time(Seconds(1e-6), Bytes(100_000_000)).is_err());
        assert!(check_time(Seconds(1e-3), Bytes(100_000_000)).is_ok());
    }
}
