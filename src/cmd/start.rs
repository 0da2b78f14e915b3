//! Getting ready to launch jobs: the backend, what it finds, and the settings that it needs.

use std::env;
use std::time::Duration;

use collrules_record::{Component, Survey};
use collrules_rules::Release;
use collrules_runner::grid::known_release;
use collrules_runner::mpi::{Launcher, MpiBackend, Wishes};
use collrules_runner::{Backend, RunnerError};

use crate::args::Launch;
use crate::deliver::Pins;
use crate::interrupt;

/// A backend that launches, with the survey of its system.
pub(super) struct Started {
    pub(super) backend: Box<dyn Backend>,
    pub(super) survey: Survey,
    pub(super) release: Release,
    /// MCA settings that are in force in every launch, and that the rules need as well.
    pub(super) pins: Pins,
}

/// Finds launcher and worker, and surveys the system.
pub(super) fn mpi(args: &Launch) -> Result<Started, RunnerError> {
    let (backend, survey, release, pins) = tuning(args)?;
    Ok(Started { backend: Box::new(backend), survey, release, pins })
}

/// A backend that launches jobs, whatever they do there.
pub(super) fn launching(args: &Launch) -> Result<MpiBackend, RunnerError> {
    Ok(MpiBackend::new(Launcher::find(&wishes(args))?).laid_out(args.layout))
}

/// What the command line says about launching.
pub(super) fn wishes(args: &Launch) -> Wishes {
    Wishes {
        mpirun: args.mpirun.clone(),
        worker: args.worker.clone(),
        arguments: args.mpirun_args.clone(),
        oversubscribe: args.oversubscribe,
        patience: Duration::from_secs_f64(args.hang_timeout.0.clamp(1.0, 1e9)),
        stop: interrupt::flag(),
    }
}

/// The same as [`mpi`], with the backend as what it is.
pub(super) fn tuning(args: &Launch) -> Result<(MpiBackend, Survey, Release, Pins), RunnerError> {
    let launcher = Launcher::find(&wishes(args))?;
    let mut pins = settings_in_force(&launcher);
    let mut backend = MpiBackend::new(launcher).laid_out(args.layout);
    let survey = backend.survey()?;
    let release = known_release(&survey)?;
    let has_han = survey.components.get(&Component::HAN) >= survey.components.get(&Component::TUNED);
    if args.disable_han && has_han && survey.hosts.iter().any(|host| *host != survey.hosts[0]) {
        let off = Pins::from([("coll_han_priority".to_owned(), "0".to_owned())]);
        backend.pin(&off);
        pins.extend(off);
    }
    Ok((backend, survey, release, pins))
}

/// Settings that the user gives to Open MPI about which component serves collectives, and how: what is measured under
/// them holds under them only. Those about algorithms of `coll/tuned` have no part in it.
fn settings_in_force(launcher: &Launcher) -> Pins {
    let environment = env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?.strip_prefix("OMPI_MCA_")?.to_owned();
        Some((name, value.to_string_lossy().into_owned()))
    });
    // Options of mpirun are stronger than the environment.
    let mut settings: Pins = environment.chain(launcher.user_settings()).collect();
    settings.retain(|name, _| {
        let about_components =
            name.starts_with("coll_") && !name.starts_with("coll_tuned_") && name != "coll_base_verbose";
        name == "coll" || name == "coll_tuned_priority" || about_components
    });
    settings
}

impl Launch {
    /// Whether more ranks than slots are meant: said here, or to Open MPI itself.
    pub(super) fn oversubscribes(&self) -> bool {
        let set = |name: &str| env::var(name).unwrap_or_default().to_ascii_lowercase();
        self.oversubscribe
            || matches!(set("OMPI_MCA_rmaps_base_oversubscribe").as_str(), "1" | "true" | "yes")
            || set("PRTE_MCA_rmaps_default_mapping_policy").contains(":oversubscribe")
            || set("OMPI_MCA_rmaps_base_mapping_policy").contains(":oversubscribe")
    }
}
