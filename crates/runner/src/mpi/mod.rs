//! The backend that launches MPI jobs.

mod conversation;
pub mod deployed;
mod elf;
pub mod given;
mod host;
pub mod installation;
mod installed;
mod launcher;
mod processes;
pub mod program;
mod running;
pub mod transport;
mod turns;
pub mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collrules_record::benchmark::{Benchmark, BenchmarkLine};
use collrules_record::plan::Deployment;
use collrules_record::units::Ranks;
use collrules_record::{Candidate, Cell, Component, Layout, Plan, Survey};
use collrules_rules::deploy::{HAN_FILE, USE_HAN};
use collrules_rules::emit::{self, Notes};
use collrules_rules::settings::parameters::Parameters;
use collrules_rules::steps::Steps;
use collrules_rules::{Collective, Distribution, RuleTable};

use given::GivenSetting;
use launcher::{JobStart, is_worth_another_try};
pub use launcher::{Launcher, LauncherOptions};
use transport::TransportLog;
use turns::MpiJobs;

use crate::backend::{Backend, Report};
use crate::circumstances::{Circumstances, RULES_FILE, USE_RULES};
use crate::error::RunnerError;
use crate::launch::LaunchPlan;
use crate::scratch;
use crate::selection::{self, Log};
use crate::turns::{JobFailure, Jobs};
use crate::wire::{CallEnd, PROTOCOL, Sent, Task, WorkerEvent, WorkerRequest};

/// Messages that each rank sent to each other in one call.
pub type Traffic = Vec<BTreeMap<u32, Sent>>;

/// Launches `collrules-worker` under Open MPI's mpirun.
#[derive(Debug)]
pub struct MpiBackend {
    launcher: Launcher,
    /// MCA settings of every launch after the survey, and of the tuning's parameter files.
    pins: BTreeMap<String, String>,
    /// Those of them that leave out components whose calls end jobs, for launches without anything of ours as well.
    left_out: BTreeMap<String, String>,
    /// Settings that switch off installed rules in launches as users start them.
    without_installed: BTreeMap<String, String>,
    /// Values that installed settings have without their installation, for every job.
    reset: BTreeMap<String, String>,
    /// Directory for rules files of single launches.
    scratch: PathBuf,
    layout: Layout,
    /// The available slots, once they are known.
    slots: Ranks,
    /// The host of each slot, once they are known.
    hosts: Vec<String>,
    /// The component of the framework pml that carries messages, if it is known.
    pml: Option<String>,
    /// True if the user's own settings switch rules on.
    deployed: bool,
    /// True if the user's own settings name rules of HAN.
    has_han_rules: bool,
}

impl MpiBackend {
    /// A backend with this launcher and this layout of communicators.
    pub fn new(launcher: Launcher, layout: Layout) -> Self {
        Self {
            launcher,
            pins: BTreeMap::new(),
            left_out: BTreeMap::new(),
            without_installed: BTreeMap::new(),
            reset: BTreeMap::new(),
            scratch: PathBuf::from("."),
            layout,
            slots: Ranks(0),
            hosts: Vec::new(),
            pml: None,
            deployed: false,
            has_han_rules: false,
        }
    }

    /// Returns the components that handle the collectives of all slots according to Open MPI's log, which names them
    /// from 6.0 on. A component may still be replaced at its first call: only calls show the component that they use
    /// ([`crate::running`]).
    pub fn list_running(&self) -> Result<BTreeMap<Collective, String>, RunnerError> {
        let start = self.start(None, &[("coll_base_verbose".to_owned(), "20".to_owned())]);
        let mut listed = BTreeMap::new();
        let mut hear = |line: &str| listed.extend(listed_component(line));
        self.run_hearing(&start, Task::Survey, "looking at the system", &mut hear, &mut |_, _| Ok(()))?;
        Ok(listed)
    }

    /// Surveys the system in a job with these settings, by whose log its transport is known.
    fn survey_under(&self, settings: &[(String, String)]) -> Result<Survey, RunnerError> {
        // Without a number of ranks mpirun fills the slots, which is how to learn how many there are.
        let start = self.start(None, settings);
        let (mut found, mut log) = (None, TransportLog::default());
        self.run_hearing(
            &start,
            Task::Survey,
            "looking at the system",
            &mut |line| log.read_line(line),
            &mut |event, _| {
                match event {
                    WorkerEvent::Hello { protocol: theirs, .. } if theirs != PROTOCOL => {
                        let worker = self.launcher.worker().to_owned();
                        return Err(RunnerError::Protocol { worker, theirs, ours: PROTOCOL });
                    }
                    WorkerEvent::Survey(survey) => found = Some(*survey),
                    _ => {}
                }
                Ok(())
            },
        )?;
        let survey = found.ok_or_else(|| RunnerError::WorkerFailed("it reported no survey".to_owned()))?;
        // The log may be that of two starts, the first of which failed.
        log.hosts.clone_from(&survey.hosts);
        Ok(Survey { transport: log.into_transport(), ..survey })
    }

