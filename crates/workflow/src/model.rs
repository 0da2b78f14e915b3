//! Communication models: measurement, fits to probes, files, and predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use collrules_model::model::{FILE, ManyToOne, Model, PAGE, TEXT, Where};
use collrules_model::unknown::Unknown;
use collrules_model::{
    GatherForecast, Limit, PredictedCall, ProbeOrigin, ProbeTiming, Probes, SlowCriteria, Unsaid, algorithms, expected,
    fit, irregular, known, longest, many_to_one, predict, programs, quality, table,
};
use collrules_record::experiment::{Experiment, Grid};
use collrules_record::options::{Budget, Jobs, Request, Scenario, SystemOptions, TimingOptions};
use collrules_record::rundir::{self, RunDir};
use collrules_record::sample::Sample;
use collrules_record::{Bytes, CandidateName, Cell, Estimate, Ranks};
use collrules_report::{model as report, progress};
use collrules_rules::{Choice, Collective, Release, registry};
use collrules_runner::grid::known_release;

use crate::TOOL;
use crate::campaign::{measure_on, survey};
use crate::error::WorkflowError;
use crate::session::Session;

/// Options of `model`.
#[derive(Clone, Debug)]
pub struct Modelling {
    /// Number of ranks whose messages are timed.
    pub ranks: Option<Ranks>,
    /// Message sizes of probes and collectives.
    pub sizes: Vec<Bytes>,
    /// Maximum number of partners of each rank in probes.
    pub partners: u32,
    /// Collectives to measure on all ranks.
    pub collectives: Vec<Collective>,
    /// Time for all of it; none if unlimited.
    pub budget: Budget,
    /// Number of launches.
    pub launches: u32,
    /// Seed of every random order.
    pub seed: u64,
    /// Options of timing calls.
    pub timing: TimingOptions,
    /// System that runs the jobs.
    pub system: SystemOptions,
}

pub use crate::model_file::open;

/// Segment size of the algorithms that segment messages.
const SEGMENT: &str = "8192";

/// Measures probes and collectives, and fits a model.
pub fn measured(
    options: &Modelling,
    out: &Path,
    terms: SlowCriteria,
    session: &mut Session<'_>,
) -> Result<(RunDir, Model), WorkflowError> {
    refuse_unknown(options)?;
    if matches!(&options.system.jobs, Jobs::Simulation(simulated) if simulated.scenario == Scenario::Planted) {
        session.say(progress::model::planted());
    }
    let started = survey(&options.system, out, session)?;
    let experiment = experiment(options, started.survey.slots());
    let measured = measure_on(started, experiment, Request::Model, out, session)?;
    let run = measured.run().clone();
    // Unlocks the run: it may be measured further.
    drop(measured);
    let model = of_run(run.path(), terms)?;
    Ok((run, model))
}

/// Refuses collectives whose messages are unknown.
fn refuse_unknown(options: &Modelling) -> Result<(), WorkflowError> {
    let foreign = options.collectives.iter().find(|wanted| known().all(|(collective, _)| collective != **wanted));
    foreign.map_or(Ok(()), |foreign| {
        Err(WorkflowError::Usage(format!(
            "the model has no messages for {foreign}; --ops accepts alltoall, bcast, gather and scatter"
        )))
    })
}

/// Builds the experiment for a model.
fn experiment(options: &Modelling, slots: Ranks) -> Experiment {
    let ranks = [options.ranks.unwrap_or(slots)];
    let mut grid = Grid { probes: Some(options.partners), ..Grid::new(&options.collectives, &ranks, &options.sizes) };
    // With two ranks, two_proc is equal to pairwise.
    let named = known().filter(|(collective, name)| options.collectives.contains(collective) && *name != "two_proc");
    for (collective, name) in named {
        grid.only.push((collective, CandidateName::read(name)));
        let segmented = registry::id_of(Release::V5_0, collective, name)
            .filter(|_| ["pipeline", "chain", "binary_tree"].contains(&name));
        if let Some(id) = segmented {
            let choice = format!("tuned:{id}/{}/{SEGMENT}/0", if name == "chain" { 4 } else { 0 });
            grid.only.push((collective, CandidateName::read(&choice)));
        }
    }
    Experiment {
        budget: options.budget,
        launches: options.launches,
        seed: options.seed,
        keep_slow: true,
        timing: options.timing,
        ..Experiment::new(grid, options.system.clone())
    }
}

