//! The cells in which a tuning is compared, and the calls.
//!
//! Rules are decided on calls of root 0 with buffers that are in no cache, after a barrier. Programs also call with warm
//! buffers; from other roots, from which ranks are elsewhere in the tree of an algorithm, and on other nodes; in place; and
//! when a rank is late, or ranks are as late as a profile saw them. All of these are timed in the same launches.

use std::collections::BTreeSet;

use collrules_record::condition::{Arrival, ArrivalPattern, BufferUse, find_pattern};
use collrules_record::options::Validating;
use collrules_record::tuning::RulesFile;
use collrules_record::{
    ArmSubject, Bytes, Cell, Component, Condition, Layout, Placement, Ranks, RunningComponent, Survey, Validation,
};
use collrules_rules::{Choice, Collective, Release};
use collrules_runner::{RunnerError, grid, validation};
use collrules_tuner::comparison::ArmDemand;
use collrules_tuner::validation::CellFacts;

use super::subject::ValidationSubject;
use crate::error::WorkflowError;
use crate::start::oversubscribes;

impl ValidationSubject {
    /// The tuned cells.
    pub(super) fn tuned(&self) -> BTreeSet<Cell> {
        let found = self.published.iter().flat_map(|published| &published.findings.cells);
        found.map(|cell| cell.cell).collect()
    }

    /// Cells between the tuned ones; none if those are the calls of programs.
    pub(super) fn between(&self, tuned: &[Cell]) -> Vec<Cell> {
        if self.is_of_programs() {
            return Vec::new();
        }
        validation::cells_between(tuned, &self.tuning.table(), self.release)
    }

    /// The tuned cells with a rule that a comparison did not reach.
    pub(super) fn list_untimed(&self, validation: &Validation) -> Vec<Cell> {
        let tuned = self.tuned();
        let is_left = |cell: &Cell| tuned.contains(cell) && self.is_open(*cell, &validation.round);
        self.cells.iter().copied().filter(is_left).collect()
    }

    /// Chooses the cells.
    pub(super) fn choose(&mut self, options: &Validating, survey: &Survey) -> Result<(), WorkflowError> {
        let layout = options.system.layout;
        let slots = layout.most(&survey.hosts);
        let sizes = options.sizes.as_deref();
        let tuned = self.tuned();
        let oversubscribes = oversubscribes(options.system.oversubscribe);
        let mut cells = if tuned.is_empty() || sizes.is_some() {
            let ranks = match (&options.ranks[..], tuned.is_empty()) {
                ([], false) => tuned.iter().map(|cell| cell.ranks).collect::<BTreeSet<_>>().into_iter().collect(),
                _ => grid::communicator_sizes(&options.ranks, slots, oversubscribes)
                    .map_err(|error| error.on(options.system.is_simulated()))?,
            };
            if self.published.is_none() {
                self.look_at_nodes(&ranks, layout, survey);
            }
            let rules = |ranks: &Ranks| {
                let table = self.table_on(*ranks)?;
                Some(validation::of_table(table, self.release, &[*ranks], sizes))
            };
            let mut cells: Vec<Cell> = ranks.iter().filter_map(rules).flatten().collect();
            let reached: BTreeSet<Ranks> = self.placement.running.iter().map(|running| running.ranks).collect();
            let reached: Vec<Ranks> = reached.into_iter().collect();
            let tables = self.tuning.han.iter().map(|file| &file.table);
            cells.extend(tables.flat_map(|table| validation::of_han(table, &reached, sizes)));
            cells.extend(self.list_ruled_inside_han(&reached, sizes));
            cells
        } else {
            let tuned: Vec<Cell> = tuned.into_iter().collect();
            let mut cells = tuned.clone();
            cells.extend(self.between(&tuned));
            // If there are fewer ranks than slots, they are one per node.
            let fits = |cell: &Cell| layout != Layout::OnePerNode || cell.ranks <= slots;
            cells
                .retain(|cell| if options.ranks.is_empty() { fits(cell) } else { options.ranks.contains(&cell.ranks) });
            cells
        };
        cells.retain(|cell| match &options.collectives {
            Some(named) => named.contains(&cell.collective),
            None => self.reaches(*cell),
        });
        cells.sort_unstable();
        cells.dedup();
        if cells.is_empty() {
            return Err(WorkflowError::Usage(self.describe_no_cells()));
        }
        let job = if layout == Layout::OnePerNode { Ranks(0) } else { self.ranks };
        let largest = cells.iter().map(|cell| cell.ranks).max().unwrap_or_default().max(job);
        if largest > slots && !oversubscribes {
            return Err(RunnerError::TooFewSlots { wanted: largest, slots }.on(options.system.is_simulated()).into());
        }
        self.ranks = largest;
        self.cells = cells;
        Ok(())
    }

