//! Conversion of events to rows of the run directory, launch after launch, also if launches fail.
//!
//! | module | job |
//! |---|---|
//! | `notice` | notices while it goes on, and conditions that end it |
//! | `ledger` | finished work, and the rest for the next launch |
//! | `rows` | conversion of events to rows |
//! | `suspects` | search for the candidate that made a launch fail |

mod ledger;
mod notice;
pub(crate) mod rows;
mod suspects;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;

use collrules_record::plan::Plan;
use collrules_record::rundir::{JournalEntry, RunLog};
use collrules_record::sample::{EndReason, EndedCast, EndedPoint, Row};
use collrules_record::{Candidate, Cast, Cell, Subject, manifest};

use crate::backend::{Backend, silence_within, with_patience};
use crate::error::RunnerError;
use crate::job_clock::JobClock;
use crate::wire::WorkerEvent;

use ledger::Ledger;
pub use notice::{CampaignLaunch, Notice, StopConditions, Tally};
use suspects::FailureCause;

/// Number of launches in a row that may fail without any timing before the system is considered the cause.
const FRUITLESS: u32 = 3;

/// Number of failures of a cell or pattern without a known culprit before it is no longer measured.
const STRIKES: u32 = 3;

/// Seconds of measuring between two entries in the journal: the largest error of the recorded time.
const SPENT_STEP: f64 = 1.0;

/// Measures the rest of a plan, launch after launch, and appends every row to the run directory before it reads the
/// next event, so that an interruption loses at most the current visit. Clearly beaten candidates are not measured in
/// later launches, and failed ones not on any communicator of that size.
///
/// A launch that fails is continued in another one, which has a number of its own. A candidate that makes launches fail
/// is found in trials, recorded as a row, and left out from then on. `watch` gets all notices.
///
/// The tally counts the content of the run directory, even if an error is returned. The plan may extend a run whose
/// other plans have `first` planned launches.
pub fn measure(
    first: u32,
    backend: &mut dyn Backend,
    plan: &Plan,
    log: &mut RunLog,
    policy: &StopConditions,
    tally: &mut Tally,
    watch: &mut dyn FnMut(&CampaignLaunch<'_>, &Notice<'_>),
) -> Result<(), RunnerError> {
    let (entries, past) = log.past()?;
    let mut ledger = Ledger::new(plan, first, &entries, &past);
    drop(past);
    ledger.count(tally);
    let (clock, mut failures, mut fruitless) = (backend.clock(), 0, 0);
    let patience = |left| silence_within(left, plan.schedule.startup);
    while let Some((number, planned, plan)) = ledger.next() {
        if policy.launches.is_some_and(|most| planned - first >= most) {
            break;
        }
        let launch = CampaignLaunch { number, planned, plan: &plan };
        log.note(&JournalEntry::Begun { launch: number, planned, at: manifest::now() })?;
        watch(&launch, &Notice::Launching);
        let begun = clock.now();
        let within = ledger.time_left().map(patience);
        let (place, rows, times) = (None, 0, None);
        let mut session = LaunchSession { log, ledger: &mut ledger, tally, place, rows, clock: &clock, times };
        let mut take = |event| session.take(&launch, &event, policy, watch);
        let outcome = with_patience(backend, within, |backend| backend.measure(&plan, &mut take));
        let (place, rows, spent) = (session.place, session.rows, session.spent());
        let startup = session.times.map_or(0.0, |(first, _, _)| first - begun);
        // Jobs take time to end as well.
        let used = (startup + spent).max(clock.now() - begun);
        ledger.spend(planned, used);
        let over = |complete, why: String| {
            // The first line says it; the job's own words follow.
            let why = why.lines().next().unwrap_or_default().to_owned();
            JournalEntry::Ended { launch: number, complete, why }
        };
        log.note(&JournalEntry::Spent { launch: number, seconds: spent })?;
        let error = match outcome {
            Ok(()) => {
                let beaten: Vec<Row> = ledger.close(&launch).into_iter().map(Row::Ended).collect();
                log.append(&beaten)?;
                log.note(&over(true, "done".to_owned()))?;
                fruitless = 0;
                continue;
            }
            Err(error) if !error.is_of_job() => {
                // What hinders writing may hinder this as well, and the cause is what matters.
                let _ = log.note(&over(false, error.to_string()));
                return Err(error);
            }
            Err(error) => error,
        };
        log.note(&over(false, error.to_string()))?;
        watch(&launch, &Notice::Failed(&error));
        failures += 1;
        fruitless = if rows > 0 { 0 } else { fruitless + 1 };
        let number = plan.launch.number();
        let ended = |cell: Cell, candidate: Candidate, why: String| {
            let (candidate, ended) = (plan.recorded(candidate), EndReason::Disqualified(why));
            Row::Ended(EndedPoint { launch: number, cell, candidate, ended })
        };
        // Without time for trials the cause stays unknown.
        let cause = match ledger.time_left() {
            Some(0.0) => FailureCause::Nobody { subject: None },
            left => with_patience(backend, left.map(patience), |backend| {
                suspects::find(backend, &launch, place, &error, policy, watch)
            })?,
        };
        let all = clock.now() - begun;
        ledger.spend(planned, (all - used).max(0.0));
        let lost = (all - startup - spent).max(0.0);
        ledger.cut(planned, lost);
        let failing = place.and_then(|(index, _)| Some(plan.cells.get(index)?.cell.collective));
        let too_many = failing.filter(|collective| ledger.lose(*collective, lost));
        let is_unknown = matches!(cause, FailureCause::Nobody { .. });
        let left_out = match cause {
            FailureCause::Culprit { cell, candidate, why } => {
                // Something was learnt, and there are only so many candidates.
                failures -= 1;
                vec![ended(cell, candidate, why)]
            }
            FailureCause::Nobody { subject: Some(subject) } if ledger.strike(subject) >= STRIKES => match subject {
                Subject::Pattern(pattern) => {
                    let casts = plan.patterns.iter().find(|planned| planned.pattern == pattern);
                    let why = format!("{STRIKES} launches failed in this pattern: {error}");
                    let ended = |cast: &Cast| {
                        let (cast, ended) = (cast.clone(), EndReason::Disqualified(why.clone()));
                        Row::EndedCast(EndedCast { launch: number, pattern, cast, ended })
                    };
                    casts.into_iter().flat_map(|planned| &planned.casts).map(ended).collect()
                }
                Subject::Cell(cell) => {
                    let why =
                        format!("{STRIKES} launches failed for this size, and no algorithm is the cause: {error}");
                    vec![ended(cell, Candidate::Builtin, why)]
                }
            },
            FailureCause::Nobody { .. } => Vec::new(),
        };
        if !left_out.is_empty() {
            fruitless = 0;
        }
        for row in &left_out {
            ledger.take(row);
            log.append(std::slice::from_ref(row))?;
            watch(&launch, &Notice::LeftOut(row));
        }
        too_many.iter().for_each(|collective| watch(&launch, &Notice::TooManyFailures(*collective)));
        // A node may have vanished: a later job measures the rest of the grid.
        let is_lost = first == 0 && is_unknown && ledger.has_lost_all();
        if is_lost || fruitless >= FRUITLESS || failures > policy.failures {
            return Err(RunnerError::GaveUp { failures, last: Box::new(error) });
        }
    }
    Ok(())
}

