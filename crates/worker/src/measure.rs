//! Checking and timing, as rank 0 says.
//!
//! Rank 0 runs the engine; for each of its steps it sends a command, which all ranks carry out together.

use std::cell::RefCell;
use std::collections::BTreeSet;

use collrules_record::Candidate;
use collrules_record::clock::{ClockCheck, ClockFact, Harness, LaunchEnd, SyncMethod};
use collrules_record::units::{Ranks, Seconds};
use collrules_runner::engine::{self, Executor, Opened};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use collrules_runner::schedule::Visit;
use collrules_runner::wire::{Event, RankTimes};
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::topology::Communicator;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::clock::hierarchy::CommonClock;
use crate::clock::{now, seconds};
use crate::communicators::Communicators;
use crate::control::Control;
use crate::error::WorkerError;
use crate::faults::{Faults, Phase};
use crate::ffi::Tools;
use crate::harness;
use crate::playing::{self, Playing};
use crate::report::emit;
use crate::sync::{Lateness, Synchroniser, dissemination_barrier, over_ranks};
use crate::turns::{Turn, turns};

/// A check of a cell that took so many seconds is about as long as a round of its calls.
const LONG_CHECK: f64 = 0.25;

/// After so many seconds without, the common clock is checked before the next visit.
const CHECK_INTERVAL: f64 = 1.0;

/// How many times a call that a rank was late for is made again, at most.
const MOST_REPEATS: u32 = 10;

/// What rank 0 asks of all ranks.
#[derive(Serialize, Deserialize)]
enum Command {
    /// Check the candidates of a cell.
    Open(usize),
    /// Time candidates of a cell.
    Visit { cell: usize, visit: u32, warmup: u32, rounds: u32, candidates: Vec<usize> },
    /// Compare the clocks.
    CheckClock,
    /// Set the clocks anew.
    SetClock,
    /// Leave.
    Stop,
}

/// What is done with a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is measured.
    Timed,
    /// Its candidates are called to see whether the job survives it.
    Trial,
}

/// Measures a plan, or tries it.
pub(crate) fn run(
    control: &Control,
    tools: Option<&Tools>,
    plan: &LaunchPlan,
    faults: &Faults,
    way: Way,
) -> Result<(), WorkerError> {
    let start = now();
    let clock = CommonClock::set_up(control, plan.schedule.separate_clocks);
    let harness = harness::measure(control, &clock);
    let tolerance = (plan.schedule.clock_bound.0 * 1e9) as i64;
    let mut member = Member {
        plan,
        control,
        tools,
        rank: control.rank(),
        faults,
        communicators: Communicators::new(control, tools, plan),
        synchroniser: Synchroniser::new(plan.schedule.sync, tolerance),
        clock,
        counts: Counts::default(),
    };
    if control.is_root() {
        emit(&Event::Clock(ClockFact::Harness(Harness {
            sync: plan.schedule.sync,
            ranks: Ranks(control.ranks()),
            ..harness
        })));
        let mut root = RootRank { control, member, start };
        if plan.schedule.sync == SyncMethod::RoundTime {
            root.check_clock();
        }
        match way {
            Way::Timed => engine::run(plan, &mut root, &mut |event| emit(&event))?,
            Way::Trial => engine::trial(plan, &mut root, &mut |event| emit(&event))?,
        }
        control.broadcast(Some(Command::Stop));
        let end = root.member.end();
        emit(&Event::Clock(ClockFact::End(end)));
        return Ok(());
    }
    loop {
        match control.broadcast(None) {
            Command::Open(cell) => {
                member.open(cell, &mut |_| {})?;
            }
            Command::Visit { cell, visit, warmup, rounds, candidates } => {
                member.visit(&Visit { cell, visit, warmup, rounds, candidates })?;
            }
            Command::CheckClock => {
                member.clock.check(control);
            }
            Command::SetClock => member.clock.set(),
            Command::Stop => {
                member.end();
                return Ok(());
            }
        }
    }
}

/// What rank 0 does more than the others: it commands.
struct RootRank<'a> {
    control: &'a Control,
    member: Member<'a>,
    start: i64,
}

