//! Notices of a running campaign, and conditions that end it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use collrules_record::Cell;
use collrules_record::sample::Row;
use collrules_rules::Collective;

use crate::error::RunnerError;
use crate::launch::LaunchPlan;
use crate::wire::WorkerEvent;

/// Result of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of timings in the run directory, including earlier sessions.
    pub samples: usize,
    /// Number of cells with at least one timing.
    pub cells: usize,
}

/// Conditions that end a campaign before its time.
#[derive(Clone, Debug)]
pub struct StopConditions {
    /// Maximum number of failed launches after which the campaign stops.
    pub failures: u32,
    /// True once the campaign has to end.
    pub stop: Arc<AtomicBool>,
    /// The number of planned launches after which the campaign pauses, so that others can take turns; none for all.
    pub launches: Option<u32>,
}

impl Default for StopConditions {
    fn default() -> Self {
        Self { failures: 20, stop: Arc::default(), launches: None }
    }
}

/// A notice of a running campaign.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A launch begins.
    Launching,
    /// It reported an event; the rows of the event are written.
    Event(&'a WorkerEvent),
    /// It failed; another one will measure the rest.
    Failed(&'a RunnerError),
    /// One cell is called again, candidate by candidate, to find the cause.
    Trying(Cell),
    /// The trial passed: the failure came from elsewhere.
    Acquitted(Cell),
    /// A candidate is left out on communicators of this size, or a cast that fails to carry out a pattern; its row is
    /// written.
    LeftOut(&'a Row),
    /// Failing calls of a collective took too much of the budget: the rest of it is for the others.
    TooManyFailures(Collective),
}

/// A running launch of a campaign.
#[derive(Clone, Copy, Debug)]
pub struct CampaignLaunch<'a> {
    /// Its number in the journal, from 0.
    pub number: u32,
    /// The planned launch that it carries out or resumes, from 0.
    pub planned: u32,
    /// The plan of the launch; events refer to its cells and candidates.
    pub plan: &'a LaunchPlan,
}
