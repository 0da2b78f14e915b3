//! Scope of a study: exactly the cells and candidates of its definition.

use std::collections::{BTreeMap, BTreeSet};

use collrules_record::criteria::Criteria;
use collrules_record::plan::CellPlan;
use collrules_record::rundir::{RunDir, SamplesText};
use collrules_record::{Candidate, Cell, Manifest};
use collrules_rules::{Collective, Release};
use collrules_runner::grid::known_release;
use collrules_tuner::Observations;
use collrules_workflow::WorkflowError;

use super::Studying;
use super::definition::candidates;
use crate::study::definition::Definition;
use crate::study::report::candidate_name;
use crate::study::results::Study;

/// The cells and candidates that a study reports.
pub(super) struct Scope {
    candidates: BTreeMap<Collective, Vec<Candidate>>,
    /// The cells of the definition.
    asked: BTreeSet<Cell>,
    /// Cells measured between the sizes of the definition.
    refined: BTreeSet<Cell>,
}

impl Scope {
    /// The scope of a definition, on the communicator sizes of the options if they name any.
    pub(super) fn new(options: &Studying, definition: &Definition, release: Release) -> Result<Self, WorkflowError> {
        let candidates = candidates(definition, &options.definition, release)?;
        let (sizes, whole) = definition.lengths();
        let mut asked = BTreeSet::new();
        for collective in candidates.keys().copied() {
            for ranks in options.ranks(definition).iter().copied() {
                let sizes = Cell::sizes(collective, ranks, &sizes, whole).into_iter();
                asked.extend(sizes.map(|bytes| Cell { collective, ranks, bytes }));
            }
        }
        Ok(Self { candidates, asked, refined: BTreeSet::new() })
    }

    /// Returns true if it has reference algorithms, so that times of messages are needed.
    pub(super) fn has_references(&self) -> bool {
        self.candidates.values().flatten().any(|candidate| matches!(candidate, Candidate::Reference(_)))
    }

    /// Adds these cells between the sizes of the definition to the scope, if they have all named candidates.
    pub(super) fn refine(&mut self, cells: &[CellPlan]) {
        let is_whole = |planned: &&CellPlan| {
            let shared = |candidate: &Candidate| planned.shared.iter().any(|shared| shared.candidate == *candidate);
            let has = |candidate: &Candidate| planned.candidates.contains(candidate) || shared(candidate);
            self.candidates.get(&planned.cell.collective).is_some_and(|named| named.iter().all(has))
        };
        self.refined.extend(cells.iter().filter(is_whole).map(|planned| planned.cell));
    }

    /// Returns true if the study reports a candidate in a cell.
    pub(super) fn wants(&self, cell: Cell, candidate: Candidate) -> bool {
        let is_named = match candidate {
            Candidate::Tuned(_) | Candidate::Reference(_) => {
                self.candidates.get(&cell.collective).is_some_and(|named| named.contains(&candidate))
            }
            // A component that runs in place of coll/tuned is a part of the builtin.
            Candidate::Builtin | Candidate::Component(_) => true,
            Candidate::Han(_) | Candidate::Rules | Candidate::Mockup(_) => false,
        };
        is_named && (self.asked.contains(&cell) || self.refined.contains(&cell))
    }

    /// Says which parts of the definition the times lack.
    pub(super) fn missing(&self, found: &Study) -> Vec<String> {
        let mut lacking = Vec::new();
        for (collective, candidates) in &self.candidates {
            let own = found.cells.iter().filter(|cell| cell.cell.collective == *collective);
            let timed: BTreeSet<Candidate> = own.flat_map(|cell| &cell.points).map(|point| point.candidate).collect();
            let missing = candidates.iter().filter(|candidate| !timed.contains(candidate));
            lacking.extend(missing.map(|candidate| {
                format!("{collective} with {}", candidate_name(found.release, *collective, *candidate))
            }));
        }
        let (there, asked) = (found.grid().filter(|cell| self.asked.contains(&cell.cell)).count(), self.asked.len());
        let candidates = (!lacking.is_empty())
            .then(|| format!("The definition also asks for what was not measured: {}.", lacking.join(", ")));
        let cells = (there < asked)
            .then(|| format!("There are times for {there} of the {asked} sizes that the definition asks for."));
        candidates.into_iter().chain(cells).collect()
    }

    /// The study of a run with these samples.
    pub(super) fn study(
        &self,
        run: &RunDir,
        manifest: &Manifest,
        samples: &SamplesText,
    ) -> Result<Study, WorkflowError> {
        let failed = WorkflowError::analysis(run.path().display());
        let observations = Observations::from_samples(&samples.text).map_err(&failed)?;
        let (survey, plan) = (&manifest.survey, &manifest.plan);
        let criteria = Criteria { clock_step: survey.clock_step, ..Criteria::default() };
        let order = plan.placement.layout.order(&survey.hosts);
        let mut hosts: Vec<String> = order.into_iter().map(|rank| survey.hosts[rank].clone()).collect();
        // Ranks beyond the slots of a single host are on it too.
        if let Some(host) = hosts.first().cloned().filter(|first| hosts.iter().all(|host| host == first)) {
            hosts.resize(hosts.len().max(plan.ranks.0 as usize), host);
        }
        let patterns = crate::study::patterns::fit_patterns(&samples.patterns(run.path())?, &hosts, criteria.level);
        let between: Vec<CellPlan> = run.refinements()?.into_iter().flat_map(|plan| plan.cells).collect();
        let (planned, release) = ([&plan.cells[..], &between], known_release(survey)?);
        let wanted = |cell, candidate| self.wants(cell, candidate);
        let study =
            super::analysis::study(&observations, &patterns, planned, &plan.placement, wanted, release, criteria);
        Ok(Study { simulated: manifest.is_simulated(), ..study.map_err(failed)? })
    }
}
