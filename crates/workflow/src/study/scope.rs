//! Scope of a study within a run: exactly the cells and candidates of its definition.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_lab::study::results::Study;
use collrules_record::plan::CellPlan;
use collrules_record::units::{Bytes, Ranks};
use collrules_record::{Candidate, Cell, Manifest};
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
    fn candidates(&self) -> impl Iterator<Item = (Collective, Candidate)> {
        let of = |(collective, named): (&Collective, &Vec<Candidate>)| {
            let collective = *collective;
            named.iter().map(move |candidate| (collective, *candidate)).collect::<Vec<_>>()
        };
        self.candidates.iter().flat_map(of)
    }

    /// All cells of the definition.
    fn cells(&self) -> BTreeSet<Cell> {
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

    /// Says which parts of the definition the times lack.
    pub(super) fn missing(&self, found: &Study) -> impl Iterator<Item = String> + use<> {
        let has = |collective: Collective, candidate: Candidate| {
            let own = found.cells.iter().filter(|cell| cell.cell.collective == collective);
            own.flat_map(|cell| &cell.points).any(|point| point.candidate == candidate)
        };
        let lacking: Vec<String> = self
            .candidates()
            .filter(|(collective, candidate)| !has(*collective, *candidate))
            .map(|(collective, candidate)| {
                format!("{collective} with {}", candidate_name(found.release, collective, candidate))
            })
            .collect();
        let mut said = Vec::new();
        if !lacking.is_empty() {
            said.push(format!("The definition also asks for what was not measured: {}.", lacking.join(", ")));
        }
        let asked = self.cells();
        let there = found.cells.iter().filter(|cell| asked.contains(&cell.cell)).count();
        if there < asked.len() {
            said.push(format!(
                "There are times for {there} of the {} sizes that the definition asks for.",
                asked.len()
            ));
        }
        said.into_iter()
    }
}
