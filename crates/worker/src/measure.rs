//! Checking and timing, directed by rank 0.
//!
//! Rank 0 runs the engine; for each of its steps it sends a command, which all ranks carry out together.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use collrules_record::clock::{Arrivals, ClockCheck, ClockFact, Harness, LaunchEnd};
use collrules_record::condition::{Arrival, BufferUse, find_pattern, shorten_gaps};
use collrules_record::estimate::median;
use collrules_record::units::Seconds;
use collrules_record::{Candidate, Subject};
use collrules_runner::engine::{self, CheckResult, Executor};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::schedule::Visit;
use collrules_runner::turns::{LoopTimes, Turn};
use collrules_runner::wire::{RankTimes, WorkerEvent};
use mpi::collective::SystemOperation;
use mpi::topology::{Communicator, SimpleCommunicator};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::clock::hierarchy::CommonClock;
use crate::clock::{now, seconds};
use crate::communicators::Communicators;
use crate::control::{Control, emit};
use crate::error::WorkerError;
use crate::faults::{Faults, Phase};
use crate::ffi::{MpiErrorClass, Tools};
use crate::harness;
use crate::operation::{BufferPool, BufferSource};
use crate::subject::{self, PreparedSubject};
use crate::sync::{CallTiming, Synchroniser, dissemination_barrier, over_ranks, reduce_calls, time_calls};

/// A check of a cell with at least this many seconds takes about as long as a round of its calls.
const LONG_CHECK: f64 = 0.25;

/// After this many seconds without a check, the common clock is checked before the next visit.
const CHECK_INTERVAL: f64 = 1.0;

/// Maximum number of repeats of a call because a rank was late for it.
const MOST_REPEATS: u32 = 10;

/// Calls of the default that determine the lateness of a rank, and calls before them.
const LATENESS_CALLS: usize = 5;
const LATENESS_WARMUP: usize = 2;

/// A command from rank 0 to all ranks.
#[derive(Serialize, Deserialize)]
enum RankCommand {
    /// Check the candidates of a cell.
    Open(usize),
    /// Time candidates of a cell. With `lead`, each has a train of calls that begins with this number of untimed ones.
    Visit { visit: Visit, lead: Option<u32> },
    /// Compare the clocks.
    CheckClock,
    /// Set the clocks again.
    SetClock,
    /// Leave.
    Stop,
}

/// Seconds above which a call with its synchronisation takes turns one by one: the preceding call moves its start by
/// about the skew of a barrier, which is short in comparison.
const LONG_CALL: f64 = 100e-6;

/// Seconds that the untimed calls of a train should take, and their smallest and largest number.
const LEAD_TIME: f64 = 50e-6;
const LEAST_LEAD: u32 = 4;
const MOST_LEAD: u32 = 16;

/// The number of untimed calls at the start of a train, for calls of this many seconds; none if they are long.
fn lead_calls(cost: f64) -> Option<u32> {
    (cost < LONG_CALL).then(|| ((LEAD_TIME / cost.max(1e-9)) as u32).clamp(LEAST_LEAD, MOST_LEAD))
}

/// Measures a plan, or tries its candidates.
pub(crate) fn run(
    control: &Control,
    tools: Option<&Tools>,
    plan: &LaunchPlan,
    faults: &Faults,
) -> Result<(), WorkerError> {
    let start = now();
    let mut member = Member::new(control, tools, plan, faults);
    let harness = harness::measure(control, &member.clock);
    let rotates = (0..plan.cells.len().max(1)).any(|index| plan.condition(index).buffers == BufferUse::Rotate);
    if control.is_root() {
        let cache = rotates.then(|| member.pool.cache());
        emit(&WorkerEvent::Clock(ClockFact::Harness(Harness { sync: plan.schedule.sync, cache, ..harness })));
        let mut root = RootRank { member, start, call_costs: HashMap::new() };
        if root.member.uses_common_clock() {
            root.check_clock();
        }
        engine::run(plan, &mut root, &mut |event| emit(&event))?;
        control.broadcast(Some(RankCommand::Stop));
        let end = root.member.end();
        emit(&WorkerEvent::Clock(ClockFact::End(end)));
        return Ok(());
    }
    loop {
        match control.broadcast(None) {
            RankCommand::Open(cell) => {
                member.open(cell, &mut |_| {})?;
            }
            RankCommand::Visit { visit, lead } => {
                member.visit(&visit, lead)?;
            }
            RankCommand::CheckClock => {
                member.clock.check(control);
            }
            RankCommand::SetClock => member.clock.synchronise(),
            RankCommand::Stop => {
                member.end();
                return Ok(());
            }
        }
    }
}