    /// The reason why there is nothing to compare.
    fn describe_no_cells(&self) -> String {
        if self.is_empty() {
            format!("{} leaves everything to the default: there is nothing to compare", self.name())
        } else if self.tuning.tuned.is_none() && self.published.is_none() && self.placement.running.is_empty() {
            format!(
                "{} is for HAN, which runs only on communicators over several hosts with several ranks on some of \
                     them, from Open MPI 5.0 on; none can be compared here",
                self.name(),
            )
        } else {
            format!("{} has no rules for the calls that --ops, --np and --sizes select", self.name())
        }
    }

    /// Takes note of how communicators of these sizes lie on nodes, and which of them HAN gets.
    fn look_at_nodes(&mut self, ranks: &[Ranks], layout: Layout, survey: &Survey) {
        let nodes = |ranks: Ranks| layout.nodes(&survey.hosts, ranks);
        let gets =
            |ranks: &Ranks| self.release >= Release::V5_0 && nodes(*ranks).are_several() && nodes(*ranks).share();
        let by_han = |ranks: &Ranks| {
            let ranks = *ranks;
            let running = |collective| RunningComponent { collective, ranks, by: Component::HAN, without: Vec::new() };
            Collective::ALL.map(running)
        };
        let running = ranks.iter().filter(|ranks| gets(ranks)).flat_map(by_han).collect();
        let nodes = ranks.iter().map(|ranks| (*ranks, nodes(*ranks))).collect();
        self.placement = Placement { layout, nodes, running, ..Placement::default() };
    }

    /// Lists calls that HAN carries out with calls that rules of coll/tuned act on, at the sizes of these rules.
    fn list_ruled_inside_han(&self, reached: &[Ranks], sizes: Option<&[Bytes]>) -> Vec<Cell> {
        let mut found = Vec::new();
        for (collective, ranks) in reached.iter().flat_map(|ranks| Collective::ALL.map(|it| (it, *ranks))) {
            let outer = |bytes| Cell { collective, ranks, bytes };
            for (inner, size) in self.inside(outer(Bytes(0))) {
                let tables = self.tuning.tuned.iter().flat_map(RulesFile::all_tables);
                let cells = tables.flat_map(|table| validation::of_table(table, self.release, &[size], sizes));
                let cells = cells.filter(|cell| cell.collective == inner);
                found.extend(cells.map(|cell| outer(if collective.has_sizes() { cell.bytes } else { Bytes(0) })));
            }
        }
        found
    }

    /// Returns the results of analysis and tuning for a cell.
    pub(crate) fn known(&self, cell: Cell) -> CellFacts {
        let bytes = cell.lookup_bytes(self.release);
        let rules = self.table_on(cell.ranks);
        let in_use = rules.map_or(Choice::BUILTIN, |it| it.lookup(cell.collective, cell.ranks.0.into(), bytes));
        self.in_force().facts(cell, self.finding(cell).is_some(), in_use, self.is_reached(cell.ranks))
    }
}

