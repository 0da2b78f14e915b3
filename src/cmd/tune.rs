//! `collrules tune`: all of it.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use collrules_record::findings::Findings;
use collrules_record::manifest::{self, Manifest};
use collrules_record::plan::Schedule;
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Seconds;
use collrules_record::{Cell, Plan, Survey};
use collrules_report::markdown::Context;
use collrules_runner::campaign::{self, Tally};
use collrules_runner::grid::Grid;
use collrules_runner::proof::{self, Proof};
use collrules_runner::simulate::{Scenario, Simulation};
use collrules_runner::{Backend, RunnerError};

use super::analyze::findings_of_run;
use super::conclude;
use super::foresee;
use super::refine;
use super::served;
use super::start::{self, Started};
use crate::args::{ScenarioArg, Tune};
use crate::deliver::{self, Pins};
use crate::failure::Failure;
use crate::progress::{Progress, say};

/// Jobs beside the survey that do not measure: before, whether `coll/tuned` serves the calls; afterwards, whether the
/// file is obeyed, and whether data are right under it.
pub(super) const PROOF_JOBS: f64 = 3.0;

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    let begin = Instant::now();
    let Started { mut backend, survey, release, pins } = start(args)?;
    let mut plan = grid(args).plan(&survey, args.launches, schedule(args, begin.elapsed()), args.seed)?;
    if args.dry_run {
        return foresee::print(backend.as_mut(), &plan, &survey, args.budget, begin.elapsed());
    }
    let mut manifest = manifest(args, backend.as_ref(), &survey, &plan, &pins);
    let run = RunDir::create(args.out.clone().unwrap_or_else(default_out), &manifest)?;
    backend.use_scratch(run.path());
    if let Err(failure) = served::find(backend.as_mut(), &run, &mut plan, &survey, release) {
        // Nothing was measured: the directory may be used again.
        run.discard()?;
        return Err(failure);
    }
    manifest.plan = plan.clone();
    run.write(rundir::MANIFEST, &(serde_json::to_string_pretty(&manifest)? + "\n"))?;
    measure(args, backend.as_mut(), &run, &plan)?;

    let findings = findings_of_run(&run, &manifest, release, &args.criteria, args.policy.policy())?;
    let findings = refine::rounds(args, backend.as_mut(), &run, &manifest, release, findings)?;
    let pins = served::pins(&pins, &findings);
    backend.pin(&findings.pins);
    deliver::rules(&run, &findings, rundir::UNPROVEN)?;
    let cells: Vec<Cell> = findings.cells.iter().map(|cell| cell.cell).collect();
    let unproven = run.file(rundir::UNPROVEN);
    let proof = proof::prove(backend.as_mut(), &unproven, run.path(), &findings.table, release, &cells)?;
    if !proof.faults.is_empty() {
        let file = unproven.display();
        let what = format!("the rules are NOT obeyed by this Open MPI; {file} must not be installed");
        return Err(Failure::unproven(what, &proof));
    }
    run.rename(rundir::UNPROVEN, rundir::RULES)?;
    deliver::settings(&run, &pins)?;
    let context = Context {
        manifest: Some(&manifest),
        switch_on: deliver::switch_on(&run, &findings, &pins),
        proof: shown(&findings, &proof, backend.name(), &survey),
    };
    deliver::report(&run, &findings, &context)?;
    conclude::print(&run, &findings, &context.switch_on, &context.proof)
}

/// The backend and what it finds.
fn start(args: &Tune) -> Result<Started, RunnerError> {
    let Some(scenario) = args.simulate.simulate else { return start::mpi(&args.launch) };
    let scenario = match scenario {
        ScenarioArg::Stale => Scenario::Stale,
        ScenarioArg::Perfect => Scenario::Perfect,
        ScenarioArg::Noise => Scenario::Noise,
    };
    let release = args.simulate.simulated_release;
    let mut simulation = Simulation::new(scenario, release, args.simulate.simulated_slots.0);
    let survey = simulation.survey()?;
    Ok(Started { backend: Box::new(simulation), survey, release, pins: Pins::new() })
}

