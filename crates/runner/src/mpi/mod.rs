//! The backend that launches MPI jobs.

mod conversation;
pub mod deployed;
pub mod installation;
mod launcher;
mod processes;
pub mod program;
mod running;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use collrules_record::benchmark::{Benchmark, Line};
use collrules_record::plan::Deployment;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell, Component, HanChoice, Layout, Plan, Survey, rival};
use collrules_rules::RuleTable;
use collrules_rules::emit::{self, Notes};
use collrules_rules::steps::Steps;

pub use launcher::{Launcher, Wishes};

use crate::backend::Backend;
use crate::circumstances::{Circumstances, RULES_FILE, USE_RULES};
use crate::error::RunnerError;
use crate::launch::{LaunchKind, LaunchPlan};
use crate::scratch;
use crate::wire::{CallEnd, Event, Job, PROTOCOL, Sent, Task};

/// What each rank sent to each other in one call.
pub type Traffic = Vec<BTreeMap<u32, Sent>>;

/// What the calls of a cell's candidates sent, or why they cannot be counted.
pub type Counted = Result<Vec<Traffic>, String>;

/// Launches `collrules-worker` under Open MPI's mpirun.
#[derive(Debug)]
pub struct MpiBackend {
    launcher: Launcher,
    /// MCA settings of every launch after the survey, and of the files that switch the rules on.
    pins: BTreeMap<String, String>,
    /// Where rules files of single launches lie.
    scratch: PathBuf,
    layout: Layout,
    /// The slots at hand, once they are known.
    slots: Ranks,
    /// Whether the user's own settings switch rules on.
    deployed: bool,
}

impl MpiBackend {
    /// A backend with this launcher, whose communicators take their ranks by this layout.
    pub fn new(launcher: Launcher, layout: Layout) -> Self {
        Self { launcher, pins: BTreeMap::new(), scratch: PathBuf::from("."), layout, slots: Ranks(0), deployed: false }
    }

    /// The same with launches that add nothing to the user's own settings but the name of another rules file.
    #[must_use]
    pub fn as_deployed(self) -> Self {
        Self { deployed: true, ..self }
    }

    /// Where a parameter gets its value from, as far as `ompi_info` tells: a file with its line, or the environment.
    pub fn source_of(&self, parameter: &str) -> Option<String> {
        self.launcher.source_of(parameter)
    }

    /// What every rank of a job that fills the slots finds when it is told to read this rules file; without one, what the
    /// user's own settings come to.
    pub fn circumstances(&self, rules: Option<&Path>) -> Result<Vec<Circumstances>, RunnerError> {
        let settings = rules.map_or_else(Vec::new, |rules| self.settings(&rules.to_string_lossy()));
        let mut found = Vec::new();
        self.launcher.converse(
            &self.launcher.command(None, &settings),
            &self.job(Task::Circumstances),
            &mut |event| {
                if let Event::Circumstances(all) = event {
                    found = all;
                }
                Ok("looking at the settings of every rank".to_owned())
            },
        )?;
        if found.is_empty() {
            return Err(RunnerError::WorkerFailed("it did not say what its settings are".to_owned()));
        }
        Ok(found)
    }

    /// The ranks to start for communicators of up to this size. mpirun fills the first hosts first, so that where all
    /// hosts are wanted, all slots have to be filled.
    fn job_ranks(&self, largest: Ranks) -> Ranks {
        if self.layout == Layout::Block { largest } else { largest.max(self.slots) }
    }

    fn job(&self, task: Task) -> Job {
        Job { protocol: PROTOCOL, task, layout: self.layout }
    }

    /// Calls each point of a launch once, under a rules file if one is given, and returns what it sent: per cell and candidate, per rank, per receiver. The job runs with Open MPI's monitoring layer, and
    /// fails where there is none.
    pub fn count(&mut self, plan: &LaunchPlan, rules: Option<&Path>) -> Result<Vec<Counted>, RunnerError> {
        let rules = rules.unwrap_or(Path::new("/dev/null")).to_string_lossy();
        let mut settings = self.settings(&rules);
        settings.push(("pml_monitoring_enable".to_owned(), "2".to_owned()));
        let command = self.launcher.command(Some(self.job_ranks(plan.ranks)), &settings);
        let mut counted: Vec<Counted> = vec![Ok(Vec::new()); plan.cells.len()];
        let mut doing = "starting to count".to_owned();
        self.launcher.converse(&command, &self.job(Task::Count(plan.clone())), &mut |event| {
            match event {
                Event::Sent { cell, candidate, ranks } => {
                    let planned = &plan.cells[cell];
                    doing = format!("counting after {} in {}", planned.candidates[candidate], planned.cell);
                    if let Ok(counted) = &mut counted[cell] {
                        counted.push(ranks);
                    }
                }
                Event::Uncounted { cell, why } => counted[cell] = Err(why),
                _ => {}
            }
            Ok(doing.clone())
        })?;
        Ok(counted)
    }