/// Rank 0, which commands the others in addition to taking part.
struct RootRank<'a> {
    member: Member<'a>,
    start: i64,
    /// Seconds of a call of each cell with its synchronisation, averaged over the alternatives.
    call_costs: HashMap<usize, f64>,
}

impl RootRank<'_> {
    /// The number of untimed calls at the start of each alternative's train in a cell; none if alternatives take turns
    /// call by call. The start times of `--sync roundtime` do not depend on preceding calls.
    fn lead(&self, visit: &Visit) -> Option<u32> {
        let alternatives = self.member.plan.cells.get(visit.cell).map_or(0, |_| visit.candidates.len());
        let cost = self.call_costs.get(&visit.cell)?;
        (alternatives > 1 && !self.member.synchroniser.is_round_time()).then_some(())?;
        lead_calls(*cost)
    }

    /// Compares the clocks, and sets them again if one is certainly off by more than the bound.
    fn check_clock(&mut self) {
        self.member.control.broadcast(Some(RankCommand::CheckClock));
        let found = self.member.clock.check(self.member.control);
        let bound = self.member.plan.schedule.clock_bound;
        let set_anew = found.error > bound.0 + found.uncertainty;
        if set_anew {
            self.member.control.broadcast(Some(RankCommand::SetClock));
            self.member.clock.synchronise();
        }
        emit(&WorkerEvent::Clock(ClockFact::Check(ClockCheck {
            at: Seconds(self.elapsed()),
            error: Seconds(found.error),
            bound,
            uncertainty: Seconds(found.uncertainty),
            set_anew,
            drift: found.drift,
        })));
    }
}

impl Executor for RootRank<'_> {
    type Error = WorkerError;

    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<CheckResult, WorkerError> {
        self.member.control.broadcast(Some(RankCommand::Open(cell)));
        let mut opened = self.member.open(cell, checking)?;
        let calls = self.member.plan.turns(cell).saturating_sub(opened.failed.len());
        let cost = opened.round_cost / calls.max(1) as f64;
        self.call_costs.insert(cell, cost);
        // A single alternative has no trains.
        if let Some(lead) = lead_calls(cost).filter(|_| calls > 1) {
            opened.round_cost *= f64::from(1 + lead);
        }
        Ok(opened)
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, WorkerError> {
        if self.member.is_clock_due() {
            self.check_clock();
        }
        let lead = self.lead(visit);
        self.member.control.broadcast(Some(RankCommand::Visit { visit: visit.clone(), lead }));
        let rounds = self.member.visit(visit, lead)?;
        if let Some(arrivals) = self.member.arrivals.take() {
            emit(&WorkerEvent::Clock(ClockFact::Arrivals(arrivals)));
        }
        Ok(rounds)
    }

    fn elapsed(&self) -> f64 {
        seconds(now() - self.start)
    }
}

/// A rank that checks and times. Ranks outside the cell return at once, with empty results; only rank 0's are used.
pub(crate) struct Member<'a> {
    plan: &'a LaunchPlan,
    control: &'a Control,
    /// Missing if nothing is switched.
    tools: Option<&'a Tools>,
    communicators: Communicators<'a>,
    faults: &'a Faults,
    synchroniser: Synchroniser,
    pub(crate) clock: CommonClock,
    /// Memory for buffers in turn.
    pool: Arc<BufferPool>,
    /// Lateness of a rank for calls of a cell in nanoseconds, if it was determined here.
    lateness: RefCell<HashMap<usize, i64>>,
    /// Rank 0's data on the last visit.
    arrivals: Option<Arrivals>,
    /// Counts of its calls so far, complete on rank 0, which takes part in every call. Late arrivals count by rank and call.
    counts: LaunchEnd,
}

