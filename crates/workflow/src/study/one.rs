//! A measurement of a study: its definition with ranks placed by mpirun.

use std::collections::BTreeMap;

use collrules_lab::study::definition::Definition;
use collrules_lab::study::results::Study;
use collrules_record::experiment::Experiment;
use collrules_record::grid::Grid;
use collrules_record::options::{Budget, RefinementOptions, Request};
use collrules_record::rundir::{self, RunDir};
use collrules_record::{Arguments, Candidate, CandidateName, Cell, DataType, Seconds};
use collrules_report::progress;
use collrules_report::study::MeasuredBy;
use collrules_rules::Collective;
use collrules_runner::RunnerError;
use collrules_runner::grid::known_release;

use super::scope::{Scope, refinements};
use super::written::{Averages, Studied, refuse_occupied, write};
use super::{Studying, between};
use crate::campaign::{Measurement, prepare_on, survey};
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::oversubscribes;

/// The directory of the measurements.
pub(super) const RUN: &str = "run";

/// Usual number of launches: six medians are the smallest number with a 95 % interval.
const LAUNCHES: u32 = 6;

/// Usual time for a study.
const BUDGET: Budget = Some(Seconds(600.0));

/// A measurement of a study.
pub(super) struct StudyMeasurement<'a> {
    options: Studying,
    definition: &'a Definition,
    pub(super) run: RunDir,
    scope: Scope,
    /// The system that measures; none for an earlier run.
    pub(super) measured: Option<Measurement>,
}

impl<'a> StudyMeasurement<'a> {
    /// Opens the run of a definition, or begins one with random orders from this seed, without measuring.
    pub(super) fn begin(
        options: Studying,
        definition: &'a Definition,
        arguments: Arguments,
        seed: u64,
        session: &mut Session<'_>,
    ) -> Result<Self, WorkflowError> {
        refuse_occupied(&options.out)?;
        if let Some(path) = &options.run {
            let run = RunDir::open(path)?;
            let mut scope = Scope::new(&options, definition, known_release(&run.manifest()?.survey)?)?;
            refinements(&run)?.iter().for_each(|plan| scope.refine(&plan.cells));
            return Ok(Self { options, definition, run, scope, measured: None });
        }
        let out = options.out.join(RUN);
        let started = survey(&options.system, &out, session)?;
        // Before anything is measured: errors in the definition are reported with its path.
        let scope = Scope::new(&options, definition, started.release)?;
        let mut ranks = if options.ranks.is_empty() { definition.np.clone() } else { options.ranks.clone() };
        let slots = started.survey.slots();
        let largest = ranks.iter().max().copied().filter(|largest| *largest > slots);
        if let Some(wanted) = largest.filter(|_| !oversubscribes(options.system.oversubscribe)) {
            ranks.retain(|ranks| *ranks <= slots);
            if ranks.is_empty() || !options.ranks.is_empty() {
                return Err(RunnerError::TooFewSlots { wanted, slots }.on(options.system.is_simulated()).into());
            }
            session.say(&progress::studies::beyond_slots(slots));
        }
        // It compares chosen algorithms: nothing is validated or dropped for being slow, and refinement is for crossings
        // of classes, not of choices.
        let collectives: Vec<Collective> = definition.algorithms.keys().copied().collect();
        let (sizes, vectors) = definition.lengths();
        let named = definition
            .algorithms
            .iter()
            .flat_map(|(collective, names)| names.iter().map(|name| (*collective, CandidateName::read(name.trim()))));
        let grid = Grid {
            vectors,
            only: named.collect(),
            // The cost of an operation is timed with integers.
            patterns: scope.has_references() && arguments.data == DataType::Int,
            arguments,
            max_memory: options.max_memory,
            ..Grid::new(&collectives, &ranks, &sizes)
        };
        let experiment = Experiment {
            seed,
            budget: options.budget.or(definition.budget).unwrap_or(BUDGET),
            launches: options.launches.or(definition.launches).unwrap_or(LAUNCHES),
            keep_slow: true,
            refinement: RefinementOptions { rounds: options.refine, ..RefinementOptions::NONE },
            ..Experiment::new(grid, options.system.clone())
        };
        let measured = prepare_on(started, experiment, Request::Study, &out, session)?;
        Ok(Self { options, definition, run: measured.run().clone(), scope, measured: Some(measured) })
    }

    /// Measures between the sizes of the definition, and writes the study.
    pub(super) fn finish(self, session: &mut Session<'_>) -> Result<(Study, Studied), WorkflowError> {
        let Self { options, definition, run, mut scope, measured } = self;
        if let Some(mut measured) = measured.filter(|_| options.refine > 0) {
            between::measure(&mut measured, &mut scope, session)?;
        }
        let found = scope.study(&run)?;
        let manifest = run.manifest()?;
        let Arguments { root, data } = manifest.plan.arguments;
        let mut remarks = scope.missing(&found);
        remarks.extend((root > 0).then(|| format!("Rank {root} is the root of all calls.")));
        remarks.extend((data != DataType::Int).then(|| format!("Reductions are of {}.", data.mpi())));
        let averages = if options.osu_files { averages(&run)? } else { Averages::new() };
        let origin = MeasuredBy::Measured(&manifest);
        let studied = write(&options, definition, &found, &origin, remarks, &averages, session)?;
        Ok((found, studied))
    }
}

/// The mean over calls and ranks of every candidate of a run, including those measured by another one.
fn averages(run: &RunDir) -> Result<Averages, WorkflowError> {
    let mut sums: BTreeMap<(Cell, Candidate), (f64, f64)> = BTreeMap::new();
    for sample in run.samples()?.samples(&run.file(rundir::SAMPLES))? {
        let (sum, count) = sums.entry((sample.cell, sample.candidate)).or_default();
        *sum += sample.mean.0;
        *count += 1.0;
    }
    let (grid, between) = (run.manifest()?.plan, refinements(run)?);
    for planned in [&grid].into_iter().chain(&between).flat_map(|plan| &plan.cells) {
        for shared in &planned.shared {
            if let Some(by) = sums.get(&(planned.cell, shared.measured_as)).copied() {
                sums.entry((planned.cell, shared.candidate)).or_insert(by);
            }
        }
    }
    Ok(sums.into_iter().map(|(point, (sum, count))| (point, Seconds(sum / count))).collect())
}