/// Calls of a tuning's cells, by condition.
pub(super) struct CallsByCondition {
    /// The condition under which the rules were decided.
    pub(super) decided: Condition,
    /// Other conditions, with the cells that have a rule and are called differently.
    pub(super) others: Vec<(Condition, Vec<Cell>)>,
}

impl CallsByCondition {
    /// The calls of a tuning, also with these arrivals of ranks in programs.
    pub(super) fn new(subject: &ValidationSubject, decided: Condition, arrivals: &[ArrivalPattern]) -> Self {
        let mut conditions = decided.others();
        if decided.arrival == Arrival::None && !arrivals.is_empty() {
            conditions.push(Condition { arrival: Arrival::Profile, ..decided });
        }
        // Of calls that the profile saw, its arrivals take the place of a random rank that is late.
        let has_arrivals = |condition: Condition, cell: &Cell| match condition.arrival {
            Arrival::Random if condition != decided => find_pattern(arrivals, *cell).is_none(),
            Arrival::Profile => find_pattern(arrivals, *cell).is_some(),
            _ => true,
        };
        let ruled = ruled_cells(subject);
        let cells = |condition: Condition| {
            let wanted =
                |cell: &&Cell| condition.differs_for(decided, cell.collective) && has_arrivals(condition, cell);
            ruled.iter().filter(wanted).copied().collect::<Vec<Cell>>()
        };
        let others = conditions.into_iter().map(|condition| (condition, cells(condition)));
        let others = others.filter(|(_, cells)| !cells.is_empty()).collect();
        Self { decided, others }
    }

    /// The calls to time: of these cells as decided, and of those with a rule in other ways.
    pub(super) fn subjects(&self, cells: &[Cell]) -> Vec<ArmSubject> {
        let decided = cells.iter().map(|cell| ArmSubject::Call(*cell, self.decided));
        let others = self
            .others
            .iter()
            .flat_map(|(condition, cells)| cells.iter().map(|cell| ArmSubject::Call(*cell, *condition)));
        decided.chain(others).collect()
    }

    /// The demand on a call of a cell with a rule: a gain as it was decided, and elsewhere no loss. There is none on calls
    /// that are timed for a whole tuning.
    pub(super) fn demand(&self, condition: Condition) -> ArmDemand {
        if condition == self.decided {
            ArmDemand::Gain
        } else if self.others.iter().all(|(other, _)| *other != condition) {
            ArmDemand::Report
        } else if must_exclude_loss(self.decided, condition) {
            ArmDemand::ExcludeLoss
        } else {
            ArmDemand::NoLoss
        }
    }
}

/// The cells with a rule.
pub(super) fn ruled_cells(subject: &ValidationSubject) -> Vec<Cell> {
    subject.cells.iter().copied().filter(|cell| subject.is_ruled(*cell)).collect()
}

/// Returns true if a loss has to be excluded under a condition: programs call with warm buffers as well as with others,
/// and what gains with the one often loses with the other.
fn must_exclude_loss(decided: Condition, condition: Condition) -> bool {
    condition.buffers != decided.buffers && condition.buffers != BufferUse::InPlace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_decided_on_unaligned_buffers_have_to_gain_with_them() {
        let calls = |decided: Condition| CallsByCondition {
            decided,
            others: decided.others().into_iter().map(|condition| (condition, Vec::new())).collect(),
        };
        let (usual, unaligned) = (Condition::OF_PROGRAMS, Condition::UNALIGNED);
        assert!(matches!(calls(unaligned).demand(unaligned), ArmDemand::Gain));
        assert!(matches!(calls(unaligned).demand(usual), ArmDemand::ExcludeLoss));
        assert!(matches!(calls(usual).demand(unaligned), ArmDemand::Report), "for the whole tuning");
        let late = Condition { arrival: Arrival::Random, ..unaligned };
        assert!(matches!(calls(late).demand(unaligned), ArmDemand::NoLoss));
    }
}