impl<'a> Member<'a> {
    /// A rank of a job, on all of its ranks, which set their clocks.
    pub(crate) fn new(
        control: &'a Control,
        tools: Option<&'a Tools>,
        plan: &'a LaunchPlan,
        faults: &'a Faults,
    ) -> Self {
        Self {
            plan,
            control,
            tools,
            faults,
            communicators: Communicators::new(control, tools, plan),
            synchroniser: Synchroniser::new(
                plan.schedule.sync,
                nanoseconds(plan.schedule.clock_bound),
                control.world(),
            ),
            clock: CommonClock::set_up(control, plan.schedule.separate_clocks),
            pool: Arc::new(BufferPool::new()),
            lateness: RefCell::default(),
            arrivals: None,
            counts: LaunchEnd::default(),
        }
    }

    /// Creates the communicators for these places of a subject; false on ranks that take no part in it.
    fn prepare(&mut self, index: usize, places: &[usize]) -> Result<bool, WorkerError> {
        let participants = subject::participants(self.plan, index);
        let takes_part = participants.contains(&self.control.rank());
        if takes_part {
            self.communicators.prepare_base(&participants)?;
        }
        if let Some(LaunchCell { cell, candidates, .. }) = self.plan.cells.get(index).filter(|_| takes_part) {
            let candidates: Vec<Candidate> = places.iter().map(|place| candidates[*place]).collect();
            self.communicators.prepare((&participants, *cell), &candidates)?;
        }
        Ok(takes_part)
    }

    /// Returns true if times of several ranks are compared.
    fn uses_common_clock(&self) -> bool {
        self.synchroniser.is_round_time() || (0..self.plan.cells.len()).any(|index| self.has_late(index))
    }

    /// Returns true if ranks are to be late for the calls of a subject.
    fn has_late(&self, index: usize) -> bool {
        index < self.plan.cells.len() && self.plan.condition(index).arrival != Arrival::None
    }

    /// Returns true if the common clock is needed, and was not checked or set for some time.
    pub(crate) fn is_clock_due(&self) -> bool {
        self.uses_common_clock() && self.clock.seconds_since_check() > CHECK_INTERVAL
    }

    /// Source of the buffers for the calls of a subject.
    fn supply(&self, index: usize) -> BufferSource {
        match self.plan.condition(index).buffers {
            BufferUse::Reuse => BufferSource::Reused,
            BufferUse::InPlace => BufferSource::InPlace,
            BufferUse::Unaligned => BufferSource::Unaligned,
            BufferUse::Rotate => BufferSource::Rotated(Arc::clone(&self.pool)),
        }
    }

    /// By how many nanoseconds a rank is to be late for the calls of a subject, or the longest gap between arrivals of a
    /// profile: none if ranks arrive together.
    ///
    /// If neither the condition nor the controller says so, it follows from what the default takes, which is among what is
    /// called with these places.
    fn lateness(
        &self,
        prepared: &mut PreparedSubject<'_>,
        (index, places): (usize, &[usize]),
    ) -> Result<i64, WorkerError> {
        let condition = self.plan.condition(index);
        let planned = self.plan.cells.get(index).filter(|_| self.has_late(index));
        let Some(planned) = planned else { return Ok(0) };
        if let Some(given) = condition.lateness.or(planned.lateness) {
            return Ok(nanoseconds(given));
        }
        if let Some(known) = self.lateness.borrow().get(&index) {
            return Ok(*known);
        }
        let default = places.iter().position(|place| planned.candidates[*place] == Candidate::Builtin);
        let mut taken = Vec::new();
        self.round(prepared, &[default.unwrap_or(0); LATENESS_WARMUP + LATENESS_CALLS], &[], &mut taken)?;
        let mut calls: Vec<f64> = taken[LATENESS_WARMUP..].iter().map(|turn| turn.seconds).collect();
        let usual = over_ranks(prepared.base, median(&mut calls).unwrap_or_default(), SystemOperation::max());
        let lateness = nanoseconds(Seconds(condition.lateness_factor() * usual));
        self.lateness.borrow_mut().insert(index, lateness);
        Ok(lateness)
    }