/// How to spend the time. The budget is for the whole command: starting jobs, of which the survey was one and took
/// `survey`, measuring, and showing that the file is obeyed, which takes three more jobs.
fn schedule(args: &Tune, survey: Duration) -> Schedule {
    let startup = if args.simulate.simulate.is_some() { 0.0 } else { survey.as_secs_f64() };
    let launches = f64::from(args.launches);
    let measuring = args
        .budget
        .0
        .map(|budget| (budget.0 * refine::grid_share(&args.refine) - startup * (1.0 + PROOF_JOBS + launches)).max(0.0));
    Schedule {
        budget: measuring.map(|seconds| Seconds(seconds / launches)),
        startup: Seconds(startup),
        min_gain: args.criteria.min_gain,
        sync: args.timing.sync.into(),
        clock_bound: args.timing.clock_bound,
        separate_clocks: args.timing.separate_clocks,
        ..Schedule::default()
    }
}

fn grid(args: &Tune) -> Grid {
    Grid {
        collectives: args.ops.0.clone(),
        ranks: args.np.clone(),
        sizes: args.sizes.0.clone(),
        segments: args.segments.clone(),
        fanouts: args.fanouts.clone(),
        requests: args.requests.clone(),
        memory: args.max_memory,
        launch_per_candidate: args.launch_per_candidate,
        oversubscribe: args.launch.oversubscribes(),
        layout: args.launch.layout,
    }
}

fn measure(args: &Tune, backend: &mut dyn Backend, run: &RunDir, plan: &Plan) -> Result<(), Failure> {
    say(&format!(
        "measuring {} points in {} cells, {} launches, {}, into {}",
        plan.points(),
        plan.cells.len(),
        plan.launches,
        args.budget,
        run.path().display(),
    ));
    foresee::remarks_on(plan).iter().for_each(|line| say(line));
    let mut writer = run.appender()?;
    let mut progress = Progress::new(plan);
    let mut tally = Tally::default();
    let result =
        campaign::measure(backend, plan, &mut writer, &mut tally, &mut |launch, event| progress.see(launch, event));
    result.map_err(|cause| match tally.samples {
        0 => cause.into(),
        samples => Failure::Incomplete {
            cause: Box::new(cause),
            samples,
            cells: tally.cells,
            planned: plan.cells.len(),
            kept: run.file(rundir::SAMPLES).display().to_string(),
            run: run.path().display().to_string(),
        },
    })
}

fn shown(findings: &Findings, proof: &Proof, backend: &str, survey: &Survey) -> Vec<String> {
    if findings.table.is_empty() {
        return vec!["There is no rule whose effect could be shown.".to_owned()];
    }
    let who = if backend == "mpi" {
        format!("Open MPI {}", survey.version)
    } else {
        format!("The simulated Open MPI {}", survey.version)
    };
    let ruled: Vec<&str> = findings.table.collectives().map(|(collective, _)| collective.name()).collect();
    vec![
        format!(
            "{who} accepts the rules file and serves all {} measured cells of {} by the intended rule ({} calls, on both \
             sides of every boundary within reach).",
            proof.cells,
            ruled.join(", "),
            proof.probed,
        ),
        format!("With the file in force, {} calls with checked data were right.", proof.used),
    ]
}

fn manifest(args: &Tune, backend: &dyn Backend, survey: &Survey, plan: &Plan, pins: &Pins) -> Manifest {
    let of_open_mpi = |name: &str| ["OMPI_", "PRTE_", "PMIX_"].iter().any(|prefix| name.starts_with(prefix));
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())))
        .filter(|(name, _)| of_open_mpi(name));
    Manifest {
        format: manifest::FORMAT,
        collrules: env!("CARGO_PKG_VERSION").to_owned(),
        started: manifest::now(),
        backend: backend.name().to_owned(),
        command: env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        launcher: backend.launcher(plan),
        environment: environment.collect(),
        host: if args.simulate.simulate.is_some() { BTreeMap::new() } else { manifest::host() },
        pins: pins.clone(),
        survey: survey.clone(),
        plan: plan.clone(),
    }
}

/// A directory named after the time, so that one call does not get in the way of another.
fn default_out() -> PathBuf {
    PathBuf::from(format!("collrules-run-{}", manifest::stamp()))
}
