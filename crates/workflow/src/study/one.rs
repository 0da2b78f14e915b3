//! A study on the ranks as mpirun places them.

use std::path::Path;

use collrules_record::CandidateName;
use collrules_record::findings::Criteria;
use collrules_record::options::{self, Studying, Tuning};
use collrules_record::plan::{CellPlan, Plan};
use collrules_record::rundir::RunDir;
use collrules_record::study::Study;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Manifest};
use collrules_report::study::{About, MeasuredBy};
use collrules_rules::{Collective, deploy};
use collrules_runner::RunnerError;
use collrules_runner::grid::known_release;
use collrules_tuner::{Observations, fit_patterns};

use super::between;
use super::definition::Definition;
use super::scope::Scope;
use super::written::{Studied, refuse_occupied, write};
use crate::campaign::{Begin, measure};
use crate::error::WorkflowError;
use crate::session::Session;
use crate::start::oversubscribes;

/// The directory of the measurements.
pub(super) const RUN: &str = "run";

/// Measures what a definition asks for, or takes it from a run, and writes the study.
pub(super) fn one(
    options: &Studying,
    definition: &Definition,
    session: &mut Session<'_>,
) -> Result<(Study, Studied), WorkflowError> {
    refuse_occupied(&options.out, definition.algorithms.keys().copied())?;
    let (run, manifest, scope) = match &options.run {
        Some(path) => taken(path, options, definition)?,
        None => measured(options, definition, session)?,
    };
    let found = found(&run, &manifest, &scope)?;
    let about = about(options, definition, &manifest, &scope, &found, session);
    let studied = write(options, &found, &about)?;
    Ok((found, studied))
}

/// What a run holds of what is defined, which has to be all of it.
fn taken(path: &Path, options: &Studying, definition: &Definition) -> Result<(RunDir, Manifest, Scope), WorkflowError> {
    let run = RunDir::open(path)?;
    let manifest = run.manifest()?;
    let release = known_release(&manifest.survey)?;
    let mut scope = Scope::of(&options.ranks, definition, &options.definition, &manifest, release)?;
    let lacking = scope.lacking(&manifest.plan);
    if !lacking.is_empty() {
        return Err(WorkflowError::Input(format!(
            "{} lacks what {} asks for: {}. Measure it without --run, or name the communicators that are there with --np",
            path.display(),
            options.definition.display(),
            lacking.join("; "),
        )));
    }
    for plan in refinements(&run)? {
        scope.refine(&plan.cells);
    }
    Ok((run, manifest, scope))
}

/// What was measured between the sizes of a run.
fn refinements(run: &RunDir) -> Result<Vec<Plan>, WorkflowError> {
    let mut plans = Vec::new();
    while let Some(plan) = run.refinement(plans.len() as u32 + 1)? {
        plans.push(plan);
    }
    Ok(plans)
}

/// The study of what a run holds.
fn found(run: &RunDir, manifest: &Manifest, scope: &Scope) -> Result<Study, WorkflowError> {
    let failed = WorkflowError::analysis(run.path().display());
    let samples = run.samples()?;
    let observations = Observations::from_samples(&samples.text).map_err(&failed)?;
    let criteria = Criteria { clock_step: manifest.survey.clock_step, ..Criteria::default() };
    let wanted = |cell, candidate| scope.wants(cell, candidate);
    let order = manifest.plan.placement.layout.order(&manifest.survey.hosts);
    let mut hosts: Vec<String> = order.into_iter().map(|rank| manifest.survey.hosts[rank].clone()).collect();
    // Ranks beyond the slots of the only host are on it as well.
    if let Some(host) = hosts.first().cloned().filter(|first| hosts.iter().all(|host| host == first)) {
        hosts.resize(hosts.len().max(manifest.plan.ranks.0 as usize), host);
    }
    let patterns = fit_patterns(&samples.patterns(run.path())?, &hosts, criteria.level);
    let between = refinements(run)?;
    let planned = manifest.plan.cells.iter().chain(between.iter().flat_map(|plan| &plan.cells)).cloned();
    let planned: Vec<CellPlan> = planned.collect();
    let placement = &manifest.plan.placement;
    let release = known_release(&manifest.survey)?;
    collrules_tuner::study(&observations, &patterns, &planned, placement, wanted, release, criteria).map_err(failed)
}

