//! Checking and timing, as rank 0 says.
//!
//! Rank 0 runs the engine; for each of its steps it sends a command, which all ranks carry out together.

use std::convert::Infallible;
use std::time::Instant;

use collrules_record::{Candidate, Cell, Plan};
use collrules_runner::engine::{self, Executor, Opened};
use collrules_runner::schedule::Visit;
use collrules_runner::wire::Timing;
use mpi::collective::{CommunicatorCollectives, Root, SystemOperation};
use mpi::topology::Communicator;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::communicators::Communicators;
use crate::control::Control;
use crate::ffi::Tools;
use crate::operation::Operation;
use crate::sync::dissemination_barrier;
use crate::{WorkerError, emit};

/// A check of a cell that took so many seconds is about as long as a round of its calls.
const LONG_CHECK: f64 = 1.0;

/// What rank 0 asks of all ranks.
#[derive(Serialize, Deserialize)]
enum Command {
    /// Check the candidates of a cell.
    Open(usize),
    /// Time candidates of a cell.
    Visit { cell: usize, visit: u32, warmup: u32, rounds: u32, candidates: Vec<usize> },
    /// Leave.
    Stop,
}

/// Measures a plan.
pub(crate) fn run(control: &Control, tools: &Tools, plan: &Plan) -> Result<(), WorkerError> {
    let mut member = Member { plan, rank: control.rank(), communicators: Communicators::new(control, tools, plan) };
    if control.is_root() {
        let mut root = RootRank { control, member, start: Instant::now() };
        engine::run(plan, &mut root, &mut |event| emit(&event))?;
        control.broadcast(Some(Command::Stop));
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
            Command::Stop => return Ok(()),
        }
    }
}

/// What rank 0 does more than the others: it commands.
struct RootRank<'a> {
    control: &'a Control,
    member: Member<'a>,
    start: Instant,
}

impl Executor for RootRank<'_> {
    type Error = WorkerError;

    fn open(&mut self, cell: usize, checking: &mut dyn FnMut(usize)) -> Result<Opened, WorkerError> {
        self.control.broadcast(Some(Command::Open(cell)));
        self.member.open(cell, checking)
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<Timing>>, WorkerError> {
        let Visit { cell, visit: number, warmup, rounds, ref candidates } = *visit;
        let candidates = candidates.clone();
        self.control.broadcast(Some(Command::Visit { cell, visit: number, warmup, rounds, candidates }));
        self.member.visit(visit)
    }

    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

/// What every rank does. Ranks outside the cell return at once, with empty results; only rank 0's are used.
struct Member<'a> {
    plan: &'a Plan,
    rank: u32,
    communicators: Communicators<'a>,
}

impl Member<'_> {
    fn open(&mut self, index: usize, checking: &mut dyn FnMut(usize)) -> Result<Opened, WorkerError> {
        let planned = &self.plan.cells[index];
        let cell = planned.cell;
        if self.rank >= cell.ranks.0 {
            return Ok(Opened::default());
        }
        self.communicators.prepare(cell)?;
        let base = self.communicators.base(cell);
        let mut operation = Operation::new(cell, base)?;
        let mut failed = Vec::new();
        let start = Instant::now();
        for (place, candidate) in planned.candidates.iter().enumerate() {
            checking(place);
            dissemination_barrier(base);
            let comm = self.communicators.candidate(cell, *candidate);
            let salt = (index as u64) << 32 | place as u64;
            // Negative: wrong data; zero: right; positive: an MPI error class.
            let mine = operation.checked_call(comm, salt).map_or_else(|class| class, |right| -i32::from(!right));
            let (mut least, mut most) = (0, 0);
            base.all_reduce_into(&mine, &mut least, SystemOperation::min());
            base.all_reduce_into(&mine, &mut most, SystemOperation::max());
            if most > 0 {
                failed.push((place, format!("MPI error class {most}")));
            } else if least < 0 {
                failed.push((place, "wrong result".to_owned()));
            }
        }
        let mut round_cost = 0.0;
        base.all_reduce_into(&start.elapsed().as_secs_f64(), &mut round_cost, SystemOperation::max());
        // Checking takes longer than calling. Where it took little, a round of calls tells what they take.
        if round_cost < LONG_CHECK {
            let passed: Vec<Candidate> = planned
                .candidates
                .iter()
                .enumerate()
                .filter(|(place, _)| !failed.iter().any(|(out, _)| out == place))
                .map(|(_, candidate)| *candidate)
                .collect();
            let start = Instant::now();
            self.round(cell, &mut operation, &passed, &mut Vec::new())?;
            round_cost = start.elapsed().as_secs_f64();
        }
        Ok(Opened { failed, round_cost })
    }

    fn visit(&mut self, visit: &Visit) -> Result<Vec<Vec<Timing>>, WorkerError> {
        let planned = &self.plan.cells[visit.cell];
        let cell = planned.cell;
        if self.rank >= cell.ranks.0 {
            return Ok(Vec::new());
        }
        let base = self.communicators.base(cell);
        let mut operation = Operation::new(cell, base)?;
        let width = visit.candidates.len();
        let mut order: Vec<usize> = (0..width).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(self.plan.seed);
        // The same stream on all ranks, another for every visit.
        rng.set_stream((visit.cell as u64) << 32 | u64::from(visit.visit));
        let mut mine = vec![0.0; visit.rounds as usize * width];
        let mut taken = Vec::with_capacity(width);
        for round in 0..visit.warmup + visit.rounds {
            order.shuffle(&mut rng);
            let candidates: Vec<Candidate> =
                order.iter().map(|place| planned.candidates[visit.candidates[*place]]).collect();
            taken.clear();
            self.round(cell, &mut operation, &candidates, &mut taken)?;
            if let Some(timed) = round.checked_sub(visit.warmup) {
                for (place, seconds) in order.iter().zip(&taken) {
                    mine[timed as usize * width + place] = *seconds;
                }
            }
        }
        let root = base.process_at_rank(0);
        if self.rank != 0 {
            for operation in [SystemOperation::max(), SystemOperation::min(), SystemOperation::sum()] {
                root.reduce_into(&mine[..], operation);
            }
            return Ok(Vec::new());
        }
        let reduced = |operation| {
            let mut all = vec![0.0; mine.len()];
            root.reduce_into_root(&mine[..], &mut all[..], operation);
            all
        };
        let (max, min) = (reduced(SystemOperation::max()), reduced(SystemOperation::min()));
        let sum = reduced(SystemOperation::sum());
        let ranks = f64::from(cell.ranks.0);
        let timings: Vec<Timing> = (0..mine.len()).map(|at| [max[at], min[at], sum[at] / ranks]).collect();
        Ok(timings.chunks(width).map(<[Timing]>::to_vec).collect())
    }

    /// Calls candidates one after the other, each after a barrier, and appends the seconds that each call took here.
    fn round(
        &self,
        cell: Cell,
        operation: &mut Operation,
        candidates: &[Candidate],
        seconds: &mut Vec<f64>,
    ) -> Result<(), WorkerError> {
        let base = self.communicators.base(cell);
        for candidate in candidates {
            let comm = self.communicators.candidate(cell, *candidate);
            dissemination_barrier(base);
            let start = Instant::now();
            let result = operation.call(comm);
            seconds.push(start.elapsed().as_secs_f64());
            result.map_err(|class| WorkerError::TimedCallFailed {
                candidate: candidate.to_string(),
                cell: cell.to_string(),
                class,
            })?;
        }
        Ok(())
    }
}

impl From<Infallible> for WorkerError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
