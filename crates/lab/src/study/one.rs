//! A study of one definition, with ranks placed by mpirun, or of what others measured.

mod table;

use std::collections::BTreeMap;
use std::path::Path;

use collrules_record::experiment::Experiment;
use collrules_record::grid::Grid;
use collrules_record::options::{Budget, RefinementOptions, SystemOptions};
use collrules_record::plan::CellPlan;
use collrules_record::rundir::{self, RunDir};
use collrules_record::sample::Sample;
use collrules_record::{Arguments, Candidate, CandidateName, Cell, DataType, Ranks, Seconds, Survey};
use collrules_report::Document;
use collrules_rules::Collective;
use collrules_runner::RunnerError;
use collrules_runner::grid::known_release;
use collrules_workflow::Session;
use collrules_workflow::WorkflowError;
use collrules_workflow::campaign::Measurement;
use collrules_workflow::start::oversubscribes;
use serde::Serialize;

use super::scope::Scope;
use super::{Studying, about, between, is_of_others};
use crate::instrument::Instrument;
use crate::study::definition::Definition;
use crate::study::report::{self as report, MeasuredBy};
use crate::study::results::Study;

/// The study, as a document.
pub const README: &str = "README.md";
/// All times.
pub const TIMES: &str = "times.csv";
/// All results, for programs.
pub const STUDY: &str = "study.json";

/// Usual number of launches: six medians are the smallest number with a 95 % interval.
const LAUNCHES: u32 = 6;

/// Usual time for a study.
const BUDGET: Budget = Some(Seconds(600.0));

/// The mean over calls and ranks of each timed candidate, as OSU's programs print it.
pub(super) type Averages = BTreeMap<(Cell, Candidate), Seconds>;

/// A study of a definition, or one variant of it.
#[derive(Clone, Debug)]
pub struct OneStudy {
    /// Its options.
    pub(super) options: Studying,
    /// Its definition; without one, all of a table is studied.
    pub(super) definition: Option<Definition>,
    /// Root and datatype of all calls.
    pub(super) arguments: Arguments,
    /// Seed of random orders.
    pub(super) seed: u64,
}

/// A study with the files that show it.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Studied {
    /// The study.
    pub study: Study,
    /// The study for people.
    #[serde(skip)]
    pub document: Document,
    #[serde(skip)]
    pub(super) files: Vec<(String, String)>,
}

impl Instrument for OneStudy {
    type Found = Studied;

    const NAME: &'static str = "study";
    const FILES: [&'static str; 2] = [STUDY, README];
    const PAGE: Option<&'static str> = None;

    fn system(&self) -> &SystemOptions {
        &self.options.system
    }

    /// It compares chosen algorithms: nothing is validated or dropped for being slow, and refinement is for crossings of
    /// classes, not of choices.
    fn experiment(&self, survey: &Survey) -> Result<Experiment, WorkflowError> {
        let Self { options, arguments, seed, .. } = self;
        let Some(definition) = &self.definition else {
            let shown = options.definition.display();
            return Err(WorkflowError::Usage(format!("{shown} is a table: it defines nothing to measure")));
        };
        // Before anything is measured: errors in the definition are reported with its path.
        let scope = Scope::new(options, definition, known_release(survey)?)?;
        let mut ranks = options.ranks(definition).to_vec();
        if let Some(wanted) = self.beyond_slots(survey) {
            let slots = survey.slots();
            ranks.retain(|ranks| *ranks <= slots);
            if ranks.is_empty() || !options.ranks.is_empty() {
                return Err(RunnerError::TooFewSlots { wanted, slots }.on(options.system.is_simulated()).into());
            }
        }
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
            arguments: *arguments,
            max_memory: options.max_memory,
            ..Grid::new(&collectives, &ranks, &sizes)
        };
        Ok(Experiment {
            seed: *seed,
            budget: options.budget.or(definition.budget).unwrap_or(BUDGET),
            launches: options.launches.or(definition.launches).unwrap_or(LAUNCHES),
            keep_slow: true,
            refinement: RefinementOptions { rounds: options.refine, ..RefinementOptions::NONE },
            ..Experiment::new(grid, options.system.clone())
        })
    }

    fn measure(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let survey = &measured.started.survey;
        if self.beyond_slots(survey).is_some() {
            let slots = survey.slots();
            session
                .say(&format!("communicators of more than {slots} ranks are left out, since there are {slots} slots"));
        }
        measured.grid(session)?;
        self.refine(measured, session)
    }