    /// Changes the backend so that launches change the user's own settings only by the name of a rules file.
    #[must_use]
    pub fn as_deployed(self) -> Self {
        Self { deployed: true, reset: BTreeMap::new(), ..self }
    }

    /// Gives installed settings the values that they have without their installation, in every job. Returns their names.
    pub fn reset_installed(&mut self) -> Result<Vec<String>, RunnerError> {
        self.reset = self.launcher.without_installed()?.values;
        // Each launch has a value of its own.
        self.reset.remove(USE_RULES);
        Ok(self.reset.keys().cloned().collect())
    }

    /// Returns what `collrules install` put into the parameter files.
    pub fn installed(&self) -> Result<BTreeMap<String, String>, RunnerError> {
        Ok(self.launcher.without_installed()?.installed)
    }

    /// Returns the source of a parameter's value according to `ompi_info`: a file with its line, or the environment.
    pub fn source_of(&self, parameter: &str) -> Option<String> {
        self.launcher.source_of(parameter)
    }

    /// Sentences about settings that Open MPI reads otherwise than they seem.
    pub fn list_oddities(&self) -> Vec<String> {
        let (given, faults) = self.given_settings();
        // The parameters take a while.
        let known = Some(&given).filter(|given| !given.is_empty()).and_then(|_| self.launcher.parameters().ok());
        let odd = known.iter().flat_map(|known| given.iter().flat_map(|setting| setting.describe_oddities(known)));
        faults.into_iter().chain(odd).collect()
    }

    /// The settings that users give, by place, and sentences about files that cannot be read.
    pub fn given_settings(&self) -> (Vec<GivenSetting>, Vec<String>) {
        given::find(&self.launcher)
    }

    /// Returns the settings on every rank of a job that fills the slots, with this rules file; without one, with the
    /// user's settings.
    pub fn circumstances(&self, rules: Option<&Path>) -> Result<Vec<Circumstances>, RunnerError> {
        let settings = rules.map_or_else(Vec::new, |rules| self.settings(&rules.to_string_lossy()));
        let doing = "looking at the settings of every rank";
        self.ask(&self.start(None, &settings), Task::Circumstances, doing, |event| match event {
            WorkerEvent::Circumstances(all) => all,
            _ => Vec::new(),
        })
    }

    /// The ranks to start for communicators of up to this size. mpirun fills the first hosts first, so all slots have
    /// to be filled to get ranks on all hosts.
    fn job_ranks(&self, largest: Ranks) -> Ranks {
        if self.layout == Layout::Block { largest } else { largest.max(self.slots) }
    }

    /// The start of a job with these settings; without a number of ranks, one that fills all slots.
    fn start(&self, ranks: Option<Ranks>, settings: &[(String, String)]) -> JobStart {
        JobStart { command: self.launcher.command(ranks, settings), ..JobStart::default() }
    }

