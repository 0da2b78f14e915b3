//! One communicator per size and candidate.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use collrules_record::plan::Plan;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell};
use collrules_rules::Collective;
use mpi::Rank;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::Group;

use crate::WorkerError;
use crate::control::Control;
use crate::ffi::{self, Tools};
use crate::switch::Switch;

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
                // Under a rules file there is nothing to switch, and a forced algorithm might beat the rule.
                let comm = match self.plan.under_rule {
                    Some(_) => base.duplicate(),
                    None => switch.with(candidate, || base.duplicate())?,
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