    fn analyse(&self, input: &Path, session: &mut Session<'_>) -> Result<Studied, WorkflowError> {
        let Some(definition) = self.definition.as_ref().filter(|_| !is_of_others(input)) else {
            return table::study(self, input, session);
        };
        let run = RunDir::open(input)?;
        let (manifest, samples, between) = (run.manifest()?, run.samples()?, run.refinements()?);
        let mut scope = Scope::new(&self.options, definition, known_release(&manifest.survey)?)?;
        between.iter().for_each(|plan| scope.refine(&plan.cells));
        let study = scope.study(&run, &manifest, &samples)?;
        let Arguments { root, data } = manifest.plan.arguments;
        let mut remarks = scope.missing(&study);
        remarks.extend((root > 0).then(|| format!("Rank {root} is the root of all calls.")));
        remarks.extend((data != DataType::Int).then(|| format!("Reductions are of {}.", data.mpi())));
        let averages = match self.options.osu_files {
            true => averages(
                &samples.samples(&run.file(rundir::SAMPLES))?,
                [&manifest.plan].into_iter().chain(&between).flat_map(|plan| &plan.cells),
            ),
            false => Averages::new(),
        };
        self.describe(definition, study, &MeasuredBy::Measured(&manifest), remarks, &averages, session)
    }

    fn document(found: &Studied) -> Document {
        found.document.clone()
    }

    fn write_more(run: &RunDir, found: &Studied) -> Result<(), WorkflowError> {
        found.files.iter().try_for_each(|(name, text)| run.write(name, text).map(drop)).map_err(WorkflowError::from)
    }
}

impl OneStudy {
    /// The largest communicator of the definition, if the system has not as many slots.
    fn beyond_slots(&self, survey: &Survey) -> Option<Ranks> {
        let system = &self.options.system;
        let largest = self.options.ranks(self.definition.as_ref()?).iter().max().copied();
        largest.filter(|largest| *largest > survey.slots() && !oversubscribes(system.oversubscribe))
    }

    /// Measures between the sizes of the definition.
    pub(super) fn refine(&self, measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let Some(definition) = &self.definition else { return Ok(()) };
        let scope = Scope::new(&self.options, definition, measured.started.release)?;
        between::measure(measured, scope, session)
    }

    /// Describes a study, with its figures and times.
    pub(super) fn describe(
        &self,
        definition: &Definition,
        study: Study,
        origin: &MeasuredBy<'_>,
        remarks: Vec<String>,
        averages: &Averages,
        session: &Session<'_>,
    ) -> Result<Studied, WorkflowError> {
        let about = about(definition, remarks, session);
        let figures = report::figures(&study, &about);
        let drawn = figures.iter().filter_map(|figure| Some((figure.file.clone(), figure.svg.clone()?)));
        let mut files: Vec<(String, String)> = drawn.chain([(TIMES.to_owned(), report::csv(&study))]).collect();
        if self.options.osu_files {
            if averages.is_empty() {
                return Err(WorkflowError::Input(
                    "--osu-files needs averages over ranks, as OSU's programs print them, but these are times of the \
                     slowest rank"
                        .to_owned(),
                ));
            }
            let average = |cell, candidate| averages.get(&(cell, candidate)).copied();
            files.extend(
                report::osu_files(&study, average).into_iter().map(|(name, text)| (format!("osu-{name}"), text)),
            );
        }
        let document = report::document(&study, origin, &about, &figures);
        Ok(Studied { study, document, files })
    }
}

/// The mean over calls and ranks of every candidate of a run, including those measured by another one.
fn averages<'a>(samples: &[Sample], cells: impl Iterator<Item = &'a CellPlan>) -> Averages {
    let mut sums: BTreeMap<(Cell, Candidate), (f64, f64)> = BTreeMap::new();
    for sample in samples {
        let (sum, count) = sums.entry((sample.cell, sample.candidate)).or_default();
        *sum += sample.mean.0;
        *count += 1.0;
    }
    for planned in cells {
        for shared in &planned.shared {
            if let Some(by) = sums.get(&(planned.cell, shared.measured_as)).copied() {
                sums.entry((planned.cell, shared.candidate)).or_insert(by);
            }
        }
    }
    sums.into_iter().map(|(point, (sum, count))| (point, Seconds(sum / count))).collect()
}
