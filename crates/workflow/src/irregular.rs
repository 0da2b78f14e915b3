//! Calls that now and then take many times as long: measured, found, and cured.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use collrules_model::irregular::{distributions, stalls, steps};
use collrules_record::CandidateName;
use collrules_record::irregular::{FORMAT, Irregular};
use collrules_record::mockup::{Mockup, Pattern};
use collrules_record::options::{self, Irregularity, Mockups, Timing, Tuning};
use collrules_record::rundir::{self, RunDir};
use collrules_report::irregular as report;
use collrules_rules::Collective;
use collrules_runner::grid::known_release;

use crate::TOOL;
use crate::campaign::{Begin, measure};
use crate::error::WorkflowError;
use crate::session::Session;

/// How often each way is timed per size and launch where nobody says it.
const CALLS: u32 = 100;

/// The level of the intervals.
const LEVEL: f64 = 0.95;

/// What is timed of each collective that has algorithms for it: all messages at once, one after the other on request, and by
/// way of other ranks.
const WAYS: [(Collective, &[&str]); 3] = [
    (Collective::Gather, &["basic_linear", "binomial", "linear_sync"]),
    (Collective::Scatter, &["basic_linear", "binomial", "linear_nb"]),
    (Collective::Alltoall, &["linear", "pairwise", "linear_sync"]),
];

/// Measures calls in all these ways, and says what their distributions show.
pub fn measured(
    options: &Irregularity,
    out: &Path,
    session: &mut Session<'_>,
) -> Result<(RunDir, Irregular), WorkflowError> {
    let slots = session.start(&options.system)?.survey.slots();
    // What is slow is what is looked for: nothing is given up for it.
    let mut tuning: Tuning =
        options::read(["--keep-slow", "--refine=0", "--no-validate"]).map_err(WorkflowError::Usage)?;
    tuning.grid.collectives.clone_from(&options.collectives);
    tuning.grid.ranks = if options.ranks.is_empty() { vec![slots] } else { options.ranks.clone() }.into();
    tuning.grid.sizes.clone_from(&options.sizes);
    for (collective, names) in WAYS.iter().filter(|(collective, _)| options.collectives.contains(collective)) {
        tuning.grid.only.extend(names.iter().map(|name| (*collective, CandidateName::read(name))));
    }
    // What counts and displacements are for has no algorithms to choose from, and stands beside those that have.
    let vectors = [Pattern::Gatherv, Pattern::Scatterv].map(Mockup::Pattern);
    let split = options.pieces.iter().map(|pieces| Mockup::Split { pieces: *pieces, barrier: true });
    let only = vectors.into_iter().chain(split).collect();
    let most = tuning.grid.max_memory;
    tuning.grid.mockups = Some(Box::new(Mockups {
        only,
        pieces: options.pieces.clone(),
        max_extra_memory: most,
        remedies: true,
        rules: None,
    }));
    let (budget, launches, seed) = (options.budget, options.launches, options.seed);
    let timing = Timing { calls: options.timing.calls.or(Some(CALLS)), ..options.timing };
    let tuning = Tuning { budget, launches, seed, timing, system: options.system.clone(), ..tuning };
    let measured = measure(&Begin::New { tuning, out: out.to_owned() }, session)?;
    let run = measured.run().clone();
    // What was measured may be measured into again from here on.
    drop(measured);
    let found = of_run(run.path())?;
    Ok((run, found))
}

/// What the calls of a run show.
pub fn of_run(path: &Path) -> Result<Irregular, WorkflowError> {
    let run = RunDir::open(path)?;
    let manifest = run.manifest()?;
    let samples = run.samples()?.samples(&run.file(rundir::SAMPLES))?;
    if samples.is_empty() {
        return Err(WorkflowError::Input(format!("{}: there are no timings in it", path.display())));
    }
    let cold = manifest.plan.schedule.warmup_rounds == 0;
    let points = distributions(&samples, cold, LEVEL);
    let others: BTreeSet<_> = points.iter().map(|calls| (calls.cell, calls.candidate)).collect();
    let all: BTreeSet<_> = samples.iter().map(|sample| (sample.cell, sample.candidate)).collect();
    if points.is_empty() {
        return Err(WorkflowError::Input(format!(
            "{}: of every call only the first one of a launch was timed, which says what connections cost; a longer --budget times more",
            path.display()
        )));
    }
    Ok(Irregular {
        format: FORMAT,
        source: path.display().to_string(),
        simulated: manifest.backend == "simulation",
        library: manifest.survey.library.clone(),
        release: known_release(&manifest.survey)?,
        level: LEVEL,
        stalls: stalls(&points),
        steps: steps(&points),
        points,
        only_first: all.difference(&others).copied().collect(),
    })
}

/// Writes what was found, for people and programs.
pub fn write(run: &RunDir, found: &Irregular) -> Result<(), WorkflowError> {
    run.write_json(rundir::IRREGULAR, found)?;
    run.write(rundir::IRREGULAR_TEXT, &report::markdown(found))?;
    run.write(rundir::IRREGULAR_PAGE, &report::page(found, TOOL))?;
    match report::header(found) {
        Some(header) => drop(run.write(rundir::HMPI, &header)?),
        // One with sizes that were found before would be taken for today's.
        None => drop(fs::remove_file(run.file(rundir::HMPI))),
    }
    Ok(())
}
