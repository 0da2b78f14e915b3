//! The subject of a visit on one of the participating ranks, checked and timed: a cell's candidates, or a pattern's
//! casts.

use std::collections::BTreeSet;

use collrules_record::{Candidate, Cast, Cell, Pattern, Subject};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use mpi::topology::SimpleCommunicator;

use crate::communicators::Communicators;
use crate::error::WorkerError;
use crate::faults::{Faults, Phase};
use crate::ffi::{self, CallResult, MpiErrorClass, Tools, ToolsError};
use crate::operation::{BufferSource, CellOperation, PatternBuffers};
use crate::switch::HanSwitch;

/// The candidates or casts of a round, ready to be called.
pub(crate) struct PreparedSubject<'a> {
    /// Communicator for synchronising, and for collecting results.
    pub(crate) base: &'a SimpleCommunicator,
    pub(crate) subject: Subject,
    turns: Turns<'a>,
}

enum Turns<'a> {
    Calls { cell: Cell, operation: Box<CellOperation>, calls: Vec<CandidateCall<'a>> },
    Pattern { pattern: Pattern, buffers: PatternBuffers, casts: Vec<&'a Cast> },
}

/// A candidate with everything that would take time to look up before a call.
struct CandidateCall<'a> {
    candidate: Candidate,
    program: Option<usize>,
    comm: &'a SimpleCommunicator,
}

/// The ranks that take part in a subject of a plan: in a pattern all of its casts, and rank 0, which collects the times.
pub(crate) fn participants(plan: &LaunchPlan, index: usize) -> Vec<u32> {
    if let Some(planned) = plan.cells.get(index) {
        return (0..planned.cell.ranks.0).collect();
    }
    let ranks = plan.pattern(index).casts.iter().flat_map(|cast| cast.ranks().iter().copied());
    ranks.chain([0]).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// Prepares the part of a rank in casts of a pattern.
fn prepare_pattern<'a>(
    pattern: Pattern,
    casts: Vec<&'a Cast>,
    rank: u32,
    participants: &[u32],
) -> Result<Turns<'a>, WorkerError> {
    let place_of = |rank: u32| participants.partition_point(|other| *other < rank) as u32;
    let buffers = PatternBuffers::new(pattern, &casts, rank, &place_of);
    let buffers = buffers.map_err(|cause| WorkerError::TooLarge { call: pattern.to_string(), cause })?;
    let buffers = buffers.ok_or(WorkerError::NoPatternProgram { pattern })?;
    Ok(Turns::Pattern { pattern, buffers, casts })
}

impl<'a> PreparedSubject<'a> {
    /// Prepares the candidates or casts at these places of a subject of a plan, on a participating rank of the job. The
    /// communicators for it exist already.
    pub(crate) fn new(
        communicators: &'a Communicators<'_>,
        plan: &'a LaunchPlan,
        index: usize,
        places: &[usize],
        (rank, supply): (u32, &BufferSource),
    ) -> Result<Self, WorkerError> {
        let participants = participants(plan, index);
        let base = communicators.base(&participants);
        let Some(LaunchCell { cell, candidates, .. }) = plan.cells.get(index) else {
            let planned = plan.pattern(index);
            let casts: Vec<&Cast> = places.iter().map(|place| &planned.casts[*place]).collect();
            let turns = prepare_pattern(planned.pattern, casts, rank, &participants)?;
            ffi::return_errors(base);
            return Ok(Self { base, subject: Subject::Pattern(planned.pattern), turns });
        };
        let cell = *cell;
        let candidates: Vec<Candidate> = places.iter().map(|place| candidates[*place]).collect();
        let other_root = plan.placement.other_root(cell.ranks);
        let arguments = plan.condition(index).change(plan.arguments, cell.collective, other_root);
        let parts = communicators.parts(cell);
        let operation = Box::new(CellOperation::new(cell, base, &candidates, parts, (arguments, supply))?);
        let call = |candidate: Candidate| CandidateCall {
            candidate,
            program: operation.program(candidate),
            comm: communicators.candidate(cell, candidate),
        };
        let calls = candidates.into_iter().map(call).collect();
        Ok(Self { base, subject: Subject::Cell(cell), turns: Turns::Calls { cell, operation, calls } })
    }

