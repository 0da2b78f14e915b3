//! Preparation for launches: the backend, its survey, and the settings that it needs.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use collrules_batch::{BatchLauncher, JobFacts};
use collrules_model::ModelMachine;
use collrules_model::model::Model;
use collrules_record::allocation::Allocation;
use collrules_record::options::{Jobs, Launching, SystemOptions};
use collrules_record::{Component, Seconds, Settings, Survey};
use collrules_rules::Release;
use collrules_rules::words::listed;
use collrules_runner::grid::known_release;
use collrules_runner::mpi::{Launcher, LauncherOptions, MpiBackend};
use collrules_runner::simulate::Simulation;
use collrules_runner::{Backend, RunnerError};

/// Pause after which a failed first job is started again.
const SETTLE: Duration = Duration::from_secs(5);

/// A backend with the survey of its system.
pub struct Started<B = Box<dyn Backend>> {
    /// Backend that runs jobs.
    pub backend: B,
    /// Survey of its system.
    pub survey: Survey,
    /// The release that was found.
    pub release: Release,
    /// MCA settings of every launch, which the rules need as well.
    pub pins: Settings,
    /// Time to start a job: 0 in a simulation.
    pub startup: Seconds,
    /// The job of a batch system in which this runs.
    pub allocation: Option<Allocation>,
    /// True if other programs ran in that job during the survey.
    pub has_company: bool,
    /// Remarks on where jobs run, in sentences.
    pub remarks: Vec<String>,
}

/// Creates the backend of these options, and surveys its system.
pub fn start(system: &SystemOptions, stop: &Arc<AtomicBool>) -> Result<Started, RunnerError> {
    match &system.jobs {
        Jobs::Mpi(launching) => {
            let SystemOptions { layout, oversubscribe, .. } = *system;
            let system = SystemOptions { layout, oversubscribe, jobs: launching.clone() };
            let Started { backend, survey, release, pins, startup, allocation, has_company, remarks } =
                mpi(&system, stop)?;
            let backend = Box::new(backend);
            Ok(Started { backend, survey, release, pins, startup, allocation, has_company, remarks })
        }
        Jobs::Simulation(simulated) => {
            let mut simulation = match &simulated.model {
                None => Simulation::new(simulated.scenario, simulated.release, simulated.slots.0)
                    .on_nodes(simulated.each.0, system.layout),
                Some(path) => {
                    let model = Model::read(path).map_err(|cause| RunnerError::Model(cause.to_string()))?;
                    let release = model.release.unwrap_or(simulated.release);
                    let machine = ModelMachine::new(model, release).map_err(RunnerError::Unplayable)?;
                    Simulation::played(simulated.scenario, release, Arc::new(machine))?
                }
            };
            Ok(Started {
                survey: simulation.survey()?,
                release: simulation.release(),
                backend: Box::new(simulation),
                pins: Settings::new(),
                startup: Seconds(0.0),
                allocation: None,
                has_company: false,
                remarks: Vec::new(),
            })
        }
    }
}

