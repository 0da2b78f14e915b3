//! The run directory of measurements: begun or resumed, one plan after another. This is the only measuring loop:
//! tuning, refinement, validation and studies differ only in their plans.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collrules_record::manifest::{self, Manifest};
use collrules_record::options::{Request, SystemOptions, TuneOptions};
use collrules_record::plan::{Separate, Skipped};
use collrules_record::rundir::{self, ComparisonLog, RunLog};
use collrules_record::values::REST;
use collrules_record::{Experiment, Layout, Plan, RunDir};
use collrules_rules::deploy::JobSettings;
use collrules_rules::words::counted;
use collrules_runner::campaign::{self, StopConditions, Tally};
use collrules_runner::separate;

use crate::budget::{Clock, Shares, TimeLeft};
use crate::error::WorkflowError;
use crate::session::{Event, Session};
use crate::start::{self, Started};
use crate::{budget, plan, resume, running, settings};

/// An experiment to measure, with its directory.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Experiment to measure. For a resumed run, it includes the options that may be changed.
    pub experiment: Experiment,
    /// Options that the user gave.
    pub request: Request,
    /// The directory.
    pub place: RunPlace,
}

/// The directory of an experiment.
#[derive(Clone, Debug)]
pub enum RunPlace {
    /// A new directory.
    New(PathBuf),
    /// A new directory, with the layout in which programs spend the most time.
    NewInBestLayout(PathBuf),
    /// The directory of a run to resume.
    Resumed(PathBuf),
}

impl Begin {
    /// A tuning in a new directory.
    pub fn tuning(options: TuneOptions, out: PathBuf) -> Self {
        Self {
            experiment: options.experiment(Vec::new()),
            request: Request::Tune(Box::new(options)),
            place: RunPlace::New(out),
        }
    }

    /// Returns the error with the reason why no rules are made.
    pub fn refuse_tuning(&self) -> WorkflowError {
        WorkflowError::Usage(format!(
            "{} is not a tuning: {} resumes it, and `collrules analyze {0}` makes rules from its samples",
            self.path().display(),
            self.request.resume(self.path()),
        ))
    }

    /// The directory.
    fn path(&self) -> &Path {
        let (RunPlace::New(path) | RunPlace::NewInBestLayout(path) | RunPlace::Resumed(path)) = &self.place;
        path
    }

    /// Locks a run to resume: two jobs at once would disturb each other. None for a new one.
    fn hold(&self) -> Result<Option<(RunDir, RunLog)>, WorkflowError> {
        let RunPlace::Resumed(path) = &self.place else {
            return refuse_unnameable(self.path()).map(|()| None);
        };
        let run = RunDir::open(path)?;
        resume::refuse_merged(&run, &run.manifest()?)?;
        let log = run.log()?;
        Ok(Some((run, log)))
    }

    /// A recorded run, with its experiment as begun.
    pub fn recorded(directory: &Path) -> Result<Self, WorkflowError> {
        let Manifest { experiment, request, .. } = RunDir::open(directory)?.manifest()?;
        Ok(Self { experiment, request, place: RunPlace::Resumed(directory.to_owned()) })
    }
}

/// An experiment in progress, with its run.
pub struct Measurement {
    /// Backend that runs it, with its survey.
    pub started: Started,
    /// The manifest.
    pub manifest: Manifest,
    /// Experiment that is timed.
    pub experiment: Experiment,
    /// True if the run is resumed.
    pub(crate) resumed: bool,
    /// Time of the tuning.
    pub(crate) clock: Clock,
    /// The directory, locked by the log.
    pub run: RunDir,
    pub(crate) log: RunLog,
    /// Planned launches so far.
    pub(crate) planned: u32,
    /// Plans of further rounds, the stored ones first.
    pub(crate) further: Vec<Plan>,
    /// Number of further rounds that were measured since the command began.
    rounds: usize,
}

