//! Getting ready to launch jobs: the backend, what it finds, and the settings that it needs.

use std::env;
use std::time::Duration;

use collrules_record::Survey;
use collrules_rules::{Collective, Release};
use collrules_runner::grid::known_release;
use collrules_runner::mpi::{Launcher, MpiBackend, Wishes, served_by_han};
use collrules_runner::{Backend, RunnerError};

use crate::args::Launch;
use crate::deliver::Pins;

/// A backend that launches, with the survey of its system.
pub(super) struct Started {
    pub(super) backend: Box<dyn Backend>,
    pub(super) survey: Survey,
    pub(super) release: Release,
    /// MCA settings that every launch has, and that the rules need as well.
    pub(super) pins: Pins,
}

/// Finds launcher and worker, and surveys the system.
pub(super) fn mpi(args: &Launch, collectives: &[Collective]) -> Result<Started, RunnerError> {
    let launcher = Launcher::find(&Wishes {
        mpirun: args.mpirun.clone(),
        worker: args.worker.clone(),
        arguments: args.mpirun_args.clone(),
        oversubscribe: args.oversubscribe,
        patience: Duration::from_secs_f64(args.hang_timeout.0.clamp(1.0, 1e9)),
    })?;
    let mut backend = MpiBackend::new(launcher);
    let survey = backend.survey()?;
    let release = known_release(&survey)?;
    let pins = pins(args.disable_han, collectives, &survey, release)?;
    backend.pin(&pins);
    Ok(Started { backend: Box::new(backend), survey, release, pins })
}

/// Where han would serve the calls, it has to be switched off, and the user has to want that.
fn pins(disable_han: bool, collectives: &[Collective], survey: &Survey, release: Release) -> Result<Pins, RunnerError> {
    let hosts = survey.nodes(survey.slots());
    let served: Vec<&str> = served_by_han(release)
        .iter()
        .filter(|collective| collectives.contains(collective))
        .map(|collective| collective.name())
        .collect();
    if hosts < 2 || served.is_empty() {
        return Ok(Pins::new());
    }
    if !disable_han {
        return Err(RunnerError::HanServes { hosts, release: release.to_string(), collectives: served.join(", ") });
    }
    Ok(Pins::from([("coll_han_priority".to_owned(), "0".to_owned())]))
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
