//! `collrules doctor`: reports installation, components used, obstacles, and the remedy for each problem.

mod finding;
mod job;
mod local;

use std::collections::BTreeMap;
use std::path::PathBuf;

use collrules_record::options::{Launching, SystemOptions};
use collrules_record::plan::{Deployment, Schedule};
use collrules_record::units::Bytes;
use collrules_record::{Cell, Launch, Placement, Survey};
use collrules_rules::{Collective, Release};
use collrules_runner::grid::known_release;
use collrules_runner::launch::LaunchPlan;
use collrules_runner::mpi::MpiBackend;
use collrules_runner::mpi::worker::describe_worker;
use collrules_runner::turns::JobFailure;
use collrules_runner::{Backend, RunnerError, running};
use collrules_workflow::WorkflowError;
use collrules_workflow::start;

use self::finding::{DoctorFinding, FindingState};
use crate::exit::Exit;
use crate::interrupt;
use crate::options::Given;
use crate::screen;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if collrules can measure here, though perhaps with warnings; 4 if something has to be \
                  fixed first."
)]
pub(crate) struct Doctor {
    // First: reading an option takes it.
    #[command(flatten)]
    pub(crate) given: Given,
    /// Directory for a file that exists while the command runs; all nodes have to see it
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) scratch: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) system: SystemOptions<Launching>,
}

pub(crate) fn run(args: &Doctor) -> Result<Exit, WorkflowError> {
    let findings = examine(args);
    let able = !findings.iter().any(|finding| finding.state == FindingState::Problem);
    screen::print(&if args.json {
        serde_json::to_string_pretty(&finding::json(&findings, able))?
    } else {
        finding::lines(&findings, able).join("\n")
    })?;
    Ok(if able { Exit::DONE } else { Exit::ENVIRONMENT })
}

/// Longest silence of a trial job, in seconds, unless the user names another one: hosts that do not answer are a finding.
const PATIENCE: f64 = 30.0;

/// All findings, in order of dependence; checks that a failure makes pointless are left out.
fn examine(args: &Doctor) -> Vec<DoctorFinding> {
    let mut system = args.system.clone();
    if !args.given.has("hang_timeout") {
        system.jobs.hang_timeout.0 = PATIENCE;
    }
    let system = &system;
    let mut findings = vec![local::user()];
    let job = collrules_batch::find_job(&collrules_batch::System);
    findings.extend(local::allocation(job.as_ref()));
    findings.push(local::load());
    let launcher = match start::launcher(system, &interrupt::flag()) {
        Ok(launcher) => launcher,
        Err(error) => {
            let is_of_worker = matches!(
                error,
                RunnerError::NoWorker { .. } | RunnerError::NoSuchWorker(_) | RunnerError::WrongWorker { .. }
            );
            let subject = if is_of_worker { "worker" } else { "launcher" };
            findings.push(DoctorFinding::problem(subject, error.to_string()));
            return findings;
        }
    };
    if let Some(template) = launcher.template() {
        findings.push(DoctorFinding::ok("launcher", template));
    }
    if let Some((mpirun, version)) = launcher.mpirun() {
        findings.push(DoctorFinding::ok("launcher", format!("Open MPI {version}: {}", mpirun.display())));
    }
    let worker = describe_worker(launcher.worker(), system.jobs.worker.is_some());
    findings.push(DoctorFinding::ok("worker", worker));
    let parameters = launcher.parameters().unwrap_or_default();
    let mut backend = MpiBackend::new(launcher, system.layout);
    findings.extend(local::settings(backend.given_settings(), &parameters));
    let survey = match backend.survey() {
        Ok(survey) => survey,
        Err(error) => {
            let is_silent = matches!(error, RunnerError::StartHung { .. });
            let found = DoctorFinding::problem("job", format!("a trial job fails: {error}"));
            let remedy = "a host may not answer: try `ssh HOST true` for each, and leave out those that do not";
            findings.push(if is_silent { found.remedy(remedy) } else { found });
            return findings;
        }
    };
    findings.extend(job::examine(&survey));
    let allocation = job.as_ref().map(|job| &job.allocation);
    let is_chosen = !system.jobs.arguments.is_empty() || system.jobs.launcher.is_some();
    findings.extend(allocation.and_then(|it| job::compare_allocation(&survey, it)).filter(|_| !is_chosen));
    findings.push(compare_side_by_side(&mut backend, &survey));
    match known_release(&survey) {
        Err(error) => findings.push(DoctorFinding::problem("release", error.to_string())),
        Ok(release) => {
            findings.push(DoctorFinding::ok("release", format!("{}: release {release}", survey.library)));
            findings.extend(list_components(args, &mut backend, &survey, release));
        }
    }
    findings
}