    /// Makes calls under this rules file, with this setting if there is one, without each of these lists of components.
    /// `hear` gets all other output of Open MPI and the job.
    fn make_calls(
        &self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
        setting: Option<(&str, &str)>,
        hear: &mut dyn FnMut(&str),
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        let ranks = calls.iter().map(|call| call.ranks).max().unwrap_or(Ranks(2));
        let mut settings = self.settings(&rules.to_string_lossy());
        settings.extend(setting.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let start = self.start(Some(self.job_ranks(ranks)), &settings);
        let task = Task::Probe { calls: calls.to_vec(), without: without.to_vec() };
        let (file, mut outcomes) = (rules.display(), Vec::new());
        self.run_hearing(&start, task, &format!("loading {file}"), hear, &mut |event, doing| {
            match event {
                WorkerEvent::Calling { call } => *doing = format!("calling {} with {file}", calls[call]),
                WorkerEvent::Probed(probed) => outcomes = probed,
                _ => {}
            }
            Ok(())
        })?;
        if outcomes.len() != calls.len() || outcomes.iter().any(|row| row.len() != without.len().max(1)) {
            let why = format!("it answered {} of {} calls of a probe", outcomes.len(), calls.len());
            return Err(RunnerError::WorkerFailed(why));
        }
        Ok(outcomes)
    }

    /// Runs a job for a task. `react` gets each event, and the job's activity, which it keeps up to date for errors.
    fn run(
        &self,
        start: &JobStart,
        task: Task,
        doing: &str,
        react: &mut dyn FnMut(WorkerEvent, &mut String) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        self.run_hearing(start, task, doing, &mut |_| {}, react)
    }

    /// Runs a job for a task with an answer of each rank, which `answer` finds in the event that has it.
    fn ask<T>(
        &self,
        start: &JobStart,
        task: Task,
        doing: &str,
        answer: fn(WorkerEvent) -> Vec<T>,
    ) -> Result<Vec<T>, RunnerError> {
        let mut found = Vec::new();
        self.run(start, task, doing, &mut |event, _| {
            found.extend(answer(event));
            Ok(())
        })?;
        if found.is_empty() { Err(RunnerError::WorkerFailed(format!("no answer while {doing}"))) } else { Ok(found) }
    }

    /// Like [`Self::run`]; `hear` gets all other output of Open MPI and the job.
    fn run_hearing(
        &self,
        start: &JobStart,
        task: Task,
        doing: &str,
        hear: &mut dyn FnMut(&str),
        react: &mut dyn FnMut(WorkerEvent, &mut String) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        let job = WorkerRequest { protocol: PROTOCOL, task, layout: self.layout };
        let mut doing = doing.to_owned();
        self.launcher.converse(&self.with_reset(start), &job, hear, &mut |event| {
            react(event, &mut doing)?;
            Ok(doing.clone())
        })
    }

    /// Calls each point of a launch once, under a rules file if one is given, and returns its messages by cell and
    /// candidate, rank, and receiver, or why those of a cell cannot be counted. The job needs Open MPI's monitoring layer.
    pub fn count(
        &mut self,
        plan: &LaunchPlan,
        rules: Option<&Path>,
    ) -> Result<Vec<Result<Vec<Traffic>, String>>, RunnerError> {
        let rules = rules.unwrap_or(Path::new("/dev/null")).to_string_lossy();
        let mut settings = self.settings(&rules);
        settings.push(("pml_monitoring_enable".to_owned(), "2".to_owned()));
        // A list without the monitoring layer, as on a cluster that names its pml, leaves it out.
        let pinned = settings.iter().position(|(name, _)| name == "pml").map(|at| settings.remove(at).1);
        let pml = pinned.filter(|pml| !pml.starts_with('^')).or_else(|| self.pml.clone());
        settings.extend(pml.map(|pml| ("pml".to_owned(), format!("{pml},monitoring"))));
        let start = self.start(Some(self.job_ranks(plan.ranks)), &settings);
        let mut counted: Vec<Result<Vec<Traffic>, String>> = vec![Ok(Vec::new()); plan.cells.len()];
        self.run(&start, Task::Count(plan.clone()), "starting to count", &mut |event, doing| {
            match event {
                WorkerEvent::Sent { cell, candidate, ranks } => {
                    let planned = &plan.cells[cell];
                    *doing = format!("counting after {} in {}", planned.candidates[candidate], planned.cell);
                    if let Ok(counted) = &mut counted[cell] {
                        counted.push(ranks);
                    }
                }
                WorkerEvent::Uncounted { cell, why } => counted[cell] = Err(why),
                _ => {}
            }
            Ok(())
        })?;
        Ok(counted)
    }

    /// The MCA settings of a launch that reads this rules file and no other.
    fn settings(&self, rules: &str) -> Vec<(String, String)> {
        // mpirun of 4.1 refuses a parameter that is listed twice.
        let mut settings = self.pins.clone();
        if !self.deployed {
            settings.insert(USE_RULES.to_owned(), "1".to_owned());
            if self.has_han_rules {
                settings.entry(USE_HAN.to_owned()).or_insert_with(|| "0".to_owned());
            }
        }
        settings.insert(RULES_FILE.to_owned(), rules.to_owned());
        settings.into_iter().collect()
    }

    fn start_measuring(&self, ranks: Ranks, rules: Option<&Path>) -> JobStart {
        // An empty file is no rules file: one that the site has set up would compete with the choices under test.
        let rules = rules.unwrap_or(Path::new("/dev/null"));
        self.start(Some(self.job_ranks(ranks)), &self.settings(&rules.to_string_lossy()))
    }

    /// Runs a benchmark in one launch, with this rules file active if there is one. `report` gets each line as it
    /// comes; an error from it ends the launch.
    pub fn benchmark(
        &self,
        benchmark: &Benchmark,
        rules: Option<&Path>,
        report: &mut dyn FnMut(BenchmarkLine) -> Result<(), RunnerError>,
    ) -> Result<(), RunnerError> {
        let settings = match (rules, benchmark.candidate) {
            (Some(rules), _) => self.settings(&rules.to_string_lossy()),
            // Nothing is set: this is what programs get.
            (None, Candidate::Builtin) => Vec::new(),
            (None, _) => self.settings("/dev/null"),
        };
        let start = self.start(Some(benchmark.ranks), &settings);
        self.run(&start, Task::Benchmark(benchmark.clone()), "starting the benchmark", &mut |event, doing| {
            match event {
                WorkerEvent::Benchmarking(length) => *doing = format!("calling {}", benchmark.cell(length)),
                WorkerEvent::Benchmarked(line) => report(line)?,
                _ => {}
            }
            Ok(())
        })
    }

    fn start_deployed(&self, deployment: &Deployment, ranks: Ranks) -> JobStart {
        deployed::start(&self.launcher, deployment, self.job_ranks(ranks))
    }

    /// The start of a job with the settings of an arm, and without anything that was installed.
    fn start_as_users_do(&self, deployment: &Deployment, ranks: Ranks) -> JobStart {
        let own = self.start_deployed(deployment, ranks);
        let mut changes = deployed::environment(&self.without_installed, &[]);
        changes.extend(own.changes);
        changes.extend(deployed::environment(&self.left_out, &[]));
        JobStart { changes, ..own }
    }

    /// Starts jobs, and waits until all of them sleep.
    fn start_asleep(&self, plans: &[LaunchPlan]) -> Result<MpiJobs<'_>, JobFailure> {
        let began = Instant::now();
        let mut started = Vec::with_capacity(plans.len());
        for (job, plan) in plans.iter().enumerate() {
            let own = plan.deployment.clone().unwrap_or_else(|| Deployment::new(BTreeMap::new()));
            let start = self.with_reset(&self.start_as_users_do(&own, plan.ranks));
            let request =
                WorkerRequest { protocol: PROTOCOL, task: Task::TakeTurns(plan.clone()), layout: self.layout };
            let conversation = self.launcher.begin(&start, &request);
            started.push(conversation.map_err(|error| JobFailure { job, subject: None, error })?);
        }
        let mut jobs = MpiJobs {
            launcher: &self.launcher,
            plans: plans.to_vec(),
            conversations: started,
            began,
            first_start: None,
        };
        for job in 0..plans.len() {
            jobs.wait_until_asleep(job).map_err(|error| JobFailure { job, subject: None, error })?;
        }
        Ok(jobs)
    }

