//! A study with ranks placed by mpirun.

use std::collections::BTreeMap;
use std::path::Path;

use collrules_lab::study::results::Study;
use collrules_record::criteria::Criteria;
use collrules_record::experiment::Experiment;
use collrules_record::grid::Grid;
use collrules_record::options::{RefinementOptions, Request};
use collrules_record::plan::{CellPlan, Plan};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Ranks;
use collrules_record::{Candidate, CandidateName, Cell, DataType, Manifest, Seconds};
use collrules_report::progress;
use collrules_report::study::{About, MeasuredBy};
use collrules_rules::{Collective, deploy};
use collrules_runner::grid::known_release;
use collrules_runner::{RunnerError, separate};
use collrules_tuner::Observations;

use super::definition::Definition;
use super::scope::Scope;
use super::written::{Averages, Studied, refuse_occupied, write};
use super::{Studying, between};
use crate::campaign::{Measurement, prepare_on, survey};
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::oversubscribes;

/// The seed of random orders.
pub(super) const SEED: u64 = 1;

/// The directory of the measurements.
pub(super) const RUN: &str = "run";

/// Source of the times of a study.
pub(super) enum StudySource {
    /// An earlier run.
    Taken(Box<(RunDir, Manifest, Scope)>),
    /// A new or resumed run.
    Begun(Box<(Measurement, Scope)>),
}

impl StudySource {
    /// The number of launches.
    pub(super) fn launches(&self) -> u32 {
        match self {
            Self::Taken(_) => 0,
            Self::Begun(begun) => separate::starts(&begun.0.manifest.plan).len() as u32,
        }
    }

    /// Measures up to this number of launches.
    pub(super) fn take_turn(&mut self, launches: u32, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        match self {
            Self::Taken(_) => Ok(()),
            Self::Begun(begun) => begun.0.take_turn(launches, session),
        }
    }
}

/// Measures a definition, or reads its measurements from a run, and writes the study.
pub(super) fn run_definition(
    options: &Studying,
    definition: &Definition,
    session: &mut Session<'_>,
) -> Result<Studied, WorkflowError> {
    refuse(options, definition)?;
    let mut source = begin(options, definition, SEED, session)?;
    if let StudySource::Begun(begun) = &mut source {
        begun.0.grid(session)?;
    }
    finish(options, definition, source, session).map(|(_, _, studied)| studied)
}

/// Refuses a directory that already has a study.
pub(super) fn refuse(options: &Studying, definition: &Definition) -> Result<(), WorkflowError> {
    refuse_occupied(&options.out, definition.algorithms.keys().copied())
}

/// Opens the run of a definition, or begins one with random orders from this seed, without measuring.
pub(super) fn begin(
    options: &Studying,
    definition: &Definition,
    seed: u64,
    session: &mut Session<'_>,
) -> Result<StudySource, WorkflowError> {
    Ok(match &options.run {
        Some(path) => StudySource::Taken(Box::new(reuse_run(path, options, definition)?)),
        None => StudySource::Begun(Box::new(begun(options, definition, seed, session)?)),
    })
}

/// Measures between the sizes of the definition, and writes the study.
pub(super) fn finish(
    options: &Studying,
    definition: &Definition,
    source: StudySource,
    session: &mut Session<'_>,
) -> Result<(Study, RunDir, Studied), WorkflowError> {
    let (run, manifest, scope) = match source {
        StudySource::Taken(taken) => *taken,
        StudySource::Begun(begun) => {
            let (mut measured, mut scope) = *begun;
            let run = measured.run().clone();
            if options.refine > 0 {
                let found = |manifest: &Manifest, scope: &Scope| read_study(&run, manifest, scope);
                between::measured(&mut measured, &mut scope, session, found)?;
            }
            (run, measured.manifest, scope)
        }
    };
    let found = read_study(&run, &manifest, &scope)?;
    let mut remarks = remarks(options, definition, &manifest, &scope);
    remarks.extend(scope.missing(&found).inspect(|missing| session.say(missing)));
    let about = about(definition, MeasuredBy::Measured(&manifest), remarks, &scope.ranks, session);
    let averages = if options.osu_files { averages(&run, &manifest)? } else { Averages::new() };
    let studied = write(options, &found, &about, &averages)?;
    Ok((found, run, studied))
}