    /// The MCA settings of a launch that reads a rules file, and no other.
    fn settings(&self, rules: &str) -> Vec<(String, String)> {
        let mut settings: Vec<(String, String)> =
            self.pins.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        if !self.deployed {
            settings.push((USE_RULES.to_owned(), "1".to_owned()));
        }
        settings.push((RULES_FILE.to_owned(), rules.to_owned()));
        settings
    }

    fn measuring_command(
        &self,
        ranks: Ranks,
        rules: Option<&Path>,
        parameters: BTreeMap<String, String>,
    ) -> Vec<String> {
        // An empty file is no rules file: one that the site has set up would compete with the choices under test.
        let rules = rules.unwrap_or(Path::new("/dev/null"));
        let mut settings = self.settings(&rules.to_string_lossy());
        settings.retain(|(name, _)| !parameters.contains_key(name));
        settings.extend(parameters);
        self.launcher.command(Some(self.job_ranks(ranks)), &settings)
    }

    /// Runs a benchmark in one launch, with this rules file in force if there is one. `report` is given each line as it
    /// comes; an error from it ends the launch.
    pub fn benchmark(
        &self,
        benchmark: &Benchmark,
        rules: Option<&Path>,
        report: &mut dyn FnMut(Line) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        let settings = match (rules, benchmark.candidate) {
            (Some(rules), _) => self.settings(&rules.to_string_lossy()),
            // Nothing is set: this is what programs get.
            (None, Candidate::Builtin) => Vec::new(),
            (None, _) => self.settings("/dev/null"),
        };
        let mut settings = settings;
        if let Candidate::Han(HanChoice::Settings(parameters)) = benchmark.candidate {
            settings.extend(parameters.pins(benchmark.collective));
        }
        let command = self.launcher.command(Some(benchmark.ranks), &settings);
        let mut doing = "starting the benchmark".to_owned();
        self.launcher.converse(&command, &self.job(Task::Benchmark(benchmark.clone())), &mut |event| {
            match event {
                Event::Benchmarking(length) => doing = format!("calling {}", benchmark.cell(length)),
                Event::Benchmarked(line) => report(line)?,
                _ => {}
            }
            Ok(doing.clone())
        })
    }

    /// Runs a job that goes through the cells of a launch.
    fn run_plan(
        &self,
        plan: &LaunchPlan,
        task: Task,
        report: &mut dyn FnMut(Event) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        let rules = one_rule(plan)?.map(|text| scratch::file(&self.scratch, "rule", &text)).transpose()?;
        let (changes, command) = match &plan.kind {
            LaunchKind::Deployed { way, settings, in_force } => {
                deployed::start(&self.launcher, *way, settings, *in_force, self.job_ranks(plan.ranks))
            }
            LaunchKind::Together | LaunchKind::Alone(_) => {
                let rules = rules.as_ref().map(|file| file.path());
                (BTreeMap::new(), self.measuring_command(plan.ranks, rules, parameters(plan)))
            }
        };
        let mut doing = "starting to measure".to_owned();
        self.launcher.converse_in(&changes, &command, &self.job(task), &mut |event| {
            match &event {
                Event::Checking { cell, candidate } => {
                    doing = format!("checking {} in {}", plan.turn(*cell, *candidate), plan.subject(*cell));
                }
                Event::Visiting { cell } => doing = format!("timing {}", plan.subject(*cell)),
                _ => {}
            }
            report(event)?;
            Ok(doing.clone())
        })
    }
}

/// The MCA settings of a launch whose candidate is made of them.
fn parameters(plan: &LaunchPlan) -> BTreeMap<String, String> {
    let LaunchKind::Alone(Candidate::Han(HanChoice::Settings(settings))) = plan.kind else { return BTreeMap::new() };
    let collectives = plan.cells.iter().map(|planned| planned.cell.collective);
    collectives.flat_map(|collective| settings.pins(collective)).collect()
}

/// The text of a file whose one rule serves every call of a launch's collectives; none where nothing, or the builtin,
/// shall rule.
fn one_rule(plan: &LaunchPlan) -> Result<Option<String>, RunnerError> {
    let LaunchKind::Alone(Candidate::Tuned(choice)) = plan.kind else { return Ok(None) };
    let mut table = RuleTable::new();
    for planned in &plan.cells {
        table.set(planned.cell.collective, Steps::constant(Steps::constant(choice)));
    }
    let notes = Notes { header: vec!["For one measurement. Not for use.".to_owned()], ..Notes::default() };
    // Hazards for other communicator sizes than the measured ones do no harm here.
    emit::classic(&table, &notes, |_| true).map(Some).map_err(|error| RunnerError::WorkerFailed(error.to_string()))
}

