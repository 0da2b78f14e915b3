//! One timing, one ended point, and their lines in the samples file.

use std::fmt;
use std::str::FromStr;

use collrules_rules::Collective;
use serde::{Deserialize, Serialize};

use crate::candidate::Candidate;
use crate::cell::Cell;
use crate::units::{Bytes, Ranks, Seconds};

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

/// A line of the samples file.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// A timing.
    Sample(Sample),
    /// The end of a point.
    Ended(EndedPoint),
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

/// A row as the CSV writer sees it.
#[derive(Serialize, Deserialize)]
pub(crate) struct WireRow {
    launch: u32,
    visit: Option<u32>,
    round: Option<u32>,
    collective: Collective,
    comm_size: Ranks,
    message_bytes: Bytes,
    candidate: Candidate,
    max_s: Option<Seconds>,
    min_s: Option<Seconds>,
    mean_s: Option<Seconds>,
    ended: Option<String>,
}

impl From<&TimedRow> for WireRow {
    fn from(row: &TimedRow) -> Self {
        Self {
            launch: row.launch,
            visit: Some(0),
            round: Some(row.round),
            collective: row.cell.collective,
            comm_size: row.cell.ranks,
            message_bytes: row.cell.bytes,
            candidate: row.candidate,
            max_s: row.max,
            min_s: row.min,
            mean_s: row.mean,
            ended: None,
        }
    }
}

impl From<&Row> for WireRow {
    fn from(row: &Row) -> Self {
        let (launch, cell, candidate) = match row {
            Row::Sample(sample) => (sample.launch, sample.cell, sample.candidate),
            Row::Ended(point) => (point.launch, point.cell, point.candidate),
        };
        let sample = match row {
            Row::Sample(sample) => Some(sample),
            Row::Ended(_) => None,
        };
        Self {
            launch,
            visit: sample.map(|sample| sample.visit),
            round: sample.map(|sample| sample.round),
            collective: cell.collective,
            comm_size: cell.ranks,
            message_bytes: cell.bytes,
            candidate,
            max_s: sample.map(|sample| sample.max),
            min_s: sample.map(|sample| sample.min),
            mean_s: sample.map(|sample| sample.mean),
            ended: match row {
                Row::Sample(_) => None,
                Row::Ended(point) => Some(point.ended.to_string()),
            },
        }
    }
}

impl TryFrom<WireRow> for Row {
    type Error = String;

    fn try_from(wire: WireRow) -> Result<Self, String> {
        let WireRow { launch, visit, round, candidate, max_s, min_s, mean_s, ended, .. } = wire;
        let cell = Cell { collective: wire.collective, ranks: wire.comm_size, bytes: wire.message_bytes };
        match (visit, round, max_s, min_s, mean_s, ended) {
            (Some(visit), Some(round), Some(max), Some(min), Some(mean), None) => {
                Ok(Self::Sample(Sample { launch, visit, round, cell, candidate, max, min, mean }))
            }
            (.., Some(ended)) => {
                let ended = ended.parse().map_err(|error: BadEnded| error.to_string())?;
                Ok(Self::Ended(EndedPoint { launch, cell, candidate, ended }))
            }
            _ => Err(format!("a row of {candidate} in {cell} (launch {launch}) is neither a timing nor an end")),
        }
    }
}