/// Checks that two jobs can live at the same time, since comparisons side by side need fewer launches.
fn compare_side_by_side(backend: &mut MpiBackend, survey: &Survey) -> DoctorFinding {
    let plan = LaunchPlan {
        ranks: survey.slots(),
        launch: Launch::Arm { block: 0 },
        deployment: Some(Deployment::new(BTreeMap::new())),
        ..LaunchPlan::new(Vec::new(), Schedule::default(), 0)
    };
    let ended = backend.start_jobs(&[plan.clone(), plan]).and_then(|mut jobs| jobs.end());
    match ended {
        Ok(_) => {
            DoctorFinding::ok("comparison", "two jobs can live at the same time: launches are compared side by side")
        }
        Err(JobFailure { error, .. }) => {
            let why = error.to_string();
            let why = why.lines().next().unwrap_or_default().to_owned();
            DoctorFinding::note("comparison", format!("launches are compared one after the other: {why}"))
        }
    }
}

/// Reports the component that each collective uses on all slots.
fn list_components(args: &Doctor, backend: &mut MpiBackend, survey: &Survey, release: Release) -> Vec<DoctorFinding> {
    let layout = args.system.layout;
    let ranks = layout.most(&survey.hosts);
    if ranks.0 < 2 {
        return Vec::new();
    }
    let nodes = layout.nodes(&survey.hosts, ranks);
    let (place, several) = (nodes.to_string(), nodes.are_several());
    let placement = Placement { layout, nodes: BTreeMap::from([(ranks, nodes)]), ..Placement::default() };
    let bytes = |collective: Collective| Bytes(if collective.has_sizes() { 1024 } else { 0 });
    let cells: Vec<Cell> = Collective::ALL
        .iter()
        .map(|collective| Cell { collective: *collective, ranks, bytes: bytes(*collective) })
        .collect();
    let found = match running::find(backend, &args.scratch, &cells, release, &survey.components, &placement) {
        Ok(found) => found,
        Err(error) => {
            let remedy = "look for coll and coll_..._priority among the settings above, in OMPI_MCA_ variables and in \
                          --mpirun-args, and remove them";
            return vec![DoctorFinding::problem("components", error.to_string()).remedy(remedy)];
        }
    };
    let mut disagreements = BTreeMap::new();
    if ranks == survey.slots() {
        // Missing output is no finding: the calls give more information.
        let listed = backend.list_running().unwrap_or_default();
        for running in &found {
            let by = running.by.to_string();
            if let Some(listed) = listed.get(&running.collective).filter(|listed| **listed != by) {
                disagreements.entry((listed.clone(), by)).or_insert_with(Vec::new).push(running.collective.name());
            }
        }
    }
    let mut by = BTreeMap::new();
    for running in found {
        by.entry((running.by, running.without)).or_insert_with(Vec::new).push(running.collective.name());
    }
    let finding = |((component, without), collectives): ((_, Vec<_>), Vec<&str>)| {
        let what = format!("{component} runs {} on {ranks} ranks, {place}", collectives.join(", "));
        if without.is_empty() {
            return DoctorFinding::ok("components", what);
        }
        let remedy = "rules alone change nothing there; tune also measures it, and writes the settings that the rules \
                      need";
        DoctorFinding::note("components", what).remedy(remedy)
    };
    let mut findings: Vec<DoctorFinding> = by.into_iter().map(finding).collect();
    findings.extend(disagreements.into_iter().map(|((listed, by), collectives)| {
        DoctorFinding::note(
            "components",
            format!(
                "coll_base_verbose lists {listed} for {}, but their calls go to {by}. The calls count: a component may \
                 step back at the first one, as HAN does in alltoall and alltoallv without XPMEM, and coll/tuned runs \
                 scan and exscan once a file has rules for them",
                collectives.join(", ")
            ),
        )
    }));
    if several && survey.hosts.len() > ranks.0 as usize {
        findings.push(DoctorFinding::note(
            "layout",
            format!("{ranks} of {} slots are used by this layout", survey.hosts.len()),
        ));
    }
    findings
}
