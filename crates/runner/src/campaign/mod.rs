//! From events to rows of the run directory, launch after launch, whatever happens to the launches.
//!
//! | module | job |
//! |---|---|
//! | `notice` | what it tells while it goes on, and what may end it |
//! | `ledger` | what is done, and what the next launch has to do |
//! | `pace` | how pairs of launches keep to an end |
//! | `rows` | from events to rows |
//! | `suspects` | which candidate a failed launch is to be blamed on |

mod ledger;
mod notice;
mod pace;
pub(crate) mod rows;
mod suspects;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;
use std::time::Instant;

use collrules_record::plan::Plan;
use collrules_record::rundir::{Entry, RunLog};
use collrules_record::sample::{Ended, EndedCast, EndedPoint, Row};
use collrules_record::{Candidate, Subject, manifest};

use crate::backend::Backend;
use crate::error::RunnerError;
use crate::wire::Event;

use ledger::{Ledger, Next};
pub use notice::{Launch, Notice, Policy, Tally};
use pace::Pace;
use suspects::{Found, Whereabouts};

/// How many launches in a row may fail without bringing anything before it is taken for the system's fault.
const FRUITLESS: u32 = 3;

/// How often a cell may fail without a candidate to blame before it is left alone.
const STRIKES: u32 = 3;

/// How long measuring goes on, in seconds, before the journal hears of it: at most so much is charged wrongly.
const SPENT_STEP: f64 = 1.0;

/// Measures what is left of a plan, launch after launch, and appends every row to the run directory before the next
/// event is looked at, so that whatever happens costs no more than the visit under way. What was clearly beaten in a
/// launch is not measured in later ones, and what failed not on any communicator of that size.
///
/// A launch that fails is continued in another one, which has a number of its own. A candidate that makes launches
/// fail is found out in trials, recorded as a row, and left out from then on. `watch` sees what happens.
///
/// The tally counts what the run directory holds, also where an error is returned. The plan may add to a run whose other plans have `first` planned launches in all.
pub fn measure(
    first: u32,
    backend: &mut dyn Backend,
    plan: &Plan,
    log: &mut RunLog,
    policy: &Policy,
    tally: &mut Tally,
    watch: &mut dyn FnMut(&Launch<'_>, &Notice<'_>),
) -> Result<(), RunnerError> {
    let (entries, past) = log.past()?;
    let mut ledger = Ledger::new(plan, first, &entries, &past);
    drop(past);
    tally.samples = ledger.samples();
    tally.cells = ledger.cells();
    let (mut failures, mut fruitless) = (0, 0);
    let mut pace = Pace::new(plan, policy.until);
    while let Some(Next { number, repetition, planned, mut plan }) = ledger.next() {
        if !pace.grant(planned - first, &mut plan.schedule) {
            break;
        }
        let launch = Launch { number, repetition, planned, plan: &plan };
        log.note(&Entry::Begun { launch: number, planned, at: manifest::now() })?;
        watch(&launch, &Notice::Launching);
        let begun = Instant::now();
        let mut session = Session {
            log,
            ledger: &mut ledger,
            tally,
            place: Whereabouts::Elsewhere,
            rows: 0,
            clock: None,
            pass: None,
        };
        let outcome = backend.measure(&plan, &mut |event| session.take(&launch, &event, policy, watch));
        let (place, rows, spent, pass) = (session.place, session.rows, session.spent(), session.pass);
        let startup = session.clock.map_or(0.0, |(first, _, _)| (first - begun).as_secs_f64());
        tally.pass = tally.pass.max(pass.map_or_else(|| begun.elapsed(), |seen| seen - begun));
        pace.took(begun.elapsed());
        ledger.spend(planned, startup + spent);
        let over = |complete, why: String| {
            // The first line says it; the job's own words follow.
            let why = why.lines().next().unwrap_or_default().to_owned();
            Entry::Ended { launch: number, complete, why }
        };
        log.note(&Entry::Spent { launch: number, seconds: spent })?;
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
        ledger.cut(planned);
        log.note(&over(false, error.to_string()))?;
        watch(&launch, &Notice::Failed(&error));
        failures += 1;
        fruitless = if rows > 0 { 0 } else { fruitless + 1 };
        match suspects::find(backend, &launch, &place, &error, policy, watch)? {
            Found::Culprit { cell, candidate, why } => {
                let (candidate, ended) = (launch.plan.recorded(candidate), Ended::Disqualified(why));
                let point = EndedPoint { launch: repetition.number(), cell, candidate, ended };
                ledger.take(&Row::Ended(point.clone()));
                log.append(&[Row::Ended(point.clone())])?;
                watch(&launch, &Notice::Quarantined(&point));
                // Something was learnt, and there are only so many candidates.
                (failures, fruitless) = (failures - 1, 0);
            }
            Found::Nobody { subject: Some(Subject::Pattern(pattern)) }
                if ledger.strike(Subject::Pattern(pattern)) >= STRIKES =>
            {
                let casts = plan.patterns.iter().find(|planned| planned.pattern == pattern);
                for cast in casts.map_or(&[][..], |planned| &planned.casts) {
                    let why = format!("{STRIKES} launches failed in this pattern: {error}");
                    let (cast, ended) = (cast.clone(), Ended::Disqualified(why));
                    let ended = EndedCast { launch: repetition.number(), pattern, cast, ended };
                    ledger.take(&Row::EndedCast(ended.clone()));
                    log.append(&[Row::EndedCast(ended.clone())])?;
                    watch(&launch, &Notice::EndedCast(&ended));
                }
                fruitless = 0;
            }
            Found::Nobody { subject: Some(Subject::Cell(cell)) } if ledger.strike(Subject::Cell(cell)) >= STRIKES => {
                let why = format!("{STRIKES} launches failed in this cell, and no candidate is to blame: {error}");
                let (candidate, ended) = (launch.plan.recorded(Candidate::Builtin), Ended::Disqualified(why));
                let point = EndedPoint { launch: repetition.number(), cell, candidate, ended };
                ledger.take(&Row::Ended(point.clone()));
                log.append(&[Row::Ended(point.clone())])?;
                watch(&launch, &Notice::Quarantined(&point));
                fruitless = 0;
            }
            Found::Nobody { .. } => {}
        }
        if fruitless >= FRUITLESS || failures > policy.failures {
            return Err(RunnerError::GaveUp { failures, last: Box::new(error) });
        }
    }
    Ok(())
}