/// Fits the probes of a run directory, and computes how well the model predicts its cells.
pub fn of_run(path: &Path, terms: SlowCriteria) -> Result<Model, WorkflowError> {
    let run = RunDir::open(path)?;
    let manifest = run.manifest()?;
    let (samples, file) = (run.samples()?, run.file(rundir::SAMPLES));
    let timings = samples.patterns(&file)?;
    let hosts = &manifest.survey.hosts;
    let order = manifest.plan.placement.layout.order(hosts);
    let hosts: BTreeMap<u32, String> = (0..).zip(order.iter().map(|rank| hosts[*rank].clone())).collect();
    let probes = Probes::from_timings(timings.iter().filter_map(ProbeTiming::of_pattern), hosts);
    let release = known_release(&manifest.survey)?;
    let origin = ProbeOrigin {
        source: path.display().to_string(),
        simulated: manifest.is_simulated(),
        library: Some(manifest.survey.library.clone()),
        release: Some(release),
    };
    let mut model =
        fit(&probes, &Limit::from_reported(&manifest.survey.eager, manifest.survey.transport.as_ref()), terms, origin)
            .map_err(|unfit| {
                WorkflowError::Input(format!("{}: {unfit}; `collrules model --out DIR` measures them", path.display()))
            })?;
    let calls = samples.samples(&file)?;
    // If no pair is on two hosts, all messages are inside one.
    let place = model.ways.iter().map(|way| way.place).find(|place| *place == Where::Between).unwrap_or(Where::Inside);
    let eager = model.eager.get(&place).copied();
    (model.algorithms, model.concurrent) = algorithms(&probes, release, &calls, eager, terms.level, &mut model.unknown);
    model.quality = quality(&model, release, &calls);
    let cold = manifest.plan.schedule.warmup_rounds == 0;
    let points = irregular::distributions(
        &calls,
        cold,
        terms.level,
        |_| false,
        |cell, candidate| longest(&model, release, cell, candidate),
    );
    model.many_to_one = many_to_one(&model, release, &calls, &points, &irregular::stalls(&points));
    model.unknown.extend(unplayed(release, &calls));
    Ok(model)
}

/// The measured calls without a prediction, since they have too many messages to simulate.
fn unplayed(release: Release, calls: &[Sample]) -> Option<Unknown> {
    let all: BTreeSet<(Cell, Choice)> =
        calls.iter().filter_map(|call| Some((call.cell, call.candidate.choice()?))).collect();
    let messages =
        |(cell, choice): &(Cell, Choice)| match programs(release, cell.collective, *choice, cell.ranks.0, cell.bytes.0)
        {
            Err(Unsaid::Messages { messages, .. }) => Some((*cell, *choice, messages)),
            _ => None,
        };
    let left: Vec<(Cell, Choice, u64)> = all.iter().filter_map(messages).collect();
    let (cell, choice, messages) = *left.first()?;
    Some(Unknown::Predictions { calls: left.len(), cell, choice, messages })
}

/// Fits a table of probes.
pub fn of_table(
    path: &Path,
    release: Option<Release>,
    terms: SlowCriteria,
    session: &mut Session<'_>,
) -> Result<Model, WorkflowError> {
    let shown = path.display();
    let unusable = |why: &dyn std::fmt::Display| WorkflowError::Input(format!("{shown}: {why}"));
    let text = rundir::read_text(path).map_err(|cause| unusable(&cause))?;
    let (probes, faults) = table::read(&text).map_err(|bad| unusable(&bad))?;
    faults.iter().for_each(|fault| session.say(&progress::model::unusable_rows(path, fault)));
    let origin = ProbeOrigin { source: shown.to_string(), simulated: false, library: None, release };
    fit(&probes, &Limit::from_reported(&BTreeMap::new(), None), terms, origin).map_err(|unfit| unusable(&unfit))
}

/// Writes a model, for people and programs.
pub fn write(run: &RunDir, model: &Model) -> Result<(), WorkflowError> {
    run.write_json(FILE, model)?;
    run.write(TEXT, &report::document(model).markdown())?;
    run.write(PAGE, &report::document(model).page(TOOL))?;
    Ok(())
}

/// A call in a user's words.
#[derive(Clone, Debug, PartialEq)]
pub struct CallQuestion {
    /// The collective.
    pub collective: Collective,
    /// The algorithm: its number, its name, or a whole choice.
    pub algorithm: String,
    /// Segment size, unless `algorithm` is a whole choice.
    pub segment: u64,
    /// The fan-out; 0 is the algorithm's own.
    pub fanout: u32,
    /// The size of the communicator.
    pub ranks: u32,
    /// The message bytes.
    pub bytes: u64,
    /// Release of the algorithm, if it is not that of the model.
    pub release: Option<Release>,
}

/// Predicts a gather with this algorithm by the many-to-one model; none unless calls of it stall at some sizes.
pub fn ask_many_to_one(model: &Model, question: &CallQuestion, choice: Choice) -> Option<GatherForecast> {
    let is_asked = question.collective == Collective::Gather && question.release.or(model.release) == model.release;
    let of_choice = |gather: &&ManyToOne| gather.ranks.0 == question.ranks && gather.choice == Some(choice);
    let gather = model.many_to_one.iter().find(of_choice).filter(|_| is_asked)?;
    expected(model, gather, Bytes(question.bytes))
}

/// Predicts a call: its choice, its time, and true if measured calls correct that time.
pub fn ask(
    model: &Model,
    question: &CallQuestion,
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
    let call = PredictedCall { collective, choice, ranks: question.ranks, bytes: question.bytes };
    let (time, corrected) = predict(model, release, call).map_err(|unsaid| WorkflowError::Usage(unsaid.to_string()))?;
    if let Some(measured) = model.release.filter(|measured| *measured != release) {
        session.say(&progress::model::other_release(measured, release));
    }
    let largest = model.ways.iter().flat_map(|way| way.regimes.iter().map(|regime| regime.to)).max();
    if let Some(largest) = largest.filter(|largest| !corrected && question.bytes > largest.0) {
        session.say(&progress::model::longer_messages(largest));
    }
    Ok((choice, time, corrected))
}
