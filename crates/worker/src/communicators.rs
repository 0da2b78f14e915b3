//! Communicators for sizes and candidates, limited in number, and those of nodes and lanes, for mock-ups.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use collrules_program::RankGroup;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell, Component, Even, Launch, Layout};
use collrules_rules::Collective;
use collrules_runner::launch::LaunchPlan;
use collrules_runner::schedule::MOST_COMMUNICATORS;
use mpi::Rank;
use mpi::collective::SystemOperation;
use mpi::topology::{Color, Communicator, SimpleCommunicator};
use mpi::traits::Group;

use crate::control::Control;
use crate::error::WorkerError;
use crate::ffi::{self, Tools};
use crate::switch::Switch;
use crate::sync::over_ranks;

/// The channel over the ranks in the order of this layout's communicators. Rank 0 stays rank 0.
pub(crate) fn laid_out(control: Control, layout: Layout) -> Control {
    if layout == Layout::Block {
        return control;
    }
    let host = mpi::environment::processor_name().unwrap_or_default();
    let hosts = control.gather(control.ranks(), host);
    let order = layout.order(&hosts).into_iter().map(|rank| rank as Rank).collect();
    let order: Vec<Rank> = control.broadcast(control.is_root().then_some(order));
    let world = control.world();
    Control::new(world.split_by_subgroup(&world.group().include(&order)).expect("every rank is in the order"))
}

/// Duplicates a communicator on which none of these components handles calls.
pub(crate) fn without(comm: &SimpleCommunicator, components: &[Component]) -> Result<SimpleCommunicator, WorkerError> {
    if components.is_empty() {
        return Ok(comm.duplicate());
    }
    // Format of HAN for its own communicators (coll_han_subcomms.c).
    let names: Vec<String> = components.iter().map(|component| format!("^{component}")).collect();
    ffi::duplicate_with_preference(comm, &names.join(",")).map_err(WorkerError::NoDuplicate)
}

/// A duplicate for the calls of a candidate, without the components that would handle them in place of `coll/tuned`.
pub(crate) fn duplicate_for(
    comm: &SimpleCommunicator,
    candidate: Candidate,
    blocking: &[Component],
) -> Result<SimpleCommunicator, WorkerError> {
    match candidate {
        // With a rules file only the settings decide, and reference algorithms call no collective.
        Candidate::Builtin | Candidate::Han(_) | Candidate::Rules | Candidate::Mockup(_) | Candidate::Reference(_) => {
            Ok(comm.duplicate())
        }
        // Choice of a rule, or coll/tuned's own decision if it handles the calls.
        Candidate::Tuned(_) | Candidate::Component(Component::TUNED) => without(comm, blocking),
        Candidate::Component(other) => {
            ffi::duplicate_with_preference(comm, other.name()).map_err(WorkerError::NoDuplicate)
        }
    }
}

/// These ranks of the job, in ascending order, as a communicator; none on other ranks.
pub(crate) fn among(control: &Control, ranks: &[u32]) -> Result<Option<SimpleCommunicator>, WorkerError> {
    if let Some(beyond) = ranks.last().filter(|last| **last >= control.ranks()) {
        return Err(WorkerError::TooFewRanks { has: control.ranks(), wants: beyond + 1 });
    }
    if !ranks.contains(&control.rank()) {
        return Ok(None);
    }
    let members: Vec<Rank> = ranks.iter().map(|rank| *rank as Rank).collect();
    // Only members create it: the other ranks continue to sleep.
    Ok(control.world().split_by_subgroup(&control.world().group().include(&members)))
}

/// The existing communicators: one for each set of ranks that take part, for synchronising, and a limited number for candidates.
///
/// If there are too many, those of other cells are freed: visits go through cells in turn, so that the last one used is the next
/// one needed. Creating and freeing are collective: all members of a communicator size
/// see its cells in one order, so each size has its own limit and order.
pub(crate) struct Communicators<'a> {
    control: &'a Control,
    /// Missing if nothing is switched.
    tools: Option<&'a Tools>,
    plan: &'a LaunchPlan,
    /// Maximum number of communicators per communicator size, unless a single cell needs more.
    most_per_size: usize,
    bases: BTreeMap<Vec<u32>, SimpleCommunicator>,
    /// Communicators of nodes and lanes for mock-ups: created once per size, as in a program.
    parts: BTreeMap<Ranks, Rc<Parts>>,
    /// Communicators of candidates.
    candidates: BTreeMap<Ranks, BTreeMap<(Collective, Candidate), SimpleCommunicator>>,
    made: u64,
    most: usize,
}

/// Returns the key under which a candidate's communicator is kept. Mock-ups use that of the builtin: a program that
/// makes other calls makes them on the communicator that it has.
fn key(cell: Cell, candidate: Candidate) -> (Collective, Candidate) {
    (cell.collective, if candidate.is_mockup() { Candidate::Builtin } else { candidate })
}

