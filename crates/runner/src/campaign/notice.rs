//! What a campaign tells while it goes on, and what may end it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use collrules_record::Cell;
use collrules_record::plan::Repetition;
use collrules_record::sample::{EndedCast, EndedPoint};

use crate::error::RunnerError;
use crate::launch::LaunchPlan;
use crate::wire::Event;

/// What a campaign came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Timings in the run directory, those of earlier sessions included.
    pub samples: usize,
    /// Cells with at least one timing.
    pub cells: usize,
    /// The longest time that a launch took from its start until every cell had a visit, or to its end where some had none;
    /// earlier launches of a resumed run are left out.
    pub pass: Duration,
}

/// What may end a campaign before its time.
#[derive(Clone, Debug)]
pub struct Policy {
    /// How many launches may fail before the campaign is given up.
    pub failures: u32,
    /// Somebody wants the campaign to end.
    pub stop: Arc<AtomicBool>,
    /// When pairs of launches shall be over; others keep to the time of their schedule alone.
    pub until: Option<Instant>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { failures: 20, stop: Arc::default(), until: None }
    }
}

/// What a campaign tells while it goes on.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A launch begins.
    Launching,
    /// It reported an event; the rows of the event are written.
    Event(&'a Event),
    /// It failed; another one will measure what is left.
    Failed(&'a RunnerError),
    /// One cell is called again, candidate by candidate, to find the one to blame.
    Trying(Cell),
    /// The trial passed: the failure came from elsewhere.
    Acquitted(Cell),
    /// A cast does not carry out a pattern any more; its row is written.
    EndedCast(&'a EndedCast),
    /// A candidate is not measured any more on communicators of this size; its row is written.
    Quarantined(&'a EndedPoint),
}

/// A launch of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Its number in the journal, from 0.
    pub number: u32,
    /// The repetition that its timings belong to, whose number the samples carry.
    pub repetition: Repetition,
    /// The planned launch that it carries out or resumes, from 0.
    pub planned: u32,
    /// What it measures; events refer to the cells and candidates of this plan.
    pub plan: &'a LaunchPlan,
}
