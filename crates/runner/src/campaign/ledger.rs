//! The state of a campaign: finished work, from this and earlier commands, and the rest for the next launch.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use collrules_record::plan::{CellPlan, PatternPlan, Plan};
use collrules_record::rundir::JournalEntry;
use collrules_record::sample::{EndReason, EndedPoint, Row, Sample};
use collrules_record::units::{Ranks, Seconds};
use collrules_record::{Candidate, Cast, Cell, Launch, Pattern, Subject};
use collrules_rules::Collective;

use super::notice::{CampaignLaunch, Tally};
use crate::launch::LaunchPlan;
use crate::schedule::history::History;
use crate::separate;
use crate::wire::WorkerEvent;

/// Multiple of their budget after which no further series of launches with one candidate begins.
const EXCESS: f64 = 1.1;

/// Largest share of a budget that failing calls of a collective may take, before the rest of it is for the others.
const FAILING: f64 = 0.25;

/// A planned launch, carried out by one launch, or by several if some were cut short.
#[derive(Clone, Debug, Default)]
struct Planned {
    complete: bool,
    /// Timed rounds of each subject.
    visited: BTreeMap<Subject, u32>,
    /// Subjects with all the timings that the schedule requires.
    finished: BTreeSet<Subject>,
}

/// The state of a campaign.
pub(super) struct Ledger {
    plan: Plan,
    /// Number of the first planned launch of this plan.
    first: u32,
    starts: Vec<Launch>,
    planned: Vec<Planned>,
    /// Results of launches with all candidates.
    history: History,
    /// The planned launch of each launch so far, including other plans of the run.
    launches: BTreeMap<u32, u32>,
    dropped: BTreeSet<(Cell, Candidate)>,
    /// Candidates that failed somewhere on communicators of a size.
    quarantined: BTreeSet<(Collective, Ranks, Candidate)>,
    /// Cells in which the builtin itself failed, so that nothing can be compared.
    given_up: BTreeSet<Cell>,
    /// Casts that failed.
    ended_casts: BTreeSet<(Pattern, Cast)>,
    strikes: BTreeMap<Subject, u32>,
    /// Seconds that failures of calls took since the command began, until their cause was found.
    lost: BTreeMap<Collective, f64>,
    samples: usize,
    cells: BTreeSet<Cell>,
    /// Seconds that launches with all candidates took, for starting and measuring. Failures since the command began are included.
    used: f64,
    /// Seconds that launches with one candidate took; their budget is `budget_apart`.
    used_apart: f64,
    budget_apart: Option<Seconds>,
}

impl Ledger {
    /// The state according to journal and samples; the planned launches of this plan are numbered from `first` on.
    pub(super) fn new(plan: &Plan, first: u32, entries: &[JournalEntry], rows: &[Row]) -> Self {
        let starts = separate::starts(plan);
        let mut ledger = Self {
            plan: plan.clone(),
            first,
            planned: vec![Planned::default(); starts.len()],
            starts,
            history: History::new(&separate::together(plan)),
            launches: BTreeMap::new(),
            dropped: BTreeSet::new(),
            quarantined: BTreeSet::new(),
            given_up: BTreeSet::new(),
            ended_casts: BTreeSet::new(),
            strikes: BTreeMap::new(),
            lost: BTreeMap::new(),
            samples: 0,
            cells: BTreeSet::new(),
            used: 0.0,
            used_apart: 0.0,
            budget_apart: separate::budget_apart(plan),
        };
        // Of the times that a launch gives for itself the last one counts.
        let mut spent: BTreeMap<u32, f64> = BTreeMap::new();
        for entry in entries {
            match entry {
                JournalEntry::Format(_) => {}
                JournalEntry::Begun { launch, planned, .. } => drop(ledger.launches.insert(*launch, *planned)),
                JournalEntry::Finished { launch, cell } => {
                    if let Some(planned) = ledger.launches.get(launch).copied() {
                        ledger.finish(planned, Subject::Cell(*cell));
                    }
                }
                JournalEntry::FinishedPattern { launch, pattern } => {
                    if let Some(planned) = ledger.launches.get(launch).copied() {
                        ledger.finish(planned, Subject::Pattern(*pattern));
                    }
                }
                JournalEntry::Spent { launch, seconds } => drop(spent.insert(*launch, *seconds)),
                JournalEntry::Ended { launch, complete, .. } => {
                    if let Some(planned) = ledger.launches.get(launch).copied().filter(|_| *complete) {
                        ledger.at(planned, |planned| planned.complete = true);
                    }
                }
            }
        }
        for (launch, seconds) in spent {
            let Some(planned) = ledger.launches.get(&launch).copied() else { continue };
            ledger.spend(planned, seconds + plan.schedule.startup.0);
            if ledger.is_together(planned) {
                ledger.history.charge(seconds);
            }
        }
        ledger.replay(rows);
        ledger
    }