impl Measurement {
    /// The time that the next steps may take.
    pub(crate) fn time(&self) -> TimeLeft<'_> {
        TimeLeft { shares: Shares::new(&self.experiment, self.started.startup), clock: &self.clock }
    }

    /// Launches so far that measured or compared.
    pub(crate) fn launches(&self) -> Result<usize, WorkflowError> {
        Ok(self.planned as usize + ComparisonLog::open(&self.run)?.launches().len())
    }

    /// Measures the grid up to this total number of launches, so that several campaigns can take turns.
    pub fn take_turn(&mut self, launches: u32, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let plan = self.manifest.plan.clone();
        if launches == 1 {
            session.tell(Event::Measuring { run: self.run.path(), plan: &plan, resumed: false });
        }
        self.planned = 0;
        self.carry_out(&plan, Some(launches), session)
    }

    /// Measures the rest of the grid.
    pub fn grid(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let mut plan = self.manifest.plan.clone();
        if self.resumed {
            plan::fit(&mut plan, &self.experiment, self.run.progress().spent, self.started.startup);
        }
        session.tell(Event::Measuring { run: self.run.path(), plan: &plan, resumed: self.resumed });
        self.carry_out(&plan, None, session)?;
        // A later job was not visible in the first check.
        if self.started.allocation.is_some() && !self.started.has_company {
            start::company().iter().for_each(|remark| session.say(remark));
        }
        Ok(())
    }

    /// Measures the rest: of the grid, of the rounds that an earlier session planned, and of other layouts.
    pub(crate) fn measure(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        self.grid(session)?;
        self.measure_kept(session)?;
        for layout in self.experiment.also_layout.clone() {
            let since = self.clock.passed();
            let Some(begin) = elsewhere(self, layout, session)? else { continue };
            let least = measure(&begin, session)?.clock.passed();
            self.clock.leave_out(since, least);
        }
        Ok(())
    }

    /// Measures the rest of the rounds that an earlier session planned.
    pub fn measure_kept(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        while let Some(plan) = self.further.get(self.rounds).cloned() {
            self.rounds += 1;
            self.carry_out(&plan, None, session)?;
        }
        Ok(())
    }

    /// Measures a further round. Its plan is stored first, so that a resumed campaign measures it too.
    pub fn measure_round(&mut self, plan: &Plan, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        self.run.write_refinement(self.next_round(), plan)?;
        self.further.push(plan.clone());
        self.measure_kept(session)
    }

    /// The number of the next further round, from 1 on.
    pub fn next_round(&self) -> u32 {
        self.further.len() as u32 + 1
    }

    /// Measures the rest of a plan, or of its first launches, up to this number. Its launches are numbered after those of
    /// earlier plans.
    fn carry_out(
        &mut self,
        plan: &Plan,
        launches: Option<u32>,
        session: &mut Session<'_>,
    ) -> Result<(), WorkflowError> {
        let first = self.planned;
        self.planned += separate::starts(plan).len() as u32;
        session.tell(Event::Planned { plan, first });
        let mut tally = Tally::default();
        let stop = Arc::clone(&session.stop);
        let policy = StopConditions { launches, failures: session.failures, stop };
        let backend = self.started.backend.as_mut();
        let result =
            campaign::measure(first, backend, plan, &mut self.log, &policy, &mut tally, &mut |launch, notice| {
                session.tell(Event::Launch(launch, notice));
            });
        session.tell(Event::Measured(&tally, result.as_ref().err()));
        result.map_err(|cause| WorkflowError::Incomplete {
            cause: Box::new(cause),
            samples: tally.samples,
            cells: tally.cells,
            planned: plan.cells.len(),
            kept: self.run.file(rundir::SAMPLES).display().to_string(),
            next: self.next_commands(tally.samples > 0),
        })
    }

    /// The commands that continue an interrupted run, according to the command that began it.
    fn next_commands(&self, has_samples: bool) -> String {
        let (run, resume) = (self.run.path().display(), self.manifest.request.resume(self.run.path()));
        let rules = match &self.manifest.request {
            Request::Lab(_) => return format!("{resume} resumes it"),
            Request::Tune(_) if has_samples => {
                format!("also makes the rules, and `collrules analyze {run}` makes them from these samples")
            }
            Request::Tune(_) => "also makes the rules".to_owned(),
        };
        format!("`collrules measure --resume {run}` resumes the run, {resume} {rules}")
    }

    /// Discards a new run, so that the directory may be used again, unless it has measurements.
    pub fn give_up(self) -> Result<(), WorkflowError> {
        drop(self.log);
        if !self.resumed {
            self.run.discard()?;
        }
        Ok(())
    }
}

