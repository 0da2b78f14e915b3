//! Communication models: measurement, fits to probes, files, and predictions.
//!
//! | module | job |
//! |---|---|
//! | `document` | the result for people |
//! | `tables` | parameters, predictions, and what is unknown |

pub mod document;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use collrules_model::model::{FILE, ManyToOne, Model, PAGE, TEXT};
use collrules_model::place::Where;
use collrules_model::unknown::Unknown;
use collrules_model::{
    GatherForecast, Limit, ProbeTiming, Probes, algorithms, expected, fit, irregular, longest, many_to_one, predict,
    quality, table,
};
use collrules_program::{Unplayable, known, tuned};
use collrules_record::criteria::Criteria;
use collrules_record::experiment::Experiment;
use collrules_record::grid::Grid;
use collrules_record::options::{Budget, Jobs, Scenario, SystemOptions, TimingOptions};
use collrules_record::rundir::{self, RunDir};
use collrules_record::sample::Sample;
use collrules_record::values::{List, MOST_LAUNCHES, budget, collectives, percent, size, sizes, slowdown};
use collrules_record::{Bytes, CandidateName, Cell, Estimate, Ranks, Survey};
use collrules_report::Document;
use collrules_rules::{Choice, Collective, Release, registry};
use collrules_runner::grid::known_release;
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::Measurement;

use crate::instrument::Instrument;

/// Options of `model`.
#[derive(Clone, Debug, clap::Args)]
pub struct Modelling {
    /// Measure nothing: fit the timings of this table
    #[arg(long, value_name = "TABLE")]
    pub probes: Option<PathBuf>,
    /// Slowdown of nodes and pairs, in percent, that is tolerated
    #[arg(long, value_name = "PERCENT", default_value = "20", value_parser = slowdown)]
    pub tolerate: f64,
    /// Share of checks, in percent, in which one is named although none is slow
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = percent)]
    pub error_rate: f64,
    /// Release of Open MPI that a table was measured with
    #[arg(long, value_name = "RELEASE", requires = "probes")]
    pub release: Option<Release>,
    /// Number of ranks whose messages are timed [default: all slots]
    #[arg(long = "np", value_name = "N")]
    pub ranks: Option<Ranks>,
    /// Message sizes of probes and collectives; empty messages are always timed
    #[arg(long, value_name = "SIZES", default_value = "1K,8K,32K,64K,128K,512K", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Maximum number of partners of each rank in probes; with fewer ranks, all pairs are timed
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(2..))]
    pub partners: u32,
    /// Collectives to measure on all ranks, to test predictions and to fit each algorithm: bcast, scatter, gather,
    /// alltoall
    #[arg(long = "ops", value_name = "LIST", default_value = "scatter", value_parser = collectives)]
    pub collectives: List<Collective>,
    /// Time for all of it; with `none`, each launch goes on until everything is precise or has its maximum of rounds
    #[arg(long, value_name = "TIME|none", default_value = "240s", value_parser = budget)]
    pub budget: Budget,
    /// Number of launches; intervals come from differences between launches
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Options of timing calls.
    #[command(flatten)]
    pub timing: TimingOptions,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

/// Segment size of the algorithms that segment messages.
const SEGMENT: &str = "8192";

impl Instrument for Modelling {
    type Found = Model;

