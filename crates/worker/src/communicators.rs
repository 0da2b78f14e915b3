//! One communicator per size and candidate.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use collrules_record::plan::Plan;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell, Component, Layout};
use collrules_rules::Collective;
use mpi::Rank;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::Group;

use crate::WorkerError;
use crate::control::Control;
use crate::ffi::{self, Tools};
use crate::switch::Switch;

/// The channel over the same ranks in the order in which communicators of this layout take them. Rank 0 stays rank 0.
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

/// A duplicate whose calls none of these components takes.
pub(crate) fn without(comm: &SimpleCommunicator, components: &[Component]) -> Result<SimpleCommunicator, WorkerError> {
    if components.is_empty() {
        return Ok(comm.duplicate());
    }
    // As han writes it when it makes communicators of its own (coll_han_subcomms.c).
    let names: Vec<String> = components.iter().map(|component| format!("^{component}")).collect();
    ffi::duplicate_with_preference(comm, &names.join(",")).map_err(WorkerError::NoDuplicate)
}

/// A duplicate for the calls of a candidate, where these components would otherwise take them from `coll/tuned`.
pub(crate) fn duplicate_for(
    comm: &SimpleCommunicator,
    candidate: Candidate,
    blocking: &[Component],
) -> Result<SimpleCommunicator, WorkerError> {
    match candidate {
        Candidate::Builtin => Ok(comm.duplicate()),
        // What a rule asks for, or what happens without one, where coll/tuned is let through.
        Candidate::Tuned(_) | Candidate::Component(Component::TUNED) => without(comm, blocking),
        Candidate::Component(other) => {
            ffi::duplicate_with_preference(comm, other.name()).map_err(WorkerError::NoDuplicate)
        }
    }
}

/// The first `ranks` ranks of the job as a communicator; none on the ranks that are not among them.
pub(crate) fn first(control: &Control, ranks: Ranks) -> Result<Option<SimpleCommunicator>, WorkerError> {
    if ranks.0 > control.ranks() {
        return Err(WorkerError::TooFewRanks { has: control.ranks(), wants: ranks.0 });
    }
    if control.rank() >= ranks.0 {
        return Ok(None);
    }
    let members: Vec<Rank> = (0..ranks.0 as Rank).collect();
    // Made by its members alone: ranks that take no part sleep on.
    Ok(control.world().split_by_subgroup(&control.world().group().include(&members)))
}

/// Communicators made so far. They are made when a cell first needs them, by the members of the cell together.
pub(crate) struct Communicators<'a> {
    control: &'a Control,
    tools: &'a Tools,
    plan: &'a Plan,
    bases: BTreeMap<Ranks, SimpleCommunicator>,
    candidates: BTreeMap<(Collective, Ranks, Candidate), SimpleCommunicator>,
}

impl<'a> Communicators<'a> {
    pub(crate) fn new(control: &'a Control, tools: &'a Tools, plan: &'a Plan) -> Self {
        Self { control, tools, plan, bases: BTreeMap::new(), candidates: BTreeMap::new() }
    }

    /// Makes what a cell needs, on a member of the cell: a communicator for synchronising, and one for each candidate
    /// that any cell of the same collective and size has.
    pub(crate) fn prepare(&mut self, cell: Cell) -> Result<(), WorkerError> {
        if !self.bases.contains_key(&cell.ranks) {
            let base = first(self.control, cell.ranks)?.expect("only members prepare");
            self.bases.insert(cell.ranks, base);
        }
        if self.candidates.contains_key(&(cell.collective, cell.ranks, Candidate::Builtin)) {
            return Ok(());
        }
        let switch = Switch::new(self.tools, cell.collective)?;
        let base = &self.bases[&cell.ranks];
        let alike = self
            .plan
            .cells
            .iter()
            .filter(|planned| planned.cell.collective == cell.collective && planned.cell.ranks == cell.ranks);
        for candidate in alike.flat_map(|planned| planned.candidates.iter().copied()) {
            if let Entry::Vacant(vacant) = self.candidates.entry((cell.collective, cell.ranks, candidate)) {
                let blocking = self.plan.placement.without(cell.collective, cell.ranks);
                let make = || duplicate_for(base, candidate, blocking);
                // Under a rules file there is nothing to switch, and a forced algorithm might beat the rule.
                let comm = match self.plan.under_rule {
                    Some(_) => make()?,
                    None => switch.with(candidate, make)??,
                };
                ffi::return_errors(&comm);
                vacant.insert(comm);
            }
        }
        Ok(())
    }

    /// For synchronising and for collecting results; what is tuned plays no part in it.
    pub(crate) fn base(&self, cell: Cell) -> &SimpleCommunicator {
        &self.bases[&cell.ranks]
    }

    /// For calls of a candidate.
    pub(crate) fn candidate(&self, cell: Cell, candidate: Candidate) -> &SimpleCommunicator {
        &self.candidates[&(cell.collective, cell.ranks, candidate)]
    }
}
