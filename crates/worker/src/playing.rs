//! What is checked and timed in a visit, on one of the ranks that take part: a cell's candidates, or a pattern's casts.

use std::collections::BTreeSet;

use collrules_record::plan::PatternPlan;
use collrules_record::{Candidate, Cast, Cell, Pattern, Subject};
use collrules_runner::launch::{LaunchCell, LaunchPlan};
use mpi::topology::SimpleCommunicator;

use crate::asking::Asking;
use crate::communicators::Communicators;
use crate::error::WorkerError;
use crate::faults::{Faults, Phase};
use crate::ffi::{Called, ErrorClass, Tools, ToolsError};
use crate::operation::{Means, Operation, Scene, Unsupported};

/// What takes turns in a round, ready to be called.
pub(crate) struct Playing<'a> {
    /// For synchronising, and for collecting results.
    pub(crate) base: &'a SimpleCommunicator,
    pub(crate) subject: Subject,
    turns: Turns<'a>,
}

enum Turns<'a> {
    Calls { cell: Cell, operation: Box<Operation>, calls: Vec<Call<'a>> },
    Scene { pattern: Pattern, scene: Scene, casts: Vec<&'a Cast>, comm: &'a SimpleCommunicator },
}

/// A candidate, with all that is looked up before it is called, since that takes time.
struct Call<'a> {
    candidate: Candidate,
    means: Means,
    comm: &'a SimpleCommunicator,
}

/// The ranks that take part in a pattern: all of its casts, and rank 0, which collects the times.
pub(crate) fn troupe(planned: &PatternPlan) -> Vec<u32> {
    let ranks = planned.casts.iter().flat_map(|cast| cast.ranks().iter().copied());
    ranks.chain([0]).collect::<BTreeSet<u32>>().into_iter().collect()
}

impl<'a> Playing<'a> {
    /// What has these places in a subject of a plan, on a rank of the job that takes part in it. The communicators for it
    /// are prepared.
    pub(crate) fn new(
        communicators: &'a Communicators<'_>,
        plan: &'a LaunchPlan,
        index: usize,
        places: &[usize],
        rank: u32,
    ) -> Result<Self, WorkerError> {
        let Some(LaunchCell { cell, candidates, .. }) = plan.cells.get(index) else {
            let planned = plan.pattern(index);
            let casts = places.iter().map(|place| &planned.casts[*place]).collect();
            return Self::scene(communicators, planned, casts, rank);
        };
        let candidates: Vec<Candidate> = places.iter().map(|place| candidates[*place]).collect();
        Self::calls(communicators, *cell, &candidates)
    }

    fn calls(communicators: &'a Communicators<'_>, cell: Cell, candidates: &[Candidate]) -> Result<Self, WorkerError> {
        let base = communicators.base(cell);
        let operation = Box::new(Operation::new(cell, base, candidates, communicators.parts(cell))?);
        let call = |candidate: &Candidate| Call {
            candidate: *candidate,
            means: operation.means(*candidate),
            comm: communicators.candidate(cell, *candidate),
        };
        let calls = candidates.iter().map(call).collect();
        Ok(Self { base, subject: Subject::Cell(cell), turns: Turns::Calls { cell, operation, calls } })
    }

    fn scene(
        communicators: &'a Communicators<'_>,
        planned: &'a PatternPlan,
        casts: Vec<&'a Cast>,
        rank: u32,
    ) -> Result<Self, WorkerError> {
        let (pattern, troupe) = (planned.pattern, troupe(planned));
        let place_of = |rank: u32| troupe.partition_point(|other| *other < rank) as u32;
        let scene = Scene::new(pattern, &casts, rank, &place_of);
        let scene = scene.map_err(|cause| Unsupported::LargeScene { pattern, cause })?;
        let scene = scene.ok_or(Unsupported::NoScene { pattern })?;
        let comm = communicators.troupe(&troupe);
        Ok(Self { base: comm, subject: Subject::Pattern(pattern), turns: Turns::Scene { pattern, scene, casts, comm } })
    }

    /// What people call the one with this place.
    pub(crate) fn name(&self, place: usize) -> String {
        match &self.turns {
            Turns::Calls { calls, .. } => calls[place].candidate.to_string(),
            Turns::Scene { casts, .. } => format!("ranks {}", casts[place]),
        }
    }

    /// What has to be asked of HAN before those with these places are called.
    pub(crate) fn asking<'t>(
        &self,
        tools: Option<&'t Tools>,
        places: &[usize],
    ) -> Result<Option<Asking<'t>>, ToolsError> {
        let Turns::Calls { cell, calls, .. } = &self.turns else { return Ok(None) };
        let candidates: Vec<Candidate> = places.iter().map(|place| calls[*place].candidate).collect();
        Asking::of(tools, cell.collective, &candidates)
    }

    /// Calls the one with this place.
    pub(crate) fn call(&mut self, place: usize) -> Called {
        match &mut self.turns {
            Turns::Calls { operation, calls, .. } => operation.call(calls[place].comm, calls[place].means),
            Turns::Scene { scene, comm, .. } => scene.call(place, comm),
        }
    }

    /// Calls it on known data, and says whether this rank has what it should have afterwards.
    pub(crate) fn checked_call(&mut self, place: usize, salt: u64, faults: &Faults) -> Result<bool, ErrorClass> {
        match &mut self.turns {
            Turns::Calls { cell, operation, calls } => {
                let Call { candidate, means, comm } = calls[place];
                operation.checked_call(comm, means, salt, faults.skipped(*cell, candidate))
            }
            Turns::Scene { scene, comm, .. } => scene.checked_call(place, comm, salt),
        }
    }

    /// Fails if a fault is meant for this; returns whether the result of the call is to be taken for wrong.
    pub(crate) fn strike(&self, faults: &Faults, phase: Phase, rank: u32, place: usize) -> bool {
        match &self.turns {
            Turns::Calls { cell, calls, .. } => faults.strike(phase, rank, *cell, calls[place].candidate),
            Turns::Scene { pattern, casts, .. } => faults.strike_pattern(phase, rank, *pattern, casts[place]),
        }
    }

    /// Whether the time of this rank of the job is one of those that count.
    pub(crate) fn counts(&self, place: usize, rank: u32) -> bool {
        match &self.turns {
            Turns::Calls { .. } => true,
            Turns::Scene { pattern, casts, .. } => casts[place]
                .part(rank)
                .is_some_and(|part| pattern.timed_part().is_none_or(|timed| timed as usize == part)),
        }
    }

    /// How many ranks have times that count.
    pub(crate) fn timed(&self, place: usize) -> usize {
        match &self.turns {
            Turns::Calls { cell, .. } => cell.ranks.0 as usize,
            Turns::Scene { pattern, casts, .. } => pattern.timed_part().map_or(casts[place].ranks().len(), |_| 1),
        }
    }
}