/// Begins a run or resumes one, and measures the rest of it.
pub fn measure(begin: &Begin, session: &mut Session<'_>) -> Result<Measurement, WorkflowError> {
    let mut measured = prepare(begin, session)?;
    measured.measure(session)?;
    Ok(measured)
}

/// Refuses a directory whose path settings cannot contain.
pub fn refuse_unnameable(directory: &Path) -> Result<(), WorkflowError> {
    let rules = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()).join(rundir::RULES);
    let Some(rules) = rules.to_str() else {
        let shown = directory.display();
        return Err(WorkflowError::Usage(format!("{shown} is not UTF-8, so no setting can name a rules file in it")));
    };
    let settings = JobSettings::new(Some(rules.to_owned()), None, BTreeMap::new());
    settings.mca_params().map(drop).map_err(WorkflowError::Settings)
}

/// Surveys a system, before the experiment is known.
pub fn survey(system: &SystemOptions, out: &Path, session: &mut Session<'_>) -> Result<Started, WorkflowError> {
    refuse_unnameable(out)?;
    Ok(session.start(system)?)
}

/// Returns the campaign of another layout, to begin or to resume; none if it places ranks identically, or cannot be
/// measured here.
fn elsewhere(
    measured: &Measurement,
    layout: Layout,
    session: &mut Session<'_>,
) -> Result<Option<Begin>, WorkflowError> {
    let path = measured.run.file(&format!("{}{layout}", rundir::LAYOUT));
    let hosts = &measured.started.survey.hosts;
    let (own, most) = (measured.experiment.system.layout, layout.most(hosts));
    let nodes = &measured.manifest.plan.placement.nodes;
    if nodes.iter().all(|(ranks, nodes)| *ranks > most || layout.nodes(hosts, *ranks) == *nodes) {
        session.say(&format!("--also-layout {layout} is left out: it places all communicators as {own} does"));
        return Ok(None);
    }
    let budget = measured.time().shares.rules();
    let mut experiment = Experiment { budget, also_layout: Vec::new(), ..measured.experiment.clone() };
    experiment.system.layout = layout;
    experiment.grid.ranks.sizes.retain(|ranks| *ranks <= most);
    let mut request = measured.manifest.request.clone();
    if let Request::Tune(options) = &mut request {
        (options.also_layout, options.system.layout, options.settings.none) = (Vec::new(), layout, true);
        options.grid.ranks = experiment.grid.ranks.clone();
    }
    let place = if path.join(rundir::MANIFEST).exists() {
        RunPlace::Resumed(path)
    } else {
        session.say(&format!("--also-layout {layout}: measuring in {}", path.display()));
        RunPlace::New(path)
    };
    Ok(Some(Begin { experiment, request, place }))
}

/// Begins a run or resumes one, without measuring.
pub fn prepare(begin: &Begin, session: &mut Session<'_>) -> Result<Measurement, WorkflowError> {
    let held = begin.hold()?;
    let started = session.start(&begin.experiment.system)?;
    let measured = match held {
        Some(held) => resumed(held, started, &begin.experiment, session)?,
        None => new(started, begin, session)?,
    };
    open(measured, session)
}

/// Begins a run on a surveyed system, without measuring.
pub fn prepare_on(
    started: Started,
    experiment: Experiment,
    request: Request,
    out: &Path,
    session: &mut Session<'_>,
) -> Result<Measurement, WorkflowError> {
    let begin = Begin { experiment, request, place: RunPlace::New(out.to_owned()) };
    open(new(started, &begin, session)?, session)
}

