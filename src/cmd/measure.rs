//! `collrules measure`: plans, or goes on with a plan, and measures.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::time::Instant;

use collrules_record::manifest::{self, Manifest};
use collrules_record::rundir::{self, RunDir, RunLog};
use collrules_record::{Plan, Survey};
use collrules_runner::campaign::{self, Policy, Tally};
use collrules_runner::simulate::{Scenario, Simulation};
use collrules_runner::{Backend, RunnerError};

use super::start::{self, Started};
use super::{analyze, foresee, plan, resume, served};
use crate::args::{Launch, ScenarioArg, Simulate, Tune};
use crate::deliver::{self, Pins};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::{Reporter, say};

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    if args.dry_run {
        return plan::run(args);
    }
    let Measured { run, .. } = campaign(args)?;
    let run = run.path().display();
    say(&format!(
        "`collrules tune --resume {run}` makes the rules and proves them, `collrules analyze {run}` needs no MPI"
    ));
    Ok(())
}

/// A campaign that is measured.
pub(super) struct Measured {
    pub(super) started: Started,
    pub(super) manifest: Manifest,
    pub(super) run: RunDir,
    /// The options in force: those of the command that began the run, and what this one says.
    pub(super) options: Tune,
    pub(super) reporter: Reporter,
    /// Keeps others from the directory as long as it lives.
    pub(super) log: RunLog,
}

/// Begins a run or goes on with one, and measures all that is left.
pub(super) fn campaign(args: &Tune) -> Result<Measured, Failure> {
    let _ = interrupt::flag();
    let (mut started, mut manifest, run, mut log, options) = match &args.session.resume {
        Some(directory) => go_on(directory)?,
        None => begin(args)?,
    };
    if !log.is_locked() {
        say("this file system has no locks: see to it that no other collrules measures into the directory");
    }
    started.backend.use_scratch(run.path());
    let result = match log.past_samples() {
        // With samples this was found out in an earlier session.
        0 => find_served(&mut started, &run, &mut manifest),
        _ => Ok(()),
    };
    if let Err(failure) = result {
        drop(log);
        if args.session.resume.is_none() {
            // Nothing was measured: the directory may be used again.
            run.discard()?;
        }
        return Err(failure);
    }
    let plan = &manifest.plan;
    let mut reporter = Reporter::new(&options.session, run.path(), plan);
    let mut tally = Tally::default();
    let policy = Policy { failures: options.session.failures, stop: interrupt::flag() };
    let result =
        campaign::measure(started.backend.as_mut(), plan, &mut log, &policy, &mut tally, &mut |launch, notice| {
            reporter.see(launch, notice);
        });
    reporter.measured(&tally, result.as_ref().err());
    result.map_err(|cause| Failure::Incomplete {
        cause: Box::new(cause),
        samples: tally.samples,
        cells: tally.cells,
        planned: plan.cells.len(),
        kept: run.file(rundir::SAMPLES).display().to_string(),
        run: run.path().display().to_string(),
    })?;
    Ok(Measured { started, manifest, run, options, reporter, log })
}

/// What a session works with.
type Session = (Started, Manifest, RunDir, RunLog, Tune);

fn begin(args: &Tune) -> Result<Session, Failure> {
    let begin = Instant::now();
    let out = args.out.clone().unwrap_or_else(default_out);
    deliver::refuse_unnameable(&out)?;
    let started = start(&args.launch, &args.simulate)?;
    let plan = plan::of(args, &started.survey, begin.elapsed())?;
    foresee::remarks_on(&plan).iter().for_each(|line| say(line));
    let manifest = manifest(args, started.backend.as_ref(), &started.survey, &plan, &started.pins);
    let run = RunDir::create(out, &manifest)?;
    let log = run.log()?;
    Ok((started, manifest, run, log, args.clone()))
}

fn go_on(directory: &std::path::Path) -> Result<Session, Failure> {
    let run = RunDir::open(directory)?;
    // Before anything is started: two jobs at once would disturb each other.
    let log = run.log()?;
    let manifest = run.manifest()?;
    analyze::refuse_comparison(&run, &manifest)?;
    let options = resume::options(&manifest)?;
    let started = start(&options.launch, &options.simulate)?;
    resume::refuse_other_system(&run, &manifest, &started)?;
    Ok((started, manifest, run, log, options))
}

/// The backend and what it finds.
pub(super) fn start(launch: &Launch, simulate: &Simulate) -> Result<Started, RunnerError> {
    let Some(scenario) = simulate.simulate else { return start::mpi(launch) };
    let scenario = match scenario {
        ScenarioArg::Stale => Scenario::Stale,
        ScenarioArg::Perfect => Scenario::Perfect,
        ScenarioArg::Noise => Scenario::Noise,
        ScenarioArg::Deceptive => Scenario::Deceptive,
    };
    let release = simulate.simulated_release;
    let mut simulation = Simulation::new(scenario, release, simulate.simulated_slots.0);
    let survey = simulation.survey()?;
    Ok(Started { backend: Box::new(simulation), survey, release, pins: Pins::new() })
}

/// Finds out who serves the calls of the plan, which becomes a part of it.
fn find_served(started: &mut Started, run: &RunDir, manifest: &mut Manifest) -> Result<(), Failure> {
    let Started { backend, survey, release, .. } = started;
    served::find(backend.as_mut(), run, &mut manifest.plan, survey, *release)?;
    Ok(run.write_manifest(manifest)?)
}

fn manifest(args: &Tune, backend: &dyn Backend, survey: &Survey, plan: &Plan, pins: &Pins) -> Manifest {
    Manifest {
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: manifest::now(),
        backend: backend.name().to_owned(),
        command: if args.command.is_empty() {
            env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
        } else {
            args.command.clone()
        },
        launcher: backend.launcher(plan),
        environment: environment(),
        host: if args.simulate.simulate.is_some() { BTreeMap::new() } else { manifest::host() },
        pins: pins.clone(),
        survey: survey.clone(),
        plan: plan.clone(),
    }
}

/// Variables that Open MPI reads.
pub(super) fn environment() -> BTreeMap<String, String> {
    let of_open_mpi = |name: &str| ["OMPI_", "PRTE_", "PMIX_"].iter().any(|prefix| name.starts_with(prefix));
    let all = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())));
    all.filter(|(name, _)| of_open_mpi(name)).collect()
}

/// A directory named after the time, so that one call does not get in the way of another.
fn default_out() -> PathBuf {
    PathBuf::from(format!("collrules-run-{}", manifest::stamp()))
}
