//! A run directory that is measured into: begun or resumed, one plan after another. The only measuring loop: tuning,
//! refinement, validation and studies differ in the plans alone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collrules_record::manifest::{self, Manifest};
use collrules_record::options::{Request, Tuning};
use collrules_record::plan::Skipped;
use collrules_record::rundir::{self, RunDir, RunLog};
use collrules_record::{Cell, Layout, Plan, Seconds, Survey};
use collrules_runner::campaign::{self, Policy, Tally};
use collrules_runner::{Backend, RunnerError, separate};

use crate::error::WorkflowError;
use crate::laps::Laps;
use crate::session::{Event, Session};
use crate::start::{self, Pins, Started};
use crate::{allotted, plan, publish, resume, served};

/// Where a campaign begins.
#[derive(Clone, Debug)]
pub enum Begin {
    /// In a new directory.
    New {
        /// The options.
        tuning: Tuning,
        /// The directory.
        out: PathBuf,
    },
    /// In the directory of a run that was begun before.
    Resume {
        /// The directory.
        run: PathBuf,
        /// The options: those of the run, with what may be changed in them.
        tuning: Tuning,
    },
}

/// A tuning campaign that is measured.
pub struct Measured {
    /// What carried it out.
    pub started: Started,
    /// The manifest.
    pub manifest: Manifest,
    /// The options in force.
    pub tuning: Tuning,
    /// Whether it was begun before.
    pub(crate) resumed: bool,
    /// Where the time of this process went.
    pub(crate) laps: Laps,
    /// The directory, held for this process.
    pub(crate) campaign: Campaign,
}

impl Measured {
    /// What is left of so many times the budget; nothing where there is no budget.
    pub(crate) fn left(&self, times: f64) -> Option<Seconds> {
        let budget = self.tuning.budget?;
        Some(Seconds((times * budget.0 - self.laps.elapsed()).max(0.0)))
    }

    /// The run directory.
    pub fn run(&self) -> &RunDir {
        &self.campaign.run
    }

    /// Measures all that is left of the grid.
    pub(crate) fn grid(&mut self, session: &mut Session<'_>) -> Result<(), WorkflowError> {
        let mut plan = self.manifest.plan.clone();
        if self.resumed {
            plan::fit(&mut plan, &self.tuning, self.run().progress().spent, self.started.startup);
        }
        session.tell(Event::Measuring { run: self.run().path(), plan: &plan, resumed: self.resumed });
        self.campaign.measure(&plan, self.started.backend.as_mut(), session)?;
        let starts = separate::starts_apart(&plan) as f64 * plan.schedule.startup.0;
        self.laps.end("measuring", plan.budget().unwrap_or_default().0 + starts);
        // Who began after us was not there when we looked first.
        if self.started.allocation.is_some() && !self.started.remarks.iter().any(|said| said.starts_with("other steps"))
        {
            start::company().iter().for_each(|remark| session.say(remark));
        }
        Ok(())
    }

    /// Gives a run up that began now: the directory may be used again, unless something was measured.
    pub(crate) fn give_up(self) -> Result<(), WorkflowError> {
        let Campaign { run, log, .. } = self.campaign;
        drop(log);
        if !self.resumed {
            run.discard()?;
        }
        Ok(())
    }
}

/// Begins a run or resumes one, and measures all that is left of its grid.
pub fn measure(begin: &Begin, session: &mut Session<'_>) -> Result<Measured, WorkflowError> {
    let mut measured = prepare(begin, session)?;
    measured.grid(session)?;
    let others = Instant::now();
    for layout in measured.tuning.also_layout.clone() {
        let Some(begin) = elsewhere(&measured, layout, session)? else { continue };
        measure(&begin, session)?;
    }
    measured.laps.leave_out(others);
    Ok(measured)
}

