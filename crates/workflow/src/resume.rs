//! What can be done with a run that was begun: its options, and what it is not to be used for.

use std::collections::BTreeMap;
use std::fmt::Display;

use collrules_record::Manifest;
use collrules_record::options::{Request, Tuning};
use collrules_record::rundir::{self, RunDir};

use crate::error::WorkflowError;
use crate::legacy;
use crate::start::{Started, environment};

/// The options that a run was begun with: those of its manifest or, in runs of format 1.0, those of its command line.
/// What cannot be read is an error, never a default.
pub(crate) fn options(run: &RunDir, manifest: &Manifest) -> Result<Tuning, WorkflowError> {
    match &manifest.request {
        Some(Request::Tune(tuning)) => Ok(tuning.as_ref().clone()),
        Some(Request::Validate(_)) => {
            Err(WorkflowError::Input(format!("{} was made by `collrules validate`", run.path().display())))
        }
        None => legacy::tuning(&manifest.command).map_err(|why| {
            WorkflowError::Input(format!(
                "{}: the options of this run cannot be read: {why}. Use collrules {}, which began it, or begin a new run",
                run.file(rundir::MANIFEST).display(),
                manifest.collrules,
            ))
        }),
    }
}

/// Refuses launches of a validation: they have no candidates to choose from.
pub(crate) fn refuse_comparison(run: &RunDir, manifest: &Manifest) -> Result<(), WorkflowError> {
    if manifest.plan.deployment.is_none() {
        return Ok(());
    }
    Err(WorkflowError::Input(format!(
        "{} holds launches without a rules file and with it, made by `collrules validate`; {} says what they showed",
        run.path().display(),
        run.file(rundir::VALIDATION).display(),
    )))
}

/// Refuses to measure into a run that was made of others: it has no journal of its own.
pub(crate) fn refuse_merged(run: &RunDir, manifest: &Manifest) -> Result<(), WorkflowError> {
    let Some(first) = manifest.merged.first() else { return Ok(()) };
    Err(WorkflowError::Input(format!(
        "{} was made by `collrules merge`: resume what it was made of, such as {}, and merge again",
        run.path().display(),
        first.run.display(),
    )))
}

/// Samples of one run are compared with each other, so that they have to come from one system. A batch system may give
/// other nodes of it to each job, as long as ranks lie on them alike; what to say about that is returned.
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
        return Ok(moved);
    }
    Err(WorkflowError::OtherSystem { run: run.path().display().to_string(), differences })
}

/// What to say where the run is resumed on other nodes than it began on, of the same partition of the same batch system.
fn moved(manifest: &Manifest, started: &Started) -> Option<String> {
    let (then, now) = (manifest.allocations.last()?, started.allocation.as_ref()?);
    let hosts = (&manifest.survey.hosts, &started.survey.hosts);
    let alike =
        (then.system, &then.partition) == (now.system, &now.partition) && numbered(hosts.0) == numbered(hosts.1);
    (alike && hosts.0 != hosts.1).then(|| {
        format!(
            "{} has other nodes than the run began on: how nodes differ is now a part of how launches differ",
            now.to_string().split(':').next().unwrap_or_default(),
        )
    })
}

/// The hosts of the ranks, numbered in the order in which they come.
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
