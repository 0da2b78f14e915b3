//! `collrules tune`: all of it.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use collrules_record::findings::Findings;
use collrules_record::manifest::{self, Manifest};
use collrules_record::plan::{Schedule, Shared, Skipped};
use collrules_record::rundir::{self, RunDir};
use collrules_record::units::Seconds;
use collrules_record::{Cell, Plan, Survey};
use collrules_report::markdown::Context;
use collrules_runner::campaign::{self, Tally};
use collrules_runner::grid::Grid;
use collrules_runner::proof::{self, Proof};
use collrules_runner::separate::{self, Start};
use collrules_runner::simulate::{Scenario, Simulation};
use collrules_runner::{Backend, RunnerError};

use super::analyze::findings_of_run;
use super::conclude;
use super::refine;
use super::served;
use super::start::{self, Started};
use crate::args::{ScenarioArg, Tune};
use crate::deliver::{self, Pins};
use crate::failure::Failure;
use crate::progress::{Progress, say};

pub(crate) fn run(args: &Tune) -> Result<(), Failure> {
    let Started { mut backend, survey, release, pins } = start(args)?;
    let budget = Seconds(args.budget.0 * refine::grid_share(&args.refine) / f64::from(args.launches));
    let mut plan = grid(args).plan(&survey, args.launches, Schedule { budget, ..Schedule::default() }, args.seed)?;
    if args.dry_run {
        return dry_run(&plan, &survey);
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

fn dry_run(plan: &Plan, survey: &Survey) -> Result<(), Failure> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let mut lines = vec![survey.library.clone()];
    for planned in &plan.cells {
        let candidates: Vec<String> = planned.candidates.iter().map(ToString::to_string).collect();
        lines.push(format!("{}: {}", planned.cell, candidates.join(" ")));
        let shared = planned.shared.iter();
        lines.extend(
            shared.map(|Shared { candidate, measured_as, why }| format!("    {candidate} is {measured_as}: {why}")),
        );
    }
    lines.extend(remarks_on(plan));
    lines.push(format!(
        "{} cells, {} points, {} launches; measuring ends after about {}, or one visit to each cell per launch",
        plan.cells.len(),
        plan.points(),
        plan.launches,
        plan.budget(),
    ));
    lines.iter().try_for_each(|line| writeln!(out, "{line}")).map_err(Failure::Stdout)
}

/// What to know about a plan before it is measured.
fn remarks_on(plan: &Plan) -> Vec<String> {
    let mut lines = Vec::new();
    for (why, cells) in grouped(&plan.skipped) {
        let more = if cells.len() > 1 { format!(" and {} more cells like it", cells.len() - 1) } else { String::new() };
        lines.push(format!("left out: {}{more}: {why}", cells[0]));
    }
    if !plan.separate.is_empty() {
        let names: Vec<&str> = plan.separate.collectives.iter().map(|collective| collective.name()).collect();
        lines.push(format!(
            "{}: a launch for each candidate, in {} series, {} launches in all",
            names.join(", "),
            plan.separate.series,
            separate::starts(plan).iter().filter(|start| matches!(start, Start::Alone { .. })).count(),
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

fn measure(args: &Tune, backend: &mut dyn Backend, run: &RunDir, plan: &Plan) -> Result<(), Failure> {
    say(&format!(
        "measuring {} points in {} cells, {} launches, for about {} at most, into {}",
        plan.points(),
        plan.cells.len(),
        plan.launches,
        args.budget,
        run.path().display(),
    ));
    remarks_on(plan).iter().for_each(|line| say(line));
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