/// Prepares a run for measuring: finds the components that handle the calls.
fn open(mut measured: Measurement, session: &mut Session<'_>) -> Result<Measurement, WorkflowError> {
    if !measured.log.is_locked() {
        session.say("this file system has no locks: make sure that no other collrules measures into the directory");
    }
    measured.started.backend.use_scratch(measured.run.path());
    // If there are samples, an earlier session found them.
    if measured.log.is_empty()
        && let Err(error) = find_components(&mut measured, session)
    {
        // What failed first is the cause.
        let _ = measured.give_up();
        return Err(error);
    }
    Ok(measured)
}

/// The experiment of a run, with the budget that the allocation permits.
fn fit_allocation(
    experiment: &Experiment,
    request: &Request,
    started: &mut Started,
    session: &mut Session<'_>,
) -> Result<Experiment, WorkflowError> {
    let budget = budget::limit(experiment.budget, started, session)?;
    let searches = match request {
        Request::Tune(options) => budget::searches_settings(options, budget)?,
        _ => false,
    };
    Ok(Experiment { budget, searches, ..experiment.clone() })
}

fn new(mut started: Started, begin: &Begin, session: &mut Session<'_>) -> Result<Measurement, WorkflowError> {
    // Settings that cannot be set are refused before anything is measured.
    if let Request::Tune(options) = &begin.request
        && !options.settings.requests.is_empty()
    {
        settings::find(&started, &options.settings.requests)?;
    }
    let mut request = begin.request.clone();
    let mut experiment = fit_allocation(&begin.experiment, &request, &mut started, session)?;
    if let RunPlace::NewInBestLayout(_) = begin.place {
        plan::lay_out(&mut experiment, &mut started).iter().for_each(|said| session.say(said));
    }
    if let Request::Tune(options) = &mut request {
        options.system.layout = experiment.system.layout;
        if options.budget == Some(REST) {
            options.budget = experiment.budget;
        }
    }
    let plan = plan::plan(&experiment, &started.survey, started.startup)?;
    if plan.schedule.budget.is_some_and(|budget| budget.0 == 0.0) {
        let shares = Shares::new(&experiment, started.startup);
        session.say(&format!(
            "starting jobs takes about {}, which is the whole budget: little will be measured; the least useful \
             budget is about {}",
            shares.starting().rounded(),
            shares.least_budget().rounded()
        ));
    }
    remarks_on(&plan).iter().for_each(|line| session.say(line));
    let manifest = manifest(request, experiment.clone(), &started, &plan, session.command.clone());
    let run = RunDir::create(begin.path(), &manifest)?;
    let (log, clock) = (run.log()?, Clock::new(&started));
    let (resumed, planned, further, rounds) = (false, 0, Vec::new(), 0);
    Ok(Measurement { started, manifest, experiment, resumed, clock, run, log, planned, further, rounds })
}

fn resumed(
    (run, log): (RunDir, RunLog),
    mut started: Started,
    experiment: &Experiment,
    session: &mut Session<'_>,
) -> Result<Measurement, WorkflowError> {
    let mut manifest = run.manifest()?;
    let left_out = resume::leave_out(&manifest, &mut started);
    started.pins.extend(left_out);
    let now = self::manifest(manifest.request.clone(), experiment.clone(), &started, &manifest.plan, Vec::new());
    resume::refuse_other_system(&run, &manifest, &now)?.iter().for_each(|remark| session.say(remark));
    if let Some(allocation) = &started.allocation {
        manifest.allocations.push(allocation.clone());
        run.write_manifest(&manifest)?;
    }
    // This job may be shorter than the first one of the run.
    let experiment = fit_allocation(experiment, &manifest.request, &mut started, session)?;
    let further = run.refinements()?;
    let (clock, resumed, planned, rounds) = (Clock::new(&started), true, 0, 0);
    Ok(Measurement { started, manifest, experiment, resumed, clock, run, log, planned, further, rounds })
}