    /// Returns the name of the candidate or cast at this place, for messages.
    pub(crate) fn name(&self, place: usize) -> String {
        match &self.turns {
            Turns::Calls { calls, .. } => calls[place].candidate.to_string(),
            Turns::Pattern { casts, .. } => format!("ranks {}", casts[place]),
        }
    }

    /// Returns the settings of HAN that the candidates at these places need before each call.
    pub(crate) fn han_switch<'t>(
        &self,
        tools: Option<&'t Tools>,
        places: &[usize],
    ) -> Result<HanSwitch<'t>, ToolsError> {
        let Turns::Calls { cell, calls, .. } = &self.turns else { return Ok(HanSwitch::default()) };
        let candidates: Vec<Candidate> = places.iter().map(|place| calls[*place].candidate).collect();
        HanSwitch::new(tools, cell.collective, &candidates)
    }

    /// Calls the candidate or cast at this place.
    pub(crate) fn call(&mut self, place: usize) -> CallResult {
        match &mut self.turns {
            Turns::Calls { operation, calls, .. } => operation.call(calls[place].comm, calls[place].program),
            Turns::Pattern { buffers, .. } => buffers.call(place, self.base),
        }
    }

    /// Calls it with known data; returns true if this rank has the right result.
    pub(crate) fn checked_call(&mut self, place: usize, salt: u64, faults: &Faults) -> Result<bool, MpiErrorClass> {
        let skipped = faults.skipped(|| self.words(place));
        match &mut self.turns {
            Turns::Calls { operation, calls, .. } => {
                operation.checked_call(calls[place].comm, calls[place].program, salt, skipped)
            }
            Turns::Pattern { buffers, .. } => buffers.checked_call(place, self.base, salt),
        }
    }

    /// Calls a candidate that rules can choose in place; returns true if this rank has the right result, none if there
    /// is no such call.
    pub(crate) fn checked_call_in_place(&mut self, place: usize, salt: u64) -> Result<Option<bool>, MpiErrorClass> {
        let Turns::Calls { operation, calls, .. } = &mut self.turns else { return Ok(None) };
        let CandidateCall { candidate, comm, .. } = calls[place];
        match candidate {
            Candidate::Tuned(_) | Candidate::Han(_) => operation.checked_call_in_place(comm, salt),
            _ => Ok(None),
        }
    }

    /// Fails if a fault is meant for this call; returns true if its result should be treated as wrong.
    pub(crate) fn strike(&self, faults: &Faults, phase: Phase, rank: u32, place: usize) -> bool {
        faults.strike(phase, rank, || self.words(place))
    }

    /// The words that name the call at this place in the samples: collective, ranks, bytes, and candidate or cast.
    fn words(&self, place: usize) -> [String; 4] {
        let (kind, ranks, bytes) = match self.subject {
            Subject::Cell(Cell { collective, ranks, bytes }) => (collective.to_string(), ranks, bytes),
            Subject::Pattern(Pattern { shape, ranks, bytes }) => (format!("{}{shape}", Pattern::MARK), ranks, bytes),
        };
        let called = match &self.turns {
            Turns::Calls { calls, .. } => calls[place].candidate.to_string(),
            Turns::Pattern { casts, .. } => casts[place].to_string(),
        };
        [kind, ranks.0.to_string(), bytes.0.to_string(), called]
    }

    /// Returns true if the time of this rank of the job is included in the timing.
    pub(crate) fn counts(&self, place: usize, rank: u32) -> bool {
        match &self.turns {
            Turns::Calls { .. } => true,
            Turns::Pattern { pattern, casts, .. } => casts[place]
                .part(rank)
                .is_some_and(|part| pattern.timed_part().is_none_or(|timed| timed as usize == part)),
        }
    }

    /// Returns the number of ranks included in the timing.
    pub(crate) fn timed(&self, place: usize) -> usize {
        match &self.turns {
            Turns::Calls { cell, .. } => cell.ranks.0 as usize,
            Turns::Pattern { pattern, casts, .. } => pattern.timed_part().map_or(casts[place].ranks().len(), |_| 1),
        }
    }
}