    /// By how many nanoseconds each rank is late in each of so many rounds of a visit: the same for all alternatives of a
    /// round. Nothing if ranks arrive together.
    fn draw_delays(
        &self,
        prepared: &mut PreparedSubject<'_>,
        visit: &Visit,
        rounds: usize,
    ) -> Result<Vec<Vec<i64>>, WorkerError> {
        if !self.has_late(visit.cell) {
            return Ok(Vec::new());
        }
        let ranks = prepared.base.size() as usize;
        let lateness = self.lateness(prepared, (visit.cell, &visit.candidates))?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        // A random stream separate from that of the orders.
        rng.set_stream(1 << 63 | (visit.cell as u64) << 32 | u64::from(visit.visit));
        let of_profile = self.delays_of_profile(visit.cell, lateness);
        let late = |late: usize| (0..ranks).map(|rank| if rank == late { lateness } else { 0 }).collect();
        let delays = |_| match self.plan.condition(visit.cell).arrival {
            Arrival::None => vec![0; ranks],
            Arrival::First => late(0),
            Arrival::Last => late(ranks.saturating_sub(1)),
            Arrival::Random => late(rng.random_range(0..ranks.max(1))),
            Arrival::Profile if of_profile.is_empty() => vec![0; ranks],
            Arrival::Profile => of_profile[rng.random_range(0..of_profile.len())].clone(),
        };
        Ok((0..rounds).map(delays).collect())
    }

    /// By how many nanoseconds each rank was late for calls like those of a subject in a profile, without long gaps; nothing if
    /// the profile has no such calls.
    fn delays_of_profile(&self, index: usize, longest: i64) -> Vec<Vec<i64>> {
        let is_late = self.plan.condition(index).arrival == Arrival::Profile;
        let cell = self.plan.cells.get(index).filter(|_| is_late).map(|planned| planned.cell);
        let pattern = cell.and_then(|cell| find_pattern(&self.plan.arrivals, cell));
        let longest = Seconds(seconds(longest));
        let delays = |call: &Vec<Seconds>| shorten_gaps(call, longest).into_iter().map(nanoseconds).collect();
        pattern.map_or_else(Vec::new, |pattern| pattern.calls.iter().map(delays).collect())
    }

    /// Seconds by which the last rank is late for a call of a subject, on average.
    fn mean_wait(&self, index: usize, lateness: i64) -> f64 {
        if self.plan.condition(index).arrival != Arrival::Profile {
            return seconds(lateness);
        }
        let calls = self.delays_of_profile(index, lateness);
        let last = calls.iter().map(|call| seconds(call.iter().copied().max().unwrap_or_default()));
        last.sum::<f64>() / calls.len().max(1) as f64
    }

    pub(crate) fn open(&mut self, index: usize, checking: &mut dyn FnMut(usize)) -> Result<CheckResult, WorkerError> {
        let all: Vec<usize> = (0..self.plan.turns(index)).collect();
        if !self.prepare(index, &all)? {
            return Ok(CheckResult::default());
        }
        let from = (self.control.rank(), &self.supply(index));
        let mut prepared = PreparedSubject::new(&self.communicators, self.plan, index, &all, from)?;
        let base = prepared.base;
        let han_switch = prepared.han_switch(self.tools, &all)?;
        let mut failed = Vec::new();
        let mut checks = Vec::with_capacity(all.len());
        let start = now();
        for place in all.iter().copied() {
            checking(place);
            han_switch.before(place)?;
            dissemination_barrier(base);
            let called = now();
            let salt = (index as u64) << 32 | place as u64;
            let spoilt = prepared.strike(self.faults, Phase::Check, self.control.rank(), place);
            let mine = prepared.checked_call(place, salt, self.faults);
            let failure = describe_failure(base, mine.map(|right| right && !spoilt));
            checks.push(seconds(now() - called));
            if let Some(failure) = failure {
                failed.push((place, failure));
                continue;
            }
            // Programs also call in place, and rules apply to these calls.
            dissemination_barrier(base);
            if let Some(mine) = prepared.checked_call_in_place(place, salt).transpose() {
                failed.extend(describe_failure(base, mine).map(|failure| (place, format!("{failure} in place"))));
            }
        }
        let mut round_cost = over_ranks(base, seconds(now() - start), SystemOperation::max());
        let passed: Vec<usize> =
            all.iter().copied().filter(|place| !failed.iter().any(|(out, _)| out == place)).collect();
        // Checking takes longer than calling. If it was quick, a round of calls gives their cost.
        if round_cost < LONG_CHECK {
            let start = now();
            self.round(&mut prepared, &passed, &[], &mut Vec::new())?;
            round_cost = seconds(now() - start);
        }
        if !passed.is_empty() {
            let lateness = self.lateness(&mut prepared, (index, &all))?;
            round_cost += passed.len() as f64 * self.mean_wait(index, lateness);
        }
        Ok(CheckResult { failed, checks, round_cost })
    }