    const NAME: &'static str = "model";
    const FILES: [&'static str; 2] = [FILE, TEXT];
    const PAGE: Option<&'static str> = Some(PAGE);

    fn system(&self) -> &SystemOptions {
        &self.system
    }

    fn experiment(&self, survey: &Survey) -> Result<Experiment, WorkflowError> {
        self.refuse_unknown()?;
        let ranks = [self.ranks.unwrap_or(survey.slots())];
        let mut grid = Grid { probes: Some(self.partners), ..Grid::new(&self.collectives, &ranks, &self.sizes) };
        // With two ranks, two_proc is equal to pairwise.
        let named = known().filter(|(collective, name)| self.collectives.contains(collective) && *name != "two_proc");
        for (collective, name) in named {
            grid.only.push((collective, CandidateName::read(name)));
            let segmented = registry::id_of(Release::V5_0, collective, name)
                .filter(|_| ["pipeline", "chain", "binary_tree"].contains(&name));
            if let Some(id) = segmented {
                let choice = format!("tuned:{id}/{}/{SEGMENT}/0", if name == "chain" { 4 } else { 0 });
                grid.only.push((collective, CandidateName::read(&choice)));
            }
        }
        Ok(Experiment {
            budget: self.budget,
            launches: self.launches,
            seed: self.seed,
            keep_slow: true,
            timing: self.timing,
            ..Experiment::new(grid, self.system.clone())
        })
    }

    fn measure(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        if matches!(&self.system.jobs, Jobs::Simulation(simulated) if simulated.scenario == Scenario::Planted) {
            session.say(
                "--simulate=planted is for `guidelines`, not for models; write `planted` into a model.json and name it \
                 with --simulated-model",
            );
        }
        measured.grid(session)
    }

    fn analyse(&self, input: &Path, session: &mut Session<'_>) -> Result<Model, WorkflowError> {
        let terms = Criteria { min_gain: self.tolerate, error_rate: self.error_rate, ..Criteria::default() };
        match &self.probes {
            Some(table) => of_table(table, self.release, terms, session),
            None if input.join(rundir::SAMPLES).exists() => of_run(input, terms),
            None => Ok(Model::read(input)?),
        }
    }

    fn document(model: &Model) -> Document {
        document::document(model)
    }
}

impl Modelling {
    /// Refuses collectives whose messages are unknown.
    fn refuse_unknown(&self) -> Result<(), WorkflowError> {
        let foreign = self.collectives.iter().find(|wanted| known().all(|(collective, _)| collective != **wanted));
        foreign.map_or(Ok(()), |foreign| {
            Err(WorkflowError::Usage(format!(
                "the model has no messages for {foreign}; --ops accepts alltoall, bcast, gather and scatter"
            )))
        })
    }
}

/// Fits the probes of a run directory, and computes how well the model predicts its cells.
fn of_run(path: &Path, terms: Criteria) -> Result<Model, WorkflowError> {
    let run = RunDir::open(path)?;
    let manifest = run.manifest()?;
    let (samples, file) = (run.samples()?, run.file(rundir::SAMPLES));
    let timings = samples.patterns(&file)?;
    let hosts = &manifest.survey.hosts;
    let order = manifest.plan.placement.layout.order(hosts);
    let hosts: BTreeMap<u32, String> = (0..).zip(order.iter().map(|rank| hosts[*rank].clone())).collect();
    let probes = Probes::from_timings(timings.iter().filter_map(ProbeTiming::of_pattern), hosts);
    let release = known_release(&manifest.survey)?;
    let limits = Limit::from_reported(&manifest.survey.eager, manifest.survey.transport.as_ref());
    let model = fit(&probes, &limits, terms).map_err(|unfit| {
        WorkflowError::Input(format!("{}: {unfit}; `collrules lab model --out DIR` measures them", path.display()))
    })?;
    let mut model = Model {
        source: path.display().to_string(),
        simulated: manifest.is_simulated(),
        library: Some(manifest.survey.library.clone()),
        release: Some(release),
        ..model
    };
    let calls = samples.samples(&file)?;
    // If no pair is on two hosts, all messages are inside one.
    let place = model.ways.iter().map(|way| way.place).find(|place| *place == Where::Between).unwrap_or(Where::Inside);
    let eager = model.eager.get(&place).copied();
    (model.algorithms, model.concurrent) = algorithms(&probes, release, &calls, eager, terms.level, &mut model.unknown);
    model.quality = quality(&model, release, &calls);
    let cold = manifest.plan.schedule.warmup_rounds == 0;
    // The many-to-one model is about these alone.
    let gathers: Vec<Sample> =
        calls.iter().filter(|call| call.cell.collective == Collective::Gather).cloned().collect();
    let points = irregular::distributions(&gathers, cold, terms.level, |_| false, longest(&model, release));
    model.many_to_one = many_to_one(&model, release, &gathers, &points, &irregular::stalls(&points));
    model.unknown.extend(unplayed(release, &calls));
    Ok(model)
}

/// The measured calls without a prediction, since they have too many messages to simulate.
fn unplayed(release: Release, calls: &[Sample]) -> Option<Unknown> {
    let all: BTreeSet<(Cell, Choice)> =
        calls.iter().filter_map(|call| Some((call.cell, call.candidate.choice()?))).collect();
    let messages =
        |(cell, choice): &(Cell, Choice)| match tuned(release, cell.collective, *choice, cell.ranks.0, cell.bytes.0) {
            Err(Unplayable::Messages { messages, .. }) => Some((*cell, *choice, messages)),
            _ => None,
        };
    let left: Vec<(Cell, Choice, u64)> = all.iter().filter_map(messages).collect();
    let (cell, choice, messages) = *left.first()?;
    Some(Unknown::Predictions { calls: left.len(), cell, choice, messages })
}

/// Fits a table of probes.
fn of_table(
    path: &Path,
    release: Option<Release>,
    terms: Criteria,
    session: &mut Session<'_>,
) -> Result<Model, WorkflowError> {
    let shown = path.display();
    let unusable = |why: &dyn std::fmt::Display| WorkflowError::Input(format!("{shown}: {why}"));
    let text = rundir::read_text(path).map_err(|cause| unusable(&cause))?;
    let (probes, faults) = table::read(&text).map_err(|bad| unusable(&bad))?;
    faults.iter().for_each(|fault| session.say(&format!("left out of {}: {fault}", path.display())));
    let model = fit(&probes, &Limit::from_reported(&BTreeMap::new(), None), terms);
    Ok(Model { source: shown.to_string(), release, ..model.map_err(|unfit| unusable(&unfit))? })
}

/// A call in a user's words.
#[derive(Clone, Debug, clap::Args)]
pub struct CallQuestion {
    /// The collective: bcast, scatter, gather or alltoall
    #[arg(long = "op", value_name = "NAME")]
    pub collective: Collective,
    /// The algorithm of coll/tuned: its number or name, or a whole choice such as 3/0/8192/0
    #[arg(long, value_name = "ALGORITHM")]
    pub algorithm: String,
    /// Its segment size; 0 sends messages in one piece [default: 0]
    #[arg(long, value_name = "SIZE")]
    pub segment: Option<Bytes>,
    /// Its fan-out; 0 is the algorithm's own [default: 0]
    #[arg(long, value_name = "N")]
    pub fanout: Option<u32>,
    /// Size of the communicator
    #[arg(long = "np", value_name = "N")]
    pub ranks: Ranks,
    /// Size that the caller passes: the block of one rank for scatter and gather
    #[arg(long = "size", value_name = "SIZE", value_parser = size)]
    pub bytes: Bytes,
    /// Release whose algorithms are meant [default: that of the model, or 5.0]
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<Release>,
}

/// Predicts a gather with this algorithm by the many-to-one model; none unless calls of it stall at some sizes.
pub fn ask_many_to_one(model: &Model, question: &CallQuestion, choice: Choice) -> Option<GatherForecast> {
    let is_asked = question.collective == Collective::Gather && question.release.or(model.release) == model.release;
    let of_choice = |gather: &&ManyToOne| gather.ranks == question.ranks && gather.choice == Some(choice);
    let gather = model.many_to_one.iter().find(of_choice).filter(|_| is_asked)?;
    expected(model, gather, question.bytes)
}

/// Predicts a call: its choice, its time, and true if measured calls correct that time.
pub fn ask(
    model: &Model,
    question: &CallQuestion,
    session: &mut Session<'_>,
) -> Result<(Choice, Estimate, bool), WorkflowError> {
    let release = question.release.or(model.release).unwrap_or(Release::V5_0);
    let choice = asked_choice(question, release).map_err(WorkflowError::Usage)?;
    let cell = Cell { collective: question.collective, ranks: question.ranks, bytes: question.bytes };
    let (time, corrected) =
        predict(model, release, cell, choice).map_err(|unsaid| WorkflowError::Usage(unsaid.to_string()))?;
    if let Some(measured) = model.release.filter(|measured| *measured != release) {
        session.say(&format!(
            "the model was measured under Open MPI {measured}: messages may cost more or less under {release}"
        ));
    }
    let largest = model.ways.iter().flat_map(|way| way.regimes.iter().map(|regime| regime.to)).max();
    if let Some(largest) = largest.filter(|largest| !corrected && question.bytes > *largest) {
        session.say(&format!("no message longer than {largest} was timed: predictions for longer ones may be off"));
    }
    Ok((choice, time, corrected))
}

fn asked_choice(question: &CallQuestion, release: Release) -> Result<Choice, String> {
    let CallQuestion { collective, algorithm, segment, fanout, .. } = question;
    if let Ok(choice) = algorithm.parse::<Choice>() {
        if segment.is_some() || fanout.is_some() {
            return Err(format!(
                "the choice {choice} has a segment size and a fan-out: leave out --segment and --fanout"
            ));
        }
        return Ok(choice);
    }
    let id = algorithm.parse().ok().or_else(|| registry::id_of(release, *collective, algorithm));
    let id = id.ok_or_else(|| {
        let known: Vec<&str> = registry::algorithms(release, *collective).map(|known| known.name).collect();
        format!("{collective} has no algorithm `{algorithm}` in {release}; it has {}", known.join(", "))
    })?;
    Ok(Choice::plain(id).with_segsize(segment.map_or(0, |bytes| bytes.0)).with_faninout(fanout.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_choice_has_its_own_segment_size() {
        let question = |algorithm: &str, segment: Option<u64>| CallQuestion {
            collective: Collective::Bcast,
            algorithm: algorithm.to_owned(),
            segment: segment.map(Bytes),
            fanout: None,
            ranks: Ranks(4),
            bytes: Bytes(1024),
            release: None,
        };
        let asked = |algorithm, segment| asked_choice(&question(algorithm, segment), Release::V5_0);
        let pipeline = Ok(Choice::plain(3).with_segsize(8192));
        assert_eq!((asked("3/0/8192/0", None), asked("pipeline", Some(8192))), (pipeline.clone(), pipeline));
        assert!(asked("3/0/8192/0", Some(0)).is_err());
    }
}