impl RootRank<'_> {
    /// Compares the clocks, and sets them anew where one is certainly off by more than the bound.
    fn check_clock(&mut self) {
        self.control.broadcast(Some(Command::CheckClock));
        let found = self.member.clock.check(self.control);
        let bound = self.member.plan.schedule.clock_bound;
        let set_anew = found.error > bound.0 + found.uncertainty;
        if set_anew {
            self.control.broadcast(Some(Command::SetClock));
            self.member.clock.set();
        }
        emit(&Event::Clock(ClockFact::Check(ClockCheck {
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

    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<Opened, WorkerError> {
        self.control.broadcast(Some(Command::Open(cell)));
        self.member.open(cell, checking)
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, WorkerError> {
        if self.member.synchroniser.is_round_time() && self.member.clock.unchecked() > CHECK_INTERVAL {
            self.check_clock();
        }
        let Visit { cell, visit: number, warmup, rounds, ref candidates } = *visit;
        let candidates = candidates.clone();
        self.control.broadcast(Some(Command::Visit { cell, visit: number, warmup, rounds, candidates }));
        self.member.visit(visit)
    }

    fn elapsed(&self) -> f64 {
        seconds(now() - self.start)
    }
}

/// What came of the calls of a launch.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    calls: u64,
    /// Late arrivals, by rank and call, and those among them that a start further ahead would have prevented.
    late: u64,
    missed: u64,
    repeated: u64,
    given_up: u64,
}

/// What every rank does. Ranks outside the cell return at once, with empty results; only rank 0's are used.
struct Member<'a> {
    plan: &'a LaunchPlan,
    control: &'a Control,
    /// Missing where nothing is switched.
    tools: Option<&'a Tools>,
    rank: u32,
    communicators: Communicators<'a>,
    faults: &'a Faults,
    synchroniser: Synchroniser,
    clock: CommonClock,
    /// Complete on rank 0, which takes part in everything.
    counts: Counts,
}

impl Member<'_> {
    /// Makes the communicators for what has these places in a subject; false on ranks that take no part in it.
    fn prepare(&mut self, index: usize, places: &[usize]) -> Result<bool, WorkerError> {
        if let Some(LaunchCell { cell, candidates, .. }) = self.plan.cells.get(index) {
            let takes_part = self.rank < cell.ranks.0;
            if takes_part {
                let candidates: Vec<Candidate> = places.iter().map(|place| candidates[*place]).collect();
                self.communicators.prepare(*cell, &candidates)?;
            }
            return Ok(takes_part);
        }
        let troupe = playing::troupe(self.plan.pattern(index));
        let takes_part = troupe.contains(&self.rank);
        if takes_part {
            self.communicators.prepare_troupe(&troupe)?;
        }
        Ok(takes_part)
    }

    fn open(&mut self, index: usize, checking: &mut dyn FnMut(usize)) -> Result<Opened, WorkerError> {
        let all: Vec<usize> = (0..self.plan.turns(index)).collect();
        if !self.prepare(index, &all)? {
            return Ok(Opened::default());
        }
        let mut playing = Playing::new(&self.communicators, self.plan, index, &all, self.rank)?;
        let base = playing.base;
        let asking = playing.asking(self.tools, &all)?;
        let mut failed = Vec::new();
        let mut checks = Vec::with_capacity(all.len());
        let start = now();
        for place in all.iter().copied() {
            checking(place);
            asking.as_ref().map_or(Ok(()), |asking| asking.before(place))?;
            dissemination_barrier(base);
            let called = now();
            let salt = (index as u64) << 32 | place as u64;
            // Negative: wrong data; zero: right; positive: an MPI error class.
            let spoilt = playing.strike(self.faults, Phase::Check, self.rank, place);
            let mine = playing.checked_call(place, salt, self.faults);
            let mine = mine.map_or_else(|class| class, |right| -i32::from(!right || spoilt));
            let least = over_ranks(base, mine, SystemOperation::min());
            let most = over_ranks(base, mine, SystemOperation::max());
            checks.push(seconds(now() - called));
            if most > 0 {
                failed.push((place, format!("MPI error class {most}")));
            } else if least < 0 {
                failed.push((place, "wrong result".to_owned()));
            }
        }
        let mut round_cost = over_ranks(base, seconds(now() - start), SystemOperation::max());
        // Checking takes longer than calling. Where it took little, a round of calls tells what they take.
        if round_cost < LONG_CHECK {
            let passed = all.into_iter().filter(|place| !failed.iter().any(|(out, _)| out == place));
            let start = now();
            self.round(&mut playing, &passed.collect::<Vec<_>>(), &mut Vec::new())?;
            round_cost = seconds(now() - start);
        }
        Ok(Opened { failed, checks, round_cost })
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<RankTimes>>, WorkerError> {
        if !self.prepare(visit.cell, &visit.candidates)? {
            return Ok(Vec::new());
        }
        let mut playing = Playing::new(&self.communicators, self.plan, visit.cell, &visit.candidates, self.rank)?;
        let base = playing.base;
        let width = visit.candidates.len();
        let mut order: Vec<usize> = (0..width).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        // The same stream on all ranks, another for every visit.
        rng.set_stream((visit.cell as u64) << 32 | u64::from(visit.visit));
        let mut mine = vec![0.0; visit.rounds as usize * width];
        let mut taken = Vec::with_capacity(width);
        let before = self.counts;
        let mut given_up = BTreeSet::new();
        for round in 0..visit.warmup + visit.rounds {
            order.shuffle(&mut rng);
            let timed = round.checked_sub(visit.warmup).map(|round| round as usize);
            // All at first, then those that somebody was late for: right away, since a round is what is compared.
            let mut todo = order.clone();
            for repeat in 0..=MOST_REPEATS {
                taken.clear();
                self.round(&mut playing, &todo, &mut taken)?;
                self.counts.calls += todo.len() as u64;
                self.counts.repeated += if repeat > 0 { todo.len() as u64 } else { 0 };
                let Some(round) = timed else { break };
                for (place, turn) in todo.iter().zip(&taken) {
                    mine[round * width + place] = turn.seconds;
                }
                if !self.synchroniser.is_round_time() {
                    break;
                }
                let punctuality: Vec<u64> = taken.iter().map(|turn| turn.began.weight()).collect();
                let mut all = vec![0u64; punctuality.len()];
                base.all_reduce_into(&punctuality[..], &mut all[..], SystemOperation::sum());
                let lateness = all.iter().map(|sum| Lateness::of(*sum)).collect::<Vec<_>>();
                self.counts.late += lateness.iter().map(|late| late.overslept + late.missed).sum::<u64>();
                self.counts.missed += lateness.iter().map(|late| late.missed).sum::<u64>();
                todo = todo.iter().zip(&lateness).filter(|(_, late)| late.any()).map(|(place, _)| *place).collect();
                if todo.is_empty() {
                    break;
                }
                if repeat == MOST_REPEATS {
                    given_up.insert(round);
                }
            }
        }
        self.counts.given_up += given_up.len() as u64;
        let timings = self.reduced(&playing, width, &mine);
        self.synchroniser.learn(self.counts.missed - before.missed, self.counts.calls - before.calls);
        let valid = timings.chunks(width).enumerate().filter(|(round, _)| !given_up.contains(round));
        Ok(valid.map(|(_, round)| round.to_vec()).collect())
    }

    /// Maximum, minimum and mean over the ranks whose times count, on rank 0.
    fn reduced(&self, playing: &Playing<'_>, width: usize, mine: &[f64]) -> Vec<RankTimes> {
        let root = playing.base.process_at_rank(0);
        let counts: Vec<bool> = (0..width).map(|place| playing.counts(place, self.rank)).collect();
        let reduced = |neutral: f64, operation: SystemOperation| {
            let at = |(at, time): (usize, &f64)| if counts[at % width] { *time } else { neutral };
            let mine: Vec<f64> = mine.iter().enumerate().map(at).collect();
            let mut all = vec![0.0; mine.len()];
            if self.rank == 0 {
                root.reduce_into_root(&mine[..], &mut all[..], operation);
            } else {
                root.reduce_into(&mine[..], operation);
            }
            all
        };
        let max = reduced(f64::NEG_INFINITY, SystemOperation::max());
        let min = reduced(f64::INFINITY, SystemOperation::min());
        let sum = reduced(0.0, SystemOperation::sum());
        if self.rank != 0 {
            return Vec::new();
        }
        (0..mine.len()).map(|at| [max[at], min[at], sum[at] / playing.timed(at % width) as f64]).collect()
    }

    /// Calls what has these places one after the other and appends what each call took here.
    fn round(&self, playing: &mut Playing<'_>, places: &[usize], taken: &mut Vec<Turn>) -> Result<(), WorkerError> {
        let base = playing.base;
        for place in places {
            playing.strike(self.faults, Phase::Time, self.rank, *place);
        }
        let asking = playing.asking(self.tools, places)?;
        let refused = RefCell::new(None);
        let begin = |turn| {
            if let Some(Err(error)) = asking.as_ref().map(|asking| asking.before(turn)) {
                *refused.borrow_mut() = Some(error);
            }
            self.synchroniser.begin(base, &self.clock)
        };
        let end = || self.synchroniser.end(&self.clock);
        let called = turns(places.len(), begin, |turn| playing.call(places[turn]), end, taken);
        called.map_err(|(turn, class)| WorkerError::TimedCallFailed {
            candidate: playing.name(places[turn]),
            cell: playing.subject.to_string(),
            class,
        })?;
        refused.into_inner().map_or(Ok(()), |error| Err(error.into()))
    }

    /// What the launch came to, complete on rank 0.
    fn end(&self) -> LaunchEnd {
        let resident = self.control.gather(self.control.ranks(), harness::resident_bytes());
        let (communicators, most_communicators) = self.communicators.counts();
        let Counts { calls, late, repeated, given_up, .. } = self.counts;
        let resident = resident.into_iter().flatten().max();
        LaunchEnd { calls, late, repeated, given_up, communicators, most_communicators, resident }
    }
}
