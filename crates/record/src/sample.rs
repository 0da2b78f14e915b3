//! One timing, one ended point, and their lines in the samples file.

use std::fmt;
use std::str::FromStr;

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::format::FormatVersion;
use crate::pattern::{Cast, Pattern, Subject};
use crate::plan::{Plan, Repetition};
use crate::units::Seconds;

/// The format of the samples file that this version writes.
pub const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 1 };

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

/// One timing of a point: how long the slowest rank took, with the fastest and the mean over ranks beside it.
///
/// Samples of different candidates that share cell, launch, visit and round were taken next to each other in time,
/// and are compared in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The number of the repetition, from 0: [`Plan::repetition`](crate::Plan::repetition) says what it counts.
    pub launch: u32,
    /// The visit to the cell within the launch, from 0.
    pub visit: u32,
    /// The round within the visit, from 0.
    pub round: u32,
    /// What was timed.
    pub cell: Cell,
    /// How it was carried out.
    pub candidate: Candidate,
    /// Maximum over ranks: the time.
    pub max: Seconds,
    /// Minimum over ranks.
    pub min: Seconds,
    /// Mean over ranks.
    pub mean: Seconds,
}

/// Why a point gets no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The candidate failed: a wrong result, an error, a crash. It must not be chosen, whatever was timed.
    Disqualified(String),
    /// The candidate was clearly beaten; its samples stand.
    Dropped(String),
}

/// A point that gets no more samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedPoint {
    /// The number of the repetition, from 0: [`Plan::repetition`](crate::Plan::repetition) says what it counts.
    pub launch: u32,
    /// What was timed.
    pub cell: Cell,
    /// How it was carried out.
    pub candidate: Candidate,
    /// Why it ended.
    pub ended: Ended,
}

/// One timing of a pattern by a cast. Like [`Sample`], but the times are those of the ranks whose time counts.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternSample {
    /// The number of the launch, from 0.
    pub launch: u32,
    /// The visit to the pattern within the launch, from 0.
    pub visit: u32,
    /// The round within the visit, from 0.
    pub round: u32,
    /// What was timed.
    pub pattern: Pattern,
    /// Who carried it out.
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
    /// What was timed.
    pub pattern: Pattern,
    /// Who carried it out.
    pub cast: Cast,
    /// Why it ended.
    pub ended: Ended,
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
    /// The repetition that it belongs to, under this plan. Patterns are timed in launches that have all candidates.
    pub fn repetition(&self, plan: &Plan) -> Repetition {
        match self {
            Self::Sample(sample) => plan.repetition(sample.cell.collective, sample.candidate, sample.launch),
            Self::Ended(point) => plan.repetition(point.cell.collective, point.candidate, point.launch),
            Self::Pattern(sample) => Repetition::Launch(sample.launch),
            Self::EndedCast(ended) => Repetition::Launch(ended.launch),
        }
    }

    /// What it is about.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Sample(sample) => Subject::Cell(sample.cell),
            Self::Ended(point) => Subject::Cell(point.cell),
            Self::Pattern(sample) => Subject::Pattern(sample.pattern),
            Self::EndedCast(ended) => Subject::Pattern(ended.pattern),
        }
    }

    /// The number that it carries as its launch.
    pub fn launch(&self) -> u32 {
        match self {
            Self::Sample(Sample { launch, .. })
            | Self::Ended(EndedPoint { launch, .. })
            | Self::Pattern(PatternSample { launch, .. })
            | Self::EndedCast(EndedCast { launch, .. }) => *launch,
        }
    }

    /// Whether it is a timing.
    pub fn is_timing(&self) -> bool {
        matches!(self, Self::Sample(_) | Self::Pattern(_))
    }
}

/// A timing of which some times may be missing, as in what others measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedRow {
    /// The launch of the MPI job, from 0.
    pub launch: u32,
    /// The round, from 0.
    pub round: u32,
    /// What was timed.
    pub cell: Cell,
    /// How it was carried out.
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
    /// What was timed.
    pub cell: Cell,
    /// How it was carried out.
    pub candidate: Candidate,
    /// The launch of the MPI job; 0 where the table has no such column.
    pub launch: u32,
    /// The time.
    pub time: Seconds,
}

/// A text in the `ended` column that is not one of its forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` says neither `disqualified: ...` nor `dropped: ...`")]
pub struct BadEnded(String);

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disqualified(why) => write!(f, "disqualified: {why}"),
            Self::Dropped(why) => write!(f, "dropped: {why}"),
        }
    }
}

impl FromStr for Ended {
    type Err = BadEnded;

    fn from_str(text: &str) -> Result<Self, BadEnded> {
        match text.split_once(": ") {
            Some(("disqualified", why)) => Ok(Self::Disqualified(why.to_owned())),
            Some(("dropped", why)) => Ok(Self::Dropped(why.to_owned())),
            _ => Err(BadEnded(text.to_owned())),
        }
    }
}
