//! Calls that sometimes take many times as long: measurement, detection, and remedies.
//!
//! | module | job |
//! |---|---|
//! | `document` | the result for people |
//! | `header` | gathers and scatters in pieces, for programs in C |

pub mod document;
mod header;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use collrules_import as import;
use collrules_model::irregular::{by_series, distributions, open_ends, split, stalls, steps};
use collrules_model::longest;
use collrules_model::model::Model;
use collrules_model::stalls::{CallTimes, FILE, FORMAT, HEADER, Irregular, PAGE, Stalls, TEXT};
use collrules_program::mockup::{Mockup, MockupPattern};
use collrules_record::experiment::Experiment;
use collrules_record::findings::Statistic;
use collrules_record::grid::{Alternatives, Grid, Mockups};
use collrules_record::options::{Budget, SystemOptions, TimingOptions};
use collrules_record::placement::Nodes;
use collrules_record::plan::CellPlan;
use collrules_record::rundir::{self, RunDir};
use collrules_record::sample::Sample;
use collrules_record::values::{List, MOST_LAUNCHES, budget, collectives, communicators, sizes};
use collrules_record::{Bytes, Candidate, CandidateName, Cell, Manifest, Ranks, Survey};
use collrules_report::Document;
use collrules_rules::words::counted;
use collrules_rules::{Collective, Release};
use collrules_runner::grid::known_release;
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::Measurement;
use collrules_workflow::refine;

use crate::instrument::Instrument;

/// Options of `irregular`.
#[derive(Clone, Debug, clap::Args)]
pub struct Irregularity {
    /// Collectives to time, separated by commas; also as gatherv, scatterv and alltoallv
    #[arg(long = "ops", value_name = "LIST", default_value = "gather,scatter,alltoall", value_parser = collectives)]
    pub collectives: List<Collective>,
    /// Communicator sizes, as for tune [default: all slots]
    #[arg(long = "np", value_name = "SIZES", default_value = "default", hide_default_value = true, value_parser = communicators)]
    pub ranks: List<Ranks>,
    /// Message sizes: FIRST:LAST for the powers of two between (and both ends), or sizes separated by commas
    #[arg(long, value_name = "SIZES", default_value = "1K:256K", value_parser = sizes)]
    pub sizes: List<Bytes>,
    /// Also split messages into these numbers of calls, with barriers between them; separated by commas. Those that
    /// keep calls below stalls and jumps are always timed
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(2..))]
    pub pieces: Vec<u32>,
    /// Time for all of it; with `none`, as long as all calls take
    #[arg(long, value_name = "TIME|none", default_value = "300s", value_parser = budget)]
    pub budget: Budget,
    /// Number of launches
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=MOST_LAUNCHES))]
    pub launches: u32,
    /// Seed of every random order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Model of this machine by `collrules lab model`: shows the usual time as well if all calls of all sizes stall
    #[arg(long = "model", value_name = "MODEL")]
    pub fitted: Option<PathBuf>,
    /// Options of timing calls.
    #[command(flatten)]
    pub timing: TimingOptions,
    /// System that runs the jobs.
    #[command(flatten)]
    pub system: SystemOptions,
}

/// Default number of calls of each alternative, per size and launch.
const CALLS: u32 = 100;

/// The level of the intervals.
const LEVEL: f64 = 0.95;

/// Algorithms to time for some collectives: all messages at once, one after the other on request, and through other
/// ranks.
const WAYS: [(Collective, &[&str]); 3] = [
    (Collective::Gather, &["basic_linear", "binomial", "linear_sync"]),
    (Collective::Scatter, &["basic_linear", "binomial", "linear_nb"]),
    (Collective::Alltoall, &["linear", "pairwise", "linear_sync"]),
];

impl Instrument for Irregularity {
    type Found = Irregular;