/// A launching backend with the survey of its system.
pub fn mpi(system: &SystemOptions<Launching>, stop: &Arc<AtomicBool>) -> Result<Started<MpiBackend>, RunnerError> {
    let mut begin = Instant::now();
    let found = collrules_batch::find_job(&collrules_batch::System);
    let launcher = launcher_in(found.as_ref(), system, stop)?;
    let template = launcher.template();
    let mut pins = settings_in_force(&launcher);
    let mut backend = MpiBackend::new(launcher, system.layout);
    let asked = Instant::now();
    let installed = backend.reset_installed();
    begin += asked.elapsed();
    let (survey, failed) = match backend.survey() {
        // A node that has just rebooted may not accept processes yet, and the batch job exists only once.
        Err(failed @ RunnerError::WorkerDidNotStart { .. }) if found.is_some() => {
            thread::sleep(SETTLE);
            begin = Instant::now();
            (backend.survey()?, Some(failed))
        }
        surveyed => (surveyed?, None),
    };
    let release = known_release(&survey)?;
    let has_han = survey.components.get(&Component::HAN) >= survey.components.get(&Component::TUNED);
    if system.jobs.disable_han && has_han && survey.hosts.iter().any(|host| *host != survey.hosts[0]) {
        let off = Settings::from([("coll_han_priority".to_owned(), "0".to_owned())]);
        backend.pin(&off);
        pins.extend(off);
    }
    let mut remarks =
        found.as_ref().map(|found| remarks(found, &survey, template.as_deref(), system)).unwrap_or_default();
    remarks.extend(survey.uneven_nodes().map(|uneven| format!("nodes have different numbers of slots: {uneven}")));
    remarks.extend(describe_forced(&environment()));
    match installed {
        Ok(names) if names.is_empty() => {}
        Ok(names) => {
            remarks.push(format!("installed settings are switched off in all jobs here: {}", names.join(", ")));
        }
        Err(error) => remarks.push(format!("whether settings are installed is unknown: {error}")),
    }
    remarks.extend(failed.map(|failed| {
        let why = failed.to_string();
        format!("the first job failed, a second one worked: {}", why.lines().next().unwrap_or_default())
    }));
    let has_company = found.as_ref().is_some_and(|found| !found.others.is_empty());
    let allocation = found.map(|found| found.allocation);
    let startup = Seconds(begin.elapsed().as_secs_f64());
    Ok(Started { backend, survey, release, pins, startup, allocation, has_company, remarks })
}

/// Lists remarks on the job of a batch system in which jobs run.
fn remarks(
    found: &JobFacts,
    survey: &Survey,
    template: Option<&str>,
    system: &SystemOptions<Launching>,
) -> Vec<String> {
    let preferred = found.own.as_ref().and_then(|own| own.preferred.as_deref());
    let preferred = preferred.filter(|_| system.jobs.launcher.is_none());
    let by = match (template, preferred) {
        (None, _) => "mpirun starts the jobs".to_owned(),
        (Some(template), Some(why)) => {
            format!("`{template}` starts the jobs, since {why}; --launcher mpirun overrides this")
        }
        (Some(template), None) => format!("`{template}` starts the jobs"),
    };
    let mut remarks = vec![format!("{}; {by}", found.allocation)];
    let Allocation { system: batch, nodes, slots, .. } = found.allocation;
    let reached = survey.nodes().len();
    if (reached as u32) < nodes {
        remarks.push(format!(
            "jobs reach {reached} of these {nodes} nodes: this Open MPI may have been built without support for {batch}; \
             --launcher or --mpirun-args '--hostfile FILE' names all",
        ));
    } else if slots.0 > 0 && survey.slots() != slots {
        let here = survey.slots();
        remarks.push(format!("jobs have {here} of the {slots} slots that the batch system reports"));
    }
    remarks.extend(company_of(found).into_iter().chain(found.unused.iter().cloned()));
    remarks
}

/// Returns a remark if other steps run in this batch job while none of collrules does.
pub(crate) fn company() -> Option<String> {
    company_of(&collrules_batch::find_job(&collrules_batch::System)?)
}

fn company_of(found: &JobFacts) -> Option<String> {
    (!found.others.is_empty()).then(|| {
        let steps = found.others.join(", ");
        format!("other steps run in this job ({steps}): the times include their load on processors and network")
    })
}

/// A launching backend without a survey, whose jobs have no installed settings.
pub fn launching(system: &SystemOptions<Launching>, stop: &Arc<AtomicBool>) -> Result<MpiBackend, RunnerError> {
    let mut backend = MpiBackend::new(launcher(system, stop)?, system.layout);
    // Without ompi_info, keep the installed components.
    backend.reset_installed().ok();
    Ok(backend)
}

/// Finds the launcher for these options on this system.
pub fn launcher(system: &SystemOptions<Launching>, stop: &Arc<AtomicBool>) -> Result<Launcher, RunnerError> {
    launcher_in(collrules_batch::find_job(&collrules_batch::System).as_ref(), system, stop)
}