/// Where the campaign of another layout begins, or goes on; nothing where it would be the same, or cannot be measured here.
fn elsewhere(measured: &Measured, layout: Layout, session: &mut Session<'_>) -> Result<Option<Begin>, WorkflowError> {
    let path = measured.run().file(&format!("{}{layout}", rundir::LAYOUT));
    if path.join(rundir::MANIFEST).exists() {
        let tuning = options_of(&path)?;
        return Ok(Some(Begin::Resume { run: path, tuning }));
    }
    let hosts = &measured.started.survey.hosts;
    let (own, most) = (measured.tuning.system.layout, layout.most(hosts));
    let nodes = &measured.manifest.plan.placement.nodes;
    if nodes.iter().all(|(ranks, nodes)| *ranks > most || layout.nodes(hosts, *ranks) == *nodes) {
        session.say(&format!("--also-layout {layout} is left out: no communicator lies there otherwise than in {own}"));
        return Ok(None);
    }
    let mut tuning = Tuning { also_layout: Vec::new(), ..measured.tuning.clone() };
    tuning.system.layout = layout;
    tuning.grid.ranks.sizes.retain(|ranks| *ranks <= most);
    session.say(&format!("--also-layout {layout}: measuring in {}", path.display()));
    Ok(Some(Begin::New { tuning, out: path }))
}

/// Begins a run or resumes one; nothing is measured yet.
pub(crate) fn prepare(begin: &Begin, session: &mut Session<'_>) -> Result<Measured, WorkflowError> {
    let laps = Laps::begin();
    let (mut started, manifest, campaign, tuning, resumed) = match begin {
        Begin::New { tuning, out } => new(tuning, out, session)?,
        Begin::Resume { run, tuning } => resumed(run, tuning, session)?,
    };
    let Campaign { run, log, .. } = &campaign;
    if !log.is_locked() {
        session.say("this file system has no locks: make sure that no other collrules measures into the directory");
    }
    started.backend.use_scratch(run.path());
    let unmeasured = log.past_samples() == 0;
    let mut measured = Measured { started, manifest, tuning, resumed, laps, campaign };
    // With samples this was found out in an earlier session.
    if unmeasured {
        let Measured { started, manifest, tuning, campaign, .. } = &mut measured;
        if let Err(error) = find_served(started, &campaign.run, manifest, tuning, session) {
            measured.give_up()?;
            return Err(error);
        }
    }
    // The survey, and who serves the calls.
    measured.laps.end("looking around", 2.0 * measured.started.startup.0);
    Ok(measured)
}

type Opened = (Started, Manifest, Campaign, Tuning, bool);

fn new(tuning: &Tuning, out: &Path, session: &mut Session<'_>) -> Result<Opened, WorkflowError> {
    publish::refuse_unnameable(out)?;
    let mut started = session.start(&tuning.system)?;
    started.remarks.iter().for_each(|remark| session.say(remark));
    let (budget, remark) = allotted::within(tuning.budget, started.allocation.as_ref())?;
    remark.iter().for_each(|remark| session.say(remark));
    let layouts = 1.0 + tuning.also_layout.len() as f64;
    let budget = budget.map(|budget| Seconds(budget.0 / layouts));
    let mut tuning = Tuning { budget, ..tuning.clone() };
    if let Some(said) = plan::lay_out(&mut tuning, &mut started) {
        session.say(&said);
    }
    let plan = plan::plan(&tuning, &started.survey, started.startup)?;
    if plan.schedule.budget.is_some_and(|budget| budget.0 == 0.0) {
        session.say(&format!(
            "starting jobs alone takes about {}, which is the whole budget: little will be measured",
            plan::starting(&tuning, started.startup).rounded(),
        ));
    }
    remarks_on(&plan).iter().for_each(|line| session.say(line));
    let manifest = manifest(
        Request::Tune(Box::new(tuning.clone())),
        started.backend.as_ref(),
        &started.survey,
        &plan,
        &started.pins,
        session.command.clone(),
    );
    let manifest = Manifest { allocations: started.allocation.iter().cloned().collect(), ..manifest };
    let campaign = Campaign::new(RunDir::create(out, &manifest)?)?;
    Ok((started, manifest, campaign, tuning, false))
}