/// Opens a run with the scope of the study.
fn reuse_run(
    path: &Path,
    options: &Studying,
    definition: &Definition,
) -> Result<(RunDir, Manifest, Scope), WorkflowError> {
    let run = RunDir::open(path)?;
    let manifest = run.manifest()?;
    let release = known_release(&manifest.survey)?;
    let mut scope = Scope::new(&options.ranks, definition, &options.definition, Some(&manifest), release)?;
    for plan in refinements(&run)? {
        scope.refine(&plan.cells);
    }
    Ok((run, manifest, scope))
}

/// Reads the plans that were measured between the sizes of a run.
fn refinements(run: &RunDir) -> Result<Vec<Plan>, WorkflowError> {
    let mut plans = Vec::new();
    while let Some(plan) = run.refinement(plans.len() as u32 + 1)? {
        plans.push(plan);
    }
    Ok(plans)
}

/// The mean over calls and ranks of every candidate of a run, including those measured by another one.
fn averages(run: &RunDir, manifest: &Manifest) -> Result<Averages, WorkflowError> {
    let mut sums: BTreeMap<(Cell, Candidate), (f64, f64)> = BTreeMap::new();
    for sample in run.samples()?.samples(&run.file(rundir::SAMPLES))? {
        let (sum, count) = sums.entry((sample.cell, sample.candidate)).or_default();
        *sum += sample.mean.0;
        *count += 1.0;
    }
    let between = refinements(run)?;
    for planned in manifest.plan.cells.iter().chain(between.iter().flat_map(|plan| &plan.cells)) {
        for shared in &planned.shared {
            if let Some(by) = sums.get(&(planned.cell, shared.measured_as)).copied() {
                sums.entry((planned.cell, shared.candidate)).or_insert(by);
            }
        }
    }
    Ok(sums.into_iter().map(|(point, (sum, count))| (point, Seconds(sum / count))).collect())
}

/// The study of a run.
fn read_study(run: &RunDir, manifest: &Manifest, scope: &Scope) -> Result<Study, WorkflowError> {
    let failed = WorkflowError::analysis(run.path().display());
    let samples = run.samples()?;
    let observations = Observations::from_samples(&samples.text).map_err(&failed)?;
    let criteria = Criteria { clock_step: manifest.survey.clock_step, ..Criteria::default() };
    let wanted = |cell, candidate| scope.wants(cell, candidate);
    let order = manifest.plan.placement.layout.order(&manifest.survey.hosts);
    let mut hosts: Vec<String> = order.into_iter().map(|rank| manifest.survey.hosts[rank].clone()).collect();
    // Ranks beyond the slots of a single host are on it too.
    if let Some(host) = hosts.first().cloned().filter(|first| hosts.iter().all(|host| host == first)) {
        hosts.resize(hosts.len().max(manifest.plan.ranks.0 as usize), host);
    }
    let patterns = collrules_lab::fit_patterns(&samples.patterns(run.path())?, &hosts, criteria.level);
    let between: Vec<CellPlan> = refinements(run)?.into_iter().flat_map(|plan| plan.cells).collect();
    let planned = [&manifest.plan.cells[..], &between];
    let placement = &manifest.plan.placement;
    let release = known_release(&manifest.survey)?;
    collrules_lab::study(&observations, &patterns, planned, placement, wanted, release, criteria).map_err(failed)
}

/// Begins a run of the definition, limited by the slots.
fn begun(
    options: &Studying,
    definition: &Definition,
    seed: u64,
    session: &mut Session<'_>,
) -> Result<(Measurement, Scope), WorkflowError> {
    let wanted = if options.ranks.is_empty() { &definition.ranks } else { &options.ranks };
    let mut ranks = wanted.clone();
    let out = options.out.join(RUN);
    let started = survey(&options.system, &out, session)?;
    let release = started.release;
    // Before anything is measured: errors in the definition are reported with its path.
    definition.candidates(&options.definition, release)?;
    if !oversubscribes(options.system.oversubscribe) {
        let slots = started.survey.slots();
        ranks.retain(|ranks| *ranks <= slots);
        let beyond = wanted.iter().filter(|ranks| **ranks > slots).min();
        if let Some(wanted) = beyond.filter(|_| ranks.is_empty() || !options.ranks.is_empty()) {
            return Err(RunnerError::TooFewSlots { wanted: *wanted, slots }.on(options.system.is_simulated()).into());
        }
        if ranks.len() < wanted.len() {
            session.say(&progress::studies::beyond_slots(slots));
        }
    }
    let experiment = Experiment { seed, ..experiment(options, definition, &ranks) };
    let measured = prepare_on(started, experiment, Request::Study, &out, session)?;
    let scope = Scope::new(&options.ranks, definition, &options.definition, Some(&measured.manifest), release)?;
    Ok((measured, scope))
}

