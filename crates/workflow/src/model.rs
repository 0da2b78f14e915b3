//! Communication models: measured, fitted to probes, kept, and asked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_model::{
    Call, Limit, Origin, Probes, Terms, Timing, Unsaid, algorithms, fit, known, predict, programs, quality, table,
};
use collrules_record::model::{Model, Where};
use collrules_record::options::{self, Modelling, Tuning};
use collrules_record::rundir::{self, RunDir};
use collrules_record::sample::Sample;
use collrules_record::{CandidateName, Cell, Estimate};
use collrules_report::model as report;
use collrules_rules::words::counted;
use collrules_rules::{Choice, Collective, Release, registry};
use collrules_runner::grid::known_release;

use crate::TOOL;
use crate::campaign::{Begin, measure};
use crate::error::WorkflowError;
use crate::session::Session;

pub use crate::model_file::open;

/// Algorithms that segment messages are measured with this segment as well.
const SEGMENT: &str = "8192";

/// Measures probes, and collectives beside them, and fits a model.
pub fn measured(
    options: &Modelling,
    out: &Path,
    terms: Terms,
    session: &mut Session<'_>,
) -> Result<(RunDir, Model), WorkflowError> {
    let begin = Begin::New { tuning: tuning(options, session)?, out: out.to_owned() };
    let measured = measure(&begin, session)?;
    let run = measured.run().clone();
    // What was measured may be measured into again from here on.
    drop(measured);
    let model = of_run(run.path(), terms)?;
    Ok((run, model))
}

/// What is measured for a model.
fn tuning(options: &Modelling, session: &Session<'_>) -> Result<Tuning, WorkflowError> {
    let foreign = options.collectives.iter().find(|wanted| known().all(|(collective, _)| collective != **wanted));
    if let Some(foreign) = foreign {
        return Err(WorkflowError::Usage(format!(
            "the messages of {foreign} are not known here; --ops takes alltoall, bcast, gather and scatter"
        )));
    }
    let slots = session.start(&options.system)?.survey.slots();
    // Nothing is refined, validated, or given up for being slow.
    let mut tuning: Tuning =
        options::read(["--keep-slow", "--refine=0", "--no-validate"]).map_err(WorkflowError::Usage)?;
    tuning.grid.collectives.clone_from(&options.collectives);
    tuning.grid.ranks = vec![options.ranks.unwrap_or(slots)].into();
    tuning.grid.sizes.clone_from(&options.sizes);
    tuning.grid.probes = Some(options.partners);
    // With two ranks, two_proc is pairwise.
    let named = known().filter(|(collective, name)| options.collectives.contains(collective) && *name != "two_proc");
    for (collective, name) in named {
        tuning.grid.only.push((collective, CandidateName::read(name)));
        let segmented = registry::id_of(Release::V5_0, collective, name)
            .filter(|_| ["pipeline", "chain", "binary_tree"].contains(&name));
        if let Some(id) = segmented {
            let choice = format!("tuned:{id}/{}/{SEGMENT}/0", if name == "chain" { 4 } else { 0 });
            tuning.grid.only.push((collective, CandidateName::read(&choice)));
        }
    }
    let (budget, launches, seed) = (options.budget, options.launches, options.seed);
    Ok(Tuning { budget, launches, seed, timing: options.timing, system: options.system.clone(), ..tuning })
}

/// Fits what a run directory holds of probes, and says how well that predicts its cells.
pub fn of_run(path: &Path, terms: Terms) -> Result<Model, WorkflowError> {
    let run = RunDir::open(path)?;
    let manifest = run.manifest()?;
    let (samples, file) = (run.samples()?, run.file(rundir::SAMPLES));
    let timings = samples.patterns(&file)?;
    let hosts = &manifest.survey.hosts;
    let order = manifest.plan.placement.layout.order(hosts);
    let hosts: BTreeMap<u32, String> = (0..).zip(order.iter().map(|rank| hosts[*rank].clone())).collect();
    let probes = Probes::of(timings.iter().filter_map(Timing::of_pattern), hosts);
    let release = known_release(&manifest.survey)?;
    let origin = Origin {
        source: path.display().to_string(),
        simulated: manifest.backend == "simulation",
        library: Some(manifest.survey.library.clone()),
        release: Some(release),
    };
    let mut model = fit(&probes, &Limit::of(&manifest.survey.eager), terms, origin).map_err(|unfit| {
        WorkflowError::Input(format!("{}: {unfit}; `collrules model --out DIR` measures them", path.display()))
    })?;
    let calls = samples.samples(&file)?;
    // Where no pair is on two hosts, all messages are those inside one.
    let place = model.ways.iter().map(|way| way.place).find(|place| *place == Where::Between).unwrap_or(Where::Inside);
    let eager = model.eager.get(&place).copied();
    (model.algorithms, model.concurrent) = algorithms(&probes, release, &calls, eager, terms.level, &mut model.unknown);
    model.quality = quality(&model, release, &calls);
    model.unknown.extend(unplayed(release, &calls));
    Ok(model)
}

