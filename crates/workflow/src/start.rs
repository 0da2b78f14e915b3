//! Getting ready to launch jobs: the backend, what it finds, and the settings that it needs.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use collrules_record::options::{Jobs, Launching, System};
use collrules_record::units::Seconds;
use collrules_record::{Component, Survey};
use collrules_rules::Release;
use collrules_runner::grid::known_release;
use collrules_runner::mpi::{Launcher, MpiBackend, Wishes};
use collrules_runner::simulate::Simulation;
use collrules_runner::{Backend, RunnerError};

/// MCA settings by name.
pub type Pins = BTreeMap<String, String>;

/// A backend with the survey of its system.
pub struct Started<B = Box<dyn Backend>> {
    /// What carries out jobs.
    pub backend: B,
    /// What it found.
    pub survey: Survey,
    /// The release that was found.
    pub release: Release,
    /// MCA settings that are in force in every launch, and that the rules need as well.
    pub pins: Pins,
    /// What starting a job takes: none in a simulation.
    pub startup: Seconds,
}

/// Starts what the options name, and surveys it.
pub fn start(system: &System, stop: &Arc<AtomicBool>) -> Result<Started, RunnerError> {
    match &system.jobs {
        Jobs::Mpi(launching) => {
            let System { layout, oversubscribe, .. } = *system;
            let system = System { layout, oversubscribe, jobs: launching.clone() };
            let Started { backend, survey, release, pins, startup } = mpi(&system, stop)?;
            Ok(Started { backend: Box::new(backend), survey, release, pins, startup })
        }
        Jobs::Simulation(simulated) => {
            let mut simulation = Simulation::new(simulated.scenario, simulated.release, simulated.slots.0);
            Ok(Started {
                survey: simulation.survey()?,
                backend: Box::new(simulation),
                release: simulated.release,
                pins: Pins::new(),
                startup: Seconds(0.0),
            })
        }
    }
}

/// A backend that launches jobs, with the survey of its system.
pub fn mpi(system: &System<Launching>, stop: &Arc<AtomicBool>) -> Result<Started<MpiBackend>, RunnerError> {
    let begin = Instant::now();
    let launcher = launcher(system, stop)?;
    let mut pins = settings_in_force(&launcher);
    let mut backend = MpiBackend::new(launcher, system.layout);
    let survey = backend.survey()?;
    let release = known_release(&survey)?;
    let has_han = survey.components.get(&Component::HAN) >= survey.components.get(&Component::TUNED);
    if system.jobs.disable_han && has_han && survey.hosts.iter().any(|host| *host != survey.hosts[0]) {
        let off = Pins::from([("coll_han_priority".to_owned(), "0".to_owned())]);
        backend.pin(&off);
        pins.extend(off);
    }
    Ok(Started { backend, survey, release, pins, startup: Seconds(begin.elapsed().as_secs_f64()) })
}

/// A backend that launches jobs, without looking at its system.
pub fn launching(system: &System<Launching>, stop: &Arc<AtomicBool>) -> Result<MpiBackend, RunnerError> {
    Ok(MpiBackend::new(launcher(system, stop)?, system.layout))
}

/// How the options start jobs.
pub fn launcher(system: &System<Launching>, stop: &Arc<AtomicBool>) -> Result<Launcher, RunnerError> {
    let launching = &system.jobs;
    Launcher::find(&Wishes {
        mpirun: launching.mpirun.clone(),
        worker: launching.worker.clone(),
        arguments: launching.arguments.clone(),
        oversubscribe: system.oversubscribe,
        patience: Duration::from_secs_f64(launching.hang_timeout.0.clamp(1.0, 1e9)),
        stop: Arc::clone(stop),
    })
}

/// Whether more ranks than slots are meant: said in the options, or to Open MPI itself.
pub fn oversubscribes(said: bool) -> bool {
    let set = |name: &str| env::var(name).unwrap_or_default().to_ascii_lowercase();
    said || matches!(set("OMPI_MCA_rmaps_base_oversubscribe").as_str(), "1" | "true" | "yes")
        || set("PRTE_MCA_rmaps_default_mapping_policy").contains(":oversubscribe")
        || set("OMPI_MCA_rmaps_base_mapping_policy").contains(":oversubscribe")
}

/// Variables of the environment that Open MPI reads.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let of_open_mpi = |name: &str| ["OMPI_", "PRTE_", "PMIX_"].iter().any(|prefix| name.starts_with(prefix));
    let all = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned())));
    all.filter(|(name, _)| of_open_mpi(name)).collect()
}

/// Settings that the user gives to Open MPI about which component serves collectives, and how: what is measured under
/// them holds under them only. Those about algorithms of `coll/tuned` have no part in it.
fn settings_in_force(launcher: &Launcher) -> Pins {
    let environment =
        environment().into_iter().filter_map(|(name, value)| Some((name.strip_prefix("OMPI_MCA_")?.to_owned(), value)));
    // Options of mpirun are stronger than the environment.
    let mut settings: Pins = environment.chain(launcher.user_settings()).collect();
    settings.retain(|name, _| {
        let about_components =
            name.starts_with("coll_") && !name.starts_with("coll_tuned_") && name != "coll_base_verbose";
        name == "coll" || name == "coll_tuned_priority" || about_components
    });
    settings
}