/// Builds the experiment of a study.
fn experiment(options: &Studying, definition: &Definition, ranks: &[Ranks]) -> Experiment {
    let named = |(collective, names): (&Collective, &Vec<String>)| {
        let collective = *collective;
        names.iter().map(move |name| (collective, CandidateName::read(name))).collect::<Vec<_>>()
    };
    // It compares chosen algorithms: nothing is validated or dropped for being slow, and refinement is for crossings of
    // classes, not of choices.
    let collectives: Vec<Collective> = definition.algorithms.keys().copied().collect();
    let grid = Grid {
        vectors: definition.vectors,
        only: definition.algorithms.iter().flat_map(named).collect(),
        // The cost of an operation is timed with integers.
        patterns: definition.has_references() && definition.arguments.data == DataType::Int,
        arguments: definition.arguments,
        max_memory: options.max_memory,
        ..Grid::new(&collectives, ranks, &definition.sizes)
    };
    Experiment {
        budget: options.budget.unwrap_or(definition.budget),
        launches: options.launches.unwrap_or(definition.launches),
        keep_slow: true,
        refinement: RefinementOptions { rounds: options.refine, ..RefinementOptions::NONE },
        ..Experiment::new(grid, options.system.clone())
    }
}

/// A command line in a form that can be typed again.
pub(super) fn typed(command: &[String]) -> String {
    let words = command.iter().skip(1).map(|word| deploy::quoted(word));
    std::iter::once("collrules".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// The page of a definition on these ranks.
pub(super) fn about<'a>(
    definition: &Definition,
    origin: MeasuredBy<'a>,
    remarks: Vec<String>,
    ranks: &[Ranks],
    session: &Session<'_>,
) -> About<'a> {
    // If none of the sizes to draw could be measured, the largest measured size replaces them.
    let mut over_sizes: Vec<Ranks> = definition.over_sizes.iter().copied().filter(|it| ranks.contains(it)).collect();
    if over_sizes.is_empty() && !definition.over_sizes.is_empty() {
        over_sizes.extend(ranks.iter().max());
    }
    About {
        title: definition.title.clone(),
        question: definition.question.clone(),
        origin,
        remarks,
        command: typed(&session.command),
        over_ranks: definition.over_ranks.clone(),
        over_sizes,
        builtin: definition.builtin,
        claims: definition.claims.clone(),
    }
}

/// Lists remarks for the reader in addition to the numbers: the user's note, and missing parts.
fn remarks(options: &Studying, definition: &Definition, manifest: &Manifest, scope: &Scope) -> Vec<String> {
    let mut remarks: Vec<String> = options.note.iter().cloned().collect();
    let slots = manifest.survey.slots();
    let missing = definition.ranks.iter().filter(|ranks| !scope.ranks.contains(ranks));
    let (beyond, others): (Vec<&Ranks>, Vec<&Ranks>) = missing.partition(|ranks| **ranks > slots);
    let listed = |ranks: &[&Ranks]| ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !beyond.is_empty() {
        remarks.push(format!(
            "The definition also asks for communicators of {} ranks, which were left out: there are {slots} slots, and \
             times of oversubscribed ranks show the operating system's scheduler, not the algorithms.",
            listed(&beyond),
        ));
    }
    if !others.is_empty() {
        let others = listed(&others);
        remarks
            .push(format!("The definition also asks for communicators of {others} ranks, which --np leaves out here."));
    }
    let arguments = manifest.plan.arguments;
    if arguments.root > 0 {
        remarks.push(format!("Rank {} is the root of all calls.", arguments.root));
    }
    if arguments.data != DataType::Int {
        remarks.push(format!("Reductions are of {}.", arguments.data.mpi()));
    }
    remarks
}
