//! Scope of a study within a run: exactly the cells and candidates of its definition.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_record::plan::CellPlan;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Manifest, Plan};
use collrules_report::study::candidate_name;
use collrules_rules::{Collective, Release};

use super::definition::Definition;
use crate::error::WorkflowError;

/// The cells and candidates that a study reports.
pub(super) struct Scope {
    pub(super) ranks: Vec<Ranks>,
    sizes: Vec<Bytes>,
    vectors: bool,
    candidates: BTreeMap<Collective, Vec<Candidate>>,
    release: Release,
    /// Cells measured between the sizes of the definition.
    refined: BTreeSet<Cell>,
}

impl Scope {
    /// Returns the scope in the plan of a run, or in measurements of others, who had enough slots. Communicators of more
    /// ranks than there were slots may be missing unless the command line names them.
    pub(super) fn new(
        named: &[Ranks],
        definition: &Definition,
        path: &Path,
        manifest: Option<&Manifest>,
        release: Release,
    ) -> Result<Self, WorkflowError> {
        let chosen = !named.is_empty();
        let named = if chosen { named } else { &definition.ranks };
        let possible = |ranks: &Ranks| {
            let planned = |manifest: &Manifest| manifest.plan.cells.iter().any(|planned| planned.cell.ranks == *ranks);
            manifest.is_none_or(|manifest| chosen || *ranks <= manifest.survey.slots() || planned(manifest))
        };
        let ranks: Vec<Ranks> = named.iter().copied().filter(possible).collect();
        Ok(Self {
            ranks: if ranks.is_empty() { named.to_vec() } else { ranks },
            sizes: definition.sizes.clone(),
            vectors: definition.vectors,
            candidates: definition.candidates(path, release)?,
            release,
            refined: BTreeSet::new(),
        })
    }

    /// Adds these cells between the sizes of the definition to the scope, if they have all named candidates.
    pub(super) fn refine(&mut self, cells: &[CellPlan]) {
        let whole = |planned: &&CellPlan| {
            let named = self.candidates.get(&planned.cell.collective).map_or(&[][..], Vec::as_slice);
            let shared = |candidate: &Candidate| planned.shared.iter().any(|shared| shared.candidate == *candidate);
            !named.is_empty()
                && named.iter().all(|candidate| planned.candidates.contains(candidate) || shared(candidate))
        };
        self.refined.extend(cells.iter().filter(whole).map(|planned| planned.cell).collect::<Vec<_>>());
    }

    /// All candidates of the definition.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (Collective, Candidate)> {
        let of = |(collective, named): (&Collective, &Vec<Candidate>)| {
            let collective = *collective;
            named.iter().map(move |candidate| (collective, *candidate)).collect::<Vec<_>>()
        };
        self.candidates.iter().flat_map(of)
    }

    /// All cells of the definition.
    pub(super) fn cells(&self) -> BTreeSet<Cell> {
        let on = |collective: Collective, ranks: Ranks| {
            self.sizes(collective, ranks).into_iter().map(move |bytes| Cell { collective, ranks, bytes })
        };
        let of = |collective: &Collective| {
            let collective = *collective;
            self.ranks.iter().flat_map(move |ranks| on(collective, *ranks)).collect::<Vec<_>>()
        };
        self.candidates.keys().flat_map(of).collect()
    }

    /// The message sizes of the definition.
    fn sizes(&self, collective: Collective, ranks: Ranks) -> Vec<Bytes> {
        Cell::sizes(collective, ranks, &self.sizes, self.vectors)
    }

    /// Returns true if the study reports a candidate in a cell.
    pub(super) fn wants(&self, cell: Cell, candidate: Candidate) -> bool {
        let Some(candidates) = self.candidates.get(&cell.collective) else { return false };
        let sized = self.sizes(cell.collective, cell.ranks).contains(&cell.bytes) || self.refined.contains(&cell);
        let named = match candidate {
            Candidate::Tuned(_) | Candidate::Reference(_) => candidates.contains(&candidate),
            // A component that runs in place of coll/tuned is a part of the builtin.
            Candidate::Builtin | Candidate::Component(_) => true,
            Candidate::Han(_) | Candidate::Rules | Candidate::Mockup(_) => false,
        };
        sized && named && self.ranks.contains(&cell.ranks)
    }

    /// Lists the parts of the scope that a plan lacks, in words. Cells that it names as not measurable are not lacking.
    pub(super) fn lacking(&self, plan: &Plan) -> Vec<String> {
        self.candidates.iter().flat_map(|(collective, named)| self.lacking_of(plan, *collective, named)).collect()
    }

    fn lacking_of(&self, plan: &Plan, collective: Collective, named: &[Candidate]) -> Vec<String> {
        let cells = plan.cells.iter().map(|planned| planned.cell);
        let known: BTreeSet<Cell> = cells
            .chain(plan.skipped.iter().map(|skipped| skipped.cell))
            .filter(|cell| cell.collective == collective)
            .collect();
        if known.is_empty() {
            return vec![collective.to_string()];
        }
        let missing = |ranks: Ranks, bytes: Bytes| !known.contains(&Cell { collective, ranks, bytes });
        let none = |ranks: &Ranks| self.sizes(collective, *ranks).into_iter().all(|bytes| missing(*ranks, bytes));
        let no_ranks: Vec<Ranks> = self.ranks.iter().copied().filter(none).collect();
        let mut lacking = Vec::new();
        if !no_ranks.is_empty() {
            lacking.push(format!("{collective} on {} ranks", join_items(&no_ranks)));
        }
        for ranks in self.ranks.iter().filter(|ranks| !no_ranks.contains(ranks)) {
            let mut sizes = self.sizes(collective, *ranks);
            sizes.retain(|bytes| missing(*ranks, *bytes));
            if !sizes.is_empty() {
                lacking.push(format!("{collective} of {} on {ranks} ranks", join_items(&sizes)));
            }
        }
        for candidate in named.iter().copied() {
            let held = plan.cells.iter().filter(|planned| self.wants(planned.cell, candidate)).any(|planned| {
                let shared = || planned.shared.iter().any(|shared| shared.candidate == candidate);
                planned.candidates.contains(&candidate) || shared()
            });
            if !held {
                lacking.push(format!("{collective} with {}", candidate_name(self.release, collective, candidate)));
            }
        }
        lacking
    }
}

fn join_items(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
