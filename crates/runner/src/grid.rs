//! From a survey and the user's wishes to a plan.

use collrules_record::plan::{CellPlan, Schedule};
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Plan, Survey};
use collrules_rules::registry::{self, Algorithm};
use collrules_rules::{Choice, Collective, Release};

use crate::error::RunnerError;

/// The largest message: element counts of MPI calls are C ints.
pub const MAX_BYTES: Bytes = Bytes(i32::MAX as u64);

/// The largest fan-out of a chain; Open MPI takes larger ones for this (`ompi_coll_base_topo_build_chain`).
const MAX_FANOUT: u32 = 32;

/// The collectives that the worker can call.
pub const MEASURABLE: [Collective; 3] = [Collective::Barrier, Collective::Bcast, Collective::Scatter];

/// What the user wants measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The collectives.
    pub collectives: Vec<Collective>,
    /// Communicator sizes; where none are given, the powers of two up to the slots at hand, and the slots themselves.
    pub ranks: Vec<Ranks>,
    /// Message sizes of collectives that have them.
    pub sizes: Vec<Bytes>,
    /// Segment sizes beside unsegmented, for algorithms that segment messages larger than that.
    pub segments: Vec<Bytes>,
    /// Fan-outs, for algorithms that use one.
    pub fanouts: Vec<u32>,
    /// More ranks than slots are meant.
    pub oversubscribe: bool,
}

/// The release of the surveyed library, if its version and every algorithm table that it lists are known.
pub fn known_release(survey: &Survey) -> Result<Release, RunnerError> {
    let release = Release::of(survey.version)?;
    for (collective, listed) in &survey.algorithms {
        registry::compare(release, *collective, listed)?;
    }
    Ok(release)
}

/// Powers of two from `first` to `last`, and both ends.
pub fn powers_of_two(first: Bytes, last: Bytes) -> Vec<Bytes> {
    let mut sizes = vec![first];
    let powers = (0..u64::BITS).map(|bit| 1u64 << bit).filter(|size| *size > first.0 && *size < last.0);
    sizes.extend(powers.map(Bytes));
    if last > first {
        sizes.push(last);
    }
    sizes
}

/// The communicator sizes to use: those that are wanted, or else the powers of two up to the slots at hand, and the
/// slots themselves.
pub fn communicator_sizes(wanted: &[Ranks], slots: Ranks, oversubscribe: bool) -> Result<Vec<Ranks>, RunnerError> {
    let mut ranks = wanted.to_vec();
    if ranks.is_empty() {
        if slots.0 < 2 {
            return Err(RunnerError::OneSlot);
        }
        ranks = (1..u32::BITS).map(|bit| Ranks(1 << bit)).filter(|ranks| *ranks <= slots).collect();
        ranks.push(slots);
    }
    ranks.sort_unstable();
    ranks.dedup();
    match (ranks.first(), ranks.last()) {
        (Some(Ranks(0 | 1)), _) => {
            Err(RunnerError::EmptyGrid("on 1 rank coll/tuned has nothing to choose; --np begins at 2".to_owned()))
        }
        (_, Some(largest)) if *largest > slots && !oversubscribe => {
            Err(RunnerError::TooFewSlots { wanted: *largest, slots })
        }
        _ => Ok(ranks),
    }
}

impl Grid {
    /// The plan: every cell of the grid with the builtin and every candidate that the running library offers for it.
    pub fn plan(&self, survey: &Survey, launches: u32, schedule: Schedule, seed: u64) -> Result<Plan, RunnerError> {
        let release = known_release(survey)?;
        let ranks = communicator_sizes(&self.ranks, survey.slots(), self.oversubscribe)?;
        let mut cells = Vec::new();
        for collective in &self.collectives {
            if !MEASURABLE.contains(collective) {
                return Err(RunnerError::NotMeasurable(*collective));
            }
            let listed = survey.algorithms.get(collective).map_or(&[][..], Vec::as_slice);
            let algorithms: Vec<&Algorithm> = registry::algorithms(release, *collective)
                .filter(|algorithm| listed.iter().any(|(id, _)| *id == algorithm.id))
                .collect();
            if algorithms.is_empty() {
                return Err(RunnerError::NoAlgorithms(*collective));
            }
            let no_size = [Bytes(0)];
            let sizes = if collective.has_sizes() { self.sizes.as_slice() } else { &no_size };
            for ranks in &ranks {
                cells.extend(sizes.iter().map(|bytes| {
                    let cell = Cell { collective: *collective, ranks: *ranks, bytes: *bytes };
                    CellPlan { cell, candidates: self.candidates(cell, &algorithms) }
                }));
            }
        }
        if cells.is_empty() {
            return Err(RunnerError::EmptyGrid("no collective or no message size was given".to_owned()));
        }
        Ok(Plan { cells, ranks: ranks.last().copied().unwrap_or_default(), launches, schedule, seed })
    }

    fn candidates(&self, cell: Cell, algorithms: &[&Algorithm]) -> Vec<Candidate> {
        let mut candidates = vec![Candidate::Builtin];
        for algorithm in algorithms.iter().filter(|algorithm| algorithm.ranks.admits(cell.ranks)) {
            // What Open MPI would clamp is measured, and written, as what it is clamped to.
            let most = MAX_FANOUT.min(cell.ranks.0 - 1);
            let mut fanouts: Vec<u32> = self.fanouts.iter().map(|fanout| (*fanout).clamp(1, most)).collect();
            fanouts.sort_unstable();
            fanouts.dedup();
            if !algorithm.uses.faninout || fanouts.is_empty() {
                fanouts = vec![0];
            }
            let segments = self.segments.iter().filter(|segment| algorithm.uses.segsize && **segment < cell.bytes);
            let mut segments: Vec<u64> = std::iter::once(0).chain(segments.map(|segment| segment.0)).collect();
            segments.sort_unstable();
            segments.dedup();
            for faninout in fanouts {
                candidates.extend(segments.iter().map(|segsize| {
                    Candidate::Tuned(Choice::plain(algorithm.id).with_faninout(faninout).with_segsize(*segsize))
                }));
            }
        }
        candidates
    }
}