/// A launch under way, as the controller sees it.
struct Session<'a> {
    log: &'a mut RunLog,
    ledger: &'a mut Ledger,
    tally: &'a mut Tally,
    /// Where the job is.
    place: Whereabouts,
    rows: usize,
    /// The first event, the last one, and how much the journal knows of.
    clock: Option<(Instant, Instant, f64)>,
    /// When every cell had had a visit.
    pass: Option<Instant>,
}

impl Session<'_> {
    fn take(
        &mut self,
        launch: &Launch<'_>,
        event: &Event,
        policy: &Policy,
        watch: &mut dyn FnMut(&Launch<'_>, &Notice<'_>),
    ) -> Result<(), RunnerError> {
        self.place.follow(event);
        self.ledger.follow(launch.planned, event);
        if let Event::Clock(fact) = event {
            self.log.note_clock(launch.number, fact)?;
        }
        let rows = rows::of(launch, event);
        if !rows.is_empty() {
            self.log.append(&rows)?;
            self.rows += rows.len();
            rows.iter().for_each(|row| self.ledger.take(row));
            self.tally.samples = self.ledger.samples();
            self.tally.cells = self.ledger.cells();
            if self.pass.is_none() && self.ledger.has_visited_all(launch) {
                self.pass = Some(Instant::now());
            }
        }
        if let Event::Finished { cell } = event {
            let subject = launch.plan.subject(*cell);
            let Launch { number: launch, planned, .. } = *launch;
            self.log.note(&match subject {
                Subject::Cell(cell) => Entry::Finished { launch, cell },
                Subject::Pattern(pattern) => Entry::FinishedPattern { launch, pattern },
            })?;
            self.ledger.finish(planned, subject);
        }
        let now = Instant::now();
        let (first, _, known) = self.clock.unwrap_or((now, now, 0.0));
        self.clock = Some((first, now, known));
        if self.spent() - known >= SPENT_STEP {
            let seconds = self.spent();
            self.clock = Some((first, now, seconds));
            self.log.note(&Entry::Spent { launch: launch.number, seconds })?;
        }
        watch(launch, &Notice::Event(event));
        if policy.stop.load(Ordering::Relaxed) { Err(RunnerError::Interrupted) } else { Ok(()) }
    }

    /// Seconds from the first event to the last. Starting is not measuring, and neither is the silence before an end.
    fn spent(&self) -> f64 {
        self.clock.map_or(0.0, |(first, last, _)| (last - first).as_secs_f64())
    }
}