    fn visit(&mut self, visit: &Visit, lead: Option<u32>) -> Result<Vec<Vec<RankTimes>>, WorkerError> {
        if !self.prepare(visit.cell, &visit.candidates)? {
            return Ok(Vec::new());
        }
        let Visit { cell, candidates, .. } = visit;
        let from = (self.control.rank(), &self.supply(*cell));
        let mut prepared = PreparedSubject::new(&self.communicators, self.plan, *cell, candidates, from)?;
        let base = prepared.base;
        let lead = lead.map(|lead| lead.max(visit.warmup) as usize);
        let rounds = lead.unwrap_or(visit.warmup as usize) + visit.rounds as usize;
        let delays = self.draw_delays(&mut prepared, visit, rounds)?;
        let width = candidates.len();
        let mut order: Vec<usize> = (0..width).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        // One stream for all ranks, different for every visit.
        rng.set_stream((visit.cell as u64) << 32 | u64::from(visit.visit));
        let mut timed = vec![CallTiming::default(); visit.rounds as usize * width];
        let mut taken = Vec::with_capacity(width);
        let mut given_up = BTreeSet::new();
        if let Some(lead) = lead {
            order.shuffle(&mut rng);
            self.counts.calls += self.trains(&mut prepared, (&order, lead, &delays), &mut timed)?;
        }
        let in_turns = if lead.is_none() { visit.warmup + visit.rounds } else { 0 };
        for round in 0..in_turns {
            order.shuffle(&mut rng);
            let place_of_round = round.checked_sub(visit.warmup).map(|round| round as usize);
            // First all calls, then at once those for which a rank was late, since calls are compared within a round.
            let mut todo = order.clone();
            for repeat in 0..=MOST_REPEATS {
                taken.clear();
                let delays =
                    delays.get(round as usize).map_or_else(Vec::new, |delays| vec![delays.clone(); todo.len()]);
                self.round(&mut prepared, &todo, &delays, &mut taken)?;
                self.counts.calls += todo.len() as u64;
                self.counts.repeated += if repeat > 0 { todo.len() as u64 } else { 0 };
                let Some(round) = place_of_round else { break };
                todo.iter().zip(&taken).for_each(|(place, turn)| timed[round * width + place] = *turn);
                let late = self.count_late(base, &taken);
                self.counts.late += late.iter().sum::<u64>();
                todo = todo.iter().zip(&late).filter(|(_, late)| **late > 0).map(|(it, _)| *it).collect();
                if todo.is_empty() {
                    break;
                }
                if repeat == MOST_REPEATS {
                    given_up.insert(round);
                }
            }
        }
        self.counts.given_up += given_up.len() as u64;
        let timings = self.reduced(&prepared, width, &timed, !delays.is_empty());
        if !delays.is_empty() && visit.visit == 0 {
            self.arrivals = self.arrivals(&prepared, &timed, &delays[rounds - visit.rounds as usize..]);
        }
        let valid = timings.chunks(width).enumerate().filter(|(round, _)| !given_up.contains(round));
        Ok(valid.map(|(_, round)| round.to_vec()).collect())
    }

    /// Times a loop of calls, as programs and benchmarks make them. Without a result if a rank was late for each of its calls.
    pub(crate) fn take_turn(&mut self, turn: &Turn) -> Result<Option<LoopTimes>, WorkerError> {
        let Turn { subject, place, number, warmup, calls } = *turn;
        if !self.prepare(subject, &[place])? {
            return Ok(None);
        }
        let from = (self.control.rank(), &self.supply(subject));
        let mut prepared = PreparedSubject::new(&self.communicators, self.plan, subject, &[place], from)?;
        let base = prepared.base;
        let all = (warmup + calls) as usize;
        let visit = Visit { cell: subject, visit: number, warmup, rounds: calls, candidates: vec![place] };
        let delays = self.draw_delays(&mut prepared, &visit, all)?;
        let mut taken = Vec::with_capacity(all);
        let began = now();
        self.round(&mut prepared, &vec![0; all], &delays, &mut taken)?;
        let duration = seconds(now() - began);
        self.counts.calls += all as u64;
        let timed = taken.split_off(warmup as usize);
        let slowest = self.slowest(&prepared, 1, &timed, !delays.is_empty());
        let late = self.count_late(base, &timed);
        self.counts.late += late.iter().sum::<u64>();
        let is_late = |call: usize| late.get(call).is_some_and(|late| *late > 0);
        let valid = slowest.into_iter().enumerate().filter(|(call, time)| !is_late(*call) && *time > 0.0);
        let valid: Vec<f64> = valid.map(|(_, time)| time).collect();
        Ok(LoopTimes::new(valid, duration / all as f64))
    }