fn resumed(directory: &Path, tuning: &Tuning, session: &mut Session<'_>) -> Result<Opened, WorkflowError> {
    // Held before anything is started: two jobs at once would disturb each other.
    let run = RunDir::open(directory)?;
    resume::refuse_merged(&run, &run.manifest()?)?;
    let campaign = Campaign::new(run)?;
    let mut manifest = campaign.run.manifest()?;
    resume::refuse_comparison(&campaign.run, &manifest)?;
    let started = session.start(&tuning.system)?;
    started.remarks.iter().for_each(|remark| session.say(remark));
    resume::refuse_other_system(&campaign.run, &manifest, &started)?.iter().for_each(|remark| session.say(remark));
    if let Some(allocation) = &started.allocation {
        manifest.allocations.push(allocation.clone());
        campaign.run.write_manifest(&manifest)?;
    }
    // They may be said anew, and plans of formats before 1.2 do not have them.
    manifest.plan.schedule.assumptions = tuning.policy.assumptions;
    // This job may be shorter than the one that the run began in.
    let (budget, remark) = allotted::within(tuning.budget, started.allocation.as_ref())?;
    remark.iter().for_each(|remark| session.say(remark));
    Ok((started, manifest, campaign, Tuning { budget, ..tuning.clone() }, true))
}

/// The options of a run that is to be resumed.
pub fn options_of(directory: &Path) -> Result<Tuning, WorkflowError> {
    let run = RunDir::open(directory)?;
    let manifest = run.manifest()?;
    resume::refuse_comparison(&run, &manifest)?;
    resume::options(&run, &manifest)
}

/// Finds out who serves the calls of the plan, which becomes a part of it.
fn find_served(
    started: &mut Started,
    run: &RunDir,
    manifest: &mut Manifest,
    tuning: &Tuning,
    session: &mut Session<'_>,
) -> Result<(), WorkflowError> {
    // Where algorithms are named, others are not wanted.
    let with_han = |collective| {
        tuning.grid.mockups.as_ref().is_none_or(|mockups| mockups.remedies)
            && tuning.grid.only.iter().all(|(named, _)| *named != collective)
    };
    let Started { backend, survey, release, .. } = started;
    served::find(backend.as_mut(), run, &mut manifest.plan, survey, *release, session)?;
    served::add_han(&mut manifest.plan, *release, with_han, &tuning.grid.han_settings, session);
    run.write_manifest(manifest)?;
    Ok(())
}

/// The manifest of a run that begins now.
pub(crate) fn manifest(
    request: Request,
    backend: &dyn Backend,
    survey: &Survey,
    plan: &Plan,
    pins: &Pins,
    command: Vec<String>,
) -> Manifest {
    let system = match &request {
        Request::Tune(tuning) => &tuning.system,
        Request::Validate(validating) => &validating.system,
    };
    Manifest {
        merged: Vec::new(),
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: manifest::now(),
        backend: backend.name().to_owned(),
        command,
        launcher: backend.launcher(plan),
        environment: start::environment(),
        allocations: Vec::new(),
        host: if system.is_simulated() { Default::default() } else { manifest::host() },
        pins: pins.clone(),
        survey: survey.clone(),
        plan: plan.clone(),
        request: Some(request),
    }
}