impl<'a> Communicators<'a> {
    pub(crate) fn new(control: &'a Control, tools: Option<&'a Tools>, plan: &'a LaunchPlan) -> Self {
        let sizes: BTreeSet<Ranks> = plan.cells.iter().map(|planned| planned.cell.ranks).collect();
        Self {
            control,
            tools,
            plan,
            most_per_size: MOST_COMMUNICATORS / sizes.len().max(1),
            bases: BTreeMap::new(),
            parts: BTreeMap::new(),
            candidates: BTreeMap::new(),
            made: 0,
            most: 0,
        }
    }

    /// Creates the communicator of the ranks that take part, in ascending order, on one of them.
    pub(crate) fn prepare_base(&mut self, participants: &[u32]) -> Result<(), WorkerError> {
        if !self.bases.contains_key(participants) {
            let comm = among(self.control, participants)?.expect("only members prepare");
            self.bases.insert(participants.to_vec(), comm);
        }
        Ok(())
    }

    /// Creates the communicators of a cell's candidates, on a member of its base.
    pub(crate) fn prepare(
        &mut self,
        (base, cell): (&[u32], Cell),
        candidates: &[Candidate],
    ) -> Result<(), WorkerError> {
        let base = &self.bases[base];
        if candidates.iter().any(|candidate| matches!(candidate, Candidate::Mockup(mockup) if mockup.needs_nodes()))
            && let Some(even) = self.plan.placement.even(cell.ranks)
            && let Entry::Vacant(vacant) = self.parts.entry(cell.ranks)
        {
            vacant.insert(Rc::new(Parts::split(base, even)?));
            self.made += 2;
        }
        let kept = self.candidates.entry(cell.ranks).or_default();
        let wanted: BTreeSet<_> = candidates.iter().map(|candidate| key(cell, *candidate)).collect();
        let missing: Vec<Candidate> = wanted.iter().filter(|key| !kept.contains_key(*key)).map(|key| key.1).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if kept.len() + missing.len() > self.most_per_size {
            // Dropping them frees them, on all members in the same order.
            kept.retain(|key, _| wanted.contains(key));
        }
        // With a rules file nothing is switched: a forced algorithm might override the rule.
        let tools = self.tools.filter(|_| matches!(self.plan.launch, Launch::Shared { deployed: false, .. }));
        let switch = tools.map(|tools| Switch::new(tools, cell.collective)).transpose()?;
        let blocking = self.plan.placement.without(cell.collective, cell.ranks);
        for candidate in missing {
            let make = || duplicate_for(base, candidate, blocking);
            let comm = match &switch {
                None => make()?,
                Some(switch) => switch.with(candidate, make)??,
            };
            ffi::return_errors(&comm);
            kept.insert((cell.collective, candidate), comm);
            self.made += 1;
        }
        let all = self.candidates.values().map(BTreeMap::len).sum::<usize>() + 2 * self.parts.len();
        self.most = self.most.max(all);
        Ok(())
    }

    /// Returns the number of communicators created for candidates, and the maximum that existed at a time.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.made, self.most as u64)
    }

    /// Communicator of the ranks that take part: for synchronising and for collecting results, unaffected by candidates, and
    /// for the messages of patterns.
    pub(crate) fn base(&self, participants: &[u32]) -> &SimpleCommunicator {
        &self.bases[participants]
    }

    /// Communicators for calls on nodes and lanes; none if no mock-up makes such calls.
    pub(crate) fn parts(&self, cell: Cell) -> Option<&Rc<Parts>> {
        self.parts.get(&cell.ranks)
    }

    /// Communicator for calls of a candidate.
    pub(crate) fn candidate(&self, cell: Cell, candidate: Candidate) -> &SimpleCommunicator {
        &self.candidates[&cell.ranks][&key(cell, candidate)]
    }
}

/// The parts of a communicator, as a program would create them: on each node, and across all nodes.
pub(crate) struct Parts {
    pub(crate) even: Even,
    node: SimpleCommunicator,
    lane: SimpleCommunicator,
}

impl Parts {
    /// Splits a communicator with these nodes, on all its ranks.
    pub(crate) fn split(comm: &SimpleCommunicator, even: Even) -> Result<Self, WorkerError> {
        let (rank, each) = (comm.rank(), even.each as i32);
        let by = |color: i32| comm.split_by_color(Color::with_value(color)).ok_or(WorkerError::NotOnNodes);
        let (node, lane) = (by(rank / each)?, by(rank % each)?);
        // A job with fewer ranks may be placed differently from the one that reported the hosts.
        let mut hasher = DefaultHasher::new();
        mpi::environment::processor_name().unwrap_or_default().hash(&mut hasher);
        let mine = hasher.finish();
        if over_ranks(&node, mine, SystemOperation::min()) != over_ranks(&node, mine, SystemOperation::max()) {
            return Err(WorkerError::NotOnNodes);
        }
        ffi::return_errors(&node);
        ffi::return_errors(&lane);
        Ok(Self { even, node, lane })
    }

    /// The communicator for calls of a part of the ranks; none for calls of all ranks.
    pub(crate) fn among(&self, group: RankGroup) -> Option<&SimpleCommunicator> {
        match group {
            RankGroup::All => None,
            RankGroup::Node | RankGroup::FirstNode => Some(&self.node),
            RankGroup::Lane | RankGroup::Leaders => Some(&self.lane),
        }
    }
}