/// What is too much to play, and so not among the predictions.
fn unplayed(release: Release, calls: &[Sample]) -> Option<String> {
    let all: BTreeSet<(Cell, Choice)> =
        calls.iter().filter_map(|call| Some((call.cell, call.candidate.choice()?))).collect();
    let why =
        |(cell, choice): &(Cell, Choice)| match programs(release, cell.collective, *choice, cell.ranks.0, cell.bytes.0)
        {
            Err(unsaid @ Unsaid::Messages { .. }) => Some(format!("{cell} by {choice}: {unsaid}")),
            _ => None,
        };
    let left: Vec<String> = all.iter().filter_map(why).collect();
    let first = left.first()?;
    Some(format!("Predictions of {}, the first of them {first}.", counted(left.len(), "measured call")))
}

/// Fits a table of probes.
pub fn of_table(
    path: &Path,
    release: Option<Release>,
    terms: Terms,
    session: &mut Session<'_>,
) -> Result<Model, WorkflowError> {
    let shown = path.display();
    let unusable = |why: &dyn std::fmt::Display| WorkflowError::Input(format!("{shown}: {why}"));
    let text = rundir::read_text(path).map_err(|cause| unusable(&cause))?;
    let (probes, faults) = table::read(&text).map_err(|bad| unusable(&bad))?;
    faults.iter().for_each(|fault| session.say(&format!("left out of {shown}: {fault}")));
    let origin = Origin { source: shown.to_string(), simulated: false, library: None, release };
    fit(&probes, &Limit::of(&BTreeMap::new()), terms, origin).map_err(|unfit| unusable(&unfit))
}

/// Writes a model, for people and programs.
pub fn write(run: &RunDir, model: &Model) -> Result<(), WorkflowError> {
    run.write_json(rundir::MODEL, model)?;
    run.write(rundir::MODEL_TEXT, &report::markdown(model))?;
    run.write(rundir::MODEL_PAGE, &report::page(model, TOOL))?;
    Ok(())
}

/// A call, as people ask about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The collective.
    pub collective: Collective,
    /// The algorithm: its number, its name, or a whole choice.
    pub algorithm: String,
    /// The segment size and the fan-out, where the algorithm is not a whole choice.
    pub segment: u64,
    /// The fan-out; 0 is the algorithm's own.
    pub fanout: u32,
    /// The size of the communicator.
    pub ranks: u32,
    /// The message bytes.
    pub bytes: u64,
    /// The release whose algorithms are meant, instead of that of the model.
    pub release: Option<Release>,
}

/// What a model says of a call: the choice that it was taken for, the time, and whether that is corrected by measured calls.
pub fn ask(
    model: &Model,
    question: &Question,
    session: &mut Session<'_>,
) -> Result<(Choice, Estimate, bool), WorkflowError> {
    let release = question.release.or(model.release).unwrap_or(Release::V5_0);
    let collective = question.collective;
    let choice = match question.algorithm.parse::<Choice>() {
        Ok(choice) => choice,
        Err(_) => {
            let id =
                question.algorithm.parse().ok().or_else(|| registry::id_of(release, collective, &question.algorithm));
            let id = id.ok_or_else(|| {
                let known: Vec<&str> = registry::algorithms(release, collective).map(|known| known.name).collect();
                let asked = &question.algorithm;
                WorkflowError::Usage(format!(
                    "{collective} has no algorithm `{asked}` in {release}; it has {}",
                    known.join(", ")
                ))
            })?;
            Choice::plain(id).with_segsize(question.segment).with_faninout(question.fanout)
        }
    };
    let call = Call { collective, choice, ranks: question.ranks, bytes: question.bytes };
    let (time, corrected) = predict(model, release, call).map_err(|unsaid| WorkflowError::Usage(unsaid.to_string()))?;
    if let Some(measured) = model.release.filter(|measured| *measured != release) {
        session.say(&format!(
            "the model was measured under Open MPI {measured}: what a message takes may be otherwise under {release}"
        ));
    }
    let largest = model.ways.iter().flat_map(|way| way.regimes.iter().map(|regime| regime.to)).max();
    if let Some(largest) = largest.filter(|largest| !corrected && question.bytes > largest.0) {
        session.say(&format!("no message longer than {largest} was timed, and longer ones may take another line"));
    }
    Ok((choice, time, corrected))
}