    /// The changes to the environment of every job, in addition to those of one.
    fn with_reset(&self, start: &JobStart) -> JobStart {
        let changes = deployed::combine(start.changes.clone(), deployed::environment(&self.reset, &[]));
        JobStart { changes, ..start.clone() }
    }
}

/// The component in a line of the log, such as `coll:base:comm_select: communicator MPI_COMM_WORLD rank 0 bcast -> han`
/// (`coll_base_comm_select.c` of 6.0).
fn listed_component(line: &str) -> Option<(Collective, String)> {
    let (_, rest) = line.split_once("coll:base:comm_select: communicator MPI_COMM_WORLD rank 0 ")?;
    let (collective, component) = rest.split_once(" -> ")?;
    Some((collective.trim().parse().ok()?, component.trim().to_owned()))
}

/// Returns the text of a file whose one rule applies to every call of a launch's collectives; none if the launch is not
/// for one choice of coll/tuned.
fn one_rule(plan: &LaunchPlan) -> Result<Option<String>, RunnerError> {
    let Some(Candidate::Tuned(choice)) = plan.launch.alone() else { return Ok(None) };
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
        host::refuse_full_disk()?;
        // The log would take the place of the job's last lines, which give the cause.
        let survey = match self.survey_under(&transport::logging()) {
            Err(RunnerError::WorkerDidNotStart { .. } | RunnerError::JobDied { .. }) => self.survey_under(&[])?,
            surveyed => surveyed?,
        };
        let mpirun = self.launcher.mpirun().map(|(_, version)| version);
        if let Some(launcher) = mpirun.filter(|launcher| *launcher != survey.version) {
            return Err(RunnerError::MixedVersions {
                launcher: launcher.to_string(),
                library: survey.version.to_string(),
            });
        }
        self.slots = survey.slots();
        self.hosts.clone_from(&survey.hosts);
        self.pml = survey.transport.as_ref().map(|transport| transport.pml.clone());
        self.has_han_rules = survey.preset.contains_key(HAN_FILE);
        self.without_installed = deployed::without_installed(&survey.preset);
        Ok(survey)
    }

    fn launcher(&self, plan: &Plan) -> Vec<String> {
        match &plan.deployment {
            Some(deployment) => self.start_deployed(deployment, plan.ranks).command,
            None => self.start_measuring(plan.ranks, None).command,
        }
    }

    fn use_scratch(&mut self, directory: &Path) {
        directory.clone_into(&mut self.scratch);
    }

    fn measure(&mut self, plan: &LaunchPlan, report: Report<'_>) -> Result<(), RunnerError> {
        let rules = one_rule(plan)?.map(|text| scratch::file(&self.scratch, "rule", &text)).transpose()?;
        let start = match plan.deployment.as_ref().filter(|_| plan.launch.is_as_users_do()) {
            Some(deployment) => self.start_as_users_do(deployment, plan.ranks),
            None => self.start_measuring(plan.ranks, rules.as_ref().map(|file| file.path())),
        };
        self.run(&start, Task::Measure(plan.clone()), "starting to measure", &mut |event, doing| {
            match &event {
                WorkerEvent::Checking { cell, candidate } => {
                    *doing = format!("checking {} in {}", plan.turn(*cell, *candidate), plan.subject(*cell));
                }
                WorkerEvent::Visiting { cell } => *doing = format!("timing {}", plan.subject(*cell)),
                _ => {}
            }
            report(event)
        })
    }

    fn start_jobs(&mut self, plans: &[LaunchPlan]) -> Result<Box<dyn Jobs + '_>, JobFailure> {
        let jobs = match self.start_asleep(plans) {
            Err(JobFailure { error, .. }) if is_worth_another_try(&error) => self.start_asleep(plans),
            started => started,
        };
        Ok(Box::new(jobs?))
    }

    fn probe_without(
        &mut self,
        rules: &Path,
        calls: &[Cell],
        without: &[Vec<Component>],
    ) -> Result<Vec<Vec<CallEnd>>, RunnerError> {
        self.make_calls(rules, calls, without, None, &mut |_| {})
    }

    fn parameters(&self) -> Result<Parameters, RunnerError> {
        self.launcher.parameters()
    }

    fn values(
        &mut self,
        settings: &BTreeMap<String, String>,
        names: &[String],
    ) -> Result<Vec<BTreeMap<String, String>>, RunnerError> {
        let start = deployed::start(&self.launcher, &Deployment::new(settings.clone()), self.slots);
        self.ask(&start, Task::Parameters(names.to_vec()), "reading parameters on every rank", |event| match event {
            WorkerEvent::Parameters(all) => all,
            _ => Vec::new(),
        })
    }

    fn patience(&mut self) -> Option<&mut Duration> {
        Some(&mut self.launcher.patience)
    }

    fn log_selections(&mut self, rules: &Path, calls: &[Cell]) -> Result<Option<Log>, RunnerError> {
        let mut log = Log::default();
        self.make_calls(rules, calls, &[], Some(selection::LOG), &mut |line| log.read_line(line))?;
        Ok(Some(log))
    }

    fn distribution(&self, ranks: Ranks) -> Distribution {
        match self.layout.nodes(&self.hosts, ranks) {
            nodes if !nodes.are_several() => Distribution::SingleNode,
            nodes if nodes.share() => Distribution::Any,
            _ => Distribution::OnePerNode,
        }
    }

    fn pins(&mut self) -> Option<&mut BTreeMap<String, String>> {
        Some(&mut self.pins)
    }

    fn leave_out(&mut self, pins: &BTreeMap<String, String>) {
        self.left_out.extend(pins.clone());
        self.pin(pins);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_name_components() {
        let line = "[vm:7] coll:base:comm_select: communicator MPI_COMM_WORLD rank 0 reduce_scatter_block -> tuned";
        assert_eq!(listed_component(line), Some((Collective::ReduceScatterBlock, "tuned".to_owned())));
        for other in [
            "[vm:7] coll:base:comm_select: communicator MPI_COMM_WORLD rank 1 bcast -> tuned",
            "[vm:7] coll:base:comm_select: communicator MPI_COMM_SELF rank 0 bcast -> self",
            "[vm:7] coll:base:comm_select: communicator MPI_COMM_WORLD rank 0 ibcast -> libnbc",
            "[vm:7] coll:base:comm_select: selecting  tuned, priority  30, Enabled",
        ] {
            assert_eq!(listed_component(other), None, "{other}");
        }
    }
}