/// A launch under way, as the controller sees it.
struct LaunchSession<'a> {
    log: &'a mut RunLog,
    ledger: &'a mut Ledger,
    tally: &'a mut Tally,
    /// Place of the job, as in [`suspects::follow`].
    place: Option<(usize, Option<usize>)>,
    rows: usize,
    /// The first event, the last one, and the seconds in the journal.
    times: Option<(f64, f64, f64)>,
    clock: &'a JobClock,
}

impl LaunchSession<'_> {
    fn take(
        &mut self,
        launch: &CampaignLaunch<'_>,
        event: &WorkerEvent,
        policy: &StopConditions,
        watch: &mut dyn FnMut(&CampaignLaunch<'_>, &Notice<'_>),
    ) -> Result<(), RunnerError> {
        suspects::follow(&mut self.place, event);
        self.ledger.follow(launch.planned, event);
        if let WorkerEvent::Clock(fact) = event {
            self.log.note_clock(launch.number, fact)?;
        }
        let rows = rows::list_rows(launch, event);
        if !rows.is_empty() {
            self.log.append(&rows)?;
            self.rows += rows.len();
            rows.iter().for_each(|row| self.ledger.take(row));
            self.ledger.count(self.tally);
        }
        if let WorkerEvent::Finished { cell } = event {
            let subject = launch.plan.subject(*cell);
            let CampaignLaunch { number: launch, planned, .. } = *launch;
            self.log.note(&match subject {
                Subject::Cell(cell) => JournalEntry::Finished { launch, cell },
                Subject::Pattern(pattern) => JournalEntry::FinishedPattern { launch, pattern },
            })?;
            self.ledger.finish(planned, subject);
        }
        let now = self.clock.now();
        let (first, _, known) = self.times.unwrap_or((now, now, 0.0));
        self.times = Some((first, now, known));
        if self.spent() - known >= SPENT_STEP {
            let seconds = self.spent();
            self.times = Some((first, now, seconds));
            self.log.note(&JournalEntry::Spent { launch: launch.number, seconds })?;
        }
        watch(launch, &Notice::Event(event));
        if policy.stop.load(Ordering::Relaxed) { Err(RunnerError::Interrupted) } else { Ok(()) }
    }

    /// Seconds from the first event to the last; starting, and the silence before an end, do not count.
    fn spent(&self) -> f64 {
        self.times.map_or(0.0, |(first, last, _)| last - first)
    }
}
