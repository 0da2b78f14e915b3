//! Refuses to resume a run on another system than the one it began on.

use std::collections::BTreeMap;
use std::fmt::Display;

use collrules_record::Manifest;
use collrules_record::rundir::RunDir;

use crate::error::WorkflowError;
use crate::start::{Started, environment};

/// Samples of one run are compared with each other, so that they have to come from one system.
pub(crate) fn refuse_other_system(run: &RunDir, manifest: &Manifest, started: &Started) -> Result<(), WorkflowError> {
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
    compare("hosts of the ranks", &then.hosts.join(" "), &now.hosts.join(" "));
    compare("settings that the rules need", &listed(&manifest.pins), &listed(&started.pins));
    compare("coll_tuned parameters set before", &listed(&then.preset), &listed(&now.preset));
    compare("options of mpirun", &middle(&manifest.launcher), &middle(&started.backend.launcher(&manifest.plan)));
    let parameters = |all: &BTreeMap<String, String>| {
        let set = all.iter().filter(|(name, _)| name.contains("_MCA_"));
        listed(&set.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    // They concern jobs that are launched.
    if started.backend.name() != "simulation" {
        compare("MCA parameters in the environment", &parameters(&manifest.environment), &parameters(&environment()));
    }
    if then.algorithms != now.algorithms {
        differences.push("the library lists other algorithms".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(WorkflowError::OtherSystem { run: run.path().display().to_string(), differences })
}

fn listed(settings: &BTreeMap<String, String>) -> String {
    if settings.is_empty() {
        return "none".to_owned();
    }
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// A launching command without its two programs, which may lie elsewhere today.
fn middle(command: &[String]) -> String {
    command.get(1..command.len().saturating_sub(1)).unwrap_or_default().join(" ")
}