    /// Counts for each call the ranks that were late for its start; nothing with a barrier.
    fn count_late(&self, base: &SimpleCommunicator, timed: &[CallTiming]) -> Vec<u64> {
        if !self.synchroniser.is_round_time() {
            return Vec::new();
        }
        let late: Vec<u64> = timed.iter().map(|turn| turn.late.into()).collect();
        reduce_calls(base, &late, SystemOperation::sum())
    }

    /// Calls each place repeatedly, and keeps the times after the first `lead` calls. Returns their number.
    ///
    /// The rank that finishes a call last leaves the following barrier first. So a call after those of other algorithms
    /// starts with another skew, and colder caches, than in a program that repeats one call.
    fn trains(
        &self,
        prepared: &mut PreparedSubject<'_>,
        (order, lead, delays): (&[usize], usize, &[Vec<i64>]),
        timed: &mut [CallTiming],
    ) -> Result<u64, WorkerError> {
        let (width, mut taken) = (order.len(), Vec::new());
        let rounds = timed.len() / width;
        for place in order {
            taken.clear();
            self.round(prepared, &vec![*place; lead + rounds], delays, &mut taken)?;
            taken[lead..].iter().enumerate().for_each(|(round, turn)| timed[round * width + place] = *turn);
        }
        Ok((width * (lead + rounds)) as u64)
    }

    /// Entries into the calls of a visit for which ranks were to be late by these times in each round, on rank 0.
    fn arrivals(&self, prepared: &PreparedSubject<'_>, timed: &[CallTiming], asked: &[Vec<i64>]) -> Option<Arrivals> {
        let Subject::Cell(cell) = prepared.subject else { return None };
        let entries: Vec<i64> = timed.iter().map(|turn| turn.at).collect();
        let first = reduce_calls(prepared.base, &entries, SystemOperation::min());
        let last = reduce_calls(prepared.base, &entries, SystemOperation::max());
        let spread = |call: usize| last[call] - first[call];
        let mut calls: Vec<usize> = (0..entries.len()).collect();
        calls.sort_by_key(|call| spread(*call));
        let call = *calls.get(calls.len() / 2)?;
        let of_call = self.control.gather(cell.ranks.0, entries[call]);
        Some(Arrivals {
            cell,
            spread: Seconds(seconds(spread(call))),
            asked: asked
                .get(call / (entries.len() / asked.len()).max(1))?
                .iter()
                .map(|it| Seconds(seconds(*it)))
                .collect(),
            entries: of_call.into_iter().map(|entry| Seconds(seconds(entry - first[call]))).collect(),
        })
    }

    /// Maximum, minimum and mean over the timed ranks. If ranks are late, the maximum is the time from the last entry into the
    /// call to its last end, and the others are times from each rank's own entry.
    fn reduced(
        &self,
        prepared: &PreparedSubject<'_>,
        width: usize,
        timed: &[CallTiming],
        has_late: bool,
    ) -> Vec<RankTimes> {
        let mine: Vec<f64> = timed.iter().map(|turn| turn.seconds).collect();
        let max = self.slowest(prepared, width, timed, has_late);
        let min = self.reduce_times(prepared, width, &mine, (f64::INFINITY, SystemOperation::min()));
        let sum = self.reduce_times(prepared, width, &mine, (0.0, SystemOperation::sum()));
        (0..mine.len()).map(|at| [max[at], min[at], sum[at] / prepared.timed(at % width) as f64]).collect()
    }