/// Like [`launcher`], in a known batch job.
fn launcher_in(
    found: Option<&JobFacts>,
    system: &SystemOptions<Launching>,
    stop: &Arc<AtomicBool>,
) -> Result<Launcher, RunnerError> {
    let launching = &system.jobs;
    let own = found.and_then(|found| found.own.as_ref());
    let mut wishes = LauncherOptions {
        mpirun: launching.mpirun.clone(),
        template: template(launching, own)?,
        environment: found.map(|found| found.environment.clone()).unwrap_or_default(),
        worker: launching.worker.clone(),
        arguments: launching.arguments.clone(),
        oversubscribe: system.oversubscribe,
        patience: Duration::from_secs_f64(launching.hang_timeout.0.clamp(1.0, 1e9)),
        stop: Arc::clone(stop),
    };
    // Options about hosts override the environment.
    wishes.environment.retain(|name, _| !name.contains("_MCA_") || env::var_os(name).is_none());
    match (Launcher::find(&wishes), own) {
        (Err(RunnerError::NoLauncher(_)), Some(own)) if launching.launcher.is_none() && launching.mpirun.is_none() => {
            Launcher::find(&LauncherOptions { template: Some(own.words.join(" ")), ..wishes })
        }
        (found, _) => found,
    }
}

/// The command line that starts jobs in place of mpirun, if there is one.
fn template(launching: &Launching, own: Option<&BatchLauncher>) -> Result<Option<String>, RunnerError> {
    let about_mpirun = launching.mpirun.is_some() || !launching.arguments.is_empty();
    let own = own.map(|own| (own.words.join(" "), own.preferred.is_some()));
    match launching.launcher.as_deref() {
        Some("mpirun") => Ok(None),
        Some("srun") => match own {
            Some((words, _)) => Ok(Some(words)),
            None => Err(RunnerError::NoOtherLauncher("srun, in a job of a Slurm that knows pmix or pmi2".to_owned())),
        },
        Some(words) => Ok(Some(words.to_owned())),
        None => Ok(own.filter(|(_, preferred)| *preferred && !about_mpirun).map(|(words, _)| words)),
    }
}

/// Returns true if options, or settings of Open MPI, allow more ranks than slots.
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

/// Names algorithms of coll/tuned that variables force, in a sentence; none if there are none.
fn describe_forced(environment: &BTreeMap<String, String>) -> Option<String> {
    let is_forced = |name: &str| name.starts_with("OMPI_MCA_coll_tuned_") && name.ends_with("_algorithm");
    let forced = environment.iter().filter(|(name, _)| is_forced(name));
    let forced: Vec<String> = forced.map(|(name, value)| format!("{name}={value}")).collect();
    (!forced.is_empty()).then(|| {
        format!(
            "the environment forces algorithms: {}. They compete with a rules file (from 5.0 on they beat it): unset them \
             if the rules should decide",
            listed(&forced)
        )
    })
}

/// Settings of the user that select or configure components for collectives: measurements are valid only with them.
/// Does not include settings for algorithms of `coll/tuned`.
fn settings_in_force(launcher: &Launcher) -> Settings {
    let environment =
        environment().into_iter().filter_map(|(name, value)| Some((name.strip_prefix("OMPI_MCA_")?.to_owned(), value)));
    // Options of mpirun override the environment.
    let mut settings: Settings = environment.chain(launcher.user_settings()).collect();
    settings.retain(|name, _| {
        let about_components =
            name.starts_with("coll_") && !name.starts_with("coll_tuned_") && name != "coll_base_verbose";
        name == "coll" || name == "coll_tuned_priority" || about_components
    });
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forced_algorithms_are_named_in_a_sentence() {
        let set = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "3".to_owned())).collect();
        let said = describe_forced(&set(&["OMPI_MCA_coll_tuned_bcast_algorithm", "OMPI_MCA_coll_han_priority"]));
        assert!(
            said.is_some_and(|said| said.contains("OMPI_MCA_coll_tuned_bcast_algorithm=3") && !said.contains("han"))
        );
        assert_eq!(describe_forced(&set(&["OMPI_MCA_coll_tuned_use_dynamic_rules"])), None);
    }
}