/// What to know about a plan before it is measured.
pub fn remarks_on(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (why, cells) in grouped(&plan.skipped) {
        let more = match cells.len() {
            1 => String::new(),
            2 => " and 1 more cell like it".to_owned(),
            all => format!(" and {} more cells like it", all - 1),
        };
        lines.push(format!("left out: {}{more}: {why}", cells[0]));
    }
    if !plan.separate.is_empty() {
        let names: Vec<&str> = plan.separate.collectives.iter().map(|collective| collective.name()).collect();
        lines.push(format!(
            "{}: each candidate has launches of its own, {} series and {} launches in all{}",
            names.join(", "),
            plan.separate.series,
            separate::starts_apart(plan),
            if plan.separate.series < separate::LEAST_SERIES {
                "; the builtin stays, since a test takes more series: a longer --budget, or more --launches, has them"
            } else {
                ""
            },
        ));
    }
    lines
}

/// Cells that are left out, by collective and reason.
fn grouped(skipped: &[Skipped]) -> Vec<(&str, Vec<Cell>)> {
    let mut groups: Vec<(&str, Vec<Cell>)> = Vec::new();
    for Skipped { cell, why } in skipped {
        let alike = |(known, cells): &&mut (&str, Vec<Cell>)| *known == why && cells[0].collective == cell.collective;
        match groups.iter_mut().find(alike) {
            Some((_, cells)) => cells.push(*cell),
            None => groups.push((why, vec![*cell])),
        }
    }
    groups
}

/// A run directory that is measured into, held for this process.
pub(crate) struct Campaign {
    pub(crate) run: RunDir,
    log: RunLog,
    /// Planned launches so far.
    planned: u32,
    /// When pairs of launches shall be over.
    pub(crate) until: Option<Instant>,
    /// The longest time in which a launch visited every cell once.
    pub(crate) pass: Duration,
}

impl Campaign {
    /// Holds the directory.
    pub(crate) fn new(run: RunDir) -> Result<Self, WorkflowError> {
        let log = run.log()?;
        Ok(Self { run, log, planned: 0, until: None, pass: Duration::ZERO })
    }

    /// Measures what is left of a plan, whose launches are numbered after those of the plans before.
    pub(crate) fn measure(
        &mut self,
        plan: &Plan,
        backend: &mut dyn Backend,
        session: &mut Session<'_>,
    ) -> Result<(), WorkflowError> {
        let first = self.planned;
        self.planned += separate::starts(plan).len() as u32;
        session.tell(Event::Planned { plan, first });
        let mut tally = Tally::default();
        let policy = Policy { until: self.until, ..session.policy() };
        let result =
            campaign::measure(first, backend, plan, &mut self.log, &policy, &mut tally, &mut |launch, notice| {
                session.tell(Event::Launch(launch, notice));
            });
        self.pass = self.pass.max(tally.pass);
        session.tell(Event::Measured(&tally, result.as_ref().err()));
        result.map_err(|cause| self.incomplete(cause, &tally, plan))
    }

    /// Measures one further plan after another, until `next` has none: it gets the number of the plan, from 1 on. Each is
    /// kept in the directory before it is measured, so that a campaign that is resumed measures the same.
    pub(crate) fn further(
        &mut self,
        backend: &mut dyn Backend,
        session: &mut Session<'_>,
        mut next: impl FnMut(&RunDir, u32, &mut Session<'_>) -> Result<Option<Plan>, WorkflowError>,
    ) -> Result<(), WorkflowError> {
        for number in 1.. {
            let plan = match self.run.refinement(number)? {
                Some(plan) => plan,
                None => {
                    let Some(plan) = next(&self.run, number, session)? else { break };
                    self.run.write_refinement(number, &plan)?;
                    plan
                }
            };
            self.measure(&plan, backend, session)?;
        }
        Ok(())
    }

    fn incomplete(&self, cause: RunnerError, tally: &Tally, plan: &Plan) -> WorkflowError {
        WorkflowError::Incomplete {
            cause: Box::new(cause),
            samples: tally.samples,
            cells: tally.cells,
            planned: plan.cells.len(),
            kept: self.run.file(rundir::SAMPLES).display().to_string(),
            run: self.run.path().display().to_string(),
        }
    }
}