/// Measures what is defined, as far as there are slots for it.
fn measured(
    options: &Studying,
    definition: &Definition,
    session: &mut Session<'_>,
) -> Result<(RunDir, Manifest, Scope), WorkflowError> {
    let wanted = if options.ranks.is_empty() { &definition.ranks } else { &options.ranks };
    let mut ranks = wanted.clone();
    let survey = session.start(&options.system)?.survey;
    // Before anything is measured: what is wrong with the definition is said with its name.
    definition.candidates(&options.definition, known_release(&survey)?)?;
    if !oversubscribes(options.system.oversubscribe) {
        let slots = survey.slots();
        ranks.retain(|ranks| *ranks <= slots);
        let beyond = wanted.iter().filter(|ranks| **ranks > slots).min();
        if let Some(wanted) = beyond.filter(|_| ranks.is_empty() || !options.ranks.is_empty()) {
            return Err(RunnerError::TooFewSlots { wanted: *wanted, slots }.on(options.system.is_simulated()).into());
        }
        if ranks.len() < wanted.len() {
            session
                .say(&format!("communicators of more than {slots} ranks are left out, since there are {slots} slots"));
        }
    }
    let begin = Begin::New { tuning: tuning(options, definition, ranks)?, out: options.out.join(RUN) };
    let mut measured = measure(&begin, session)?;
    let (run, release) = (measured.run().clone(), known_release(&survey)?);
    let mut scope = Scope::of(&options.ranks, definition, &options.definition, &measured.manifest, release)?;
    if options.refine > 0 {
        between::measured(&mut measured, &mut scope, session, |manifest, scope| found(&run, manifest, scope))?;
    }
    Ok((run, measured.manifest, scope))
}

/// What is measured for a study.
fn tuning(options: &Studying, definition: &Definition, ranks: Vec<Ranks>) -> Result<Tuning, WorkflowError> {
    let named = |(collective, names): (&Collective, &Vec<String>)| {
        let collective = *collective;
        names.iter().map(move |name| (collective, CandidateName::read(name))).collect::<Vec<_>>()
    };
    // It compares what is chosen: nothing is validated, or given up for being slow; and what is refined are crossings of
    // classes, not of choices.
    let mut tuning: Tuning =
        options::read(["--keep-slow", "--refine=0", "--no-validate"]).map_err(WorkflowError::Usage)?;
    tuning.grid.collectives = definition.algorithms.keys().copied().collect();
    tuning.grid.ranks = ranks.into();
    tuning.grid.sizes.clone_from(&definition.sizes);
    tuning.grid.vectors = definition.vectors;
    tuning.grid.only = definition.algorithms.iter().flat_map(named).collect();
    tuning.grid.patterns = definition.has_references();
    tuning.grid.max_memory = options.max_memory;
    tuning.refinement.rounds = options.refine;
    tuning.budget = options.budget.unwrap_or(definition.budget);
    tuning.launches = options.launches.unwrap_or(definition.launches);
    tuning.system.clone_from(&options.system);
    Ok(tuning)
}

/// A command line, as it can be typed again.
pub(super) fn typed(command: &[String]) -> String {
    let words = command.iter().skip(1).map(|word| deploy::quoted(word));
    std::iter::once("collrules".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn about<'a>(
    options: &Studying,
    definition: &Definition,
    manifest: &'a Manifest,
    scope: &Scope,
    found: &Study,
    session: &Session<'_>,
) -> About<'a> {
    // Where none of those that are to be drawn could be measured, the largest that was stands for them.
    let mut over_sizes: Vec<Ranks> =
        definition.over_sizes.iter().copied().filter(|ranks| scope.ranks.contains(ranks)).collect();
    if over_sizes.is_empty() && !definition.over_sizes.is_empty() {
        over_sizes.extend(scope.ranks.iter().max());
    }
    About {
        title: definition.title.clone(),
        question: definition.question.clone(),
        origin: MeasuredBy::Measured(manifest),
        remarks: remarks(options, definition, manifest, scope, found),
        command: typed(&session.command),
        over_ranks: definition.over_ranks.clone(),
        over_sizes,
        builtin: definition.builtin,
        claims: definition.claims.clone(),
    }
}

/// What the reader should know beside the numbers: the user's note, and what is missing.
fn remarks(
    options: &Studying,
    definition: &Definition,
    manifest: &Manifest,
    scope: &Scope,
    found: &Study,
) -> Vec<String> {
    let mut remarks: Vec<String> = options.note.iter().cloned().collect();
    let slots = manifest.survey.slots();
    let missing = definition.ranks.iter().filter(|ranks| !scope.ranks.contains(ranks));
    let (beyond, others): (Vec<&Ranks>, Vec<&Ranks>) = missing.partition(|ranks| **ranks > slots);
    let listed = |ranks: &[&Ranks]| ranks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !beyond.is_empty() {
        remarks.push(format!(
            "The definition also asks for communicators of {} ranks, which were left out: there are {slots} slots, and more \
             ranks than slots would show the operating system's scheduler rather than the algorithms.",
            listed(&beyond),
        ));
    }
    if !others.is_empty() {
        let others = listed(&others);
        remarks
            .push(format!("The definition also asks for communicators of {others} ranks, which --np leaves out here."));
    }
    let wanted = manifest.plan.cells.iter().map(|planned| planned.cell);
    let wanted = wanted.filter(|cell| scope.wants(*cell, Candidate::Builtin)).count();
    if found.cells.len() < wanted {
        remarks.push(format!(
            "The run has times for {} of the {wanted} cells that the definition asks for.",
            found.cells.len()
        ));
    }
    remarks
}