    /// Adds the rows of earlier sessions, launch by launch.
    fn replay(&mut self, rows: &[Row]) {
        let plan = self.plan.clone();
        for rows in rows.chunk_by(|a, b| a.launch_in(&plan) == b.launch_in(&plan)) {
            rows.iter().for_each(|row| self.take(row));
            let Launch::Shared { number, .. } = rows[0].launch_in(&plan) else { continue };
            let planned = self.launches.get(&number).copied();
            let Some(planned) = planned.filter(|planned| self.is_together(*planned)) else { continue };
            if self.local(planned).is_some_and(|local| self.planned[local].complete) {
                // A candidate that it finds beaten has a row already.
                self.history.close(number);
            }
        }
    }

    fn local(&self, planned: u32) -> Option<usize> {
        planned.checked_sub(self.first).map(|local| local as usize).filter(|local| *local < self.starts.len())
    }

    fn is_together(&self, planned: u32) -> bool {
        self.local(planned).is_some_and(|local| matches!(self.starts[local], Launch::Shared { .. }))
    }

    /// A row with its candidate as launches of this plan name it: with a rules file, `rules` is their builtin.
    fn named_here<'a>(&self, row: &'a Row) -> Cow<'a, Row> {
        let is_theirs = |candidate| self.plan.is_under_rules() && candidate == Candidate::Rules;
        match row {
            Row::Sample(sample) if is_theirs(sample.candidate) => {
                Cow::Owned(Row::Sample(Sample { candidate: Candidate::Builtin, ..sample.clone() }))
            }
            Row::Ended(point) if is_theirs(point.candidate) => {
                Cow::Owned(Row::Ended(EndedPoint { candidate: Candidate::Builtin, ..point.clone() }))
            }
            other => Cow::Borrowed(other),
        }
    }

    /// Returns true if a launch belongs to another plan of the run.
    fn is_of_another_plan(&self, collective: Collective, candidate: Candidate, launch: u32) -> bool {
        let Launch::Shared { number, .. } = self.plan.launch(collective, candidate, launch) else { return false };
        self.launches.get(&number).is_some_and(|planned| self.local(*planned).is_none())
    }

    /// Adds a row.
    pub(super) fn take(&mut self, row: &Row) {
        let row = self.named_here(row);
        let row = row.as_ref();
        match row {
            Row::Sample(sample) => {
                self.samples += 1;
                self.cells.insert(sample.cell);
                // A subject that was timed did not cause the failure.
                self.strikes.remove(&Subject::Cell(sample.cell));
                let (collective, candidate) = (sample.cell.collective, sample.candidate);
                let start = match self.plan.launch(collective, candidate, sample.launch) {
                    Launch::Shared { number, .. } => {
                        let Some(planned) = self.launches.get(&number).copied() else { return };
                        // The builtin is in every round.
                        let rounds = u32::from(candidate == Candidate::Builtin);
                        self.at(planned, |planned| *planned.visited.entry(row.subject()).or_default() += rounds);
                        if self.is_together(planned) {
                            self.history.see(std::slice::from_ref(row));
                        }
                        return;
                    }
                    start @ (Launch::Alone { .. } | Launch::Arm { .. }) => start,
                };
                if let Some(local) = self.starts.iter().position(|known| *known == start) {
                    *self.planned[local].visited.entry(row.subject()).or_default() += 1;
                }
            }
            Row::Pattern(sample) => {
                self.samples += 1;
                self.strikes.remove(&row.subject());
                let known = self.plan.patterns.iter().find(|planned| planned.pattern == sample.pattern);
                // The first cast is in every round.
                let rounds = u32::from(known.is_some_and(|known| known.casts.first() == Some(&sample.cast)));
                let Some(planned) = self.launches.get(&sample.launch).copied() else { return };
                self.at(planned, |planned| *planned.visited.entry(row.subject()).or_default() += rounds);
            }
            Row::EndedCast(ended) => drop(self.ended_casts.insert((ended.pattern, ended.cast.clone()))),
            Row::Ended(point) => {
                let (cell, candidate) = (point.cell, point.candidate);
                match (&point.ended, candidate) {
                    (EndReason::Disqualified(_), Candidate::Builtin) => drop(self.given_up.insert(cell)),
                    (EndReason::Disqualified(_), _) => {
                        self.quarantined.insert((cell.collective, cell.ranks, candidate));
                    }
                    // What is beaten without a rules file may not be under it.
                    (EndReason::Dropped(_), _) if self.is_of_another_plan(cell.collective, candidate, point.launch) => {
                    }
                    (EndReason::Dropped(_), _) => drop(self.dropped.insert((cell, candidate))),
                }
            }
        }
    }

    pub(super) fn finish(&mut self, planned: u32, subject: Subject) {
        self.at(planned, |planned| planned.finished.insert(subject));
    }

    /// Adds the time that a launch reports.
    pub(super) fn follow(&mut self, planned: u32, event: &WorkerEvent) {
        if self.is_together(planned) {
            self.history.watch(event);
        }
    }

    /// Adds the end of a launch, for whatever reason, and its seconds.
    pub(super) fn spend(&mut self, planned: u32, seconds: f64) {
        if self.is_together(planned) {
            self.used += seconds;
        } else if self.local(planned).is_some_and(|local| self.series(local).is_some()) {
            self.used_apart += seconds;
        }
    }

    /// The series of a launch, if it has only one candidate.
    fn series(&self, local: usize) -> Option<u32> {
        match self.starts[local] {
            Launch::Alone { series, .. } => Some(series),
            Launch::Shared { .. } | Launch::Arm { .. } => None,
        }
    }

    /// Returns true if no time is left for a series of launches that was not begun, given the earlier ones. The first
    /// one is made in any case, since there would be no result without it.
    fn is_too_late(&self, series: u32) -> bool {
        let begun = |number: u32| {
            let of_series = |planned: &u32| self.local(*planned).and_then(|local| self.series(local)) == Some(number);
            self.launches.values().any(of_series)
        };
        let before = (0..series).filter(|number| begun(*number)).count();
        let one = self.used_apart / before.max(1) as f64;
        before > 0
            && !begun(series)
            && self.budget_apart.is_some_and(|budget| self.used_apart + one > EXCESS * budget.0)
    }

    /// Records that a launch is complete, and returns the points that it shows to be beaten.
    pub(super) fn close(&mut self, launch: &CampaignLaunch<'_>) -> Vec<EndedPoint> {
        self.at(launch.planned, |planned| planned.complete = true);
        let beaten = if self.is_together(launch.planned) { self.history.close(launch.number) } else { Vec::new() };
        self.dropped.extend(beaten.iter().map(|point| (point.cell, point.candidate)));
        beaten
    }

    /// Records a launch that was cut short, with its seconds without a report.
    pub(super) fn cut(&mut self, planned: u32, silent: f64) {
        if self.is_together(planned) {
            self.history.cut(silent);
        }
    }

    /// Adds the seconds that a failure of a collective's calls took. Returns true if it is left out from now on.
    pub(super) fn lose(&mut self, collective: Collective, seconds: f64) -> bool {
        let was_left_out = self.takes_too_long(collective);
        *self.lost.entry(collective).or_default() += seconds;
        self.takes_too_long(collective) && !was_left_out
    }

    /// Returns true if failures of a collective's calls took too much of the budget.
    fn takes_too_long(&self, collective: Collective) -> bool {
        let lost = self.lost.get(&collective).copied().unwrap_or_default();
        self.plan.budget().is_some_and(|budget| lost > FAILING * budget.0)
    }

    /// Returns true if nothing is left to measure, since failures of all collectives took too much of the budget.
    pub(super) fn has_lost_all(&self) -> bool {
        let lost = |planned: &CellPlan| self.takes_too_long(planned.cell.collective);
        self.plan.patterns.is_empty() && self.plan.cells.iter().all(lost)
    }

    /// Seconds that the budget has left; none without a budget.
    pub(super) fn time_left(&self) -> Option<f64> {
        let starts_apart = separate::starts_apart(&self.plan) as f64 * self.plan.schedule.startup.0;
        self.plan.budget().map(|budget| (budget.0 + starts_apart - self.used - self.used_apart).max(0.0))
    }

    /// Counts a failure of a subject without a known cause.
    pub(super) fn strike(&mut self, subject: Subject) -> u32 {
        let strikes = self.strikes.entry(subject).or_default();
        *strikes += 1;
        *strikes
    }

    fn at<T>(&mut self, planned: u32, change: impl FnOnce(&mut Planned) -> T) {
        if let Some(local) = self.local(planned) {
            change(&mut self.planned[local]);
        }
    }

    /// Enters timings and cells so far into a tally.
    pub(super) fn count(&self, tally: &mut Tally) {
        (tally.samples, tally.cells) = (self.samples, self.cells.len());
    }

    /// The next launch: its number in the journal, which is in use from now on, its index among the planned ones, and its plan.
    pub(super) fn next(&mut self) -> Option<(u32, u32, LaunchPlan)> {
        if !self.lost.is_empty() && self.time_left() == Some(0.0) {
            return None;
        }
        let number = self.launches.last_key_value().map_or(0, |(last, _)| last + 1);
        for local in 0..self.starts.len() {
            let Some(mut plan) = self.left(local) else { continue };
            let planned = self.first + local as u32;
            if let Launch::Shared { number: in_journal, .. } = &mut plan.launch {
                *in_journal = number;
            }
            self.launches.insert(number, planned);
            return Some((number, planned, plan));
        }
        None
    }

    /// Returns the rest of a planned launch. Cells without timings get their visit in any case.
    fn left(&self, local: usize) -> Option<LaunchPlan> {
        let done = &self.planned[local];
        if done.complete || self.series(local).is_some_and(|series| self.is_too_late(series)) {
            return None;
        }
        let is_limited = self.plan.schedule.budget.is_some();
        // With little time, an algorithm that fails somewhere is not tried on other communicators.
        let fails = |cell: Cell, candidate| {
            let of_candidate = |(collective, ranks, failed): &(Collective, Ranks, Candidate)| {
                (*collective, *failed) == (cell.collective, candidate) && (is_limited || *ranks == cell.ranks)
            };
            self.quarantined.iter().any(of_candidate)
        };
        let wanted = |cell: Cell, candidate| {
            !self.given_up.contains(&cell)
                && !self.dropped.contains(&(cell, candidate))
                && !fails(cell, candidate)
                && !self.takes_too_long(cell.collective)
        };
        let mut plan = match self.starts[local] {
            Launch::Shared { number: launch, .. } => {
                let planned = self.first + local as u32;
                let begun = self.launches.values().any(|other| *other == planned);
                self.history.next(launch, Seconds(self.used), begun, wanted)?
            }
            Launch::Alone { series, collective, candidate } => {
                separate::alone(&self.plan, series, collective, candidate, wanted)?
            }
            Launch::Arm { .. } => return None,
        };
        let most = plan.schedule.max_rounds;
        let has_time = plan.schedule.budget.is_none_or(|budget| budget.0 > 0.0);
        // What one job timed of a candidate alone is not mixed with what another did.
        let goes_on = has_time && !plan.has_one_candidate();
        let is_open = |subject: Subject| {
            let rounds = done.visited.get(&subject);
            let is_finished = done.finished.contains(&subject) || rounds.is_some_and(|rounds| *rounds >= most);
            rounds.is_none() || (goes_on && !is_finished)
        };
        plan.cells.retain(|planned| is_open(Subject::Cell(planned.cell)));
        for PatternPlan { pattern, casts } in &mut plan.patterns {
            casts.retain(|cast| !self.ended_casts.contains(&(*pattern, cast.clone())));
        }
        plan.patterns.retain(|planned| !planned.casts.is_empty() && is_open(Subject::Pattern(planned.pattern)));
        if !done.visited.is_empty() {
            // Another order than that of the launch which was cut short.
            plan.seed = plan.seed.wrapping_add(1 << 24);
        }
        (plan.subjects() > 0).then_some(plan)
    }
}
