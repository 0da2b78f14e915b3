//! The calls in which rules are compared.
//!
//! Rules are decided on calls of root 0 with buffers that are in no cache, after a barrier. Programs also call with warm
//! buffers; from other roots, from which ranks are elsewhere in the tree of an algorithm, and on other nodes; in place; and
//! when a rank is late, or ranks are as late as a profile saw them. All of these are timed in the same launches.

use collrules_record::Cell;
use collrules_record::condition::{Arrival, ArrivalPattern, BufferUse, Condition, find_pattern};
use collrules_record::pattern::ArmSubject;
use collrules_tuner::comparison::ArmDemand;

use super::subject::ValidationSubject;

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
