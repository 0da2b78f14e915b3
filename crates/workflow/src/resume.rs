//! Resumed runs: their options, and the uses for which they are refused.

use std::collections::BTreeMap;
use std::fmt::Display;

use collrules_record::Manifest;
use collrules_record::competitor::COMPETITORS;
use collrules_record::experiment::Experiment;
use collrules_record::options::Request;
use collrules_record::rundir::{self, RunDir};
use collrules_record::settings::Settings;
use collrules_record::transport::Transport;
use collrules_report::progress;

use crate::error::WorkflowError;
use crate::start::{Started, environment};

/// Settings of a run that switch a component off, although the user's settings switch it on: it was left out because
/// its calls crashed.
pub(crate) fn left_out(manifest: &Manifest, started: &Started) -> Settings {
    let is_on = |name: &str| started.pins.get(name).is_some_and(|value| value != "0");
    let whole =
        |name: &str| COMPETITORS.iter().any(|competitor| name == format!("coll_{}_priority", competitor.component));
    let off = manifest.pins.iter().filter(|(name, value)| *value == "0" && whole(name) && is_on(name));
    off.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The experiment of a run; an error for a validation.
pub(crate) fn experiment(run: &RunDir, manifest: &Manifest) -> Result<Experiment, WorkflowError> {
    manifest.experiment.clone().ok_or_else(|| {
        let (shown, name) = (run.path().display(), name(&manifest.request));
        WorkflowError::Input(format!("{shown} was made by `collrules {name}`"))
    })
}

/// The command that began a run.
pub(crate) fn name(request: &Request) -> &'static str {
    match request {
        Request::Tune(_) => "tune",
        Request::Validate(_) => "validate",
        Request::Guidelines => "lab guidelines",
        Request::Study => "lab study",
        Request::Model => "lab model",
        Request::Irregular => "lab irregular",
    }
}

/// Refuses launches of a validation: they have no candidates to choose from.
pub(crate) fn refuse_comparison(run: &RunDir, manifest: &Manifest) -> Result<(), WorkflowError> {
    let Request::Validate(_) = manifest.request else { return Ok(()) };
    Err(WorkflowError::Input(format!(
        "{} holds launches without a rules file and with it, made by `collrules validate`; {} says what they showed",
        run.path().display(),
        run.file(rundir::VALIDATION).display(),
    )))
}

/// Refuses to measure in a merged run: it has no journal of its own.
pub(crate) fn refuse_merged(run: &RunDir, manifest: &Manifest) -> Result<(), WorkflowError> {
    let Some(first) = manifest.merged.first() else { return Ok(()) };
    Err(WorkflowError::Input(format!(
        "{} was made by `collrules merge`: resume what it was made of, such as {}, and merge again",
        run.path().display(),
        first.run.display(),
    )))
}

/// Refuses to resume a run on another system, since its samples are compared with each other. A batch system may assign
/// other nodes to each job, if ranks are placed on them identically; then returns a remark.
pub(crate) fn refuse_other_system(
    run: &RunDir,
    manifest: &Manifest,
    started: &Started,
) -> Result<Option<String>, WorkflowError> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, then: &dyn Display, now: &dyn Display| {
        let (then, now) = (then.to_string(), now.to_string());
        if then != now {
            differences.push(format!("{what}: {then} then, {now} now"));
        }
    };
    let (then, now) = (&manifest.survey, &started.survey);
    compare("backend", &manifest.backend, &started.backend.name());
    compare("Open MPI", &then.version, &now.version);
    compare("library", &then.library, &now.library);
    compare("slots", &then.slots(), &now.slots());
    let moved = moved(manifest, started);
    if moved.is_none() {
        compare("hosts of the ranks", &then.hosts.join(" "), &now.hosts.join(" "));
    }
    if let Some((then, now)) = Transport::change(&then.transport, &now.transport) {
        compare("transport", then, now);
    }
    compare("settings that the rules need", &list_settings(&manifest.pins), &list_settings(&started.pins));
    compare("coll_tuned parameters set before", &list_settings(&then.preset), &list_settings(&now.preset));
    compare("options of mpirun", &middle(&manifest.launcher), &middle(&started.backend.launcher(&manifest.plan)));
    let parameters = |all: &BTreeMap<String, String>| {
        let set = all.iter().filter(|(name, _)| name.contains("_MCA_"));
        list_settings(&set.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    // These properties only concern launched jobs.
    if started.backend.name() != "simulation" {
        compare("MCA parameters in the environment", &parameters(&manifest.environment), &parameters(&environment()));
    }
    if then.algorithms != now.algorithms {
        differences.push("the library lists other algorithms".to_owned());
    }
    if differences.is_empty() {
        return Ok(moved);
    }
    Err(WorkflowError::OtherSystem { run: run.path().display().to_string(), differences })
}

/// Returns a remark if a run is resumed on other nodes of its partition, with ranks placed identically.
fn moved(manifest: &Manifest, started: &Started) -> Option<String> {
    let (then, now) = (manifest.allocations.last()?, started.allocation.as_ref()?);
    let hosts = (&manifest.survey.hosts, &started.survey.hosts);
    let alike =
        (then.system, &then.partition) == (now.system, &now.partition) && numbered(hosts.0) == numbered(hosts.1);
    (alike && hosts.0 != hosts.1).then(|| progress::jobs::other_nodes(now))
}

/// Hosts of the ranks, numbered in order of first appearance.
fn numbered(hosts: &[String]) -> Vec<usize> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    hosts
        .iter()
        .map(|host| {
            let next = known.len();
            *known.entry(host).or_insert(next)
        })
        .collect()
}

fn list_settings(settings: &BTreeMap<String, String>) -> String {
    if settings.is_empty() {
        return "none".to_owned();
    }
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// A launch command without its two programs, whose paths may have changed.
fn middle(command: &[String]) -> String {
    command.get(1..command.len().saturating_sub(1)).unwrap_or_default().join(" ")
}