    const NAME: &'static str = "irregular";
    const FILES: [&'static str; 2] = [FILE, TEXT];
    const PAGE: Option<&'static str> = Some(PAGE);

    fn system(&self) -> &SystemOptions {
        &self.system
    }

    /// All alternatives; slow ones are not dropped, since they are the object of the search.
    fn experiment(&self, survey: &Survey) -> Result<Experiment, WorkflowError> {
        // What is wrong with the file is not found out after measuring.
        self.read_model()?;
        let mut ranks = if self.ranks.is_empty() { vec![survey.slots()] } else { self.ranks.clone() };
        ranks.extend(control(&survey.hosts, &ranks));
        let mut grid = Grid::new(&self.collectives, &ranks, &self.sizes);
        for (collective, names) in WAYS.iter().filter(|(collective, _)| self.collectives.contains(collective)) {
            grid.only.extend(names.iter().map(|name| (*collective, CandidateName::read(name))));
        }
        // Collectives with counts and displacements have no algorithms to choose from, and are timed with those that
        // have.
        let vectors = [MockupPattern::Gatherv, MockupPattern::Scatterv, MockupPattern::Alltoallv].map(Mockup::Pattern);
        let split = self.pieces.iter().map(|pieces| Mockup::Split { pieces: *pieces, barrier: true });
        let only = vectors.into_iter().chain(split).collect();
        let (pieces, max_extra_memory) = (self.pieces.clone(), grid.max_memory);
        grid.alternatives = Alternatives::Mockups(Mockups { only, pieces, max_extra_memory, remedies: true });
        Ok(Experiment {
            budget: self.budget,
            launches: self.launches,
            seed: self.seed,
            keep_slow: true,
            timing: TimingOptions { calls: self.timing.calls.or(Some(CALLS)), ..self.timing },
            ..Experiment::new(grid, self.system.clone())
        })
    }

    fn measure(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        measured.grid(session)?;
        time_further(measured, self.read_model()?.as_ref(), session)
    }

    fn analyse(&self, input: &Path, _: &mut Session<'_>) -> Result<Irregular, WorkflowError> {
        analyse(input, self.read_model()?.as_ref())
    }

    fn document(found: &Irregular) -> Document {
        document::document(found)
    }

    fn write_more(run: &RunDir, found: &Irregular) -> Result<(), WorkflowError> {
        match header::header(found) {
            Some(header) => drop(run.write(HEADER, header)?),
            // An earlier file would be taken for a present one.
            None => run.remove(HEADER)?,
        }
        Ok(())
    }
}

impl Irregularity {
    fn read_model(&self) -> Result<Option<Model>, WorkflowError> {
        Ok(self.fitted.as_deref().map(Model::read).transpose()?)
    }
}

/// Size of a communicator inside the first host, as a control without network, if all communicators span several hosts.
fn control(hosts: &[String], ranks: &[Ranks]) -> Option<Ranks> {
    let first = hosts.first()?;
    let inside = hosts.iter().take_while(|host| *host == first).count();
    let inside = Ranks(u32::try_from(inside).ok()?);
    (inside.0 >= 2 && inside.0 < hosts.len() as u32 && ranks.iter().all(|ranks| *ranks > inside)).then_some(inside)
}

/// Largest number of timed pieces of a message: the cost of more calls exceeds the stalls that they avoid.
const MOST_PIECES: u32 = 64;

/// Most further rounds, so that the sizes grow by at most a factor of 16.
const ROUNDS: u32 = 5;

/// Times further sizes until what was found is bounded, and then the default's calls in pieces, according to the sizes
/// found so far: small enough to stay below the stalls, or below a jump in time.
fn time_further(
    measured: &mut Measurement,
    model: Option<&Model>,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    measured.experiment.refinement.rounds = ROUNDS;
    measured.measure_kept(session)?;
    while measured.next_round() <= ROUNDS {
        let samples = measured.run.samples()?.samples(&measured.run.file(rundir::SAMPLES))?;
        let points = calls(&samples, &measured.manifest, model)?;
        let is_last = measured.next_round() == ROUNDS;
        let mut cells = if is_last { Vec::new() } else { wanted_sizes(&points, &measured.manifest) };
        if cells.is_empty() {
            cells = wanted_pieces(&points);
        }
        if cells.is_empty() {
            break;
        }
        session.say(&format!("timing further sizes or pieces: {}", counted(cells.len(), "message size")));
        let mut plan = refine::plan(measured, cells, None);
        plan.sort_groups();
        measured.measure_round(&plan, session)?;
    }
    Ok(())
}

/// The next smaller or larger size where stalls of the default reach the smallest or largest size, or its time may jump
/// there.
fn wanted_sizes(points: &[CallTimes], manifest: &Manifest) -> Vec<CellPlan> {
    let stalls = stalls(points);
    let mut wanted: BTreeSet<Cell> = BTreeSet::new();
    for ((collective, ranks, candidate), sizes) in by_series(points) {
        let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { continue };
        let (first, last) = (first.cell.bytes.0, last.cell.bytes.0);
        if candidate != Candidate::Builtin {
            continue;
        }
        let [mut below, mut above] = open_ends(&sizes);
        let own = |it: &&Stalls| (it.collective, it.ranks, it.candidate) == (collective, ranks, candidate);
        for range in stalls.iter().filter(own) {
            below |= range.quiet_below.is_none();
            above |= range.last.0 == last;
        }
        let on = |bytes: u64| Cell { collective, ranks, bytes: Bytes(bytes) };
        wanted.extend((below && first > 1).then(|| on(first / 2)));
        wanted.extend(above.then(|| on(2 * last)));
    }
    let alike = |cell: Cell| {
        let planned = manifest.plan.cells.iter();
        let alike =
            planned.filter(|planned| (planned.cell.collective, planned.cell.ranks) == (cell.collective, cell.ranks));
        Some(CellPlan::new(cell, alike.max_by_key(|planned| planned.candidates.len())?.candidates.clone()))
    };
    wanted.into_iter().filter_map(alike).collect()
}

/// Cells in which the default stalls, or that are above a jump in its time, with the pieces that were not timed.
fn wanted_pieces(points: &[CallTimes]) -> Vec<CellPlan> {
    let mut wanted: BTreeMap<Cell, BTreeSet<Candidate>> = BTreeMap::new();
    let cells = || points.iter().filter(|calls| calls.candidate == Candidate::Builtin).map(|calls| calls.cell);
    let mut want = |cell: Cell, longest: Bytes| match split(cell.bytes, longest) {
        Some(mockup @ Mockup::Split { pieces, .. }) if pieces <= MOST_PIECES => {
            let candidate = Candidate::Mockup(mockup);
            if !points.iter().any(|calls| (calls.cell, calls.candidate) == (cell, candidate)) {
                wanted.entry(cell).or_default().insert(candidate);
            }
        }
        _ => {}
    };
    for range in stalls(points).iter().filter(|range| range.candidate == Candidate::Builtin) {
        let own = |cell: &Cell| {
            (cell.collective, cell.ranks) == (range.collective, range.ranks)
                && (range.first..=range.last).contains(&cell.bytes)
        };
        if let Some(longest) = range.quiet_below {
            cells().filter(own).for_each(|cell| want(cell, longest));
        }
    }
    for step in steps(points).iter().filter(|step| step.candidate == Candidate::Builtin) {
        let own =
            |cell: &Cell| (cell.collective, cell.ranks) == (step.collective, step.ranks) && cell.bytes >= step.above;
        cells().filter(own).for_each(|cell| want(cell, step.below));
    }
    let plan = |(cell, pieces): (Cell, BTreeSet<Candidate>)| {
        CellPlan::new(cell, std::iter::once(Candidate::Builtin).chain(pieces).collect())
    };
    wanted.into_iter().map(plan).collect()
}

/// Returns true if a communicator of this size is inside one host.
fn is_inside(manifest: &Manifest, ranks: Ranks) -> bool {
    manifest.plan.placement.nodes.get(&ranks).is_some_and(|nodes: &Nodes| !nodes.are_several())
}

/// The distributions of all calls of a run with these samples.
fn calls(samples: &[Sample], manifest: &Manifest, model: Option<&Model>) -> Result<Vec<CallTimes>, WorkflowError> {
    let is_inside = |ranks| is_inside(manifest, ranks);
    let cold = manifest.plan.schedule.warmup_rounds == 0;
    Ok(distributions(samples, cold, LEVEL, is_inside, expects(model, known_release(&manifest.survey)?)))
}

/// The longest times that a model predicts.
fn expects(model: Option<&Model>, release: Release) -> impl Fn(Cell, Candidate) -> Option<f64> {
    let longest = model.map(|model| longest(model, release));
    move |cell, candidate| longest.as_ref()?(cell, candidate)
}

/// Analyses the calls of a run.
fn analyse(path: &Path, model: Option<&Model>) -> Result<Irregular, WorkflowError> {
    let run = RunDir::open(path)?;
    let text = run.samples()?;
    let samples = text.samples(&run.file(rundir::SAMPLES))?;
    if samples.is_empty() {
        return Err(WorkflowError::Input(format!("{}: there are no timings in it", path.display())));
    }
    let (points, simulated, library, release, one_host) = match import::open(&run)? {
        Some((manifest, _)) => {
            let is_single = samples.iter().any(|sample| sample.round > 0);
            if !is_single || manifest.statistic != Statistic::SlowestRankSummary {
                return Err(WorkflowError::Input(format!(
                    "{}: stalls show only in single calls, each with the time of its slowest rank; this has means or \
                     summaries",
                    path.display()
                )));
            }
            let points = distributions(&samples, false, LEVEL, |_| false, expects(model, manifest.release));
            (points, false, "times that others measured".to_owned(), manifest.release, false)
        }
        None => {
            let manifest = run.manifest()?;
            let (points, simulated) = (calls(&samples, &manifest, model)?, manifest.is_simulated());
            let one_host = points.iter().all(|calls| is_inside(&manifest, calls.cell.ranks));
            (points, simulated, manifest.survey.library.clone(), known_release(&manifest.survey)?, one_host)
        }
    };
    let others: BTreeSet<_> = points.iter().map(|calls| (calls.cell, calls.candidate)).collect();
    let all: BTreeSet<_> = samples.iter().map(|sample| (sample.cell, sample.candidate)).collect();
    if points.is_empty() {
        return Err(WorkflowError::Input(format!(
            "{}: only the first call of each launch was timed, which includes setting up connections; a longer \
             --budget times more calls",
            path.display()
        )));
    }
    Ok(Irregular {
        format: FORMAT,
        source: path.display().to_string(),
        simulated,
        library,
        release,
        one_host,
        level: LEVEL,
        default_failed: text.failed_defaults(&run.file(rundir::SAMPLES))?,
        stalls: stalls(&points),
        steps: steps(&points),
        points,
        only_first: all.difference(&others).copied().collect(),
    })
}
