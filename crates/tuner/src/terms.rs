//! Inputs of an analysis in addition to the timings: criteria, policy, system.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::Criteria;
use collrules_record::findings::Statistic;
use collrules_record::profile::weight::lookup_span;
use collrules_record::validation::RevertedRange;
use collrules_record::{Candidate, Cell, Component, Placement, Policy, Ranks};
use collrules_rules::{Collective, Release};

use crate::observations::Observations;
use crate::weights::Weights;

/// A collective on a number of ranks.
pub(crate) type Block = (Collective, Ranks);

/// A layout other than that of the run.
#[derive(Clone, Copy, Debug)]
pub struct Laid<'a> {
    /// Its timings.
    pub observations: &'a Observations,
    /// Nodes of the ranks of its communicators.
    pub placement: &'a Placement,
    /// The run, as the user wrote it.
    pub run: &'a str,
}

/// Inputs of an analysis in addition to the timings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) statistic: Statistic,
    pub(crate) release: Release,
    pub(crate) criteria: Criteria,
    pub(crate) policy: Policy,
    /// Ranges that keep the builtin regardless of the timings, since later launches contradicted these.
    pub(crate) reverted: &'a [RevertedRange],
    /// Planned cells: a choice for all sizes of a communicator is made only if the smallest and the largest were timed.
    pub(crate) planned: &'a [Cell],
    /// Weight of each cell.
    pub(crate) weights: Weights<'a>,
    /// Collectives and communicator sizes that HAN handles and can delegate to `coll/tuned` call by call. The builtin
    /// is HAN there.
    pub(crate) handable: &'a BTreeSet<Block>,
    /// Other layouts that share the rules, with the run's own layout.
    pub(crate) layouts: &'a [Laid<'a>],
    pub(crate) placement: &'a Placement,
}

impl<'a> Terms<'a> {
    /// Terms without reverted ranges, plans, weights and other layouts.
    pub(crate) fn new(
        statistic: Statistic,
        release: Release,
        criteria: Criteria,
        policy: Policy,
        placement: &'a Placement,
    ) -> Self {
        Self {
            statistic,
            release,
            criteria,
            policy,
            reverted: &[],
            planned: &[],
            weights: Weights(const { &BTreeMap::new() }),
            handable: const { &BTreeSet::new() },
            layouts: &[],
            placement,
        }
    }

    /// The lookup bytes that a measured size answers for.
    pub(crate) fn span(&self, cell: Cell) -> (u64, Option<u64>) {
        lookup_span(cell, self.release, self.weights.are_times())
    }

    /// Returns true if the calls of a cell keep the builtin.
    pub(crate) fn is_reverted(&self, cell: Cell) -> bool {
        self.reverted.iter().any(|range| range.covers(cell, self.release))
    }

    /// Returns true if a tuning can select this candidate.
    pub(crate) fn can_select(&self, block: Block, candidate: Candidate) -> bool {
        match candidate {
            Candidate::Tuned(_) => true,
            Candidate::Component(Component::TUNED) | Candidate::Han(_) => self.handable.contains(&block),
            _ => false,
        }
    }
}