impl Backend for MpiBackend {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn lay_out(&mut self, layout: Layout) {
        self.layout = layout;
    }

    fn survey(&mut self) -> Result<Survey, RunnerError> {
        // Without a number of ranks mpirun fills the slots, which is how to learn how many there are.
        let command = self.launcher.command(None, &[]);
        let mut found = None;
        self.launcher.converse(&command, &self.job(Task::Survey), &mut |event| {
            match event {
                Event::Hello { protocol, .. } if protocol != PROTOCOL => {
                    return Err(RunnerError::Protocol { worker: protocol, ours: PROTOCOL });
                }
                Event::Survey(survey) => found = Some(survey),
                _ => {}
            }
            Ok("looking at the system".to_owned())
        })?;
        let survey = found.ok_or_else(|| RunnerError::WorkerFailed("it reported no survey".to_owned()))?;
        let mpirun = self.launcher.mpirun().map(|(_, version)| version);
        if let Some(launcher) = mpirun.filter(|launcher| *launcher != survey.version) {
            return Err(RunnerError::MixedVersions {
                launcher: launcher.to_string(),
                library: survey.version.to_string(),
            });
        }
        self.slots = survey.slots();
        Ok(survey)
    }

    fn launcher(&self, plan: &Plan) -> Vec<String> {
        if let Some(deployment) = &plan.deployment {
            let Deployment { way, settings, .. } = deployment;
            return deployed::start(&self.launcher, *way, settings, true, self.job_ranks(plan.ranks)).1;
        }
        self.measuring_command(plan.ranks, None, BTreeMap::new())
    }

    fn use_scratch(&mut self, directory: &Path) {
        directory.clone_into(&mut self.scratch);
    }

    fn measure(
        &mut self,
        plan: &LaunchPlan,
        report: &mut dyn FnMut(Event) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        self.run_plan(plan, Task::Measure(plan.clone()), report)
    }

    fn trial(
        &mut self,
        plan: &LaunchPlan,
        report: &mut dyn FnMut(Event) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        self.run_plan(plan, Task::Trial(plan.clone()), report)
    }

    fn probe(&mut self, rules: &Path, calls: &[Cell]) -> Result<Vec<CallEnd>, RunnerError> {
        let ranks = calls.iter().map(|call| call.ranks).max().unwrap_or(Ranks(2));
        let command = self.launcher.command(Some(self.job_ranks(ranks)), &self.settings(&rules.to_string_lossy()));
        let mut outcomes = None;
        let mut doing = format!("loading {}", rules.display());
        self.launcher.converse(&command, &self.job(Task::Probe(calls.to_vec())), &mut |event| {
            match event {
                Event::Calling { call } => doing = format!("calling {} under {}", calls[call], rules.display()),
                Event::Probed(probed) => outcomes = Some(probed),
                _ => {}
            }
            Ok(doing.clone())
        })?;
        let outcomes = outcomes.unwrap_or_default();
        if outcomes.len() == calls.len() {
            Ok(outcomes)
        } else {
            Err(RunnerError::WorkerFailed(format!(
                "it answered {} of {} calls of a probe",
                outcomes.len(),
                calls.len()
            )))
        }
    }
    fn serving(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        let ranks = calls.iter().map(|call| call.ranks).max().unwrap_or(Ranks(2));
        let command = self.launcher.command(Some(self.job_ranks(ranks)), &self.settings(&rules.to_string_lossy()));
        let job = self.job(Task::Serving { calls: calls.to_vec(), without: without.to_vec() });
        let mut outcomes = Vec::new();
        let mut doing = "asking which component serves".to_owned();
        self.launcher.converse(&command, &job, &mut |event| {
            match event {
                Event::Calling { call } => doing = format!("asking which component serves {}", calls[call]),
                Event::Served(served) => outcomes = served,
                _ => {}
            }
            Ok(doing.clone())
        })?;
        if outcomes.len() == calls.len() && outcomes.iter().all(|row| row.len() == without.len()) {
            Ok(outcomes)
        } else {
            Err(RunnerError::WorkerFailed("it did not say which component serves every call".to_owned()))
        }
    }

    fn pin(&mut self, pins: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let all = rival::beside(&self.pins, pins);
        std::mem::replace(&mut self.pins, all)
    }

    fn set_pins(&mut self, pins: BTreeMap<String, String>) {
        self.pins = pins;
    }
}