    /// The time of the slowest rank in each call, from the last entry into the call if ranks are late.
    fn slowest(&self, prepared: &PreparedSubject<'_>, width: usize, timed: &[CallTiming], has_late: bool) -> Vec<f64> {
        let mut mine: Vec<f64> = timed.iter().map(|turn| turn.seconds).collect();
        if has_late {
            let entries: Vec<i64> = timed.iter().map(|turn| turn.at).collect();
            let last = reduce_calls(prepared.base, &entries, SystemOperation::max());
            let waits = last.iter().zip(entries).map(|(last, entry)| seconds(last - entry));
            mine.iter_mut().zip(waits).for_each(|(mine, wait)| *mine -= wait);
        }
        self.reduce_times(prepared, width, &mine, (f64::NEG_INFINITY, SystemOperation::max()))
    }

    /// Reduces the times of calls over the timed ranks.
    fn reduce_times(
        &self,
        prepared: &PreparedSubject<'_>,
        width: usize,
        mine: &[f64],
        (neutral, operation): (f64, SystemOperation),
    ) -> Vec<f64> {
        let counts: Vec<bool> = (0..width).map(|place| prepared.counts(place, self.control.rank())).collect();
        let at = |(at, time): (usize, &f64)| if counts[at % width] { *time } else { neutral };
        let mine: Vec<f64> = mine.iter().enumerate().map(at).collect();
        reduce_calls(prepared.base, &mine, operation)
    }

    /// Calls these places one after the other and appends the time of each call on this rank. With delays of all ranks in
    /// nanoseconds for each call, ranks enter later by these, and times are those of the common clock.
    fn round(
        &self,
        prepared: &mut PreparedSubject<'_>,
        places: &[usize],
        delays: &[Vec<i64>],
        taken: &mut Vec<CallTiming>,
    ) -> Result<(), WorkerError> {
        let base = prepared.base;
        for place in places {
            prepared.strike(self.faults, Phase::Time, self.control.rank(), *place);
        }
        let han_switch = prepared.han_switch(self.tools, places)?;
        let refused = RefCell::new(None);
        let begin = |turn| {
            if let Err(error) = han_switch.before(turn) {
                *refused.borrow_mut() = Some(error);
            }
            let delay =
                delays.get(turn).map(|delays| delays.get(self.control.rank() as usize).copied().unwrap_or_default());
            self.synchroniser.begin(base, &self.clock, delay)
        };
        let is_common = self.synchroniser.is_round_time() || !delays.is_empty();
        let end = || if is_common { self.clock.common(now()) } else { now() };
        let called = time_calls(places.len(), begin, |turn| prepared.call(places[turn]), end, taken);
        called.map_err(|(turn, class)| WorkerError::TimedCallFailed {
            candidate: prepared.name(places[turn]),
            cell: prepared.subject.to_string(),
            class,
        })?;
        refused.into_inner().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Returns the totals of the launch, complete on rank 0.
    pub(crate) fn end(&self) -> LaunchEnd {
        let resident = self.control.gather(self.control.ranks(), harness::resident_bytes());
        let (communicators, most_communicators) = self.communicators.counts();
        let resident = resident.into_iter().flatten().max();
        LaunchEnd { communicators, most_communicators, resident, ..self.counts.clone() }
    }
}

/// The reason not to choose a candidate, from its result on this rank: right or wrong data, or an MPI error class; none
/// if all ranks have right data.
fn describe_failure(comm: &SimpleCommunicator, mine: Result<bool, MpiErrorClass>) -> Option<String> {
    // Negative: wrong data; zero: right; positive: an MPI error class.
    let mine = mine.map_or_else(|class| class, |right| -i32::from(!right));
    let least = over_ranks(comm, mine, SystemOperation::min());
    let most = over_ranks(comm, mine, SystemOperation::max());
    match (least, most) {
        (_, 1..) => Some(format!("MPI error class {most}")),
        (..0, _) => Some("wrong result".to_owned()),
        _ => None,
    }
}

fn nanoseconds(time: Seconds) -> i64 {
    (time.0 * 1e9) as i64
}

#[cfg(test)]
mod tests {
    use super::lead_calls;

    #[test]
    fn short_calls_are_led_by_calls_of_the_same_algorithm() {
        assert_eq!(lead_calls(1e-6), Some(16));
        assert_eq!(lead_calls(8e-6), Some(6));
        assert_eq!(lead_calls(99e-6), Some(4));
        assert_eq!(lead_calls(100e-6), None, "a long call barely feels what precedes it");
        assert_eq!(lead_calls(0.0), Some(16));
    }
}
