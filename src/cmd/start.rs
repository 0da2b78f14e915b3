//! Getting ready to launch jobs: the backend, what it finds, and the settings that it needs.

use std::env;
use std::time::Duration;

use collrules_record::Survey;
use collrules_record::units::Ranks;
use collrules_rules::{Collective, Release};
use collrules_runner::grid::{self, known_release};
use collrules_runner::mpi::{Launcher, MpiBackend, Wishes, served_by_han};
use collrules_runner::{Backend, RunnerError};

use crate::args::Launch;
use crate::deliver::Pins;

/// A backend that launches, with the survey of its system.
pub(super) struct Started {
    pub(super) backend: Box<dyn Backend>,
    pub(super) survey: Survey,
    pub(super) release: Release,
    /// MCA settings that are in force in every launch, and that the rules need as well.
    pub(super) pins: Pins,
}

/// Finds launcher and worker, and surveys the system, for calls of these collectives on communicators of up to the
/// largest of `np`, or of the slots at hand.
pub(super) fn mpi(args: &Launch, collectives: &[Collective], np: &[Ranks]) -> Result<Started, RunnerError> {
    let (backend, survey, release, pins) = tuning(args, collectives, np)?;
    Ok(Started { backend: Box::new(backend), survey, release, pins })
}

/// A backend that launches jobs, whatever they do there.
pub(super) fn launching(args: &Launch) -> Result<MpiBackend, RunnerError> {
    Ok(MpiBackend::new(launcher(args)?))
}

fn launcher(args: &Launch) -> Result<Launcher, RunnerError> {
    Launcher::find(&Wishes {
        mpirun: args.mpirun.clone(),
        worker: args.worker.clone(),
        arguments: args.mpirun_args.clone(),
        oversubscribe: args.oversubscribe,
        patience: Duration::from_secs_f64(args.hang_timeout.0.clamp(1.0, 1e9)),
    })
}

/// The same as [`mpi`], with the backend as what it is.
pub(super) fn tuning(
    args: &Launch,
    collectives: &[Collective],
    np: &[Ranks],
) -> Result<(MpiBackend, Survey, Release, Pins), RunnerError> {
    let launcher = launcher(args)?;
    let mut pins = settings_in_force(&launcher);
    let mut backend = MpiBackend::new(launcher);
    let survey = backend.survey()?;
    let release = known_release(&survey)?;
    let ranks = grid::communicator_sizes(np, survey.slots(), args.oversubscribes())?;
    let hosts = survey.nodes(ranks.last().copied().unwrap_or_default());
    let served: Vec<&str> = served_by_han(release)
        .iter()
        .filter(|collective| collectives.contains(collective))
        .map(|collective| collective.name())
        .collect();
    if hosts > 1 && !served.is_empty() && !is_off(&pins, "han") {
        if !args.disable_han {
            let (release, collectives) = (release.to_string(), served.join(", "));
            return Err(RunnerError::HanServes { hosts, release, collectives });
        }
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

/// Whether settings switch a component off.
fn is_off(pins: &Pins, component: &str) -> bool {
    let excluded = pins.get("coll").is_some_and(|list| match list.strip_prefix('^') {
        Some(excluded) => excluded.split(',').any(|name| name == component),
        None => !list.split(',').any(|name| name == component),
    });
    excluded || pins.get(&format!("coll_{component}_priority")).is_some_and(|priority| priority == "0")
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