/// Finds the components that handle the calls of the plan, and adds them to it.
fn find_components(measured: &mut Measurement, session: &mut Session<'_>) -> Result<(), WorkflowError> {
    let Measurement { started, manifest, experiment, run, .. } = measured;
    let grid = &experiment.grid;
    // If algorithms are named, no others are wanted.
    let with_han =
        |collective| grid.alternatives.have_rules() && grid.only.iter().all(|(named, _)| *named != collective);
    let left_out = running::find(started, run, &mut manifest.plan, session)?;
    if !left_out.is_empty() {
        started.pins.extend(left_out.clone());
        manifest.pins.extend(left_out);
        manifest.launcher = started.backend.launcher(&manifest.plan);
    }
    running::add_han(&mut manifest.plan, started.release, with_han);
    manifest.plan.sort_groups();
    Ok(run.write_manifest(manifest)?)
}

/// The manifest of a new run.
pub(crate) fn manifest(
    request: Request,
    experiment: Experiment,
    started: &Started,
    plan: &Plan,
    command: Vec<String>,
) -> Manifest {
    let backend = started.backend.as_ref();
    Manifest {
        merged: Vec::new(),
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: manifest::now(),
        backend: backend.name().to_owned(),
        command,
        launcher: backend.launcher(plan),
        environment: start::environment(),
        allocations: started.allocation.iter().cloned().collect(),
        host: if backend.name() == "simulation" { Default::default() } else { manifest::host() },
        pins: started.pins.clone(),
        survey: started.survey.clone(),
        plan: plan.clone(),
        request,
        experiment,
    }
}

/// Lists remarks on a plan before it is measured.
pub fn remarks_on(plan: &Plan) -> Vec<String> {
    // Cells that the plan leaves out, by collective and reason.
    let mut groups: Vec<(&Skipped, usize)> = Vec::new();
    for skipped in &plan.skipped {
        let alike = |(first, _): &&mut (&Skipped, usize)| {
            first.why == skipped.why && first.cell.collective == skipped.cell.collective
        };
        match groups.iter_mut().find(alike) {
            Some((_, others)) => *others += 1,
            None => groups.push((skipped, 0)),
        }
    }
    let left_out = groups.iter().map(|(Skipped { cell, why }, others)| {
        let others = if *others == 0 { String::new() } else { format!(" and {}", counted(*others, "more size")) };
        format!("left out: {cell}{others}: {why}")
    });
    let Separate { collectives, series, .. } = &plan.separate;
    let apart = (!plan.separate.is_empty()).then(|| {
        let names: Vec<&str> = collectives.iter().map(|collective| collective.name()).collect();
        format!(
            "{}: each algorithm has launches of its own, {series} series and {} launches in all{}",
            names.join(", "),
            separate::starts_apart(plan),
            match *series >= separate::LEAST_SERIES {
                true => "",
                false => "; the default stays, since a test needs more series: raise --budget or --launches",
            },
        )
    });
    left_out.chain(apart).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use collrules_record::options::{Jobs, Simulated};
    use collrules_record::units::{Ranks, Seconds};

    use super::*;

    #[test]
    fn another_layout_is_resumed_with_the_options_of_the_run() {
        let directory = tempfile::tempdir().expect("there is space");
        let stop = Arc::<AtomicBool>::default();
        let mut session = Session { stop, failures: 0, command: Vec::new(), start: &start::start, watch: &mut |_| {} };
        let jobs = Jobs::Simulation(Simulated { each: Ranks(2), ..Simulated::default() });
        let system = SystemOptions { layout: Layout::default(), oversubscribe: false, jobs };
        let options = TuneOptions { system, ..TuneOptions::default() };
        let begin = Begin::tuning(options, directory.path().join("run"));
        let mut measured = prepare(&begin, &mut session).expect("is simulated");
        let mut elsewhere = |measured: &Measurement| {
            let begin = elsewhere(measured, Layout::OnePerNode, &mut session).expect("fits").expect("differs");
            prepare(&begin, &mut session).map(drop).expect("is simulated");
            begin
        };
        assert!(matches!(elsewhere(&measured).place, RunPlace::New(_)));
        measured.experiment.budget = Some(Seconds(3600.0));
        measured.experiment.system.oversubscribe = true;
        let Begin { experiment, place, .. } = elsewhere(&measured);
        assert!(matches!(place, RunPlace::Resumed(_)));
        assert_eq!(experiment.budget, measured.time().shares.rules());
        assert!(experiment.system.oversubscribe);
    }
}
